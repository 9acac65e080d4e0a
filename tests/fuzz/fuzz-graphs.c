#include "fuzz-graphs.h"

#include <string.h>

typedef struct
{
  char *node, *port;
  const TwType *type; /* of the maker's typing */
  const char *block;
} Value;

typedef struct
{
  const GraphFuzz *fuzz;
  TwGraph *graph;
  TwHistory *history;
  TwTyping *typing;
  GPtrArray *values; /* Value, in the order they were made */
  int made;
  TwDtype dtype; /* of most values */
  gboolean bad;  /* a command did not apply */
} Maker;

static int
below (Maker *maker, int n)
{
  return n > 0 ? g_rand_int_range (maker->fuzz->rand, 0, n) : 0;
}

static gboolean
chance (Maker *maker, double p)
{
  return g_rand_double (maker->fuzz->rand) < p;
}

static void
free_value (gpointer data)
{
  Value *value = data;
  g_free (value->node);
  g_free (value->port);
  g_free (value);
}

static void
apply (Maker *maker, const TwCommand *command)
{
  if (!tw_history_apply (maker->history, command, NULL))
    maker->bad = TRUE;
}

static void
set (Maker *maker, const char *node, const char *name, const char *value)
{
  TwCommand command = { .kind = TW_COMMAND_SET_PARAM, .node = node, .name = name, .value = value };
  apply (maker, &command);
}

static void
wire (Maker *maker, const Value *from, const char *node, const char *port)
{
  TwCommand command = { .kind = TW_COMMAND_CONNECT,
                        .node = from->node,
                        .port = from->port,
                        .to_node = node,
                        .to_port = port };
  apply (maker, &command);
}

static char *
add (Maker *maker, const char *block)
{
  char *id = g_strdup_printf ("n%d", maker->made++);
  TwCommand command = { .kind = TW_COMMAND_ADD_NODE, .node = id, .block = block };
  apply (maker, &command);
  return id;
}

/* Types the graph; TRUE if all is well but for what is not finished yet. */
static gboolean
check (Maker *maker)
{
  g_clear_pointer (&maker->typing, tw_typing_free);
  maker->typing = tw_check (maker->graph, maker->fuzz->catalog, NULL);
  const GPtrArray *found = tw_typing_get_diagnostics (maker->typing);
  gboolean good = !maker->bad;
  for (guint i = 0; i < found->len; i++)
    {
      const TwDiagnostic *diagnostic = found->pdata[i];
      if (diagnostic->severity == TW_SEVERITY_ERROR && strcmp (diagnostic->code, "no-output") != 0)
        good = FALSE;
    }
  maker->bad = FALSE;
  g_ptr_array_set_size (maker->values, 0);
  for (int i = 0; i < tw_graph_get_n_nodes (maker->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (maker->graph, i);
      const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, node->block);
      for (int p = 0; block && p < block->n_ports; p++)
        {
          const TwType *type = tw_typing_get (maker->typing, node->id, block->ports[p].id);
          if (block->ports[p].direction != TW_DIRECTION_OUT || !type)
            continue;
          Value *value = g_new (Value, 1);
          *value = (Value){ g_strdup (node->id), g_strdup (block->ports[p].id), type, block->id };
          g_ptr_array_add (maker->values, value);
        }
    }
  return good;
}

/* Begins and ends a change that is kept only if the graph checks. */
static void
begin (Maker *maker)
{
  tw_history_begin (maker->history, "grow");
}

static gboolean
end (Maker *maker)
{
  tw_history_end (maker->history);
  if (check (maker))
    return TRUE;
  tw_history_undo (maker->history);
  check (maker);
  return FALSE;
}

/* Choosing */

static gboolean
is_role (const TwType *type, TwRole role)
{
  switch (role)
    {
    case TW_ROLE_MATRIX:
      return type->n_dims == 2 && type->role != TW_ROLE_STATISTIC;
    case TW_ROLE_STATISTIC:
      return type->role == TW_ROLE_STATISTIC;
    case TW_ROLE_PER_ROW:
      return type->n_dims == 1 && type->role != TW_ROLE_PER_COLUMN;
    case TW_ROLE_PER_COLUMN:
      return type->n_dims == 1 && type->role != TW_ROLE_PER_ROW;
    default:
      return TRUE;
    }
}

static gboolean
fits (const TwType *type, const TwDim *const *dims, int n_dims)
{
  if (type->n_dims != n_dims)
    return FALSE;
  for (int d = 0; d < n_dims; d++)
    if (dims[d] && !tw_dim_equal (dims[d], type->dims[d]))
      return FALSE;
  return TRUE;
}

/* A value of the role and the known dimensions, recent ones first; NULL if none. */
static const Value *
find_value (Maker *maker, TwRole role, const TwDim *const *dims, int n_dims, const TwDtype *dtype)
{
  const Value *found = NULL;
  for (guint i = maker->values->len; i-- > 0;)
    {
      const Value *value = maker->values->pdata[i];
      if (!is_role (value->type, role) || (dtype && value->type->dtype != *dtype)
          || !fits (value->type, dims, n_dims))
        continue;
      if (!found || chance (maker, 0.25))
        found = value;
      if (chance (maker, 0.5))
        break;
    }
  return found;
}

static char *
choose_dim (Maker *maker)
{
  return g_strdup_printf ("D%d", below (maker, 3));
}

static const char *
choose_dtype (Maker *maker)
{
  static const TwDtype all[] = { TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32 };
  return tw_dtype_get_name (chance (maker, 0.95) ? maker->dtype : all[below (maker, 3)]);
}

/* A new source of the shape; the id, g_free. */
static char *
add_source (Maker *maker, TwRole role, const char *shape, const char *dtype, gboolean weight)
{
  char *id = add (maker, weight ? "weight" : "input");
  set (maker, id, "shape", shape);
  set (maker, id, "dtype", dtype);
  if (weight && chance (maker, 0.15))
    set (maker, id, "mode", "trainable");
  else if (weight && chance (maker, 0.1))
    set (maker, id, "storage", "packed");
  if (role == TW_ROLE_PER_ROW && !weight && chance (maker, 0.6))
    set (maker, id, "positive", "true");
  return id;
}

/* One node of a block */

typedef struct
{
  const TwBlock *block;
  const char *id;
  GHashTable *names;  /* dimension name -> TwDim */
  GHashTable *dtypes; /* variable -> TwDtype + 1 */
} Shape;

static TwDim *
look_up_name (const char *name, gpointer data)
{
  return g_hash_table_lookup (data, name);
}

static gboolean is_bound (const TwDim *pattern, GHashTable *names);

static void
note_unbound (const char *name, gpointer data)
{
  gpointer *both = data;
  if (!g_hash_table_contains (both[0], name))
    both[1] = (gpointer)name;
}

static gboolean
is_bound (const TwDim *pattern, GHashTable *names)
{
  gpointer both[] = { names, NULL };
  tw_dim_foreach_name (pattern, note_unbound, both);
  return !both[1];
}

static void
bind (GHashTable *names, const char *name, TwDim *dim)
{
  if (dim)
    g_hash_table_insert (names, g_strdup (name), dim);
}

typedef struct
{
  GHashTable *names;
  Maker *maker;
} Fill;

static void
fill_name (const char *name, gpointer data)
{
  Fill *fill = data;
  if (g_hash_table_contains (fill->names, name))
    return;
  g_autofree char *text = strcmp (name, "M") == 0 ? g_strdup ("T") : choose_dim (fill->maker);
  bind (fill->names, name, tw_dim_parse (text, NULL));
}

static void
learn (Shape *shape, const TwPortSpec *port, const TwType *type)
{
  for (int d = 0; d < port->n_dims && d < type->n_dims; d++)
    {
      g_autoptr (TwDim) pattern = tw_dim_parse (port->dims[d], NULL);
      gpointer both[] = { shape->names, NULL };
      if (!pattern)
        continue;
      tw_dim_foreach_name (pattern, note_unbound, both);
      if (both[1])
        {
          g_autofree char *name = g_strdup (both[1]);
          bind (shape->names, name, tw_dim_solve (pattern, name, type->dims[d]));
        }
    }
  if (port->dtype && port->n_dtypes > 0)
    g_hash_table_insert (shape->dtypes, g_strdup (port->dtype), GINT_TO_POINTER (type->dtype + 1));
}

/* The columns that a statistic was taken over. */
static char *
find_width (Maker *maker, const char *node)
{
  const TwLink *link = tw_graph_get_link_to (maker->graph, node, "s");
  const TwNode *from = link ? tw_graph_get_node (maker->graph, link->from_node) : NULL;
  const TwLink *x = from ? tw_graph_get_link_to (maker->graph, from->id, "x") : NULL;
  const TwType *type = x ? tw_typing_get (maker->typing, x->from_node, x->from_port) : NULL;
  return type && type->n_dims == 2 ? g_strdup (tw_dim_get_text (type->dims[1]))
                                   : choose_dim (maker);
}

static void
wire_port (Maker *maker, Shape *shape, const TwPortSpec *port)
{
  const TwDim *wanted[3] = { NULL };
  g_autoptr (GPtrArray) keep = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_dim_unref);
  int n_dims = port->n_dims < 0 ? 2 : port->n_dims;
  for (int d = 0; d < port->n_dims; d++)
    {
      g_autoptr (TwDim) pattern = tw_dim_parse (port->dims[d], NULL);
      if (!pattern || !is_bound (pattern, shape->names))
        continue;
      TwDim *dim = tw_dim_substitute (pattern, look_up_name, shape->names);
      wanted[d] = dim;
      g_ptr_array_add (keep, dim);
    }
  gpointer known = port->dtype ? g_hash_table_lookup (shape->dtypes, port->dtype) : NULL;
  TwDtype dtype = known ? (TwDtype)(GPOINTER_TO_INT (known) - 1) : TW_DTYPE_F32;
  gboolean literal = port->dtype && tw_dtype_from_name (port->dtype, &dtype);
  gboolean left = g_hash_table_size (shape->names) == 0;
  /* Right operands of products are mostly weights; rows and columns are mostly shared. */
  double reuse = port->role == TW_ROLE_MATRIX ? (left ? 0.92 : 0.35) : 0.7;
  if (!left && strcmp (port->dims[0] ? port->dims[0] : "", "M") == 0 && n_dims == 2)
    reuse = 0.85;
  gboolean moves = shape->block->kind == TW_KIND_ELEMENTWISE
                   && !tw_formula_is_elementwise (shape->block->formula);
  if (moves)
    reuse = 0;
  const Value *value = NULL;
  if (chance (maker, reuse))
    value = find_value (maker, port->role, wanted, n_dims, known || literal ? &dtype : NULL);
  if (value)
    {
      learn (shape, port, value->type);
      wire (maker, value, shape->id, port->id);
      return;
    }
  g_autoptr (GString) text = g_string_new (NULL);
  Fill fill = { shape->names, maker };
  for (int d = 0; d < port->n_dims; d++)
    {
      g_autoptr (TwDim) pattern = tw_dim_parse (port->dims[d], NULL);
      if (!pattern)
        continue;
      if (port->role == TW_ROLE_STATISTIC && d == 1)
        {
          g_string_append (text, ", 1");
          continue;
        }
      tw_dim_foreach_name (pattern, fill_name, &fill);
      g_autoptr (TwDim) dim = tw_dim_substitute (pattern, look_up_name, shape->names);
      g_string_append_printf (text, "%s%s", d ? ", " : "", tw_dim_get_text (dim));
    }
  gboolean weight = moves || strstr (text->str, "T") == NULL;
  const char *name = known || literal ? tw_dtype_get_name (dtype) : choose_dtype (maker);
  if (port->role == TW_ROLE_PER_ROW && !known)
    name = "f32";
  g_autofree char *source = add_source (maker, port->role, text->str, name, weight);
  if (port->column_order_allowed && chance (maker, 0.15))
    set (maker, source, "order", "column");
  if (port->role == TW_ROLE_STATISTIC && port->statistic)
    set (maker, source, "statistic", port->statistic);
  if (port->dtype && port->n_dtypes > 0)
    {
      TwDtype used;
      if (tw_dtype_from_name (name, &used))
        g_hash_table_insert (shape->dtypes, g_strdup (port->dtype), GINT_TO_POINTER (used + 1));
    }
  Value made = { source, (char *)"y", NULL, NULL };
  wire (maker, &made, shape->id, port->id);
}

static void
choose_param (Maker *maker, const Shape *shape, const TwParamSpec *param)
{
  static const char *const eps[] = { "1e-6", "1e-5", "1e-3", "0.1", "1e-13" };
  static const char *const bounds[] = { "0.5", "8", "100", "10000", "60000" };
  g_autofree char *text = NULL;
  switch (param->type)
    {
    case TW_PARAM_ENUM:
      {
        guint n = g_strv_length (param->values);
        if (!param->fallback || chance (maker, 0.5))
          text = g_strdup (param->values[below (maker, (int)n)]);
        break;
      }
    case TW_PARAM_REAL:
      if (strcmp (param->id, "eps") == 0)
        text = g_strdup (eps[chance (maker, 0.05) ? 4 : below (maker, 4)]);
      else if (param->optional && chance (maker, 0.6))
        text = g_strdup (bounds[below (maker, G_N_ELEMENTS (bounds))]);
      else if (!param->optional && !param->fallback)
        text = g_strdup ("1");
      break;
    case TW_PARAM_INTEGER:
      if (strcmp (param->id, "degree") == 0 && chance (maker, 0.35))
        text = g_strdup_printf ("%d", chance (maker, 0.2) ? (chance (maker, 0.5) ? 7 : -5)
                                                          : below (maker, 5) - 2);
      else if (strcmp (param->id, "group") == 0)
        text = chance (maker, 0.2) ? g_strdup ("64") : NULL;
      else if (!param->fallback && !param->optional)
        text = g_strdup_printf ("%g", MAX (param->minimum, 1));
      break;
    case TW_PARAM_BOOLEAN:
      text = g_strdup (chance (maker, 0.5) ? "true" : "false");
      break;
    case TW_PARAM_DTYPE:
      text = g_strdup (choose_dtype (maker));
      if (chance (maker, 0.5))
        {
          g_free (text);
          text = g_strdup (tw_dtype_get_name ((TwDtype)below (maker, TW_DTYPE_LAST)));
        }
      break;
    case TW_PARAM_DIMENSION:
      text = find_width (maker, shape->id);
      break;
    default:
      break;
    }
  if (text)
    set (maker, shape->id, param->id, text);
}

/* Adds a node of the block with everything it needs; its id in *id (may be NULL), g_free. */
static gboolean
grow (Maker *maker, const TwBlock *block, const Value *first, char **id)
{
  /* What moves columns about is for weights. */
  if (first && block->kind == TW_KIND_ELEMENTWISE && !tw_formula_is_elementwise (block->formula))
    return FALSE;
  begin (maker);
  g_autofree char *node = add (maker, block->id);
  Shape shape = { block, node, NULL, NULL };
  shape.names
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_dim_unref);
  shape.dtypes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  for (int p = 0; p < block->n_params; p++)
    if (block->params[p].type != TW_PARAM_DIMENSION)
      choose_param (maker, &shape, &block->params[p]);
  for (int p = 0; p < block->n_ports && !maker->bad; p++)
    {
      const TwNode *n = tw_graph_get_node (maker->graph, node);
      const TwPortSpec *port = &block->ports[p];
      if (port->direction != TW_DIRECTION_IN || !n || !tw_node_has_port (n, block, port)
          || (port->optional && chance (maker, 0.5)))
        continue;
      if (first && g_hash_table_size (shape.names) == 0)
        {
          /* A change that was undone in between has made new types. */
          const TwType *type = tw_typing_get (maker->typing, first->node, first->port);
          if (type)
            learn (&shape, port, type);
          wire (maker, first, node, port->id);
        }
      else
        wire_port (maker, &shape, port);
    }
  for (int p = 0; p < block->n_params; p++)
    if (block->params[p].type == TW_PARAM_DIMENSION)
      choose_param (maker, &shape, &block->params[p]);
  g_hash_table_unref (shape.names);
  g_hash_table_unref (shape.dtypes);
  gboolean good = end (maker);
  if (good && id)
    *id = g_steal_pointer (&node);
  return good;
}

/* The first output of a node. */
static const Value *
get_output (Maker *maker, const char *node)
{
  for (guint i = 0; node && i < maker->values->len; i++)
    {
      const Value *value = maker->values->pdata[i];
      if (strcmp (value->node, node) == 0)
        return value;
    }
  return NULL;
}

static Value
copy_value (const Value *value)
{
  return (Value){ g_strdup (value->node), g_strdup (value->port), value->type, value->block };
}

static void
clear_value (Value *value)
{
  g_free (value->node);
  g_free (value->port);
}

/* A value over the rows, scaled by one that may already scale others. */
static void
grow_scale (Maker *maker)
{
  const TwBlock *scale = tw_catalog_get (maker->fuzz->catalog, "scale_rows");
  if (scale)
    grow (maker, scale, NULL, NULL);
}

/* Several products over the same rows, then a block that takes two of them. */
static void
grow_siblings (Maker *maker)
{
  const TwBlock *gemm = tw_catalog_get (maker->fuzz->catalog, "gemm");
  const TwBlock *norm = tw_catalog_get (maker->fuzz->catalog, "rms_norm");
  const TwDim *any[3] = { NULL };
  g_autoptr (TwDim) rows = tw_dim_parse ("T", NULL);
  any[0] = rows;
  const Value *value = find_value (maker, TW_ROLE_MATRIX, any, 2, NULL);
  if (!gemm || !value)
    return;
  g_autofree char *normed = NULL;
  Value a = copy_value (value);
  if (norm && chance (maker, 0.5) && grow (maker, norm, &a, &normed))
    {
      value = get_output (maker, normed);
      clear_value (&a);
      a = copy_value (value);
    }
  int n = chance (maker, 0.3) ? 3 : 2;
  char *made[3] = { NULL };
  g_autofree char *other = choose_dim (maker);
  g_autofree char *columns = choose_dim (maker);
  gboolean column = chance (maker, 0.15), trainable = chance (maker, 0.12);
  begin (maker);
  for (int i = 0; i < n; i++)
    {
      const TwType *type = tw_typing_get (maker->typing, a.node, a.port);
      if (!type)
        break;
      const char *wide = chance (maker, 0.1) ? other : columns;
      g_autofree char *text = g_strdup_printf ("%s, %s", tw_dim_get_text (type->dims[1]), wide);
      g_autofree char *w = add (maker, "weight");
      set (maker, w, "shape", text);
      set (maker, w, "dtype", tw_dtype_get_name (type->dtype));
      if (column)
        set (maker, w, "order", "column");
      if (trainable)
        set (maker, w, "mode", "trainable");
      made[i] = add (maker, "gemm");
      Value right = { w, (char *)"y", NULL, NULL };
      wire (maker, &a, made[i], "a");
      wire (maker, &right, made[i], "b");
    }
  if (end (maker) && made[1])
    {
      int n_blocks = 0;
      const TwBlock *const *blocks = tw_catalog_list (maker->fuzz->catalog, &n_blocks);
      for (int tries = 0; tries < 20; tries++)
        {
          const TwBlock *block = blocks[below (maker, n_blocks)];
          if (block->kind != TW_KIND_ELEMENTWISE || block->n_operands != 2
              || !tw_formula_is_elementwise (block->formula))
            continue;
          begin (maker);
          g_autofree char *node = add (maker, block->id);
          int wired = 0;
          for (int p = 0; p < block->n_ports && wired < 2; p++)
            if (block->ports[p].direction == TW_DIRECTION_IN)
              {
                Value from = { made[wired], (char *)"y", NULL, NULL };
                wire (maker, &from, node, block->ports[p].id);
                wired++;
              }
          if (end (maker))
            break;
        }
    }
  for (int i = 0; i < 3; i++)
    g_free (made[i]);
  clear_value (&a);
}

/* A norm of a value with a product behind it, possibly something homogeneous in between. */
static void
grow_norm (Maker *maker)
{
  int n_blocks = 0;
  const TwBlock *const *blocks = tw_catalog_list (maker->fuzz->catalog, &n_blocks);
  const TwBlock *norm = NULL, *gemm = tw_catalog_get (maker->fuzz->catalog, "gemm");
  for (int tries = 0; tries < 40 && !norm; tries++)
    {
      const TwBlock *block = blocks[below (maker, n_blocks)];
      if (block->kind == TW_KIND_COMPOSITE)
        norm = block;
    }
  g_autofree char *id = NULL, *middle = NULL;
  if (!norm || !gemm || !grow (maker, norm, NULL, &id))
    return;
  const Value *value = get_output (maker, id);
  if (value && chance (maker, 0.4))
    {
      Value first = copy_value (value);
      for (int tries = 0; tries < 8 && !middle; tries++)
        {
          const TwBlock *block = blocks[below (maker, n_blocks)];
          if (block->kind == TW_KIND_ELEMENTWISE)
            grow (maker, block, &first, &middle);
        }
      clear_value (&first);
      value = middle ? get_output (maker, middle) : get_output (maker, id);
    }
  if (value && chance (maker, 0.85))
    {
      Value first = copy_value (value);
      grow (maker, gemm, &first, NULL);
      clear_value (&first);
    }
}

/* Statistic and finish drawn by hand, and a scale of something else by the result. */
static void
grow_statistic (Maker *maker)
{
  int n_blocks = 0;
  const TwBlock *const *blocks = tw_catalog_list (maker->fuzz->catalog, &n_blocks);
  for (int tries = 0; tries < 60; tries++)
    {
      const TwBlock *block = blocks[below (maker, n_blocks)];
      g_autofree char *id = NULL;
      if (block->kind != TW_KIND_STATISTIC || !grow (maker, block, NULL, &id))
        continue;
      const TwBlock *finish = tw_catalog_get (maker->fuzz->catalog, "finish");
      const Value *value = get_output (maker, id);
      if (finish && value && chance (maker, 0.85))
        {
          Value first = copy_value (value);
          grow (maker, finish, &first, NULL);
          clear_value (&first);
        }
      return;
    }
}

static void
grow_any (Maker *maker)
{
  int n_blocks = 0;
  const TwBlock *const *blocks = tw_catalog_list (maker->fuzz->catalog, &n_blocks);
  const TwBlock *block = blocks[below (maker, n_blocks)];
  if (block->kind != TW_KIND_SOURCE && block->kind != TW_KIND_SINK)
    grow (maker, block, NULL, NULL);
}

/* Outputs */

static void
add_output (Maker *maker, const Value *value)
{
  begin (maker);
  g_autofree char *id = add (maker, "output");
  wire (maker, value, id, "x");
  end (maker);
}

static void
add_outputs (Maker *maker)
{
  g_autoptr (GPtrArray) wanted = g_ptr_array_new_with_free_func (free_value);
  for (guint i = 0; i < maker->values->len; i++)
    {
      const Value *value = maker->values->pdata[i];
      const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, value->block);
      g_autoptr (GPtrArray) links
          = tw_graph_get_links_from (maker->graph, value->node, value->port);
      if (block->kind != TW_KIND_SOURCE && !value->type->weight
          && (links->len == 0 || chance (maker, 0.06)))
        {
          Value *copy = g_new (Value, 1);
          *copy = copy_value (value);
          g_ptr_array_add (wanted, copy);
        }
    }
  for (guint i = 0; i < wanted->len; i++)
    add_output (maker, wanted->pdata[i]);
}

static void
add_dimensions (Maker *maker)
{
  static const gint64 sizes[] = { 3, 8, 16, 20, 24, 70, 130 };
  for (int i = 0; i < 3; i++)
    {
      g_autofree char *name = g_strdup_printf ("D%d", i);
      TwCommand set_dim = { .kind = TW_COMMAND_SET_DIMENSION };
      set_dim.dimension.name = name;
      set_dim.dimension.value
          = sizes[below (maker, chance (maker, 0.7) ? 5 : (int)G_N_ELEMENTS (sizes))];
      apply (maker, &set_dim);
    }
  TwCommand rows = { .kind = TW_COMMAND_SET_DIMENSION };
  rows.dimension = (TwDimension){ .name = "T",
                                  .dynamic = TRUE,
                                  .value = 1 + below (maker, 5),
                                  .minimum = 0,
                                  .maximum = 1024,
                                  .multiple = 1 };
  apply (maker, &rows);
}

/* Takes away what reaches no output. */
static void
remove_dead (Maker *maker)
{
  for (gboolean again = TRUE; again;)
    {
      again = FALSE;
      for (int i = tw_graph_get_n_nodes (maker->graph) - 1; i >= 0; i--)
        {
          const TwNode *node = tw_graph_get_nth_node (maker->graph, i);
          const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, node->block);
          g_autoptr (GPtrArray) links = tw_graph_get_links_from (maker->graph, node->id, NULL);
          g_autofree char *id = g_strdup (node->id);
          TwCommand remove = { .kind = TW_COMMAND_REMOVE_NODE, .node = id };
          if (links->len > 0 || block->kind == TW_KIND_SINK)
            continue;
          apply (maker, &remove);
          again = TRUE;
        }
    }
}

TwGraph *
graph_fuzz_make (const GraphFuzz *fuzz, const char *name)
{
  Maker maker = { .fuzz = fuzz, .graph = tw_graph_new (name) };
  maker.history = tw_history_new (maker.graph);
  maker.values = g_ptr_array_new_with_free_func (free_value);
  double pick = g_rand_double (fuzz->rand);
  maker.dtype = pick < 0.5 ? TW_DTYPE_BF16 : pick < 0.8 ? TW_DTYPE_F16 : TW_DTYPE_F32;
  add_dimensions (&maker);
  begin (&maker);
  g_autofree char *columns = choose_dim (&maker);
  g_autofree char *shape = g_strdup_printf ("T, %s", columns);
  g_free (add_source (&maker, TW_ROLE_MATRIX, shape, tw_dtype_get_name (maker.dtype), FALSE));
  end (&maker);
  for (int i = 0; i < 4 * fuzz->n_nodes && tw_graph_get_n_nodes (maker.graph) < 2 * fuzz->n_nodes;
       i++)
    switch (below (&maker, 12))
      {
      case 0:
      case 1:
        grow_norm (&maker);
        break;
      case 2:
      case 3:
        grow_siblings (&maker);
        break;
      case 4:
        grow_statistic (&maker);
        break;
      case 5:
      case 6:
        grow_scale (&maker);
        break;
      default:
        grow_any (&maker);
      }
  add_outputs (&maker);
  if (fuzz->runs)
    remove_dead (&maker);
  tw_history_free (maker.history);
  tw_typing_free (maker.typing);
  g_ptr_array_unref (maker.values);
  return maker.graph;
}
