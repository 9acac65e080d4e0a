/* Where the value of each link lies, and why, in words. */
#include "plan-private.h"

#include <string.h>

static void
edge_free (gpointer data)
{
  TwEdge *edge = data;
  g_free (edge->from);
  g_free (edge->to);
  g_free (edge->reason);
  g_free (edge);
}

static const TwPlanKernel *
get_kernel (const TwPlanning *planning, int kernel)
{
  return kernel >= 0 ? planning->kernels->pdata[kernel] : NULL;
}

static const char *
get_kernel_name (const TwPlanning *planning, int kernel)
{
  return kernel >= 0 ? get_kernel (planning, kernel)->result->name : "the caller";
}

/* The kernel in which a reader reads. A finish is read for by each of its own readers: one apart
 * from the kernel `made` tells why the value is stored. */
static int
get_reader_kernel (const TwPlanning *planning, int reader, int made)
{
  const TwPlanNode *n = &planning->nodes[reader];
  int kernel = n->kernel;
  if (!tw_planning_is_prologue (planning, reader))
    return kernel;
  for (guint i = 0; i < n->outputs->len && (kernel < 0 || kernel == made); i++)
    {
      const TwLink *link = n->outputs->pdata[i];
      int to = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->to_node)) - 1;
      if (to >= 0 && planning->nodes[to].kernel >= 0)
        kernel = planning->nodes[to].kernel;
    }
  return kernel;
}

/* TRUE if the kernel gathers the very statistic that a finish turns into a number. */
static gboolean
is_gathered_in (const TwPlanning *planning, int finish, int kernel)
{
  const GArray *inputs = planning->nodes[finish].inputs;
  return inputs->len > 0
         && planning->nodes[g_array_index (inputs, TwPlanInput, 0).source].kernel == kernel;
}

static char *
explain_memory (const TwPlanning *planning, const TwPlanNode *source, const TwPlanNode *reader,
                const TwPlanInput *input, int kernel)
{
  const char *from = source->node->id, *to = reader->node->id;
  const TwPlanKernel *made = get_kernel (planning, source->kernel);
  const TwPlanKernel *read = get_kernel (planning, kernel);
  const TwType *type = tw_planning_get_type (planning, input->link);
  if (source->weight)
    return g_strdup_printf ("%s is computed from weights once, by prepare, and kept", from);
  if (!planning->options->fuse)
    return g_strdup ("every drawn node is a kernel of its own (--fuse none)");
  if (reader->block->kind == TW_KIND_FINISH && type->group > 0)
    return g_strdup_printf (
        "each tile of %s sees %" G_GINT64_FORMAT
        " columns of a row and stores its partial; %s adds "
        "the partials of the whole row, which are all there only when %s has ended",
        get_kernel_name (planning, source->kernel), type->group, to,
        get_kernel_name (planning, source->kernel));
  if (reader->block->kind == TW_KIND_FINISH || source->block->kind == TW_KIND_FINISH)
    return g_strdup_printf (
        "%s is one number per row, complete when %s has passed over the row, and "
        "read by %s",
        from, get_kernel_name (planning, source->kernel), get_kernel_name (planning, kernel));
  if (reader->block->kind == TW_KIND_CONTRACTION && made != NULL
      && made->mainloop == TW_MAINLOOP_ROWS)
    return g_strdup_printf (
        "the product %s reads each row of %s once for every tile of its columns; "
        "%s makes the rows once, before",
        to, from, made->result->name);
  if (reader->block->kind == TW_KIND_CONTRACTION)
    return g_strdup_printf (
        "the product %s sums over whole rows of %s, and the tiles of %s that make "
        "a row end at different times",
        to, from, get_kernel_name (planning, source->kernel));
  if (reader->block->kind == TW_KIND_STATISTIC && type->statistic == NULL && made != NULL
      && made->mainloop == TW_MAINLOOP_GEMM)
    return g_strdup_printf ("%s needs the whole row of %s at once; a tile of %s holds a part of it",
                            to, from, made->result->name);
  if (made != NULL && read != NULL && read->level > made->level)
    return g_strdup_printf (
        "%s also reads what is made after %s has ended, so it is computed in %s", to,
        made->result->name, read->result->name);
  return g_strdup_printf ("%s is computed in %s and read in %s, which walk different matrices",
                          from, get_kernel_name (planning, source->kernel),
                          get_kernel_name (planning, kernel));
}

static void
add_edge (TwPlanning *planning, int reader, const TwPlanInput *input)
{
  const TwPlanNode *n = &planning->nodes[reader], *source = &planning->nodes[input->source];
  int kernel = get_reader_kernel (planning, reader, source->kernel);
  TwEdge *edge = g_new0 (TwEdge, 1);
  edge->from = tw_planning_key (input->link->from_node, input->link->from_port);
  edge->to = tw_planning_key (input->link->to_node, input->link->to_port);
  edge->fuse_required = input->link->fuse_required;
  if (source->block->kind == TW_KIND_SOURCE && n->block->kind != TW_KIND_SINK)
    {
      edge->where = "argument";
      edge->reason = g_strdup_printf ("%s is %s of the caller's", source->node->id,
                                      source->weight ? "a weight" : "an input");
    }
  else if (n->block->kind == TW_KIND_SINK)
    {
      edge->where = "memory";
      edge->reason = g_strdup_printf ("the caller wants %s", n->node->id);
    }
  else if (tw_planning_is_prologue (planning, input->source)
           && !is_gathered_in (planning, input->source, kernel))
    {
      edge->where = "prologue";
      edge->reason
          = g_strdup_printf ("%s is computed once for the rows of a tile, where it is read: "
                             "in the prologue of %s",
                             source->node->id, get_kernel_name (planning, kernel));
    }
  else if (source->kernel == kernel || tw_planning_is_prologue (planning, input->source))
    {
      edge->where = "register";
      edge->reason = g_strdup_printf ("%s and %s are both in %s", source->node->id, n->node->id,
                                      get_kernel_name (planning, kernel));
    }
  else
    {
      edge->where = "memory";
      edge->reason = explain_memory (planning, source, n, input, kernel);
    }
  g_ptr_array_add (planning->plan->edges, edge);
}

void
tw_planning_explain_edges (TwPlanning *planning)
{
  planning->plan->edges = g_ptr_array_new_with_free_func (edge_free);
  for (int i = 0; i < planning->n_nodes; i++)
    for (guint k = 0; k < planning->nodes[i].inputs->len; k++)
      add_edge (planning, i, &g_array_index (planning->nodes[i].inputs, TwPlanInput, k));
}

static const TwPlanNode *
find_node (const TwPlanning *planning, const char *id)
{
  return &planning->nodes[GPOINTER_TO_INT (g_hash_table_lookup (planning->index, id)) - 1];
}

void
tw_planning_check_demands (TwPlanning *planning)
{
  TwPlan *plan = planning->plan;
  int launches = 0;
  GString *names = NULL;
  for (guint i = 0; i < plan->edges->len; i++)
    {
      const TwEdge *edge = plan->edges->pdata[i];
      if (!edge->fuse_required || strcmp (edge->where, "memory") != 0)
        continue;
      g_auto (GStrv) to = g_strsplit (edge->to, ".", 2);
      const TwLink *link = tw_graph_get_link_to (planning->graph, to[0], to[1]);
      g_autofree char *message = g_strdup_printf ("%s -> %s cannot be fused as demanded: %s",
                                                  edge->from, edge->to, edge->reason);
      /* Where the rewritten node is none of the drawing's, the drawn one is named. */
      const TwPlanNode *reader = find_node (planning, to[0]);
      gboolean drawn = strcmp (reader->origin, to[0]) == 0;
      g_ptr_array_add (plan->diagnostics,
                       tw_diagnostic_new ("fuse-demand", TW_SEVERITY_ERROR, reader->origin,
                                          drawn ? to[1] : NULL, link != NULL ? link->line : 0,
                                          message, "a trip through memory", "fused",
                                          "take fuse=\"required\" off the link, or redraw what "
                                          "stands between the two"));
    }
  for (guint i = 0; i < plan->kernels->len; i++)
    {
      const TwKernel *kernel = plan->kernels->pdata[i];
      if (kernel->prepare)
        continue;
      launches++;
      if (names == NULL)
        names = g_string_new (kernel->name);
      else
        g_string_append_printf (names, ", %s", kernel->name);
    }
  if (planning->options->max_kernels > 0 && launches > planning->options->max_kernels)
    {
      g_autofree char *found = g_strdup_printf ("%d: %s", launches, names->str);
      g_autofree char *needed = g_strdup_printf ("at most %d", planning->options->max_kernels);
      const TwEdge *first = NULL;
      for (guint i = 0; i < plan->edges->len && first == NULL; i++)
        {
          const TwEdge *edge = plan->edges->pdata[i];
          if (strcmp (edge->where, "memory") == 0 && !g_str_has_prefix (edge->reason, "the caller"))
            first = edge;
        }
      g_autofree char *message
          = first != NULL ? g_strdup_printf (
                "the graph needs more kernels than allowed; the first boundary is "
                "%s -> %s: %s",
                first->from, first->to, first->reason)
                          : g_strdup ("the graph needs more kernels than allowed");
      g_ptr_array_add (plan->diagnostics,
                       tw_diagnostic_new ("too-many-kernels", TW_SEVERITY_ERROR, NULL, NULL, 0,
                                          message, found, needed,
                                          "allow more kernels, or redraw at one of the boundaries "
                                          "that explain lists"));
    }
  if (names != NULL)
    g_string_free (names, TRUE);
}
