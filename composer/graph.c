/* The graph: lookups, copies, order. */
#include "graph-private.h"

#include <string.h>

G_DEFINE_QUARK (tw - graph - error - quark, tw_graph_error)

gboolean
tw_is_id (const char *text)
{
  gsize n = 0;
  if (!g_ascii_isalpha (text[0]) && text[0] != '_')
    return FALSE;
  while (g_ascii_isalnum (text[n]) || text[n] == '_')
    n++;
  return text[n] == '\0' && n <= TW_ID_MAX;
}

gboolean
tw_is_param_name (const char *text)
{
  gsize n = 0;
  if (!g_ascii_isalpha (text[0]) && text[0] != '_')
    return FALSE;
  while (g_ascii_isalnum (text[n]) || text[n] == '_' || text[n] == '-')
    n++;
  return text[n] == '\0' && n <= TW_ID_MAX;
}

/* ---- indices ---- */
static guint
hash_target (gconstpointer record)
{
  const TwLinkRecord *link = record;
  return g_str_hash (link->view.to_node) * 31 + g_str_hash (link->view.to_port);
}

static gboolean
equal_target (gconstpointer a, gconstpointer b)
{
  const TwLinkRecord *left = a, *right = b;
  return strcmp (left->view.to_node, right->view.to_node) == 0
         && strcmp (left->view.to_port, right->view.to_port) == 0;
}

static void
index_source (TwGraph *graph, TwLinkRecord *link)
{
  GPtrArray *links = g_hash_table_lookup (graph->out_of, link->view.from_node);
  if (links == NULL)
    {
      links = g_ptr_array_new ();
      g_hash_table_insert (graph->out_of, g_strdup (link->view.from_node), links);
    }
  g_ptr_array_add (links, link);
}

static GHashTable *
get_ids (TwGraph *graph)
{
  if (graph->by_id == NULL)
    {
      graph->by_id = g_hash_table_new (g_str_hash, g_str_equal);
      for (guint i = 0; i < graph->nodes->len; i++)
        {
          TwNodeRecord *record = graph->nodes->pdata[i];
          g_hash_table_insert (graph->by_id, (char *)record->view.id, record);
        }
    }
  return graph->by_id;
}

static GHashTable *
get_targets (TwGraph *graph)
{
  if (graph->into == NULL)
    {
      graph->into = g_hash_table_new (hash_target, equal_target);
      for (guint i = 0; i < graph->links->len; i++)
        g_hash_table_add (graph->into, graph->links->pdata[i]);
    }
  return graph->into;
}

static GHashTable *
get_sources (TwGraph *graph)
{
  if (graph->out_of == NULL)
    {
      graph->out_of = g_hash_table_new_full (g_str_hash, g_str_equal, g_free,
                                             (GDestroyNotify)g_ptr_array_unref);
      for (guint i = 0; i < graph->links->len; i++)
        index_source (graph, graph->links->pdata[i]);
    }
  return graph->out_of;
}

static void
drop_indices (TwGraph *graph)
{
  g_clear_pointer (&graph->by_id, g_hash_table_unref);
  g_clear_pointer (&graph->into, g_hash_table_unref);
  g_clear_pointer (&graph->out_of, g_hash_table_unref);
}

/* ---- changes of records ---- */
static void
exchange (GPtrArray *list, gpointer old, gpointer new)
{
  guint at = 0;
  while (old != NULL && at < list->len && list->pdata[at] != old)
    at++;
  if (old == NULL)
    g_ptr_array_add (list, new);
  else if (at < list->len && new != NULL)
    list->pdata[at] = new;
  else if (at < list->len)
    g_ptr_array_steal_index (list, at);
}

void
tw_graph_exchange_node (TwGraph *graph, TwNodeRecord *old, TwNodeRecord *new)
{
  exchange (graph->nodes, old, new);
  if (graph->by_id != NULL && old != NULL)
    g_hash_table_remove (graph->by_id, old->view.id);
  if (graph->by_id != NULL && new != NULL)
    g_hash_table_insert (graph->by_id, (char *)new->view.id, new);
  if (old != NULL)
    tw_node_record_unref (old);
}

void
tw_graph_exchange_link (TwGraph *graph, TwLinkRecord *old, TwLinkRecord *new)
{
  exchange (graph->links, old, new);
  if (graph->into != NULL && old != NULL)
    g_hash_table_remove (graph->into, old);
  if (graph->into != NULL && new != NULL)
    g_hash_table_add (graph->into, new);
  if (graph->out_of != NULL && old != NULL
      && new != NULL &&strcmp (old->view.from_node, new->view.from_node) == 0)
    {
      guint at;
      GPtrArray *links = g_hash_table_lookup (graph->out_of, old->view.from_node);
      if (g_ptr_array_find (links, old, &at))
        links->pdata[at] = new;
    }
  else if (graph->out_of != NULL)
    {
      if (old != NULL)
        g_ptr_array_remove (g_hash_table_lookup (graph->out_of, old->view.from_node), old);
      if (new != NULL)
        index_source (graph, new);
    }
  if (old != NULL)
    tw_link_record_unref (old);
}

void
tw_graph_claim_place (TwGraph *graph, TwNodeRecord *record)
{
  for (guint i = 0; i < graph->lost->len; i++)
    {
      const TwNodeRecord *place = graph->lost->pdata[i];
      if (strcmp (place->view.id, record->view.id) != 0)
        continue;
      if (!record->view.placed)
        {
          record->view.placed = TRUE;
          record->view.x = place->view.x;
          record->view.y = place->view.y;
          tw_extra_clear (&record->place);
          tw_extra_copy (&record->place, &place->place);
        }
      g_ptr_array_remove_index (graph->lost, i);
      return;
    }
}

/* ---- the graph as a whole ---- */
TwGraph *
tw_graph_new (const char *name)
{
  TwGraph *graph = g_new0 (TwGraph, 1);
  graph->name = g_strdup (name);
  graph->format = TW_GRAPH_FORMAT;
  graph->canonical = TRUE;
  graph->nodes = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_node_record_unref);
  graph->lost = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_node_record_unref);
  graph->links = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_link_record_unref);
  graph->dimensions = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_dimension_record_unref);
  return graph;
}

static void
clear (TwGraph *graph)
{
  drop_indices (graph);
  g_free (graph->name);
  g_free (graph->doc);
  g_free (graph->prolog);
  g_free (graph->epilog);
  tw_extra_clear (&graph->root);
  tw_extra_clear (&graph->doc_extra);
  tw_extra_clear (&graph->layout);
  g_ptr_array_unref (graph->nodes);
  g_ptr_array_unref (graph->lost);
  g_ptr_array_unref (graph->links);
  g_ptr_array_unref (graph->dimensions);
}

void
tw_graph_free (TwGraph *graph)
{
  if (graph == NULL)
    return;
  clear (graph);
  g_free (graph);
}

static void
share (GPtrArray *to, const GPtrArray *from, gsize count_offset)
{
  g_ptr_array_set_size (to, (int)from->len);
  for (guint i = 0; i < from->len; i++)
    {
      ++*(int *)((char *)from->pdata[i] + count_offset);
      to->pdata[i] = from->pdata[i];
    }
}

TwGraph *
tw_graph_copy (const TwGraph *graph)
{
  TwGraph *copy = tw_graph_new (graph->name);
  copy->doc = g_strdup (graph->doc);
  copy->format = graph->format;
  copy->canonical = graph->canonical;
  copy->prolog = g_strdup (graph->prolog);
  copy->epilog = g_strdup (graph->epilog);
  tw_extra_copy (&copy->root, &graph->root);
  tw_extra_copy (&copy->doc_extra, &graph->doc_extra);
  tw_extra_copy (&copy->layout, &graph->layout);
  share (copy->nodes, graph->nodes, G_STRUCT_OFFSET (TwNodeRecord, ref_count));
  share (copy->lost, graph->lost, G_STRUCT_OFFSET (TwNodeRecord, ref_count));
  share (copy->links, graph->links, G_STRUCT_OFFSET (TwLinkRecord, ref_count));
  share (copy->dimensions, graph->dimensions, G_STRUCT_OFFSET (TwDimensionRecord, ref_count));
  return copy;
}

void
tw_graph_restore (TwGraph *graph, const TwGraph *copy)
{
  TwGraph *fresh = tw_graph_copy (copy);
  fresh->canonical = graph->canonical; /* of the file, which undo does not touch */
  clear (graph);
  *graph = *fresh;
  g_free (fresh);
}

const char *
tw_graph_get_name (const TwGraph *graph)
{
  return graph->name;
}

const char *
tw_graph_get_doc (const TwGraph *graph)
{
  return graph->doc;
}

int
tw_graph_get_format (const TwGraph *graph)
{
  return graph->format;
}

gboolean
tw_graph_is_read_only (const TwGraph *graph)
{
  return graph->format > TW_GRAPH_FORMAT;
}

int
tw_graph_get_n_nodes (const TwGraph *graph)
{
  return (int)graph->nodes->len;
}

const TwNode *
tw_graph_get_nth_node (const TwGraph *graph, int i)
{
  return &((TwNodeRecord *)graph->nodes->pdata[i])->view;
}

const TwNode *
tw_graph_get_node (const TwGraph *graph, const char *id)
{
  TwNodeRecord *record = g_hash_table_lookup (get_ids ((TwGraph *)graph), id);
  return record != NULL ? &record->view : NULL;
}

int
tw_graph_get_n_links (const TwGraph *graph)
{
  return (int)graph->links->len;
}

const TwLink *
tw_graph_get_nth_link (const TwGraph *graph, int i)
{
  return &((TwLinkRecord *)graph->links->pdata[i])->view;
}

const TwLink *
tw_graph_get_link_to (const TwGraph *graph, const char *node, const char *port)
{
  TwLinkRecord key = { .view = { .to_node = node, .to_port = port } };
  TwLinkRecord *record = g_hash_table_lookup (get_targets ((TwGraph *)graph), &key);
  return record != NULL ? &record->view : NULL;
}

GPtrArray *
tw_graph_get_links_from (const TwGraph *graph, const char *node, const char *port)
{
  const GPtrArray *links = g_hash_table_lookup (get_sources ((TwGraph *)graph), node);
  GPtrArray *result = g_ptr_array_new ();
  for (guint i = 0; links != NULL && i < links->len; i++)
    {
      TwLinkRecord *record = links->pdata[i];
      if (port == NULL || strcmp (record->view.from_port, port) == 0)
        g_ptr_array_add (result, &record->view);
    }
  return result;
}

int
tw_graph_get_n_dimensions (const TwGraph *graph)
{
  return (int)graph->dimensions->len;
}

const TwDimension *
tw_graph_get_nth_dimension (const TwGraph *graph, int i)
{
  return &((TwDimensionRecord *)graph->dimensions->pdata[i])->view;
}

const TwDimension *
tw_graph_get_dimension (const TwGraph *graph, const char *name)
{
  for (guint i = 0; i < graph->dimensions->len; i++)
    {
      TwDimensionRecord *record = graph->dimensions->pdata[i];
      if (strcmp (record->view.name, name) == 0)
        return &record->view;
    }
  return NULL;
}

static gboolean
get_default (const char *name, gint64 *value, gpointer user_data)
{
  const TwDimension *dimension = tw_graph_get_dimension (user_data, name);
  if (dimension != NULL)
    *value = dimension->value;
  return dimension != NULL;
}

gint64
tw_graph_get_extent (const TwGraph *graph, const TwDim *dim)
{
  gint64 value = 0;
  return tw_dim_evaluate (dim, get_default, (gpointer)graph, &value, NULL) ? value : 0;
}

/* ---- parameters ---- */
const char *
tw_node_get_param (const TwNode *node, const TwBlock *block, const char *name)
{
  for (int i = 0; i < node->n_params; i++)
    if (strcmp (node->params[i].name, name) == 0)
      return node->params[i].value;
  const TwParamSpec *spec = block != NULL ? tw_block_get_param (block, name) : NULL;
  return spec != NULL ? spec->fallback : NULL;
}

gboolean
tw_node_get_number (const TwNode *node, const TwBlock *block, const char *name, double *value)
{
  const char *text = tw_node_get_param (node, block, name);
  const TwParamSpec *spec = tw_block_get_param (block, name);
  char *end = NULL;
  if (text == NULL || spec == NULL)
    return FALSE;
  switch (spec->type)
    {
    case TW_PARAM_BOOLEAN:
      *value = strcmp (text, "true") == 0;
      return *value != 0 || strcmp (text, "false") == 0;
    case TW_PARAM_ENUM:
      for (int i = 0; spec->values[i] != NULL; i++)
        if (strcmp (spec->values[i], text) == 0)
          {
            *value = spec->numbers[i];
            return TRUE;
          }
      return FALSE;
    case TW_PARAM_INTEGER:
    case TW_PARAM_REAL:
    case TW_PARAM_DIMENSION:
      *value = g_ascii_strtod (text, &end);
      return end != text && *end == '\0';
    case TW_PARAM_SHAPE:
    case TW_PARAM_DTYPE:
      return FALSE;
    }
  return FALSE;
}

gboolean
tw_node_has_port (const TwNode *node, const TwBlock *block, const TwPortSpec *port)
{
  return port->when_param == NULL
         || tw_port_spec_present (port, tw_node_get_param (node, block, port->when_param));
}

/* ---- order ---- */
static void
heap_push (GArray *heap, int value)
{
  g_array_append_val (heap, value);
  int *at = (int *)heap->data;
  for (guint i = heap->len - 1; i > 0 && at[i] < at[(i - 1) / 2]; i = (i - 1) / 2)
    {
      int parent = at[(i - 1) / 2];
      at[(i - 1) / 2] = at[i];
      at[i] = parent;
    }
}

static int
heap_pop (GArray *heap)
{
  int *at = (int *)heap->data;
  int least = at[0];
  at[0] = at[heap->len - 1];
  g_array_set_size (heap, heap->len - 1);
  for (guint i = 0, child; (child = 2 * i + 1) < heap->len; i = child)
    {
      if (child + 1 < heap->len && at[child + 1] < at[child])
        child++;
      if (at[i] <= at[child])
        break;
      int moved = at[i];
      at[i] = at[child];
      at[child] = moved;
    }
  return least;
}

GPtrArray *
tw_graph_sort (const TwGraph *graph, const char **cyclic)
{
  guint n = graph->nodes->len;
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree int *waiting = g_new0 (int, n + 1);
  g_autoptr (GArray) ready = g_array_new (FALSE, FALSE, sizeof (int));
  GPtrArray *order = g_ptr_array_sized_new (n);
  for (guint i = 0; i < n; i++)
    g_hash_table_insert (places, (char *)tw_graph_get_nth_node (graph, (int)i)->id,
                         GUINT_TO_POINTER (i + 1));
  for (guint i = 0; i < graph->links->len; i++)
    {
      const TwLink *link = tw_graph_get_nth_link (graph, (int)i);
      guint to = GPOINTER_TO_UINT (g_hash_table_lookup (places, link->to_node));
      if (to > 0 && g_hash_table_contains (places, link->from_node))
        waiting[to - 1]++;
    }
  for (guint i = 0; i < n; i++)
    if (waiting[i] == 0)
      heap_push (ready, (int)i);
  while (ready->len > 0)
    {
      int at = heap_pop (ready);
      const char *id = tw_graph_get_nth_node (graph, at)->id;
      const GPtrArray *links = g_hash_table_lookup (get_sources ((TwGraph *)graph), id);
      g_ptr_array_add (order, (char *)id);
      for (guint i = 0; links != NULL && i < links->len; i++)
        {
          const TwLinkRecord *link = links->pdata[i];
          guint to = GPOINTER_TO_UINT (g_hash_table_lookup (places, link->view.to_node));
          if (to > 0 && --waiting[to - 1] == 0)
            heap_push (ready, (int)to - 1);
        }
    }
  if (cyclic != NULL)
    *cyclic = NULL;
  for (guint i = 0; cyclic != NULL && *cyclic == NULL && i < n; i++)
    if (waiting[i] > 0)
      *cyclic = tw_graph_get_nth_node (graph, (int)i)->id;
  return order;
}
