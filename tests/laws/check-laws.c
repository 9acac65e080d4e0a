/* Measures the laws of descriptors: check-laws [--seeds N] FILE...
 *
 * One line per file: "good FILE", "red FILE: message", "none FILE" (nothing to measure) or
 * "unreadable FILE: message". Exit status 0 if every file is good or none, 1 otherwise. */
#include "composer/law.h"

static int n_seeds = 1, first_seed = 1;
static char **files = NULL;
static const GOptionEntry options[] = {
  { "seeds", 0, 0, G_OPTION_ARG_INT, &n_seeds, "Seeds to try", "N" },
  { "first-seed", 0, 0, G_OPTION_ARG_INT, &first_seed, "The first of them", "N" },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "FILE..." },
  { NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL },
};

static gboolean
check_file (const char *path)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwBlock) block = tw_block_load (path, &error);
  if (!block)
    {
      g_print ("unreadable %s: %s\n", path, error->message);
      return FALSE;
    }
  if (!block->formula)
    {
      g_print ("none %s\n", path);
      return TRUE;
    }
  for (int i = 0; i < n_seeds; i++)
    {
      g_autoptr (GPtrArray) diagnostics = tw_law_check (block, (guint32)(first_seed + i));
      if (diagnostics->len)
        {
          const TwDiagnostic *first = diagnostics->pdata[0];
          g_print ("red %s: seed %d: %s: %s\n", path, first_seed + i, first->code, first->message);
          for (guint j = 1; j < diagnostics->len; j++)
            {
              const TwDiagnostic *next = diagnostics->pdata[j];
              g_print ("  and %s: %s\n", next->code, next->message);
            }
          return FALSE;
        }
    }
  g_print ("good %s\n", path);
  return TRUE;
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, options, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || !files)
    {
      g_printerr ("%s\n", error ? error->message : "no file given");
      return 2;
    }
  gboolean good = TRUE;
  for (int i = 0; files[i]; i++)
    good = check_file (files[i]) && good;
  g_strfreev (files);
  return good ? 0 : 1;
}
