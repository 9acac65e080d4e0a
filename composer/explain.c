/* Words for people: what was drawn, what was done to it and why, what runs. */
#include "explain.h"

#include <string.h>

#define WIDTH 96

/* Appends `text`, broken between words; the first line after `first`, the others indented alike. */
static void
put_wrapped (GString *out, const char *first, const char *text)
{
  gsize indent = strlen (first);
  gsize column = indent;
  g_auto (GStrv) words = g_strsplit (text, " ", -1);
  g_string_append (out, first);
  for (int i = 0; words[i] != NULL; i++)
    {
      gsize length = (gsize)g_utf8_strlen (words[i], -1);
      if (i > 0 && column + 1 + length > WIDTH)
        {
          g_string_append_printf (out, "\n%*s", (int)indent, "");
          column = indent;
        }
      else if (i > 0)
        {
          g_string_append_c (out, ' ');
          column++;
        }
      g_string_append (out, words[i]);
      column += length;
    }
  g_string_append_c (out, '\n');
}

static char *
print_bytes (double bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  guint unit = 0;
  while (bytes >= 1024 && unit + 1 < G_N_ELEMENTS (units))
    {
      bytes /= 1024;
      unit++;
    }
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup_printf (
      "%s %s", g_ascii_formatd (number, sizeof number, unit > 0 ? "%.1f" : "%.0f", bytes),
      units[unit]);
}

static char *
print_seconds (double seconds)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  double scale = seconds < 1e-3 ? 1e6 : 1e3;
  return g_strdup_printf ("%s %s", g_ascii_formatd (number, sizeof number, "%.1f", seconds * scale),
                          seconds < 1e-3 ? "us" : "ms");
}

/* ---- the graph ---- */
char *
tw_explain_graph (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing)
{
  GString *out = g_string_new (NULL);
  g_string_append_printf (out, "%s\n", tw_graph_get_name (graph));
  if (tw_graph_get_doc (graph) != NULL)
    put_wrapped (out, "  ", tw_graph_get_doc (graph));
  for (int i = 0; i < tw_graph_get_n_dimensions (graph); i++)
    {
      const TwDimension *dim = tw_graph_get_nth_dimension (graph, i);
      g_string_append_printf (out, "  %s = %" G_GINT64_FORMAT "%s\n", dim->name, dim->value,
                              dim->dynamic ? " (each launch says)" : "");
    }
  gsize width = 0;
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    width = MAX (width, strlen (tw_graph_get_nth_node (graph, i)->id));
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);
      g_autoptr (GString) line = g_string_new (NULL);
      g_autofree char *first = g_strdup_printf ("  %-*s  ", (int)width, node->id);
      g_string_append_printf (line, "%s", node->block);
      for (int p = 0; block != NULL && p < block->n_ports; p++)
        {
          const TwLink *link = tw_graph_get_link_to (graph, node->id, block->ports[p].id);
          if (link != NULL && block->ports[p].direction == TW_DIRECTION_IN)
            g_string_append_printf (line, "%s%s = %s", strchr (line->str, '(') ? ", " : " (",
                                    block->ports[p].id, link->from_node);
        }
      if (strchr (line->str, '(') != NULL)
        g_string_append_c (line, ')');
      for (int p = 0; block != NULL && p < block->n_ports; p++)
        {
          const TwType *type = block->ports[p].direction == TW_DIRECTION_OUT
                                   ? tw_typing_get (typing, node->id, block->ports[p].id)
                                   : NULL;
          g_autofree char *text = type != NULL ? tw_type_to_text (type) : NULL;
          if (text != NULL)
            g_string_append_printf (line, " -> %s", text);
        }
      put_wrapped (out, first, line->str);
    }
  return g_string_free (out, FALSE);
}

/* ---- the derivation ---- */
static void
put_step (GString *out, const TwStep *step, guint number)
{
  g_string_append_printf (out, "\n%u. %s at %s\n", number, step->rule, step->node);
  put_wrapped (out, "   before   ", step->before);
  put_wrapped (out, "   after    ", step->after);
  put_wrapped (out, "   because  ", step->proof);
  for (int i = 0; step->conditions[i] != NULL; i++)
    put_wrapped (out, i == 0 ? "   holds    " : "            ", step->conditions[i]);
  if (step->saves != NULL && *step->saves != '\0')
    put_wrapped (out, "   saves    ", step->saves);
}

char *
tw_explain_derivation (const TwPlan *plan, const TwCatalog *catalog)
{
  const TwRewrite *rewrite = plan->rewrite;
  GString *out = g_string_new (NULL);
  if (rewrite->steps->len == 0)
    g_string_append (out, "No rule applies: what runs is what is drawn.\n");
  for (guint i = 0; i < rewrite->steps->len; i++)
    put_step (out, rewrite->steps->pdata[i], i + 1);
  if (rewrite->refusals->len > 0)
    g_string_append (out, "\nNot done:\n");
  for (guint i = 0; i < rewrite->refusals->len; i++)
    {
      const TwRefusal *refusal = rewrite->refusals->pdata[i];
      g_autofree char *first = g_strdup_printf ("  %s at %s: ", refusal->rule, refusal->node);
      g_autofree char *line = g_strconcat (first + 2, refusal->reason, NULL);
      put_wrapped (out, "  ", line);
    }
  return g_string_free (out, FALSE);
}

/* ---- the plan ---- */
static char *
list_buffers (const TwPlan *plan, const TwKernel *kernel, gboolean reads)
{
  g_autoptr (GString) out = g_string_new (NULL);
  guint n = reads ? kernel->reads->len : kernel->stores->len;
  for (guint i = 0; i < n; i++)
    {
      int index = reads ? g_array_index (kernel->reads, int, i)
                        : g_array_index (kernel->stores, TwStore, i).buffer;
      const TwBuffer *buffer = plan->buffers->pdata[index];
      g_autofree char *type = tw_type_to_text (buffer->type);
      g_string_append_printf (out, "%s%s %s", i > 0 ? ", " : "", buffer->name, type);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
put_kernel (GString *out, const TwPlan *plan, const TwKernel *kernel, const TwMachine *machine)
{
  static const char *const what[] = { "a matrix product and its epilogue",
                                      "rows streamed, no product", "numbers per row only" };
  g_autofree char *reads = list_buffers (plan, kernel, TRUE);
  g_autofree char *writes = list_buffers (plan, kernel, FALSE);
  g_autofree char *nodes = NULL;
  g_autofree char *bytes = print_bytes ((double)kernel->bytes);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (guint i = 0; i < kernel->nodes->len; i++)
    g_ptr_array_add (names, kernel->nodes->pdata[i]);
  g_ptr_array_add (names, NULL);
  nodes = g_strjoinv (" -> ", (char **)names->pdata);
  g_string_append_printf (out, "\n%s: %s%s\n", kernel->name, what[kernel->mainloop],
                          kernel->prepare ? ", once, on weights" : "");
  put_wrapped (out, "   computes ", nodes);
  put_wrapped (out, "   reads    ", reads);
  put_wrapped (out, "   writes   ", writes);
  g_string_append_printf (out, "   traffic  %s", bytes);
  if (machine != NULL)
    {
      g_autofree char *time = print_seconds (tw_cost_kernel (kernel, plan, machine));
      g_string_append_printf (out, ", modelled %s on %s", time, machine->label);
    }
  g_string_append_c (out, '\n');
}

static void
put_edges (GString *out, const TwPlan *plan)
{
  gboolean any = FALSE;
  for (guint i = 0; i < plan->edges->len; i++)
    {
      const TwEdge *edge = plan->edges->pdata[i];
      if (strcmp (edge->where, "memory") != 0)
        continue;
      if (!any)
        g_string_append (out, "\nWhat goes through memory, and why:\n");
      any = TRUE;
      g_autofree char *line = g_strdup_printf ("%s -> %s: %s", edge->from, edge->to, edge->reason);
      put_wrapped (out, "  ", line);
    }
  any = FALSE;
  for (guint i = 0; i < plan->edges->len; i++)
    {
      const TwEdge *edge = plan->edges->pdata[i];
      if (strcmp (edge->where, "prologue") != 0)
        continue;
      if (!any)
        g_string_append (out, "\nWhat is computed where it is read:\n");
      any = TRUE;
      g_autofree char *line = g_strdup_printf ("%s -> %s: %s", edge->from, edge->to, edge->reason);
      put_wrapped (out, "  ", line);
    }
}

char *
tw_explain_plan (const TwPlan *plan, const TwCatalog *catalog, const TwMachine *machine)
{
  GString *out = g_string_new (NULL);
  guint launches = 0;
  for (guint i = 0; i < plan->kernels->len; i++)
    launches += !((const TwKernel *)plan->kernels->pdata[i])->prepare;
  g_string_append_printf (out, "%u %s a launch", launches, launches == 1 ? "kernel" : "kernels");
  if (launches < plan->kernels->len)
    g_string_append_printf (out, ", %u once on weights", plan->kernels->len - launches);
  g_string_append (out, ".\n");
  for (guint i = 0; i < plan->kernels->len; i++)
    put_kernel (out, plan, plan->kernels->pdata[i], machine);
  put_edges (out, plan);
  g_autofree char *bytes = print_bytes ((double)plan->bytes);
  g_autofree char *unfused = print_bytes ((double)plan->unfused_bytes);
  g_string_append_printf (
      out, "\nMemory traffic of a launch: %s; with a kernel for every drawn node: %s", bytes,
      unfused);
  if (plan->unfused_bytes > plan->bytes)
    g_string_append_printf (
        out, " (%d %% saved)",
        (int)(100.0 * (1.0 - (double)plan->bytes / (double)plan->unfused_bytes) + 0.5));
  g_string_append (out, ".\n");
  if (machine != NULL)
    {
      g_autofree char *time = print_seconds (tw_cost_plan (plan, machine));
      g_string_append_printf (out, "Modelled time on %s: %s.\n", machine->label, time);
    }
  return g_string_free (out, FALSE);
}
