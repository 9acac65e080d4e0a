/* Kernels in launch order, what each reads and stores, and memory shared by values that do not live
 * at the same time. */
#include "plan-private.h"

#include <string.h>

typedef struct
{
  TwPlanning *planning;
  GArray *last_use;  /* per buffer: the last kernel that reads it, -1: none */
  GArray *made_by;   /* per buffer: the kernel that stores it, -1: the caller */
  GHashTable *names; /* of buffers */
} Maker;

char *
tw_planning_key (const char *node, const char *port)
{
  return g_strconcat (node, ".", port, NULL);
}

static double
get_extent (const TwGraph *graph, const TwDim *dim)
{
  return dim != NULL ? (double)tw_graph_get_extent (graph, dim) : 1;
}

double
tw_planning_count (const TwGraph *graph, const TwType *type)
{
  double count = 1;
  for (int i = 0; i < type->n_dims; i++)
    count *= get_extent (graph, type->dims[i]);
  return count;
}

static double
get_bytes (const TwGraph *graph, const TwType *type)
{
  return tw_planning_count (graph, type) * (double)tw_dtype_get_size (type->dtype);
}

static gint64
to_integer (double value)
{
  return value < 9e18 ? (gint64)value : G_MAXINT64;
}

/* ---- buffers ---- */
static void
buffer_free (gpointer data)
{
  TwBuffer *buffer = data;
  g_free (buffer->name);
  g_free (buffer->node);
  g_free (buffer->port);
  g_free (buffer);
}

static void
kernel_free (gpointer data)
{
  TwKernel *kernel = data;
  g_free (kernel->name);
  g_ptr_array_unref (kernel->nodes);
  g_free (kernel->contraction);
  g_array_unref (kernel->reads);
  g_array_unref (kernel->stores);
  g_free (kernel);
}

static void
store_clear (gpointer data)
{
  TwStore *store = data;
  g_free (store->node);
  g_free (store->port);
}

/* The name made of the node, with the port where a node has several outputs. */
static char *
make_name (Maker *maker, const char *node, const char *port)
{
  const TwPlanning *planning = maker->planning;
  int at = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, node)) - 1;
  const TwBlock *block = planning->nodes[at].block;
  int outputs = 0;
  for (int i = 0; i < block->n_ports; i++)
    outputs += block->ports[i].direction == TW_DIRECTION_OUT;
  char *name = outputs > 1 ? g_strconcat (node, "_", port, NULL) : g_strdup (node);
  for (int i = 2; g_hash_table_contains (maker->names, name); i++)
    {
      g_free (name);
      name = g_strdup_printf ("%s_%s_%d", node, port, i);
    }
  return name;
}

/* `name` NULL: made. The first buffer of a value is the one that is read. */
static int
add_buffer (Maker *maker, TwBufferKind kind, const char *name, const char *node, const char *port,
            int kernel)
{
  TwPlanning *planning = maker->planning;
  GPtrArray *buffers = planning->plan->buffers;
  int last = -1, index = (int)buffers->len;
  TwBuffer *buffer = g_new0 (TwBuffer, 1);
  buffer->kind = kind;
  buffer->name = name != NULL ? g_strdup (name) : make_name (maker, node, port);
  buffer->node = g_strdup (node);
  buffer->port = g_strdup (port);
  buffer->type = tw_typing_get (planning->typing, node, port);
  buffer->slot = -1;
  g_hash_table_add (maker->names, g_strdup (buffer->name));
  g_ptr_array_add (buffers, buffer);
  g_array_append_val (maker->last_use, last);
  g_array_append_val (maker->made_by, kernel);
  char *key = tw_planning_key (node, port);
  if (g_hash_table_contains (planning->buffers, key))
    g_free (key);
  else
    g_hash_table_insert (planning->buffers, key, GINT_TO_POINTER (index + 1));
  return index;
}

static int
find_buffer (const TwPlanning *planning, const TwLink *link)
{
  g_autofree char *key = tw_planning_key (link->from_node, link->from_port);
  return GPOINTER_TO_INT (g_hash_table_lookup (planning->buffers, key)) - 1;
}

/* The caller's memory: a source's output, under the source's name. */
static void
add_sources (Maker *maker, gboolean weights)
{
  const TwPlanning *planning = maker->planning;
  for (int i = 0; i < tw_graph_get_n_nodes (planning->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (planning->graph, i);
      int at = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, node->id)) - 1;
      const TwPlanNode *n = at >= 0 ? &planning->nodes[at] : NULL;
      if (n == NULL || n->block->kind != TW_KIND_SOURCE || n->weight != weights)
        continue;
      for (int p = 0; p < n->block->n_ports; p++)
        if (n->block->ports[p].direction == TW_DIRECTION_OUT)
          add_buffer (maker, weights ? TW_BUFFER_WEIGHT : TW_BUFFER_INPUT, node->id, node->id,
                      n->block->ports[p].id, -1);
    }
}

/* ---- kernels ---- */
static int
compare_kernels (gconstpointer a, gconstpointer b)
{
  const TwPlanKernel *left = *(TwPlanKernel *const *)a, *right = *(TwPlanKernel *const *)b;
  if (left->prepare != right->prepare)
    return left->prepare ? -1 : 1;
  if (left->level != right->level)
    return left->level - right->level;
  return g_array_index (left->nodes, int, 0) - g_array_index (right->nodes, int, 0);
}

static int
compare_ints (gconstpointer a, gconstpointer b)
{
  return *(const int *)a - *(const int *)b;
}

/* Nodes in order of execution: a finish of the prologue before a product, else where its place in
 * the topological order is. */
static void
order_nodes (const TwPlanning *planning, TwPlanKernel *kernel)
{
  g_autoptr (GArray) finishes = g_array_new (FALSE, FALSE, sizeof (int));
  for (guint i = 0; i < kernel->nodes->len; i++)
    {
      const TwPlanNode *n = &planning->nodes[g_array_index (kernel->nodes, int, i)];
      for (guint k = 0; k < n->inputs->len; k++)
        {
          int source = g_array_index (n->inputs, TwPlanInput, k).source;
          gboolean known = !tw_planning_is_prologue (planning, source);
          for (guint f = 0; f < finishes->len; f++)
            known |= g_array_index (finishes, int, f) == source;
          if (!known)
            g_array_append_val (finishes, source);
        }
    }
  g_array_sort (kernel->nodes, compare_ints);
  g_array_sort (finishes, compare_ints);
  if (kernel->mainloop == TW_MAINLOOP_GEMM)
    g_array_prepend_vals (kernel->nodes, finishes->data, finishes->len);
  else
    {
      g_array_append_vals (kernel->nodes, finishes->data, finishes->len);
      g_array_sort (kernel->nodes, compare_ints);
    }
}

static void
make_kernel (TwPlanning *planning, TwPlanKernel *kernel, int number)
{
  TwKernel *result = g_new0 (TwKernel, 1);
  order_nodes (planning, kernel);
  result->name = g_strdup_printf ("k%d_%s", number, tw_mainloop_get_name (kernel->mainloop));
  result->mainloop = kernel->mainloop;
  result->prepare = kernel->prepare;
  result->nodes = g_ptr_array_new_with_free_func (g_free);
  result->reads = g_array_new (FALSE, FALSE, sizeof (int));
  result->stores = g_array_new (FALSE, FALSE, sizeof (TwStore));
  g_array_set_clear_func (result->stores, store_clear);
  for (guint i = 0; i < kernel->nodes->len; i++)
    g_ptr_array_add (result->nodes,
                     g_strdup (planning->nodes[g_array_index (kernel->nodes, int, i)].node->id));
  result->rows = kernel->rows;
  result->columns = kernel->half != NULL ? kernel->half : kernel->width;
  if (kernel->contraction >= 0)
    {
      const TwPlanNode *n = &planning->nodes[kernel->contraction];
      const TwType *a
          = tw_planning_get_type (planning, g_array_index (n->inputs, TwPlanInput, 0).link);
      result->contraction = g_strdup (n->node->id);
      result->operands = a->dtype;
      result->depth = a->n_dims > 1 ? a->dims[a->n_dims - 1] : NULL;
    }
  kernel->result = result;
  g_ptr_array_add (planning->plan->kernels, result);
}

/* TRUE if the reader of the link is computed in `kernel` and nowhere else. */
static gboolean
is_read_outside (const TwPlanning *planning, const TwLink *link, int kernel)
{
  int to = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->to_node)) - 1;
  const TwPlanNode *reader = &planning->nodes[to];
  if (reader->block->kind == TW_KIND_SINK)
    return reader->kernel >= 0;
  if (!tw_planning_is_prologue (planning, to))
    return reader->kernel != kernel;
  for (guint i = 0; i < reader->outputs->len; i++)
    if (is_read_outside (planning, reader->outputs->pdata[i], kernel))
      return TRUE;
  return FALSE;
}

static void
add_store (Maker *maker, TwPlanKernel *kernel, int place, TwBufferKind kind, const char *name,
           const char *node, const char *port)
{
  TwStore store
      = { g_strdup (node), g_strdup (port), add_buffer (maker, kind, name, node, port, place) };
  g_array_append_val (kernel->result->stores, store);
}

/* A value goes to every output it is wired to; otherwise to scratch memory if another kernel reads
 * it. */
static void
store_node (Maker *maker, TwPlanKernel *kernel, int place, int node)
{
  const TwPlanning *planning = maker->planning;
  const TwPlanNode *n = &planning->nodes[node];
  if (n->block->kind == TW_KIND_SINK)
    {
      const TwLink *link = g_array_index (n->inputs, TwPlanInput, 0).link;
      add_store (maker, kernel, place, TW_BUFFER_OUTPUT, n->node->id, link->from_node,
                 link->from_port);
      return;
    }
  if (n->kernel < 0)
    return;
  for (int p = 0; p < n->block->n_ports; p++)
    {
      const char *port = n->block->ports[p].id;
      gboolean outside = FALSE, stored = FALSE;
      if (n->block->ports[p].direction != TW_DIRECTION_OUT)
        continue;
      for (guint i = 0; i < n->outputs->len; i++)
        {
          const TwLink *link = n->outputs->pdata[i];
          if (strcmp (link->from_port, port) != 0)
            continue;
          int to = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->to_node)) - 1;
          outside |= is_read_outside (planning, link, n->kernel);
          if (planning->nodes[to].block->kind == TW_KIND_SINK && planning->nodes[to].kernel < 0)
            {
              add_store (maker, kernel, place, TW_BUFFER_OUTPUT, link->to_node, n->node->id, port);
              stored = TRUE;
            }
        }
      if (outside && !stored)
        add_store (maker, kernel, place, n->weight ? TW_BUFFER_PREPARED : TW_BUFFER_WORKSPACE, NULL,
                   n->node->id, port);
    }
}

static void
read_node (Maker *maker, TwPlanKernel *kernel, int place, int node)
{
  const TwPlanning *planning = maker->planning;
  const TwPlanNode *n = &planning->nodes[node];
  for (guint i = 0; i < n->inputs->len; i++)
    {
      const TwPlanInput *input = &g_array_index (n->inputs, TwPlanInput, i);
      gboolean here = FALSE;
      for (guint k = 0; k < kernel->nodes->len; k++)
        here |= g_array_index (kernel->nodes, int, k) == input->source;
      int buffer = find_buffer (planning, input->link);
      if (here || buffer < 0)
        continue;
      gboolean known = FALSE;
      for (guint k = 0; k < kernel->result->reads->len; k++)
        known |= g_array_index (kernel->result->reads, int, k) == buffer;
      if (!known)
        g_array_append_val (kernel->result->reads, buffer);
      g_array_index (maker->last_use, int, buffer) = place;
    }
}

/* ---- what a kernel costs ---- */
static double
count_flops (const TwPlanning *planning, const TwPlanNode *n, const TwKernel *kernel)
{
  double flops = 0;
  if (n->block->kind == TW_KIND_SINK)
    return 0;
  for (int p = 0; p < n->block->n_ports; p++)
    {
      const TwType *type = tw_typing_get (planning->typing, n->node->id, n->block->ports[p].id);
      if (n->block->ports[p].direction != TW_DIRECTION_OUT || type == NULL)
        continue;
      double count = tw_planning_count (planning->graph, type);
      if (n->block->kind == TW_KIND_CONTRACTION)
        count *= get_extent (planning->graph, kernel->depth);
      else if (n->block->kind == TW_KIND_STATISTIC && n->inputs->len > 0)
        count = tw_planning_count (
            planning->graph,
            tw_planning_get_type (planning, g_array_index (n->inputs, TwPlanInput, 0).link));
      flops += count * n->block->flops;
    }
  return flops;
}

static void
count_kernel (TwPlanning *planning, TwPlanKernel *kernel)
{
  TwKernel *result = kernel->result;
  double bytes = 0, flops = 0;
  for (guint i = 0; i < result->reads->len; i++)
    {
      const TwBuffer *buffer
          = planning->plan->buffers->pdata[g_array_index (result->reads, int, i)];
      bytes += get_bytes (planning->graph, buffer->type);
    }
  for (guint i = 0; i < result->stores->len; i++)
    {
      const TwBuffer *buffer
          = planning->plan->buffers->pdata[g_array_index (result->stores, TwStore, i).buffer];
      bytes += get_bytes (planning->graph, buffer->type);
    }
  for (guint i = 0; i < kernel->nodes->len; i++)
    flops
        += count_flops (planning, &planning->nodes[g_array_index (kernel->nodes, int, i)], result);
  result->bytes = to_integer (bytes);
  result->flops = to_integer (flops);
  if (!result->prepare)
    {
      planning->plan->bytes += result->bytes;
      planning->plan->flops += result->flops;
    }
}

/* ---- memory ---- */
/* Scratch buffers in order of their kernels, each into the first slot that is free by then. What
 * prepare makes stays. */
static void
share_slots (Maker *maker)
{
  TwPlan *plan = maker->planning->plan;
  g_autoptr (GArray) free_after = g_array_new (FALSE, FALSE, sizeof (int));
  for (guint i = 0; i < plan->buffers->len; i++)
    {
      TwBuffer *buffer = plan->buffers->pdata[i];
      int made = g_array_index (maker->made_by, int, i);
      int last = MAX (g_array_index (maker->last_use, int, i), made);
      if (buffer->kind == TW_BUFFER_PREPARED)
        buffer->slot = plan->n_prepared_slots++;
      if (buffer->kind != TW_BUFFER_WORKSPACE)
        continue;
      guint slot = 0;
      while (slot < free_after->len && g_array_index (free_after, int, slot) >= made)
        slot++;
      if (slot == free_after->len)
        g_array_append_val (free_after, last);
      else
        g_array_index (free_after, int, slot) = last;
      buffer->slot = (int)slot;
    }
  plan->n_slots = (int)free_after->len;
}

void
tw_planning_make_kernels (TwPlanning *planning)
{
  TwPlan *plan = planning->plan;
  g_autoptr (GArray) last_use = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GArray) made_by = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) order = g_ptr_array_copy (planning->kernels, NULL, NULL);
  Maker maker = { planning, last_use, made_by, names };
  plan->kernels = g_ptr_array_new_with_free_func (kernel_free);
  plan->buffers = g_ptr_array_new_with_free_func (buffer_free);
  g_ptr_array_set_free_func (order, NULL);
  g_ptr_array_sort (order, compare_kernels);
  for (guint i = 0; i < order->len; i++)
    make_kernel (planning, order->pdata[i], (int)i + 1);
  add_sources (&maker, FALSE);
  add_sources (&maker, TRUE);
  for (guint i = 0; i < order->len; i++)
    {
      TwPlanKernel *kernel = order->pdata[i];
      for (guint k = 0; k < kernel->nodes->len; k++)
        store_node (&maker, kernel, (int)i, g_array_index (kernel->nodes, int, k));
    }
  for (guint i = 0; i < order->len; i++)
    {
      TwPlanKernel *kernel = order->pdata[i];
      for (guint k = 0; k < kernel->nodes->len; k++)
        read_node (&maker, kernel, (int)i, g_array_index (kernel->nodes, int, k));
      count_kernel (planning, kernel);
    }
  share_slots (&maker);
}
