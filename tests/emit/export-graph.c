/* export-graph GRAPH.xml DIRECTORY [--pack] [--prefix NAME] [--repeat N]: writes the exported
 * folder, for the test runners. --repeat times the export and prints milliseconds. Exit 0 good, 2
 * unreadable, 3 type errors, 5 output, 1 usage. */

#include "export/emit/emit.h"

#include <gio/gio.h>
#include <string.h>

static int
fail (int status, const char *what, const GError *error)
{
  g_printerr ("%s: %s\n", what, error != NULL ? error->message : "failed");
  return status;
}

int
main (int argc, char **argv)
{
  g_autofree char *prefix = NULL;
  gboolean pack = FALSE;
  int repeat = 0;
  GOptionEntry entries[] = {
    { "pack", 0, 0, G_OPTION_ARG_NONE, &pack, "fold and pack weights", NULL },
    { "prefix", 0, 0, G_OPTION_ARG_STRING, &prefix, "prefix of symbols and files", "NAME" },
    { "repeat", 0, 0, G_OPTION_ARG_INT, &repeat, "time it", "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("GRAPH DIRECTORY");
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc != 3)
    return fail (1, "usage", error);
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, &error);
  if (catalog == NULL)
    return fail (5, "blocks", error);
  g_autoptr (TwGraph) graph = tw_graph_load (argv[1], &error);
  if (graph == NULL)
    return fail (2, argv[1], error);
  const TwCheckOptions check = { "cpu" };
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, &check);
  const GPtrArray *diagnostics = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < diagnostics->len; i++)
    {
      g_autofree char *line = tw_diagnostic_to_text (g_ptr_array_index (diagnostics, i), argv[1]);
      g_printerr ("%s\n", line);
    }
  if (!tw_typing_is_good (typing))
    return 3;
  const TwPlanOptions fused = { TRUE, pack, 0 }, apart = { FALSE, FALSE, 0 };
  gint64 start = g_get_monotonic_time ();
  for (int i = 0; i <= repeat; i++)
    {
      g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &fused);
      g_autoptr (TwPlan) unfused = tw_plan (graph, catalog, &apart);
      const TwEmitOptions options = { "cpu", prefix, unfused };
      g_autoptr (GPtrArray) files = tw_emit (graph, typing, plan, catalog, &options, &error);
      if (files == NULL)
        return fail (5, argv[1], error);
      if (i > 0)
        continue;
      g_mkdir_with_parents (argv[2], 0777);
      for (guint j = 0; j < files->len; j++)
        {
          const TwEmitFile *file = g_ptr_array_index (files, j);
          g_autofree char *path = g_build_filename (argv[2], file->name, NULL);

          if (!g_file_set_contents (path, file->text, -1, &error))
            return fail (5, path, error);
        }
      start = g_get_monotonic_time ();
    }
  if (repeat > 0)
    g_print ("%.2f ms\n", 1e-3 * (double)(g_get_monotonic_time () - start) / repeat);
  return 0;
}
