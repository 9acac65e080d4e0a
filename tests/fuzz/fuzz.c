#include "fuzz.h"
#include "composer/xml.h"

#include <libxml/parser.h>
#include <libxml/xmlmemory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libxml2's allocator */

static GRand *fail_random;
static gboolean failing, failed;
static int fail_every;

static gboolean
fails (void)
{
  if (!failing || g_rand_int_range (fail_random, 0, fail_every) != 0)
    return FALSE;
  failed = TRUE;
  return TRUE;
}

static void *
fuzz_malloc (size_t size)
{
  return fails () ? NULL : malloc (size);
}

static void *
fuzz_realloc (void *memory, size_t size)
{
  return fails () ? NULL : realloc (memory, size);
}

static char *
fuzz_strdup (const char *text)
{
  return fails () ? NULL : strdup (text);
}

static char *
print_tree (xmlDoc *doc)
{
  xmlChar *text = NULL;
  int length = 0;
  xmlDocDumpMemory (doc, &text, &length);
  char *copy = g_strndup ((const char *)text, (gsize)length);
  xmlFree (text);
  return copy;
}

gboolean
fuzz_parse (Fuzz *fuzz, const GString *text)
{
  static const int every[] = { 2, 10, 50, 200, 1000 };
  const TwXmlKind kind = { .domain = g_quark_from_static_string ("fuzz"),
                           .what = "text",
                           .max_bytes = 1 << 24,
                           .max_depth = 64 };
  g_autoptr (GError) error = NULL;
  if (!fuzz->oom)
    return FALSE;
  failed = FALSE;
  fail_every = every[g_rand_int_range (fail_random, 0, G_N_ELEMENTS (every))];
  failing = TRUE;
  xmlDoc *doc = tw_xml_parse (text->str, text->len, "text", &kind, &error);
  failing = FALSE;
  if ((doc != NULL) == (error != NULL))
    g_error ("a tree and an error, or neither");
  if (doc != NULL)
    {
      xmlDoc *whole = tw_xml_parse (text->str, text->len, "text", &kind, NULL);
      g_autofree char *a = print_tree (doc), *b = whole != NULL ? print_tree (whole) : NULL;
      if (g_strcmp0 (a, b) != 0)
        g_error ("something was lost while memory ran out:\n%s", text->str);
      xmlFreeDoc (whole);
      xmlFreeDoc (doc);
    }
  return failed;
}

static void
be_quiet (void *context, const char *format, ...)
{
}

/* Set-up */

gboolean
fuzz_init (Fuzz *fuzz, int *argc, char ***argv)
{
  static char *keep;
  gint64 count = 1000, seed = 1;
  gboolean oom = FALSE;
  const GOptionEntry entries[]
      = { { "count", 0, 0, G_OPTION_ARG_INT64, &count, "Cases to try", "N" },
          { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of the random numbers", "S" },
          { "oom", 0, 0, G_OPTION_ARG_NONE, &oom, "Make libxml2's allocations fail at random",
            NULL },
          { "keep", 0, 0, G_OPTION_ARG_FILENAME, &keep, "Write each case here before it is tried",
            "FILE" },
          { NULL } };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  g_autoptr (GError) error = NULL;
  if (!g_option_context_parse (context, argc, argv, &error))
    {
      fprintf (stderr, "%s\n", error->message);
      return FALSE;
    }
  *fuzz = (Fuzz){ .random = g_rand_new_with_seed ((guint32)seed),
                  .seeds = g_ptr_array_new (),
                  .tokens = g_ptr_array_new_with_free_func (g_free),
                  .count = count,
                  .seed = (guint32)seed,
                  .oom = oom,
                  .keep = keep };
  fail_random = g_rand_new_with_seed ((guint32)seed + 1);
  if (oom && xmlMemSetup (free, fuzz_malloc, fuzz_realloc, fuzz_strdup) != 0)
    return FALSE;
  xmlInitParser ();
  xmlSetGenericErrorFunc (NULL, be_quiet);
  return TRUE;
}

void
fuzz_clear (Fuzz *fuzz)
{
  for (guint i = 0; i < fuzz->seeds->len; i++)
    g_string_free (g_ptr_array_index (fuzz->seeds, i), TRUE);
  g_ptr_array_unref (fuzz->seeds);
  g_ptr_array_unref (fuzz->tokens);
  g_rand_free (fuzz->random);
  g_rand_free (fail_random);
}

static void
add_tokens (Fuzz *fuzz, const char *text)
{
  static const char *const odd[] = { "",
                                     "0",
                                     "-1",
                                     "1e999",
                                     "nan",
                                     "T",
                                     "&amp;",
                                     "&#0;",
                                     "<",
                                     "]]>",
                                     "<!--",
                                     "&x;",
                                     "\xff",
                                     "\xc3\xa9",
                                     "$N",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "-9223372036854775808",
                                     "4294967296",
                                     "a.b.c",
                                     ".",
                                     ",",
                                     "N/0",
                                     "ceil(N/0)",
                                     "((((((((",
                                     "T*T*T*T*T*T*T*T",
                                     "1e-320",
                                     "=",
                                     "sum(",
                                     "N:N," };
  for (gsize i = 0; fuzz->tokens->len < G_N_ELEMENTS (odd) && i < G_N_ELEMENTS (odd); i++)
    g_ptr_array_add (fuzz->tokens, g_strdup (odd[i]));
  g_auto (GStrv) words = g_strsplit_set (text, "\"<>\n", -1);
  for (int i = 0; words[i] != NULL && fuzz->tokens->len < 5000; i++)
    /* Pieces of tags would only break what they are put into. */
    if (g_strstrip (words[i])[0] != '\0' && strchr ("/?", words[i][0]) == NULL
        && !g_str_has_suffix (words[i], "="))
      g_ptr_array_add (fuzz->tokens, g_strdup (words[i]));
}

void
fuzz_add_text (Fuzz *fuzz, const char *text)
{
  g_ptr_array_add (fuzz->seeds, g_string_new (text));
  add_tokens (fuzz, text);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

static void
add_files (Fuzz *fuzz, const char *folder, const char *suffix, int depth)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    g_ptr_array_add (names, g_strdup (name));
  /* Folder order differs from machine to machine; runs must not. */
  g_ptr_array_sort (names, compare_names);
  for (guint i = 0; i < names->len; i++)
    {
      const char *name = g_ptr_array_index (names, i);
      g_autofree char *path = g_build_filename (folder, name, NULL);
      g_autofree char *text = NULL;
      if (g_file_test (path, G_FILE_TEST_IS_DIR) && depth > 0)
        add_files (fuzz, path, suffix, depth - 1);
      else if (g_str_has_suffix (name, suffix) && g_file_get_contents (path, &text, NULL, NULL))
        fuzz_add_text (fuzz, text);
    }
}

void
fuzz_add_files (Fuzz *fuzz, const char *folder, const char *suffix)
{
  add_files (fuzz, folder, suffix, 2);
}

/* Mutation */

int
fuzz_below (Fuzz *fuzz, int n)
{
  return n <= 1 ? 0 : g_rand_int_range (fuzz->random, 0, n);
}

static const GString *
pick_seed (Fuzz *fuzz)
{
  return g_ptr_array_index (fuzz->seeds, fuzz_below (fuzz, (int)fuzz->seeds->len));
}

static const char *
pick_token (Fuzz *fuzz)
{
  return g_ptr_array_index (fuzz->tokens, fuzz_below (fuzz, (int)fuzz->tokens->len));
}

static void
mutate_bytes (Fuzz *fuzz, GString *text)
{
  int length = (int)text->len, at = fuzz_below (fuzz, length);
  int n = 1 + fuzz_below (fuzz, fuzz_below (fuzz, 4) == 0 ? 200 : 8);
  n = MIN (n, length - at);
  const GString *other = pick_seed (fuzz);
  int from = fuzz_below (fuzz, (int)other->len);
  g_autofree char *piece = NULL;
  switch (length == 0 ? 4 : fuzz_below (fuzz, 7))
    {
    case 0:
      text->str[at] = (char)fuzz_below (fuzz, 256);
      break;
    case 1:
      text->str[at] ^= (char)(1 << fuzz_below (fuzz, 8));
      break;
    case 2:
      g_string_erase (text, at, n);
      break;
    case 3:
      piece = g_memdup2 (text->str + at, (gsize)n);
      for (int i = 1 + fuzz_below (fuzz, 4); i > 0; i--)
        g_string_insert_len (text, at, piece, n);
      break;
    case 4:
      g_string_insert (text, at, pick_token (fuzz));
      break;
    case 5:
      g_string_insert_len (text, at, other->str + from, MIN (n, (int)other->len - from));
      break;
    default:
      g_string_truncate (text, (gsize)at);
      break;
    }
}

/* Puts a token in place of a quoted value. */
static void
mutate_value (Fuzz *fuzz, GString *text)
{
  g_autoptr (GArray) quotes = g_array_new (FALSE, FALSE, sizeof (gsize));
  for (gsize i = 0; i < text->len; i++)
    if (text->str[i] == '"')
      g_array_append_val (quotes, i);
  if (quotes->len < 2)
    return;
  /* Quotes come in pairs; what is between two values is seldom worth a try. */
  int k = fuzz_below (fuzz, (int)quotes->len / 2) * 2;
  if (quotes->len > 2 && fuzz_below (fuzz, 16) == 0)
    k++;
  k = MIN (k, (int)quotes->len - 2);
  gsize from = g_array_index (quotes, gsize, k) + 1, to = g_array_index (quotes, gsize, k + 1);
  g_string_erase (text, (gssize)from, (gssize)(to - from));
  g_string_insert (text, (gssize)from, pick_token (fuzz));
}

/* Swaps, repeats, drops or borrows a line. */
static void
mutate_line (Fuzz *fuzz, GString *text)
{
  g_auto (GStrv) lines = g_strsplit (text->str, "\n", -1);
  g_auto (GStrv) others = g_strsplit (pick_seed (fuzz)->str, "\n", -1);
  int n = (int)g_strv_length (lines), n_others = (int)g_strv_length (others);
  if (n == 0 || n_others == 0)
    return;
  int a = fuzz_below (fuzz, n), b = fuzz_below (fuzz, n), kind = fuzz_below (fuzz, 4);
  g_string_truncate (text, 0);
  for (int i = 0; i < n; i++)
    {
      const char *line = kind == 0 && i == a ? lines[b] : kind == 0 && i == b ? lines[a] : lines[i];
      if (kind == 1 && i == a)
        continue;
      if (kind == 2 && i == b)
        g_string_append_printf (text, "%s\n", lines[a]);
      if (kind == 3 && i == b)
        g_string_append_printf (text, "%s\n", others[fuzz_below (fuzz, n_others)]);
      g_string_append_printf (text, "%s%s", line, i < n - 1 ? "\n" : "");
    }
}

/* Start and length of a random word: a name or number, or one other character. */
static gsize
pick_word (Fuzz *fuzz, const GString *text, gsize *length)
{
  gsize at = (gsize)fuzz_below (fuzz, (int)text->len);
  while (at > 0 && g_ascii_isalnum (text->str[at]) && g_ascii_isalnum (text->str[at - 1]))
    at--;
  *length = MIN (1, text->len - at);
  while (g_ascii_isalnum (text->str[at]) && g_ascii_isalnum (text->str[at + *length]))
    ++*length;
  return at;
}

/* Puts a word of a seed in place of one, or after it. */
static void
mutate_word (Fuzz *fuzz, GString *text)
{
  if (text->len == 0)
    return;
  const GString *other = pick_seed (fuzz);
  gsize length = 0, n = 0;
  gsize at = pick_word (fuzz, text, &length), from = pick_word (fuzz, other, &n);
  if (fuzz_below (fuzz, 4) > 0)
    g_string_erase (text, (gssize)at, (gssize)length);
  else
    at += length;
  g_string_insert_len (text, (gssize)at, other->str + from, (gssize)n);
}

GString *
fuzz_next (Fuzz *fuzz, gboolean lines)
{
  const GString *seed = pick_seed (fuzz);
  GString *text = g_string_new_len (seed->str, (gssize)seed->len);
  for (int i = 1 + fuzz_below (fuzz, fuzz_below (fuzz, 2) == 0 ? 6 : 2); i > 0; i--)
    {
      int kind = fuzz_below (fuzz, 5);
      if (kind <= (lines ? 1 : 0))
        mutate_bytes (fuzz, text);
      else if (!lines)
        mutate_word (fuzz, text);
      else if (kind <= 3)
        mutate_value (fuzz, text);
      else
        mutate_line (fuzz, text);
    }
  if (fuzz->keep != NULL)
    g_file_set_contents (fuzz->keep, text->str, (gssize)text->len, NULL);
  return text;
}
