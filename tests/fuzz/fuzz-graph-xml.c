/* Mutated drawings: load, check, report, plan if good, write, read again. What must hold: a refusal
 * has a message, a list of diagnostics is complete, a canonical text is a fixed point, and a graph
 * that was read while memory ran out is the graph that the text says. */
#include "composer/report.h"
#include "config.h"
#include "fuzz.h"

#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  gint64 refused, wrong, good, planned, unplanned, failed_allocations;
} Counts;

static void
require (gboolean holds, const char *what, const GString *text)
{
  if (holds)
    return;
  fprintf (stderr, "%s:\n%s\n", what, text->str);
  abort ();
}

static void
check_diagnostics (const GPtrArray *diagnostics, const GString *text)
{
  for (guint i = 0; i < diagnostics->len; i++)
    {
      const TwDiagnostic *d = g_ptr_array_index (diagnostics, i);
      require (d->code != NULL && d->message != NULL && d->fixes != NULL, "diagnostic", text);
      require (d->severity != TW_SEVERITY_ERROR || d->fixes[0] != NULL, "error without a fix",
               text);
      g_autofree char *line = tw_diagnostic_to_text (d, "x.xml");
      require (g_utf8_validate (line, -1, NULL), "text is not UTF-8", text);
    }
  g_autofree char *json = tw_report_check (diagnostics);
  require (json != NULL && json[0] == '{', "report", text);
}

static void
plan (Fuzz *fuzz, const TwGraph *graph, const TwCatalog *catalog, const GString *text,
      Counts *counts)
{
  TwPlanOptions options = { .fuse = fuzz_below (fuzz, 4) > 0, .pack = fuzz_below (fuzz, 2) == 0 };
  g_autoptr (TwPlan) result = tw_plan (graph, catalog, &options);
  if (result == NULL)
    {
      counts->unplanned++;
      return;
    }
  counts->planned++;
  check_diagnostics (result->diagnostics, text);
  g_autofree char *json = tw_report_plan (result);
  require (json != NULL && json[0] == '{', "plan report", text);
}

static void
try_case (Fuzz *fuzz, const TwCatalog *catalog, const GString *text, Counts *counts)
{
  g_autoptr (GError) error = NULL;
  counts->failed_allocations += fuzz_parse (fuzz, text);
  g_autoptr (TwGraph) graph = tw_graph_parse (text->str, text->len, &error);
  require ((graph != NULL) == (error == NULL), "graph and error", text);
  if (graph == NULL)
    {
      require (error->message != NULL && error->message[0] != '\0', "no message", text);
      counts->refused++;
      return;
    }
  g_autofree char *xml = tw_graph_to_xml (graph);
  g_autoptr (TwGraph) again = tw_graph_parse (xml, strlen (xml), &error);
  if (again == NULL)
    {
      fprintf (stderr, "%s\n%s\n", error->message, xml);
      require (FALSE, "what was written cannot be read", text);
    }
  g_autofree char *twice = tw_graph_to_xml (again);
  require (strcmp (xml, twice) == 0, "canonical text is no fixed point", text);
  g_autoptr (TwGraph) copy = tw_graph_copy (graph);
  g_autofree char *copied = tw_graph_to_xml (copy);
  require (strcmp (xml, copied) == 0, "copy differs", text);
  TwCheckOptions options = { fuzz_below (fuzz, 2) == 0 ? "cpu" : NULL };
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, &options);
  check_diagnostics (tw_typing_get_diagnostics (typing), text);
  if (!tw_typing_is_good (typing))
    {
      counts->wrong++;
      return;
    }
  counts->good++;
  plan (fuzz, graph, catalog, text, counts);
}

int
main (int argc, char **argv)
{
  Fuzz fuzz;
  if (!fuzz_init (&fuzz, &argc, &argv))
    return 1;
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, &error);
  if (catalog == NULL)
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  fuzz_add_files (&fuzz, TW_SOURCE_ROOT "/examples", ".xml");
  Counts counts = { 0 };
  for (gint64 i = 0; i < fuzz.count; i++)
    {
      GString *text = fuzz_next (&fuzz, TRUE);
      try_case (&fuzz, catalog, text, &counts);
      g_string_free (text, TRUE);
    }
  printf ("graph-xml: seed %u, %" G_GINT64_FORMAT " cases: %" G_GINT64_FORMAT " refused, "
          "%" G_GINT64_FORMAT " with errors, %" G_GINT64_FORMAT " good, %" G_GINT64_FORMAT
          " planned, %" G_GINT64_FORMAT " not planned",
          fuzz.seed, fuzz.count, counts.refused, counts.wrong, counts.good, counts.planned,
          counts.unplanned);
  if (fuzz.oom)
    printf (", %" G_GINT64_FORMAT " with failed allocations", counts.failed_allocations);
  printf ("\n");
  /* A fuzzer that never gets past the reader, or never fails an allocation, tests nothing. */
  gboolean useful = fuzz.count < 500
                    || (counts.good > 0 && counts.wrong > 0 && counts.refused > 0
                        && (!fuzz.oom || counts.failed_allocations > 0));
  fuzz_clear (&fuzz);
  return useful ? 0 : 1;
}
