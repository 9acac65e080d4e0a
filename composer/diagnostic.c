#include "diagnostic.h"

#include <string.h>

TwDiagnostic *
tw_diagnostic_new (const char *code, TwSeverity severity, const char *node, const char *port,
                   int line, const char *message, const char *found, const char *expected,
                   const char *fix)
{
  TwDiagnostic *diagnostic = g_new0 (TwDiagnostic, 1);
  diagnostic->code = g_strdup (code);
  diagnostic->severity = severity;
  diagnostic->node = g_strdup (node);
  diagnostic->port = g_strdup (port);
  diagnostic->message = g_strdup (message);
  diagnostic->found = g_strdup (found);
  diagnostic->expected = g_strdup (expected);
  diagnostic->fixes = g_new0 (char *, 1);
  diagnostic->line = line;
  if (fix != NULL)
    tw_diagnostic_add_fix (diagnostic, fix);
  return diagnostic;
}

void
tw_diagnostic_add_fix (TwDiagnostic *diagnostic, const char *fix)
{
  guint n = g_strv_length (diagnostic->fixes);
  diagnostic->fixes = g_renew (char *, diagnostic->fixes, n + 2);
  diagnostic->fixes[n] = g_strdup (fix);
  diagnostic->fixes[n + 1] = NULL;
}

void
tw_diagnostic_free (TwDiagnostic *diagnostic)
{
  if (diagnostic == NULL)
    return;
  g_free (diagnostic->code);
  g_free (diagnostic->node);
  g_free (diagnostic->port);
  g_free (diagnostic->message);
  g_free (diagnostic->found);
  g_free (diagnostic->expected);
  g_strfreev (diagnostic->fixes);
  g_free (diagnostic);
}

/* TRUE if the message names the node itself, first. */
static gboolean
starts_with (const char *message, const char *node)
{
  gsize n = strlen (node);
  return strncmp (message, node, n) == 0 && !g_ascii_isalnum (message[n]) && message[n] != '_';
}

char *
tw_diagnostic_to_text (const TwDiagnostic *diagnostic, const char *file)
{
  static const char *const severities[] = { "error", "warning", "note" };
  GString *text = g_string_new (NULL);
  if (file != NULL)
    g_string_append_printf (text, "%s:", file);
  if (file != NULL && diagnostic->line > 0)
    g_string_append_printf (text, "%d:", diagnostic->line);
  if (file != NULL)
    g_string_append_c (text, ' ');
  g_string_append_printf (text, "%s: ", severities[diagnostic->severity]);
  if (diagnostic->node != NULL && !starts_with (diagnostic->message, diagnostic->node))
    {
      g_string_append (text, diagnostic->node);
      if (diagnostic->port != NULL)
        g_string_append_printf (text, ".%s", diagnostic->port);
      g_string_append (text, ": ");
    }
  g_string_append (text, diagnostic->message);
  if (diagnostic->found != NULL && diagnostic->expected != NULL)
    g_string_append_printf (text, " (found %s; needed %s)", diagnostic->found,
                            diagnostic->expected);
  else if (diagnostic->found != NULL)
    g_string_append_printf (text, " (found %s)", diagnostic->found);
  else if (diagnostic->expected != NULL)
    g_string_append_printf (text, " (needed %s)", diagnostic->expected);
  for (int i = 0; diagnostic->fixes[i] != NULL; i++)
    g_string_append_printf (text, "%s%s", i == 0 ? ". " : "; or ", diagnostic->fixes[i]);
  g_string_append_printf (text, " [%s]", diagnostic->code);
  return g_string_free (text, FALSE);
}

GPtrArray *
tw_diagnostics_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify)tw_diagnostic_free);
}

gboolean
tw_diagnostics_have_error (const GPtrArray *diagnostics)
{
  for (guint i = 0; i < diagnostics->len; i++)
    if (((const TwDiagnostic *)diagnostics->pdata[i])->severity == TW_SEVERITY_ERROR)
      return TRUE;
  return FALSE;
}

#define MAX_NAME 63

/* Edits (insert, delete, replace, exchange neighbours), case not counted. */
static guint
edit_distance (const char *a, const char *b)
{
  gsize m = strlen (a), n = strlen (b);
  guint rows[3][MAX_NAME + 1];
  guint *before = rows[0], *last = rows[1], *row = rows[2];
  for (gsize j = 0; j <= n; j++)
    last[j] = (guint)j;
  for (gsize i = 1; i <= m; i++)
    {
      row[0] = (guint)i;
      for (gsize j = 1; j <= n; j++)
        {
          guint differ = g_ascii_tolower (a[i - 1]) != g_ascii_tolower (b[j - 1]);
          row[j] = MIN (MIN (last[j], row[j - 1]) + 1, last[j - 1] + differ);
          if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            row[j] = MIN (row[j], before[j - 2] + 1);
        }
      guint *reused = before;
      before = last;
      last = row;
      row = reused;
    }
  return last[n];
}

const char *
tw_nearest_name (const char *name, const char *const *candidates)
{
  gsize length = strlen (name);
  const char *nearest = NULL;
  guint best = G_MAXUINT;
  if (length == 0 || length > MAX_NAME)
    return NULL;
  for (int i = 0; candidates[i] != NULL; i++)
    {
      gsize n = strlen (candidates[i]);
      if (n == 0 || n > MAX_NAME)
        continue;
      guint distance = edit_distance (name, candidates[i]);
      if (distance < best && distance <= MAX (length, n) / 3 + 1 && distance < MAX (length, n))
        {
          best = distance;
          nearest = candidates[i];
        }
    }
  return nearest;
}
