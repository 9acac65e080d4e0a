#include "evaluate.h"

#include "command.h"
#include "expand.h"

#include <string.h>

G_DEFINE_QUARK (tw - evaluate - error, tw_evaluate_error)

typedef struct
{
  const TwGraph *graph;
  const TwCatalog *catalog;
  const TwTyping *typing;
  GHashTable *inputs;
  GHashTable *dims;
  TwEvaluateMode mode;
  GHashTable *exact;   /* "node.port" -> TwTensor */
  GHashTable *rounded; /* the same as it is stored; only where it differs in kind */
  GError **error;
} Run;

/* One node: what its formula is given. */
typedef struct
{
  const TwNode *node;
  const TwBlock *block;
  GPtrArray *names;         /* const char*: dimension and index names */
  GArray *extents;          /* gint64 */
  TwFormulaTensor *tensors; /* per operand */
  GPtrArray *unpacked;      /* TwTensor: partners taken out of packed ports */
} NodeRun;

static gboolean G_GNUC_PRINTF (3, 4)
    fail (const Run *run, TwEvaluateError code, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (run->error, TW_EVALUATE_ERROR, (int)code, message);
  return FALSE;
}

/* Number of elements, or -1 if it is negative or too large. */
static gint64
count_elements (int n_dims, const gint64 *dims)
{
  gint64 size = 1;
  gboolean empty = FALSE;
  for (int i = 0; i < n_dims; i++)
    {
      if (dims[i] < 0)
        return -1;
      empty = empty || dims[i] == 0;
    }
  for (int i = 0; i < n_dims && !empty; i++)
    {
      if (dims[i] > TW_EVALUATE_MAX_ELEMENTS / size)
        return -1;
      size *= dims[i];
    }
  return empty ? 0 : size;
}

TwTensor *
tw_tensor_new (int n_dims, const gint64 *dims)
{
  gint64 size = n_dims >= 0 && n_dims <= 3 ? count_elements (n_dims, dims) : -1;
  double *data = size < 0 ? NULL : g_try_new0 (double, (gsize)MAX (size, 1));
  if (!data)
    return NULL;
  TwTensor *tensor = g_new0 (TwTensor, 1);
  tensor->n_dims = n_dims;
  for (int i = 0; i < n_dims; i++)
    tensor->dims[i] = dims[i];
  tensor->data = data;
  return tensor;
}

void
tw_tensor_free (TwTensor *tensor)
{
  if (!tensor)
    return;
  g_free (tensor->data);
  g_free (tensor);
}

gint64
tw_tensor_get_size (const TwTensor *tensor)
{
  return count_elements (tensor->n_dims, tensor->dims);
}

static TwTensor *
copy_tensor (const TwTensor *tensor)
{
  TwTensor *copy = tw_tensor_new (tensor->n_dims, tensor->dims);
  if (copy)
    memcpy (copy->data, tensor->data, (gsize)tw_tensor_get_size (tensor) * sizeof *copy->data);
  return copy;
}

static gboolean
look_up (const char *name, gint64 *value, gpointer user_data)
{
  const Run *run = user_data;
  const gint64 *given = run->dims ? g_hash_table_lookup (run->dims, name) : NULL;
  const TwDimension *dimension = tw_graph_get_dimension (run->graph, name);
  if (given)
    *value = *given;
  else if (dimension)
    *value = dimension->value;
  return given || dimension;
}

static gboolean
get_extent (Run *run, const TwDim *dim, const char *node, gint64 *value)
{
  g_autoptr (GError) error = NULL;
  if (tw_dim_evaluate (dim, look_up, run, value, &error) && *value >= 0)
    return TRUE;
  return fail (run, TW_EVALUATE_ERROR_SIZE, "extent %s at node '%s': %s", tw_dim_get_text (dim),
               node, error ? error->message : "it is negative");
}

/* The extents of a port of the graph. */
static gboolean
get_shape (Run *run, const char *node, const char *port, int *n_dims, gint64 *dims)
{
  const TwType *type = tw_typing_get (run->typing, node, port);
  if (!type || type->n_dims < 0 || type->n_dims > 3)
    return fail (run, TW_EVALUATE_ERROR_INPUT, "'%s.%s' has no type", node, port);
  *n_dims = type->n_dims;
  for (int i = 0; i < type->n_dims; i++)
    if (!get_extent (run, type->dims[i], node, &dims[i]))
      return FALSE;
  if (count_elements (type->n_dims, dims) < 0)
    return fail (run, TW_EVALUATE_ERROR_SIZE, "'%s.%s' has more than %" G_GINT64_FORMAT " elements",
                 node, port, TW_EVALUATE_MAX_ELEMENTS);
  return TRUE;
}

/* Inside a composite nothing is drawn, so nothing is rounded. */
static gboolean
is_drawn (const TwGraph *graph, const TwLink *link)
{
  const TwNode *from = tw_graph_get_node (graph, link->from_node);
  const TwNode *to = tw_graph_get_node (graph, link->to_node);
  return !from || !to || !from->origin || g_strcmp0 (from->origin, to->origin) != 0;
}

static char *
make_key (const char *node, const char *port)
{
  return g_strconcat (node, ".", port, NULL);
}

/* The value of an output port as its readers outside a composite see it. */
static const TwTensor *
get_rounded (Run *run, const char *node, const char *port, const char *key)
{
  const TwTensor *exact = g_hash_table_lookup (run->exact, key);
  const TwTensor *known = g_hash_table_lookup (run->rounded, key);
  const TwType *type = tw_typing_get (run->typing, node, port);
  if (run->mode == TW_EVALUATE_EXACT || known || !exact || !type)
    return known ? known : exact;
  TwTensor *rounded = copy_tensor (exact);
  gint64 size = rounded ? tw_tensor_get_size (rounded) : 0;
  for (gint64 i = 0; i < size; i++)
    rounded->data[i] = tw_dtype_round (type->dtype, rounded->data[i]);
  if (rounded)
    g_hash_table_insert (run->rounded, g_strdup (key), rounded);
  return rounded;
}

/* The value on a link; NULL with error. Borrowed. */
static const TwTensor *
read_link (Run *run, const TwLink *link)
{
  g_autofree char *key = make_key (link->from_node, link->from_port);
  const TwTensor *tensor = is_drawn (run->graph, link)
                               ? get_rounded (run, link->from_node, link->from_port, key)
                               : g_hash_table_lookup (run->exact, key);
  if (!tensor)
    fail (run, TW_EVALUATE_ERROR_INPUT, "'%s.%s' reads '%s', which has no value", link->to_node,
          link->to_port, key);
  return tensor;
}

static gboolean
run_source (Run *run, const TwNode *node, const TwBlock *block)
{
  const TwTensor *given = run->inputs ? g_hash_table_lookup (run->inputs, node->id) : NULL;
  if (!given)
    return fail (run, TW_EVALUATE_ERROR_INPUT, "no value is given for '%s'", node->id);
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      int n_dims = 0;
      gint64 dims[3] = { 0, 0, 0 };
      if (port->direction != TW_DIRECTION_OUT)
        continue;
      if (!get_shape (run, node->id, port->id, &n_dims, dims))
        return FALSE;
      if (given->n_dims != n_dims || memcmp (given->dims, dims, sizeof dims[0] * (gsize)n_dims))
        return fail (run, TW_EVALUATE_ERROR_INPUT, "the value given for '%s' has another shape",
                     node->id);
      TwTensor *copy = copy_tensor (given);
      if (!copy)
        return fail (run, TW_EVALUATE_ERROR_SIZE, "'%s' is too large", node->id);
      g_hash_table_insert (run->exact, make_key (node->id, port->id), copy);
    }
  return TRUE;
}

static gboolean
run_sink (Run *run, const TwNode *node, const TwBlock *block)
{
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwLink *link = tw_graph_get_link_to (run->graph, node->id, block->ports[i].id);
      if (!link)
        continue;
      const TwTensor *tensor = read_link (run, link);
      TwTensor *copy = tensor ? copy_tensor (tensor) : NULL;
      if (!copy)
        return tensor ? fail (run, TW_EVALUATE_ERROR_SIZE, "'%s' is too large", node->id) : FALSE;
      g_hash_table_insert (run->exact, make_key (node->id, block->ports[i].id), copy);
    }
  return TRUE;
}

static gboolean
set_name (Run *run, NodeRun *node_run, const char *name, gint64 extent)
{
  for (guint i = 0; i < node_run->names->len; i++)
    if (strcmp (node_run->names->pdata[i], name) == 0)
      return g_array_index (node_run->extents, gint64, i) == extent
             || fail (run, TW_EVALUATE_ERROR_INPUT,
                      "%s is %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " at node '%s'", name,
                      g_array_index (node_run->extents, gint64, i), extent, node_run->node->id);
  g_ptr_array_add (node_run->names, (gpointer)name);
  g_array_append_val (node_run->extents, extent);
  return TRUE;
}

static gint64
get_name (const NodeRun *node_run, const char *name)
{
  for (guint i = 0; i < node_run->names->len; i++)
    if (strcmp (node_run->names->pdata[i], name) == 0)
      return g_array_index (node_run->extents, gint64, i);
  return -1;
}

/* Columns of each partner in turn. */
static gint64
get_interleave (const NodeRun *node_run, const TwPortSpec *port)
{
  double number = port->partner_group;
  if (port->partner_param)
    tw_node_get_number (node_run->node, node_run->block, port->partner_param, &number);
  return number >= 1 && number <= 1e9 ? (gint64)number : 1;
}

/* The index names of the ports, and the dimension names behind them. */
static gboolean
find_names (Run *run, NodeRun *node_run)
{
  const TwBlock *block = node_run->block;
  const char *id = node_run->node->id;
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      int n_dims = 0;
      gint64 dims[3];
      if (!tw_node_has_port (node_run->node, block, port)
          || (port->optional && !tw_graph_get_link_to (run->graph, id, port->id)
              && port->direction == TW_DIRECTION_IN))
        continue;
      if (!get_shape (run, id, port->id, &n_dims, dims))
        return FALSE;
      for (int j = 0; j < n_dims && j < port->n_dims; j++)
        if (port->index[j] && !set_name (run, node_run, port->index[j], dims[j]))
          return FALSE;
    }
  const TwFormulaOperand *lists[] = { block->operands, block->outputs };
  const int counts[] = { block->n_operands, block->n_outputs };
  for (int l = 0; l < 2; l++)
    for (int i = 0; i < counts[l]; i++)
      for (int j = 0; j < lists[l][i].n_dims; j++)
        {
          const char *name = lists[l][i].dims[j];
          gint64 extent = 0;
          if (get_name (node_run, name) >= 0)
            continue;
          const TwDim *dim = tw_typing_get_dim (run->typing, id, name);
          if (dim && !get_extent (run, dim, id, &extent))
            return FALSE;
          if (!set_name (run, node_run, name, extent))
            return FALSE;
        }
  return TRUE;
}

/* Partner p at column n of a pair interleaved by g lies at column (n/g)*2g + p*g + n%g. */
static TwTensor *
unpack (const TwTensor *pair, int partner, gint64 group)
{
  TwTensor *out = NULL;
  gint64 dims[3], last = pair->n_dims - 1;
  if (last >= 0)
    {
      memcpy (dims, pair->dims, sizeof dims);
      dims[last] /= 2;
      out = tw_tensor_new (pair->n_dims, dims);
    }
  if (!out)
    return NULL;
  gint64 columns = dims[last], rows = columns ? tw_tensor_get_size (out) / columns : 0;
  for (gint64 m = 0; m < rows; m++)
    for (gint64 n = 0; n < columns; n++)
      {
        gint64 at = n / group * 2 * group + partner * group + n % group;
        if (at < 2 * columns)
          out->data[m * columns + n] = pair->data[m * 2 * columns + at];
      }
  return out;
}

static gboolean
set_operand (Run *run, NodeRun *node_run, const char *name, const TwTensor *tensor)
{
  int index = tw_block_get_operand (node_run->block, name);
  if (index < 0)
    return TRUE;
  TwFormulaTensor *to = &node_run->tensors[index];
  to->n_dims = tensor->n_dims;
  memcpy (to->dims, tensor->dims, sizeof to->dims);
  to->data = tensor->data;
  return TRUE;
}

static gboolean
read_operands (Run *run, NodeRun *node_run)
{
  const TwBlock *block = node_run->block;
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      if (port->direction != TW_DIRECTION_IN || !tw_node_has_port (node_run->node, block, port))
        continue;
      const TwLink *link = tw_graph_get_link_to (run->graph, node_run->node->id, port->id);
      if (!link)
        continue;
      const TwTensor *tensor = read_link (run, link);
      if (!tensor)
        return FALSE;
      if (!port->operands[1])
        {
          set_operand (run, node_run, port->operands[0] ? port->operands[0] : port->id, tensor);
          continue;
        }
      gint64 group = get_interleave (node_run, port);
      if (tensor->n_dims < 1 || tensor->dims[tensor->n_dims - 1] % (2 * group))
        return fail (run, TW_EVALUATE_ERROR_INPUT,
                     "the columns of '%s.%s' are no pairs of %" G_GINT64_FORMAT " columns",
                     node_run->node->id, port->id, group);
      for (int p = 0; p < 2; p++)
        {
          TwTensor *partner = unpack (tensor, p, group);
          if (!partner)
            return fail (run, TW_EVALUATE_ERROR_SIZE, "'%s' is too large", node_run->node->id);
          g_ptr_array_add (node_run->unpacked, partner);
          set_operand (run, node_run, port->operands[p], partner);
        }
    }
  for (int i = 0; i < block->n_operands; i++)
    if (!node_run->tensors[i].data && tw_formula_uses_input (block->formula, i))
      return fail (run, TW_EVALUATE_ERROR_INPUT, "'%s' of node '%s' is not connected",
                   block->operands[i].name, node_run->node->id);
  return TRUE;
}

/* The parameters as numbers, in the order of the block's. */
static gboolean
get_params (Run *run, const NodeRun *node_run, double *params)
{
  const TwBlock *block = node_run->block;
  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *param = &block->params[i];
      const char *text = tw_node_get_param (node_run->node, block, param->id);
      gboolean used = tw_formula_uses_param (block->formula, i);
      params[i] = 0.0;
      if (param->type == TW_PARAM_DIMENSION && text)
        {
          g_autoptr (TwDim) dim = tw_dim_parse (text, NULL);
          gint64 value = 0;
          if (dim && get_extent (run, dim, node_run->node->id, &value))
            params[i] = (double)value;
          else if (used)
            return dim ? FALSE
                       : fail (run, TW_EVALUATE_ERROR_INPUT, "parameter '%s' of '%s' is '%s'",
                               param->id, node_run->node->id, text);
        }
      else if (param->type == TW_PARAM_DTYPE && text)
        {
          TwDtype dtype = TW_DTYPE_F32;
          if (tw_dtype_from_name (text, &dtype))
            params[i] = (double)dtype;
        }
      else if (!tw_node_get_number (node_run->node, block, param->id, &params[i]) && used)
        return fail (run, TW_EVALUATE_ERROR_INPUT, "parameter '%s' of '%s' is not set", param->id,
                     node_run->node->id);
    }
  return TRUE;
}

static gboolean
run_formula (Run *run, NodeRun *node_run)
{
  const TwBlock *block = node_run->block;
  g_autofree double *params = g_new0 (double, (gsize)block->n_params + 1);
  g_autofree TwFormulaTensor *results = g_new0 (TwFormulaTensor, (gsize)block->n_outputs + 1);
  g_autoptr (GPtrArray) tensors = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_tensor_free);
  if (!find_names (run, node_run) || !read_operands (run, node_run)
      || !get_params (run, node_run, params))
    return FALSE;
  for (int i = 0; i < block->n_outputs; i++)
    {
      const TwFormulaOperand *output = &block->outputs[i];
      gint64 dims[3] = { 0, 0, 0 };
      for (int j = 0; j < output->n_dims; j++)
        dims[j] = get_name (node_run, output->dims[j]);
      TwTensor *tensor = tw_tensor_new (output->n_dims, dims);
      if (!tensor)
        return fail (run, TW_EVALUATE_ERROR_SIZE, "'%s.%s' is too large", node_run->node->id,
                     output->name);
      g_ptr_array_add (tensors, tensor);
      results[i].n_dims = tensor->n_dims;
      memcpy (results[i].dims, tensor->dims, sizeof tensor->dims);
      results[i].data = tensor->data;
    }
  g_autoptr (GError) error = NULL;
  if (!tw_formula_evaluate (block->formula, node_run->tensors, params,
                            (const char *const *)node_run->names->pdata,
                            (const gint64 *)(void *)node_run->extents->data,
                            (int)node_run->names->len, results, &error))
    return fail (run, TW_EVALUATE_ERROR_FORMULA, "node '%s': %s", node_run->node->id,
                 error->message);
  for (int i = 0; i < block->n_outputs; i++)
    {
      g_hash_table_insert (run->exact, make_key (node_run->node->id, block->outputs[i].name),
                           tensors->pdata[i]);
      tensors->pdata[i] = NULL;
    }
  return TRUE;
}

static gboolean
run_node (Run *run, const TwNode *node)
{
  const TwBlock *block = tw_catalog_get (run->catalog, node->block);
  if (!block)
    return fail (run, TW_EVALUATE_ERROR_INPUT, "node '%s' has the unknown block '%s'", node->id,
                 node->block);
  if (block->kind == TW_KIND_SOURCE)
    return run_source (run, node, block);
  if (block->kind == TW_KIND_SINK)
    return run_sink (run, node, block);
  if (!block->formula)
    return fail (run, TW_EVALUATE_ERROR_INPUT, "block '%s' of node '%s' has no formula", block->id,
                 node->id);
  NodeRun node_run = { .node = node, .block = block };
  node_run.names = g_ptr_array_new ();
  node_run.extents = g_array_new (FALSE, FALSE, sizeof (gint64));
  node_run.tensors = g_new0 (TwFormulaTensor, (gsize)block->n_operands + 1);
  node_run.unpacked = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_tensor_free);
  gboolean good = run_formula (run, &node_run);
  g_ptr_array_unref (node_run.names);
  g_array_unref (node_run.extents);
  g_ptr_array_unref (node_run.unpacked);
  g_free (node_run.tensors);
  return good;
}

static gboolean
run_graph (Run *run)
{
  const char *cyclic = NULL;
  g_autoptr (GPtrArray) order = tw_graph_sort (run->graph, &cyclic);
  if (cyclic)
    return fail (run, TW_EVALUATE_ERROR_INPUT, "node '%s' is on a cycle", cyclic);
  for (guint i = 0; i < order->len; i++)
    if (!run_node (run, tw_graph_get_node (run->graph, order->pdata[i])))
      return FALSE;
  return TRUE;
}

/* What the caller sees: stored values, unless a value never leaves its composite. */
static void
store_rounded (Run *run)
{
  for (int i = 0; i < tw_graph_get_n_nodes (run->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (run->graph, i);
      const TwBlock *block = tw_catalog_get (run->catalog, node->block);
      for (int j = 0; block && j < block->n_ports; j++)
        {
          const char *port = block->ports[j].id;
          gboolean drawn = TRUE;
          if (block->ports[j].direction != TW_DIRECTION_OUT)
            continue;
          g_autoptr (GPtrArray) links = tw_graph_get_links_from (run->graph, node->id, port);
          for (guint k = 0; k < links->len; k++)
            drawn = (k > 0 && drawn) || is_drawn (run->graph, links->pdata[k]);
          g_autofree char *key = make_key (node->id, port);
          gpointer stored_key = NULL, value = NULL;
          if (drawn && get_rounded (run, node->id, port, key)
              && g_hash_table_steal_extended (run->rounded, key, &stored_key, &value))
            g_hash_table_replace (run->exact, stored_key, value);
        }
    }
}

/* TRUE if a dimension that the typing took as a number is to have another value. */
static gboolean
changes_fixed (const TwGraph *graph, GHashTable *dims)
{
  GHashTableIter iter;
  gpointer name, value;
  if (!dims)
    return FALSE;
  g_hash_table_iter_init (&iter, dims);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      const TwDimension *dimension = tw_graph_get_dimension (graph, name);
      if (dimension && !dimension->dynamic && dimension->value != *(const gint64 *)value)
        return TRUE;
    }
  return FALSE;
}

static TwGraph *
set_fixed (const TwGraph *graph, GHashTable *dims, GError **error)
{
  g_autoptr (TwGraph) copy = tw_graph_copy (graph);
  for (int i = 0; i < tw_graph_get_n_dimensions (graph); i++)
    {
      const TwDimension *dimension = tw_graph_get_nth_dimension (graph, i);
      const gint64 *value = g_hash_table_lookup (dims, dimension->name);
      if (dimension->dynamic || !value)
        continue;
      TwCommand set = { .kind = TW_COMMAND_SET_DIMENSION, .dimension = *dimension };
      set.dimension.value = *value;
      if (!tw_graph_apply (copy, &set, error))
        return NULL;
    }
  return g_steal_pointer (&copy);
}

static gboolean
has_composite (const TwGraph *graph, const TwCatalog *catalog)
{
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwBlock *block = tw_catalog_get (catalog, tw_graph_get_nth_node (graph, i)->block);
      if (block && block->kind == TW_KIND_COMPOSITE)
        return TRUE;
    }
  return FALSE;
}

GHashTable *
tw_evaluate (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing,
             GHashTable *inputs, GHashTable *dims, TwEvaluateMode mode, GError **error)
{
  g_autoptr (TwGraph) changed = NULL, expanded = NULL;
  g_autoptr (TwTyping) changed_typing = NULL, expanded_typing = NULL;
  g_autoptr (GHashTable) outputs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  if (changes_fixed (graph, dims))
    {
      changed = set_fixed (graph, dims, error);
      if (!changed)
        return NULL;
      changed_typing = tw_check (changed, catalog, NULL);
      graph = changed;
      typing = changed_typing;
    }
  if (has_composite (graph, catalog))
    {
      expanded = tw_expand_with_outputs (graph, catalog, typing, outputs, error);
      if (!expanded)
        return NULL;
      expanded_typing = tw_check (expanded, catalog, NULL);
      graph = expanded;
      typing = expanded_typing;
    }
  g_autoptr (GHashTable) exact
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_tensor_free);
  g_autoptr (GHashTable) rounded
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_tensor_free);
  Run run = { graph, catalog, typing, inputs, dims, mode, exact, rounded, error };
  if (!run_graph (&run))
    return NULL;
  if (mode == TW_EVALUATE_ROUNDED)
    store_rounded (&run);
  GHashTableIter iter;
  gpointer key, value;
  g_hash_table_iter_init (&iter, outputs);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const TwTensor *tensor = g_hash_table_lookup (exact, value);
      TwTensor *copy = tensor ? copy_tensor (tensor) : NULL;
      if (copy)
        g_hash_table_insert (exact, g_strdup (key), copy);
    }
  return g_steal_pointer (&exact);
}
