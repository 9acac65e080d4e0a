/* Held against the rewritten graph alone, not against how the planner works. */
#include "plan-properties.h"

#include <string.h>

typedef struct
{
  const TwPlan *plan;
  const TwGraph *graph;
  const TwCatalog *catalog;
  gboolean fuse;
  GHashTable *live;   /* node ids that reach an output */
  GHashTable *places; /* node id -> number of kernels it is in */
  int *made, *last;   /* per buffer: kernels that store and last read it, -1 */
  GString *fault;
} Look;

static void fail (Look *look, const char *format, ...) G_GNUC_PRINTF (2, 3);

static void
fail (Look *look, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  if (look->fault->len == 0)
    g_string_append_vprintf (look->fault, format, args);
  va_end (args);
}

static const TwBlock *
get_block (const Look *look, const char *node)
{
  return tw_catalog_get (look->catalog, tw_graph_get_node (look->graph, node)->block);
}

static TwBlockKind
get_kind (const Look *look, const char *node)
{
  return get_block (look, node)->kind;
}

static const TwKernel *
get_kernel (const Look *look, int i)
{
  return look->plan->kernels->pdata[i];
}

static const TwBuffer *
get_buffer (const Look *look, int i)
{
  return look->plan->buffers->pdata[i];
}

static void
find_live (Look *look)
{
  g_autoptr (GPtrArray) order = tw_graph_sort (look->graph, NULL);
  for (guint i = order->len; i-- > 0;)
    {
      const char *id = order->pdata[i];
      gboolean live = get_kind (look, id) == TW_KIND_SINK;
      for (int k = 0; k < tw_graph_get_n_links (look->graph) && !live; k++)
        {
          const TwLink *link = tw_graph_get_nth_link (look->graph, k);
          live = strcmp (link->from_node, id) == 0
                 && g_hash_table_contains (look->live, link->to_node);
        }
      if (live)
        g_hash_table_add (look->live, (char *)id);
    }
}

/* Position in the kernel's order of execution, -1: not in it. */
static int
find_node (const TwKernel *kernel, const char *node)
{
  for (guint i = 0; i < kernel->nodes->len; i++)
    if (strcmp (kernel->nodes->pdata[i], node) == 0)
      return (int)i;
  return -1;
}

static gboolean
reads_buffer (const TwKernel *kernel, int buffer)
{
  for (guint i = 0; i < kernel->reads->len; i++)
    if (g_array_index (kernel->reads, int, i) == buffer)
      return TRUE;
  return FALSE;
}

/* ---- nodes ---- */
static void
look_at_nodes (Look *look)
{
  for (guint k = 0; k < look->plan->kernels->len; k++)
    {
      const TwKernel *kernel = get_kernel (look, (int)k);
      for (guint i = 0; i < kernel->nodes->len; i++)
        {
          const char *id = kernel->nodes->pdata[i];
          int places = GPOINTER_TO_INT (g_hash_table_lookup (look->places, id));
          if (find_node (kernel, id) != (int)i)
            fail (look, "%s is twice in %s", id, kernel->name);
          g_hash_table_insert (look->places, (char *)id, GINT_TO_POINTER (places + 1));
        }
    }
  for (int i = 0; i < tw_graph_get_n_nodes (look->graph); i++)
    {
      const char *id = tw_graph_get_nth_node (look->graph, i)->id;
      int places = GPOINTER_TO_INT (g_hash_table_lookup (look->places, id));
      int least = 1, most = 1;
      switch (get_kind (look, id))
        {
        case TW_KIND_SOURCE:
        case TW_KIND_COMPOSITE:
          least = most = 0;
          break;
        case TW_KIND_SINK: /* a copy of what no kernel makes */
          least = 0;
          break;
        case TW_KIND_FINISH: /* computed by each reader */
          most = G_MAXINT;
          break;
        default:
          break;
        }
      if (!g_hash_table_contains (look->live, id))
        least = most = 0;
      if (places < least || places > most)
        fail (look, "%s is in %d kernels", id, places);
    }
}

static void
look_at_kernel (Look *look, const TwKernel *kernel)
{
  const char *first = NULL;
  int contractions = 0;
  for (guint i = 0; i < kernel->nodes->len; i++)
    {
      const char *id = kernel->nodes->pdata[i];
      const TwNode *node = tw_graph_get_node (look->graph, id);
      TwBlockKind kind = get_kind (look, id);
      const char *origin = node->origin != NULL ? node->origin : id;
      const TwType *type
          = kind == TW_KIND_STATISTIC ? tw_typing_get (look->plan->rewrite->typing, id, "s") : NULL;
      contractions += kind == TW_KIND_CONTRACTION;
      if (kind == TW_KIND_CONTRACTION && g_strcmp0 (kernel->contraction, id) != 0)
        fail (look, "%s is not the contraction of %s", id, kernel->name);
      if (kernel->mainloop == TW_MAINLOOP_FINISH && kind != TW_KIND_FINISH)
        fail (look, "%s is in %s", id, kernel->name);
      if (kernel->mainloop == TW_MAINLOOP_GEMM && type != NULL && type->group == 0)
        fail (look, "%s gathers whole rows in %s", id, kernel->name);
      if (!look->fuse && first != NULL && strcmp (first, origin) != 0)
        fail (look, "%s of %s and %s are in %s", id, origin, first, kernel->name);
      first = origin;
    }
  if (contractions != (kernel->mainloop == TW_MAINLOOP_GEMM))
    fail (look, "%s has %d contractions", kernel->name, contractions);
}

/* ---- what is read ---- */
static void
look_at_input (Look *look, int k, const char *id, const TwLink *link, GHashTable *needed)
{
  const TwKernel *kernel = get_kernel (look, k);
  int here = find_node (kernel, link->from_node);
  if (here >= 0)
    {
      if (here >= find_node (kernel, id))
        fail (look, "%s comes before %s in %s", id, link->from_node, kernel->name);
      return;
    }
  int buffer = tw_plan_get_buffer (look->plan, link->from_node, link->from_port);
  if (buffer < 0 || !reads_buffer (kernel, buffer))
    fail (look, "%s does not read %s.%s for %s", kernel->name, link->from_node, link->from_port,
          id);
  else
    g_hash_table_add (needed, GINT_TO_POINTER (buffer + 1));
}

static void
look_at_reads (Look *look, int k)
{
  const TwKernel *kernel = get_kernel (look, k);
  g_autoptr (GHashTable) needed = g_hash_table_new (NULL, NULL);
  for (guint i = 0; i < kernel->nodes->len; i++)
    {
      const char *id = kernel->nodes->pdata[i];
      const TwBlock *block = get_block (look, id);
      for (int p = 0; p < block->n_ports; p++)
        {
          const TwLink *link = block->ports[p].direction == TW_DIRECTION_IN
                                   ? tw_graph_get_link_to (look->graph, id, block->ports[p].id)
                                   : NULL;
          if (link != NULL)
            look_at_input (look, k, id, link, needed);
        }
    }
  if (g_hash_table_size (needed) != kernel->reads->len)
    fail (look, "%s reads %u values and needs %u", kernel->name, kernel->reads->len,
          g_hash_table_size (needed));
  for (guint i = 0; i < kernel->reads->len; i++)
    {
      int index = g_array_index (kernel->reads, int, i);
      const TwBuffer *buffer = get_buffer (look, index);
      gboolean given = buffer->kind == TW_BUFFER_INPUT || buffer->kind == TW_BUFFER_WEIGHT;
      if (!given && (look->made[index] < 0 || look->made[index] >= k))
        fail (look, "%s reads %s before it is stored", kernel->name, buffer->name);
      if (kernel->prepare && buffer->kind != TW_BUFFER_WEIGHT && buffer->kind != TW_BUFFER_PREPARED)
        fail (look, "%s of prepare reads %s", kernel->name, buffer->name);
      look->last[index] = k;
    }
}

/* ---- memory ---- */
static void
look_at_stores (Look *look)
{
  for (guint k = 0; k < look->plan->kernels->len; k++)
    {
      const TwKernel *kernel = get_kernel (look, (int)k);
      if (k > 0 && kernel->prepare && !get_kernel (look, (int)k - 1)->prepare)
        fail (look, "%s prepares after a launch began", kernel->name);
      if (kernel->stores->len == 0)
        fail (look, "%s stores nothing", kernel->name);
      for (guint i = 0; i < kernel->stores->len; i++)
        {
          const TwStore *store = &g_array_index (kernel->stores, TwStore, i);
          const TwBuffer *buffer = get_buffer (look, store->buffer);
          if (look->made[store->buffer] >= 0)
            fail (look, "%s is stored twice", buffer->name);
          look->made[store->buffer] = (int)k;
          if (strcmp (store->node, buffer->node) != 0 || strcmp (store->port, buffer->port) != 0)
            fail (look, "%s holds %s.%s", buffer->name, store->node, store->port);
          if (kernel->prepare != (buffer->kind == TW_BUFFER_PREPARED))
            fail (look, "%s stores %s", kernel->name, buffer->name);
        }
    }
}

static void
look_at_buffers (Look *look)
{
  g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < look->plan->buffers->len; i++)
    {
      const TwBuffer *buffer = get_buffer (look, (int)i);
      gboolean given = buffer->kind == TW_BUFFER_INPUT || buffer->kind == TW_BUFFER_WEIGHT;
      gboolean slotted = buffer->kind == TW_BUFFER_WORKSPACE || buffer->kind == TW_BUFFER_PREPARED;
      int n_slots = buffer->kind == TW_BUFFER_WORKSPACE ? look->plan->n_slots
                                                        : look->plan->n_prepared_slots;
      if (given != (look->made[i] < 0))
        fail (look, "%s is stored by nobody or given", buffer->name);
      if (slotted && look->last[i] < 0)
        fail (look, "%s is read by nobody", buffer->name);
      if (slotted ? buffer->slot < 0 || buffer->slot >= n_slots : buffer->slot != -1)
        fail (look, "%s has slot %d of %d", buffer->name, buffer->slot, n_slots);
      if (!g_hash_table_add (names, buffer->name))
        fail (look, "two buffers are %s", buffer->name);
      for (guint j = 0; slotted && j < i; j++)
        {
          const TwBuffer *other = get_buffer (look, (int)j);
          gboolean together = look->made[i] <= look->last[j] && look->made[j] <= look->last[i];
          if (other->kind == buffer->kind && other->slot == buffer->slot
              && (together || buffer->kind == TW_BUFFER_PREPARED))
            fail (look, "%s and %s live in slot %d at once", buffer->name, other->name,
                  buffer->slot);
        }
    }
}

/* Every output of the drawing is written, with what is wired to it. */
static void
look_at_outputs (Look *look)
{
  for (int i = 0; i < tw_graph_get_n_nodes (look->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (look->graph, i);
      int found = 0;
      if (get_kind (look, node->id) != TW_KIND_SINK)
        continue;
      const TwLink *link = tw_graph_get_link_to (look->graph, node->id, "x");
      for (guint b = 0; link != NULL && b < look->plan->buffers->len; b++)
        {
          const TwBuffer *buffer = get_buffer (look, (int)b);
          found += buffer->kind == TW_BUFFER_OUTPUT && strcmp (buffer->name, node->id) == 0
                   && strcmp (buffer->node, link->from_node) == 0
                   && strcmp (buffer->port, link->from_port) == 0;
        }
      if (found != 1)
        fail (look, "output %s is %d buffers", node->id, found);
    }
}

/* ---- edges ---- */
/* TRUE if some kernel computes both. */
static gboolean
share_kernel (const Look *look, const char *a, const char *b)
{
  for (guint k = 0; k < look->plan->kernels->len; k++)
    if (find_node (get_kernel (look, (int)k), a) >= 0
        && find_node (get_kernel (look, (int)k), b) >= 0)
      return TRUE;
  return FALSE;
}

/* TRUE if some kernel computes the reader and not the source. */
static gboolean
is_read_apart (const Look *look, const char *source, const char *reader)
{
  for (guint k = 0; k < look->plan->kernels->len; k++)
    if (find_node (get_kernel (look, (int)k), reader) >= 0
        && find_node (get_kernel (look, (int)k), source) < 0)
      return TRUE;
  return FALSE;
}

static void
look_at_edge (Look *look, const TwEdge *edge)
{
  g_auto (GStrv) from = g_strsplit (edge->from, ".", 2);
  g_auto (GStrv) to = g_strsplit (edge->to, ".", 2);
  gboolean given = get_kind (look, from[0]) == TW_KIND_SOURCE;
  gboolean wanted = get_kind (look, to[0]) == TW_KIND_SINK;
  gboolean stored = tw_plan_get_buffer (look->plan, from[0], from[1]) >= 0;
  const char *where = edge->where;
  gboolean good;
  if (strcmp (where, "argument") == 0)
    good = given && !wanted;
  else if (strcmp (where, "memory") == 0)
    good = stored && (wanted || is_read_apart (look, from[0], to[0]));
  else if (strcmp (where, "prologue") == 0)
    good = get_kind (look, from[0]) == TW_KIND_FINISH && share_kernel (look, from[0], to[0]);
  else
    good = strcmp (where, "register") == 0 && !wanted && !is_read_apart (look, from[0], to[0]);
  if (!good)
    fail (look, "edge %s -> %s cannot be in %s", edge->from, edge->to, where);
  if (edge->reason == NULL || strlen (edge->reason) < 10 || strstr (edge->reason, "(null)") != NULL)
    fail (look, "edge %s -> %s has no reason", edge->from, edge->to);
}

static void
look_at_edges (Look *look)
{
  guint links = 0;
  for (int i = 0; i < tw_graph_get_n_links (look->graph); i++)
    links += g_hash_table_contains (look->live, tw_graph_get_nth_link (look->graph, i)->to_node);
  if (links != look->plan->edges->len)
    fail (look, "%u links and %u edges", links, look->plan->edges->len);
  for (guint i = 0; i < look->plan->edges->len; i++)
    look_at_edge (look, look->plan->edges->pdata[i]);
}

static void
look_at_sums (Look *look)
{
  gint64 bytes = 0, flops = 0;
  for (guint k = 0; k < look->plan->kernels->len; k++)
    {
      const TwKernel *kernel = get_kernel (look, (int)k);
      if (kernel->bytes < 0 || kernel->flops < 0)
        fail (look, "%s costs less than nothing", kernel->name);
      bytes += kernel->prepare ? 0 : kernel->bytes;
      flops += kernel->prepare ? 0 : kernel->flops;
    }
  if (bytes != look->plan->bytes || flops != look->plan->flops)
    fail (look, "the sums are not those of the kernels");
}

char *
plan_find_fault (const TwPlan *plan, const TwCatalog *catalog, gboolean fuse)
{
  Look look = { .plan = plan,
                .graph = plan->rewrite->graph,
                .catalog = catalog,
                .fuse = fuse,
                .live = g_hash_table_new (g_str_hash, g_str_equal),
                .places = g_hash_table_new (g_str_hash, g_str_equal),
                .made = g_new (int, plan->buffers->len + 1),
                .last = g_new (int, plan->buffers->len + 1),
                .fault = g_string_new (NULL) };
  for (guint i = 0; i < plan->buffers->len; i++)
    look.made[i] = look.last[i] = -1;
  find_live (&look);
  look_at_nodes (&look);
  look_at_stores (&look);
  for (guint k = 0; k < plan->kernels->len; k++)
    {
      look_at_kernel (&look, get_kernel (&look, (int)k));
      look_at_reads (&look, (int)k);
    }
  look_at_buffers (&look);
  look_at_outputs (&look);
  look_at_edges (&look);
  look_at_sums (&look);
  g_hash_table_unref (look.live);
  g_hash_table_unref (look.places);
  g_free (look.made);
  g_free (look.last);
  gboolean good = look.fault->len == 0;
  char *fault = g_string_free (look.fault, FALSE);
  if (good)
    g_clear_pointer (&fault, g_free);
  return fault;
}
