/* How long checking and planning take on generated graphs of a given size: a deep one (layers of a
 * Transformer's MLP one after the other), a wide one (one value read by all), and a long chain in
 * one kernel. Prints the median of some runs each and fails where it is over the limit.
 *
 * usage: plan-graph [NODES [LIMIT_MS]] */
#include "composer/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 9

typedef struct
{
  GString *nodes, *links;
  int n;
} Drawing;

static void G_GNUC_PRINTF (3, 4)
    add_node (Drawing *drawing, const char *block, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *id = g_strdup_vprintf (format, args);
  va_end (args);
  const char *params = "";
  if (strcmp (block, "input") == 0)
    params = "<param name=\"dtype\" value=\"bf16\"/><param name=\"shape\" value=\"T, 256\"/>";
  else if (strcmp (block, "weight") == 0)
    params
        = id[0] == 'g'
              ? "<param name=\"dtype\" value=\"bf16\"/><param name=\"shape\" value=\"256\"/>"
              : "<param name=\"dtype\" value=\"bf16\"/><param name=\"shape\" value=\"256, 256\"/>";
  else if (strcmp (block, "rms_norm") == 0)
    params = "<param name=\"eps\" value=\"1e-6\"/><param name=\"gamma\" value=\"plain\"/>";
  g_string_append_printf (drawing->nodes, "<node id=\"%s\" block=\"%s\">%s</node>\n", id, block,
                          params);
  drawing->n++;
}

static void G_GNUC_PRINTF (2, 3) add_link (Drawing *drawing, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *ends = g_strdup_vprintf (format, args);
  va_end (args);
  g_auto (GStrv) words = g_strsplit (ends, " ", 2);
  g_string_append_printf (drawing->links, "<link from=\"%s\" to=\"%s\"/>\n", words[0], words[1]);
}

static void
draw_deep (Drawing *drawing, int nodes)
{
  add_node (drawing, "input", "y0");
  int i = 1;
  for (; drawing->n + 11 < nodes; i++)
    {
      add_node (drawing, "weight", "g%d", i);
      add_node (drawing, "rms_norm", "n%d", i);
      add_node (drawing, "weight", "wa%d", i);
      add_node (drawing, "weight", "wb%d", i);
      add_node (drawing, "weight", "wc%d", i);
      add_node (drawing, "gemm", "a%d", i);
      add_node (drawing, "gemm", "b%d", i);
      add_node (drawing, "swiglu", "o%d", i);
      add_node (drawing, "gemm", "c%d", i);
      add_node (drawing, "add", "y%d", i);
      add_link (drawing, "y%d.y n%d.x", i - 1, i);
      add_link (drawing, "g%d.y n%d.g", i, i);
      add_link (drawing, "n%d.y a%d.a", i, i);
      add_link (drawing, "wa%d.y a%d.b", i, i);
      add_link (drawing, "n%d.y b%d.a", i, i);
      add_link (drawing, "wb%d.y b%d.b", i, i);
      add_link (drawing, "a%d.y o%d.gate", i, i);
      add_link (drawing, "b%d.y o%d.up", i, i);
      add_link (drawing, "o%d.y c%d.a", i, i);
      add_link (drawing, "wc%d.y c%d.b", i, i);
      add_link (drawing, "c%d.y y%d.a", i, i);
      add_link (drawing, "y%d.y y%d.b", i - 1, i);
    }
  add_node (drawing, "output", "out");
  add_link (drawing, "y%d.y out.x", i - 1);
}

static void
draw_wide (Drawing *drawing, int nodes)
{
  add_node (drawing, "input", "x");
  add_node (drawing, "weight", "g");
  add_node (drawing, "rms_norm", "n");
  add_link (drawing, "x.y n.x");
  add_link (drawing, "g.y n.g");
  for (int i = 0; drawing->n + 4 <= nodes; i++)
    {
      add_node (drawing, "weight", "w%d", i);
      add_node (drawing, "gemm", "h%d", i);
      add_node (drawing, "silu", "a%d", i);
      add_node (drawing, "output", "o%d", i);
      add_link (drawing, "n.y h%d.a", i);
      add_link (drawing, "w%d.y h%d.b", i, i);
      add_link (drawing, "h%d.y a%d.x", i, i);
      add_link (drawing, "a%d.y o%d.x", i, i);
    }
}

static void
draw_chain (Drawing *drawing, int nodes)
{
  add_node (drawing, "input", "a0");
  int i = 1;
  for (; drawing->n + 1 < nodes; i++)
    {
      add_node (drawing, "silu", "a%d", i);
      add_link (drawing, "a%d.y a%d.x", i - 1, i);
    }
  add_node (drawing, "output", "out");
  add_link (drawing, "a%d.y out.x", i - 1);
}

static TwGraph *
make_graph (void (*draw) (Drawing *drawing, int nodes), int nodes, const char *name, GError **error)
{
  Drawing drawing = { g_string_new (NULL), g_string_new (NULL), 0 };
  draw (&drawing, nodes);
  g_autofree char *xml = g_strdup_printf (
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph format=\"1\" name=\"%s\">\n"
      "<dimension name=\"T\" kind=\"dynamic\" value=\"512\" min=\"0\" "
      "max=\"65536\"/>\n%s%s</graph>\n",
      name, drawing.nodes->str, drawing.links->str);
  g_string_free (drawing.nodes, TRUE);
  g_string_free (drawing.links, TRUE);
  return tw_graph_parse (xml, strlen (xml), error);
}

static int
compare (const void *a, const void *b)
{
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

/* FALSE: over the limit, or no graph that checks. */
static gboolean
bench (const char *name, const TwGraph *graph, const TwCatalog *catalog, double limit)
{
  double checks[RUNS], both[RUNS];
  guint kernels = 0, steps = 0;
  for (int i = 0; i < RUNS; i++)
    {
      TwPlanOptions options = { .fuse = TRUE };
      gint64 begin = g_get_monotonic_time ();
      g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
      gint64 checked = g_get_monotonic_time ();
      if (!tw_typing_is_good (typing))
        {
          g_autofree char *text
              = tw_diagnostic_to_text (tw_typing_get_diagnostics (typing)->pdata[0], name);
          fprintf (stderr, "%s\n", text);
          return FALSE;
        }
      g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &options);
      gint64 end = g_get_monotonic_time ();
      checks[i] = (double)(checked - begin) / 1e3;
      both[i] = (double)(end - begin) / 1e3;
      kernels = plan->kernels->len;
      steps = plan->rewrite->steps->len;
    }
  qsort (checks, RUNS, sizeof checks[0], compare);
  qsort (both, RUNS, sizeof both[0], compare);
  gboolean good = both[RUNS / 2] < limit;
  printf ("%-5s %5d nodes, %4u steps, %4u kernels: check %6.1f ms, check and plan %6.1f ms%s\n",
          name, tw_graph_get_n_nodes (graph), steps, kernels, checks[RUNS / 2], both[RUNS / 2],
          good ? "" : "  OVER THE LIMIT");
  return good;
}

int
main (int argc, char **argv)
{
  static const struct
  {
    const char *name;
    void (*draw) (Drawing *drawing, int nodes);
  } shapes[] = { { "deep", draw_deep }, { "wide", draw_wide }, { "chain", draw_chain } };
  int nodes = argc > 1 ? atoi (argv[1]) : 1000, failed = 0;
  double limit = argc > 2 ? atof (argv[2]) : 50;
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, &error);
  for (guint i = 0; i < G_N_ELEMENTS (shapes) && error == NULL; i++)
    {
      g_autoptr (TwGraph) graph = make_graph (shapes[i].draw, nodes, shapes[i].name, &error);
      if (graph != NULL)
        failed += !bench (shapes[i].name, graph, catalog, limit);
    }
  if (error != NULL)
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  printf ("%d passed, %d failed\n", (int)G_N_ELEMENTS (shapes) - failed, failed);
  return failed > 0;
}
