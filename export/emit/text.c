/* See text.h. */

#include "text.h"

#include <string.h>

struct _TwText
{
  GString *string;
  int indent;
};

TwText *
tw_text_new (void)
{
  TwText *text = g_new0 (TwText, 1);

  text->string = g_string_new (NULL);
  return text;
}

void
tw_text_free (TwText *text)
{
  if (text == NULL)
    return;
  g_string_free (text->string, TRUE);
  g_free (text);
}

char *
tw_text_steal (TwText *text)
{
  char *string = g_string_free (text->string, FALSE);

  g_free (text);
  return string;
}

static void
append_spaces (GString *out, int n)
{
  for (int i = 0; i < n; i++)
    g_string_append_c (out, ' ');
}

/* How good a place is for breaking before character i: 0 none, more is better. */
static int
break_rank (const char *s, gsize i)
{
  if (i == 0 || s[i - 1] != ' ')
    return 0;
  if (i >= 2 && (s[i - 2] == ',' || s[i - 2] == ';'))
    return 4;
  if (g_str_has_prefix (s + i, "&& ") || g_str_has_prefix (s + i, "|| ")
      || g_str_has_prefix (s + i, "? ") || g_str_has_prefix (s + i, ": "))
    return 4;
  if (g_str_has_prefix (s + i, "+ ") || g_str_has_prefix (s + i, "- "))
    return 3;
  if (i >= 3 && s[i - 2] == '=' && (s[i - 3] == ' ' || strchr ("+-*/", s[i - 3]) != NULL))
    return 3;
  return 1;
}

/* Appends `line` (no newline, no indentation), broken so that each part fits. */
static void
append_broken (GString *out, const char *line, int indent)
{
  int column = indent, hang = indent + 4;

  append_spaces (out, indent);
  while (strlen (line) + column > TW_TEXT_COLUMNS)
    {
      int depth = 0, best_score = -1;
      gsize best = 0;
      int best_hang = hang;
      int opens[64];
      char quote = 0;

      for (gsize i = 0; line[i] != '\0' && column + (int)i <= TW_TEXT_COLUMNS; i++)
        {
          if (quote != 0)
            {
              if (line[i] == '\\' && line[i + 1] != '\0')
                i++;
              else if (line[i] == quote)
                quote = 0;
              continue;
            }
          int rank = break_rank (line, i);
          int score = rank == 0 ? -1 : rank * 20 - 24 * depth + (int)i / 2;

          if (rank > 0 && score > best_score)
            {
              best_score = score;
              best = i;
              best_hang = depth > 0 && depth <= 64 ? opens[depth - 1] : hang;
            }
          if (line[i] == '"' || line[i] == '\'')
            quote = line[i];
          else if (line[i] == '(' || line[i] == '{')
            {
              if (depth < 64)
                opens[depth] = column + (int)i + (line[i] == '{' ? 2 : 1);
              depth++;
            }
          else if ((line[i] == ')' || line[i] == '}') && depth > 0)
            depth--;
        }
      if (best == 0)
        break;
      gsize end = best;
      while (end > 0 && line[end - 1] == ' ')
        end--;
      g_string_append_len (out, line, end);
      g_string_append_c (out, '\n');
      if (best_hang > TW_TEXT_COLUMNS - 30)
        best_hang = hang;
      append_spaces (out, best_hang);
      line += best;
      column = best_hang;
      hang = best_hang;
    }
  g_string_append (out, line);
  g_string_append_c (out, '\n');
}

static void
append_line (TwText *text, const char *line)
{
  if (*line == '\0')
    g_string_append_c (text->string, '\n');
  else if (*line == '#')
    g_string_append_printf (text->string, "%s\n", line);
  else
    append_broken (text->string, line, text->indent);
}

void
tw_text_line (TwText *text, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  append_line (text, line);
}

/* What would open or end a comment is split; control characters go. */
static char *
defuse (const char *string)
{
  GString *out = g_string_new (NULL);

  for (const char *c = string; *c != '\0'; c++)
    {
      if (g_ascii_iscntrl (*c) && *c != '\n')
        continue;
      if (*c == '\\' || (*c == '?' && c[1] == '?'))
        {
          g_string_append_c (out, *c == '?' ? '?' : '/');
          if (*c == '?')
            g_string_append_c (out, ' ');
          continue;
        }
      g_string_append_c (out, *c);
      if ((*c == '*' && c[1] == '/') || (*c == '/' && c[1] == '*'))
        g_string_append_c (out, ' ');
    }
  return g_string_free (out, FALSE);
}

void
tw_text_noted (TwText *text, const char *note, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *line = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *safe = defuse (note);

  if (text->indent + g_utf8_strlen (line, -1) + g_utf8_strlen (safe, -1) + 7 <= TW_TEXT_COLUMNS)
    {
      append_spaces (text->string, text->indent);
      g_string_append_printf (text->string, "%s /* %s */\n", line, safe);
      return;
    }
  tw_text_comment (text, "%s", note);
  append_line (text, line);
}

void
tw_text_open (TwText *text)
{
  tw_text_line (text, "{");
  text->indent += 2;
}

void
tw_text_close (TwText *text, const char *tail)
{
  text->indent -= 2;
  tw_text_line (text, "}%s", tail != NULL ? tail : "");
}

void
tw_text_indent (TwText *text, int columns)
{
  text->indent += columns;
}

int
tw_text_get_indent (const TwText *text)
{
  return text->indent;
}

void
tw_text_section (TwText *text, const char *name)
{
  g_autofree char *rule = g_strnfill (MAX (4, 88 - (int)strlen (name)), '-');

  g_string_append_printf (text->string, "\n/* ---- %s %s */\n", name, rule);
}

void
tw_text_raw (TwText *text, const char *string)
{
  g_string_append (text->string, string);
}

/* Words of one paragraph after `prefix`; `first` replaces the prefix of the first line. */
static void
fill_paragraph (GString *out, const char *first, const char *prefix, const char *paragraph,
                int reserve)
{
  g_auto (GStrv) words = g_strsplit (paragraph, " ", -1);
  int column = (int)g_utf8_strlen (first, -1);
  gboolean fresh = TRUE;

  g_string_append (out, first);
  for (char **word = words; *word != NULL; word++)
    {
      const char *rest = *word;
      int length = (int)g_utf8_strlen (rest, -1);

      if (length == 0)
        continue;
      if (!fresh && column + 1 + length + reserve > TW_TEXT_COLUMNS)
        {
          g_string_append_printf (out, "\n%s", prefix);
          column = (int)g_utf8_strlen (prefix, -1);
          fresh = TRUE;
        }
      if (!fresh)
        {
          g_string_append_c (out, ' ');
          column++;
        }
      /* A word longer than a line is cut. */
      while (column + length > TW_TEXT_COLUMNS - reserve)
        {
          int room = MAX (TW_TEXT_COLUMNS - reserve - column, 8);
          const char *cut = g_utf8_offset_to_pointer (rest, MIN (room, length));

          g_string_append_len (out, rest, cut - rest);
          rest = cut;
          length = (int)g_utf8_strlen (rest, -1);
          if (length == 0)
            break;
          g_string_append_printf (out, "\n%s", prefix);
          column = (int)g_utf8_strlen (prefix, -1);
        }
      g_string_append (out, rest);
      column += length;
      fresh = FALSE;
    }
}

void
tw_text_comment (TwText *text, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  g_autofree char *string = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_autofree char *safe = defuse (string);
  g_auto (GStrv) lines = g_strsplit (safe, "\n", -1);
  g_autofree char *indent = g_strnfill (text->indent, ' ');
  g_autofree char *first = g_strconcat (indent, "/* ", NULL);
  g_autofree char *prefix = g_strconcat (indent, "   ", NULL);

  for (char **line = lines; *line != NULL; line++)
    {
      int spaces = (int)strspn (*line, " ");
      g_autofree char *lead = g_strnfill (spaces, ' ');
      g_autofree char *start = g_strconcat (line == lines ? first : prefix, lead, NULL);
      g_autofree char *hang = g_strconcat (prefix, lead, spaces > 0 ? "    " : "", NULL);
      gsize before = text->string->len;

      fill_paragraph (text->string, start, hang, *line + spaces, line[1] == NULL ? 3 : 0);
      while (text->string->len > before && text->string->str[text->string->len - 1] == ' ')
        g_string_truncate (text->string, text->string->len - 1);
      g_string_append (text->string, line[1] == NULL ? " */\n" : "\n");
    }
}

char *
tw_text_quote (const char *string)
{
  GString *out = g_string_new ("\"");

  for (const guchar *c = (const guchar *)string; *c != '\0'; c++)
    {
      if (*c == '"' || *c == '\\' || *c == '?')
        g_string_append_printf (out, "\\%c", *c);
      else if (*c < 32 || *c > 126)
        g_string_append_printf (out, "\\%03o", *c);
      else
        g_string_append_c (out, (char)*c);
    }
  g_string_append_c (out, '"');
  return g_string_free (out, FALSE);
}

static gboolean
in_word (char c)
{
  return g_ascii_isalnum (c) || c == '_';
}

gboolean
tw_text_has_word (const char *text, const char *word)
{
  gsize length = strlen (word);

  for (const char *at = strstr (text, word); at != NULL; at = strstr (at + 1, word))
    if ((at == text || !in_word (at[-1])) && !in_word (at[length]))
      return TRUE;
  return FALSE;
}

char *
tw_text_upper (const char *string)
{
  return g_ascii_strup (string, -1);
}
