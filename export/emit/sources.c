/* Tile and block sources, collected for pasting into one file.
 *
 * An include with quotes is followed, each file pasted once, before what includes it; its line
 * goes. An include of a libc header moves to the top of the exported file. `#pragma once` goes. */

#include "emit-private.h"

#include <string.h>

#define MAX_SOURCES 256

typedef struct
{
  char *path, *name, *text; /* name: as the exported file calls it, "blocks/tile/panel.h" */
} Source;

struct _TwSources
{
  GPtrArray *files;  /* Source in pasting order */
  GHashTable *seen;  /* path */
  GPtrArray *system; /* char* */
  char *tile;        /* folder of the tile layer: of the first file added */
};

static void
source_free (gpointer data)
{
  Source *source = data;

  g_free (source->path);
  g_free (source->name);
  g_free (source->text);
  g_free (source);
}

TwSources *
tw_sources_new (void)
{
  TwSources *sources = g_new0 (TwSources, 1);

  sources->files = g_ptr_array_new_with_free_func (source_free);
  sources->seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  sources->system = g_ptr_array_new_with_free_func (g_free);
  return sources;
}

void
tw_sources_free (TwSources *sources)
{
  if (sources == NULL)
    return;
  g_ptr_array_unref (sources->files);
  g_hash_table_unref (sources->seen);
  g_ptr_array_unref (sources->system);
  g_free (sources->tile);
  g_free (sources);
}

static void
add_system (TwSources *sources, const char *name)
{
  for (guint i = 0; i < sources->system->len; i++)
    if (strcmp (g_ptr_array_index (sources->system, i), name) == 0)
      return;
  g_ptr_array_add (sources->system, g_strdup (name));
}

/* The last two folders and the file: no path of this machine reaches exported text. */
static char *
short_name (const char *path)
{
  g_autofree char *file = g_path_get_basename (path);
  g_autofree char *directory = g_path_get_dirname (path);
  g_autofree char *folder = g_path_get_basename (directory);

  return g_strdup_printf ("blocks/%s/%s", folder, file);
}

/* What follows "#include" on a line, or NULL. */
static const char *
included (const char *line)
{
  while (*line == ' ' || *line == '\t')
    line++;
  if (*line != '#')
    return NULL;
  line++;
  while (*line == ' ' || *line == '\t')
    line++;
  if (!g_str_has_prefix (line, "include"))
    return NULL;
  line += strlen ("include");
  while (*line == ' ' || *line == '\t')
    line++;
  return line;
}

static gboolean
add_file (TwSources *sources, const char *path, int depth, GError **error)
{
  g_autofree char *canonical = g_canonicalize_filename (path, NULL);
  g_autofree char *content = NULL;
  g_autofree char *directory = g_path_get_dirname (canonical);
  g_autoptr (GError) local = NULL;
  gsize length = 0;

  if (g_hash_table_contains (sources->seen, canonical))
    return TRUE;
  g_hash_table_add (sources->seen, g_strdup (canonical));
  if (depth > 16 || g_hash_table_size (sources->seen) > MAX_SOURCES)
    {
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_READ, "%s: too many includes", path);
      return FALSE;
    }
  if (!g_file_get_contents (canonical, &content, &length, &local))
    {
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_READ, "%s", local->message);
      return FALSE;
    }
  if (strlen (content) != length || !g_utf8_validate (content, -1, NULL))
    {
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_READ, "%s: no text", path);
      return FALSE;
    }

  g_auto (GStrv) lines = g_strsplit (content, "\n", -1);
  g_autoptr (GString) kept = g_string_new (NULL);
  gboolean conditional = FALSE;

  for (char **line = lines; *line != NULL; line++)
    {
      const char *what = included (*line);
      g_autofree char *bare = g_strstrip (g_strdup (*line));

      if (strcmp (bare, "#pragma once") == 0)
        continue;
      if (g_str_has_prefix (bare, "#if"))
        conditional = TRUE;
      if (g_str_has_prefix (bare, "#endif"))
        conditional = FALSE;
      if (what != NULL && *what == '"')
        {
          const char *end = strchr (what + 1, '"');
          if (end == NULL)
            continue;
          g_autofree char *name = g_strndup (what + 1, end - what - 1);
          g_autofree char *full = g_canonicalize_filename (name, directory);
          if (g_str_has_prefix (name, "../tile/") && !g_file_test (full, G_FILE_TEST_EXISTS))
            {
              /* A user's own folder of blocks has no tile layer beside it. */
              g_free (full);
              full = g_canonicalize_filename (name + strlen ("../tile/"), sources->tile);
            }
          if (!add_file (sources, full, depth + 1, error))
            return FALSE;
          continue;
        }
      if (what != NULL && *what == '<' && !conditional)
        {
          const char *end = strchr (what, '>');
          if (end == NULL)
            continue;
          g_autofree char *name = g_strndup (what, end - what + 1);
          add_system (sources, name);
          continue;
        }
      g_string_append (kept, *line);
      g_string_append_c (kept, '\n');
    }

  Source *source = g_new0 (Source, 1);
  source->path = g_steal_pointer (&canonical);
  source->name = short_name (source->path);
  source->text = g_strdup (kept->str);
  g_ptr_array_add (sources->files, source);
  return TRUE;
}

gboolean
tw_sources_add (TwSources *sources, const char *path, GError **error)
{
  if (sources->tile == NULL)
    sources->tile = g_path_get_dirname (path);
  return add_file (sources, path, 0, error);
}

const GPtrArray *
tw_sources_get_system (const TwSources *sources)
{
  return sources->system;
}

/* Without empty lines at the ends and with no two in a row. */
static char *
tidy (const char *string)
{
  g_auto (GStrv) lines = g_strsplit (string, "\n", -1);
  GString *out = g_string_new (NULL);
  gboolean empty = TRUE;

  for (char **line = lines; *line != NULL; line++)
    {
      g_strchomp (*line);
      if (**line == '\0' && empty)
        continue;
      empty = **line == '\0';
      g_string_append (out, *line);
      g_string_append_c (out, '\n');
    }
  while (out->len >= 2 && out->str[out->len - 1] == '\n' && out->str[out->len - 2] == '\n')
    g_string_truncate (out, out->len - 1);
  return g_string_free (out, FALSE);
}

void
tw_sources_print (const TwSources *sources, TwText *text)
{
  for (guint i = 0; i < sources->files->len; i++)
    {
      const Source *source = g_ptr_array_index (sources->files, i);
      g_autofree char *body = tidy (source->text);

      tw_text_section (text, source->name);
      tw_text_raw (text, "\n");
      tw_text_raw (text, body);
    }
}
