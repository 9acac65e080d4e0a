/* A plan: rewriting, placing, naming; and what is asked of a plan. */
#include "plan-private.h"

#include <string.h>

const char *
tw_mainloop_get_name (TwMainloop mainloop)
{
  static const char *const names[] = { "gemm", "rows", "finish" };
  return names[mainloop];
}

/* ---- from the graph to indices ---- */
static void
add_inputs (TwPlanning *planning, TwPlanNode *n)
{
  for (int p = 0; p < n->block->n_ports; p++)
    {
      const TwPortSpec *port = &n->block->ports[p];
      const TwLink *link = port->direction == TW_DIRECTION_IN
                               ? tw_graph_get_link_to (planning->graph, n->node->id, port->id)
                               : NULL;
      int source
          = link != NULL
                ? GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->from_node)) - 1
                : -1;
      if (source < 0 || !tw_node_has_port (n->node, n->block, port))
        continue;
      TwPlanInput input = { source, link, port };
      g_array_append_val (n->inputs, input);
      g_ptr_array_add (planning->nodes[source].outputs, (gpointer)link);
    }
}

/* Known at prepare time: a weight, or computed from such alone. */
static gboolean
is_weight (const TwPlanning *planning, const TwPlanNode *n)
{
  if (n->block->kind == TW_KIND_SOURCE || n->inputs->len == 0)
    {
      for (int p = 0; p < n->block->n_ports; p++)
        {
          const TwType *type = tw_typing_get (planning->typing, n->node->id, n->block->ports[p].id);
          if (type != NULL && type->weight)
            return TRUE;
        }
      return FALSE;
    }
  for (guint i = 0; i < n->inputs->len; i++)
    if (!planning->nodes[g_array_index (n->inputs, TwPlanInput, i).source].weight)
      return FALSE;
  return TRUE;
}

/* Nodes from which an output can be reached: a set of ids. What is computed for nobody is not. */
static GHashTable *
find_live (const TwGraph *graph, const TwCatalog *catalog, const GPtrArray *order)
{
  GHashTable *live = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = order->len; i-- > 0;)
    {
      const char *id = order->pdata[i];
      const TwBlock *block = tw_catalog_get (catalog, tw_graph_get_node (graph, id)->block);
      g_autoptr (GPtrArray) links = tw_graph_get_links_from (graph, id, NULL);
      gboolean needed = block->kind == TW_KIND_SINK || block->kind == TW_KIND_SOURCE;
      for (guint k = 0; k < links->len && !needed; k++)
        needed = g_hash_table_contains (live, ((const TwLink *)links->pdata[k])->to_node);
      if (needed)
        g_hash_table_add (live, (char *)id);
    }
  return live;
}

static void
read_graph (TwPlanning *planning)
{
  g_autoptr (GPtrArray) order = tw_graph_sort (planning->graph, NULL);
  g_autoptr (GHashTable) live = find_live (planning->graph, planning->catalog, order);
  for (guint i = order->len; i-- > 0;)
    if (!g_hash_table_contains (live, order->pdata[i]))
      g_ptr_array_remove_index (order, i);
  planning->n_nodes = (int)order->len;
  planning->nodes = g_new0 (TwPlanNode, order->len + 1);
  planning->index = g_hash_table_new (g_str_hash, g_str_equal);
  for (int i = 0; i < planning->n_nodes; i++)
    {
      TwPlanNode *n = &planning->nodes[i];
      n->node = tw_graph_get_node (planning->graph, order->pdata[i]);
      n->block = tw_catalog_get (planning->catalog, n->node->block);
      n->origin = n->node->origin != NULL ? n->node->origin : n->node->id;
      n->kernel = -1;
      n->inputs = g_array_new (FALSE, FALSE, sizeof (TwPlanInput));
      n->outputs = g_ptr_array_new ();
      g_hash_table_insert (planning->index, (char *)n->node->id, GINT_TO_POINTER (i + 1));
    }
  for (int i = 0; i < planning->n_nodes; i++)
    {
      add_inputs (planning, &planning->nodes[i]);
      planning->nodes[i].weight = is_weight (planning, &planning->nodes[i]);
    }
}

static void
kernel_free (gpointer data)
{
  TwPlanKernel *kernel = data;
  g_array_unref (kernel->nodes);
  g_array_unref (kernel->needs);
  g_array_unref (kernel->users);
  g_free (kernel);
}

static void
clear (TwPlanning *planning)
{
  for (int i = 0; i < planning->n_nodes; i++)
    {
      g_array_unref (planning->nodes[i].inputs);
      g_ptr_array_unref (planning->nodes[i].outputs);
    }
  g_free (planning->nodes);
  g_hash_table_unref (planning->index);
  g_hash_table_unref (planning->sharing);
  g_hash_table_unref (planning->buffers);
  g_ptr_array_unref (planning->kernels);
}

/* Traffic with a kernel for every drawn node: each reads its operands and writes its results. */
static gint64
count_unfused (const TwGraph *graph, const TwCatalog *catalog)
{
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  double bytes = 0;
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);
      gboolean weights = TRUE;
      double node_bytes = 0;
      if (block->kind == TW_KIND_SOURCE || block->kind == TW_KIND_SINK)
        continue;
      for (int p = 0; p < block->n_ports; p++)
        {
          const TwType *type = tw_typing_get (typing, node->id, block->ports[p].id);
          if (type == NULL || !tw_node_has_port (node, block, &block->ports[p]))
            continue;
          if (block->ports[p].direction == TW_DIRECTION_OUT)
            weights &= type->weight;
          node_bytes += tw_planning_count (graph, type) * (double)tw_dtype_get_size (type->dtype);
        }
      bytes += weights ? 0 : node_bytes;
    }
  return bytes < 9e18 ? (gint64)bytes : G_MAXINT64;
}

static void
copy_diagnostics (GPtrArray *to, const GPtrArray *from)
{
  for (guint i = 0; i < from->len; i++)
    {
      const TwDiagnostic *d = from->pdata[i];
      TwDiagnostic *copy = tw_diagnostic_new (d->code, d->severity, d->node, d->port, d->line,
                                              d->message, d->found, d->expected, d->fixes[0]);
      for (int k = 1; d->fixes[0] != NULL && d->fixes[k] != NULL; k++)
        tw_diagnostic_add_fix (copy, d->fixes[k]);
      g_ptr_array_add (to, copy);
    }
}

TwPlan *
tw_plan (const TwGraph *graph, const TwCatalog *catalog, const TwPlanOptions *options)
{
  TwRewriteOptions rewriting = { .fuse = options->fuse, .pack = options->pack };
  TwPlan *plan = g_new0 (TwPlan, 1);
  plan->rewrite = tw_rewrite (graph, catalog, &rewriting);
  plan->diagnostics = tw_diagnostics_new ();
  TwPlanning planning
      = { .plan = plan,
          .catalog = catalog,
          .options = options,
          .graph = plan->rewrite->graph,
          .typing = plan->rewrite->typing,
          .kernels = g_ptr_array_new_with_free_func (kernel_free),
          .sharing = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
          .buffers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL) };
  copy_diagnostics (plan->diagnostics, plan->rewrite->diagnostics);
  read_graph (&planning);
  tw_planning_place_nodes (&planning);
  tw_planning_make_kernels (&planning);
  tw_planning_explain_edges (&planning);
  tw_planning_check_demands (&planning);
  plan->unfused_bytes = options->fuse ? count_unfused (graph, catalog) : plan->bytes;
  clear (&planning);
  return plan;
}

void
tw_plan_free (TwPlan *plan)
{
  if (plan == NULL)
    return;
  g_clear_pointer (&plan->kernels, g_ptr_array_unref);
  g_clear_pointer (&plan->buffers, g_ptr_array_unref);
  g_clear_pointer (&plan->edges, g_ptr_array_unref);
  g_clear_pointer (&plan->diagnostics, g_ptr_array_unref);
  g_clear_pointer (&plan->rewrite, tw_rewrite_free);
  g_free (plan);
}

int
tw_plan_get_buffer (const TwPlan *plan, const char *node, const char *port)
{
  for (guint i = 0; i < plan->buffers->len; i++)
    {
      const TwBuffer *buffer = plan->buffers->pdata[i];
      if (strcmp (buffer->node, node) == 0 && strcmp (buffer->port, port) == 0)
        return (int)i;
    }
  return -1;
}

gboolean
tw_kernel_has_node (const TwKernel *kernel, const char *node)
{
  for (guint i = 0; i < kernel->nodes->len; i++)
    if (strcmp (kernel->nodes->pdata[i], node) == 0)
      return TRUE;
  return FALSE;
}
