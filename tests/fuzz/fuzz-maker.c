/* Growing a graph by one node of any block, with everything that it reads. */
#include "fuzz-maker.h"

#include <string.h>

int
maker_below (Maker *maker, int n)
{
  return n > 0 ? g_rand_int_range (maker->fuzz->rand, 0, n) : 0;
}

gboolean
maker_chance (Maker *maker, double p)
{
  return g_rand_double (maker->fuzz->rand) < p;
}

void
maker_free_value (gpointer data)
{
  Value *value = data;
  g_free (value->node);
  g_free (value->port);
  g_free (value);
}

void
maker_apply (Maker *maker, const TwCommand *command)
{
  if (!tw_history_apply (maker->history, command, NULL))
    maker->bad = TRUE;
}

void
maker_set (Maker *maker, const char *node, const char *name, const char *value)
{
  TwCommand command = { .kind = TW_COMMAND_SET_PARAM, .node = node, .name = name, .value = value };
  maker_apply (maker, &command);
}

void
maker_wire (Maker *maker, const Value *from, const char *node, const char *port)
{
  TwCommand command = { .kind = TW_COMMAND_CONNECT,
                        .node = from->node,
                        .port = from->port,
                        .to_node = node,
                        .to_port = port };
  maker_apply (maker, &command);
}

char *
maker_add (Maker *maker, const char *block)
{
  char *id = g_strdup_printf ("n%d", maker->made++);
  TwCommand command = { .kind = TW_COMMAND_ADD_NODE, .node = id, .block = block };
  maker_apply (maker, &command);
  return id;
}

/* The power of a row's scale with which a node's outputs grow at most; 0: they do not. */
static int
get_growth (Maker *maker, GHashTable *growths, const TwNode *node)
{
  const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, node->block);
  int sum = 0, most = 0;
  if (!block || block->kind == TW_KIND_SOURCE)
    return block && strcmp (block->id, "input") == 0;
  for (int i = 0; i < tw_graph_get_n_links (maker->graph); i++)
    {
      const TwLink *link = tw_graph_get_nth_link (maker->graph, i);
      if (strcmp (link->to_node, node->id) != 0)
        continue;
      int growth = GPOINTER_TO_INT (g_hash_table_lookup (growths, link->from_node));
      sum += growth;
      most = MAX (most, growth);
    }
  if (block->kind == TW_KIND_COMPOSITE || block->kind == TW_KIND_STATISTIC)
    return 2 * most; /* of a norm, what it sums inside */
  if (strcmp (block->id, "finish") == 0)
    return 0;
  if (strcmp (block->id, "relu2") == 0)
    return 2 * most;
  return strcmp (block->id, "add") == 0 || strcmp (block->id, "bias") == 0 ? most : sum;
}

/* FALSE if a value, a sum of squares too, could leave the range of f32: the check of a program
 * scales rows by up to 2^14, so that 2^(6*14) leaves 2^43 for all else. */
static gboolean
stays_in_range (Maker *maker)
{
  g_autoptr (GHashTable) growths = g_hash_table_new (g_str_hash, g_str_equal);
  const int n = tw_graph_get_n_nodes (maker->graph);
  for (gboolean again = TRUE; again;)
    {
      again = FALSE;
      for (int i = 0; i < n; i++)
        {
          const TwNode *node = tw_graph_get_nth_node (maker->graph, i);
          const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, node->block);
          int growth = get_growth (maker, growths, node);
          if (growth > 6)
            return FALSE;
          if (block && block->kind == TW_KIND_COMPOSITE)
            growth = 0;
          if (growth == GPOINTER_TO_INT (g_hash_table_lookup (growths, node->id)))
            continue;
          g_hash_table_insert (growths, (gpointer)node->id, GINT_TO_POINTER (growth));
          again = TRUE;
        }
    }
  return TRUE;
}

/* Types the graph; TRUE if all is well but for what is not finished yet. */
static gboolean
maker_check (Maker *maker)
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
  if (good && maker->fuzz->runs)
    good = stays_in_range (maker);
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
void
maker_begin (Maker *maker)
{
  tw_history_begin (maker->history, "grow");
}

gboolean
maker_end (Maker *maker)
{
  tw_history_end (maker->history);
  if (maker_check (maker))
    return TRUE;
  tw_history_undo (maker->history);
  maker_check (maker);
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
const Value *
maker_find_value (Maker *maker, TwRole role, const TwDim *const *dims, int n_dims,
                  const TwDtype *dtype)
{
  const Value *found = NULL;
  for (guint i = maker->values->len; i-- > 0;)
    {
      const Value *value = maker->values->pdata[i];
      if (!is_role (value->type, role) || (dtype && value->type->dtype != *dtype)
          || !fits (value->type, dims, n_dims))
        continue;
      if (!found || maker_chance (maker, 0.25))
        found = value;
      if (maker_chance (maker, 0.5))
        break;
    }
  return found;
}

char *
maker_choose_dim (Maker *maker)
{
  return g_strdup_printf ("D%d", maker_below (maker, 3));
}

static const char *
choose_dtype (Maker *maker)
{
  static const TwDtype all[] = { TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32 };
  return tw_dtype_get_name (maker_chance (maker, 0.95) ? maker->dtype
                                                       : all[maker_below (maker, 3)]);
}

/* A new source of the shape; the id, g_free. */
char *
maker_add_source (Maker *maker, TwRole role, const char *shape, const char *dtype, gboolean weight)
{
  char *id = maker_add (maker, weight ? "weight" : "input");
  maker_set (maker, id, "shape", shape);
  maker_set (maker, id, "dtype", dtype);
  if (weight && maker_chance (maker, 0.15))
    maker_set (maker, id, "mode", "trainable");
  else if (weight && maker_chance (maker, 0.1))
    maker_set (maker, id, "storage", "packed");
  if (role == TW_ROLE_PER_ROW && !weight && maker_chance (maker, 0.6))
    maker_set (maker, id, "positive", "true");
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
  g_autofree char *text = strcmp (name, "M") == 0 ? g_strdup ("T") : maker_choose_dim (fill->maker);
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
                                   : maker_choose_dim (maker);
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
  if (maker_chance (maker, reuse))
    value = maker_find_value (maker, port->role, wanted, n_dims, known || literal ? &dtype : NULL);
  if (value)
    {
      learn (shape, port, value->type);
      maker_wire (maker, value, shape->id, port->id);
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
  g_autofree char *source = maker_add_source (maker, port->role, text->str, name, weight);
  if (port->column_order_allowed && maker_chance (maker, 0.15))
    maker_set (maker, source, "order", "column");
  if (port->role == TW_ROLE_STATISTIC && port->statistic)
    maker_set (maker, source, "statistic", port->statistic);
  if (port->dtype && port->n_dtypes > 0)
    {
      TwDtype used;
      if (tw_dtype_from_name (name, &used))
        g_hash_table_insert (shape->dtypes, g_strdup (port->dtype), GINT_TO_POINTER (used + 1));
    }
  Value made = { source, (char *)"y", NULL, NULL };
  maker_wire (maker, &made, shape->id, port->id);
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
        if (!param->fallback || maker_chance (maker, 0.5))
          text = g_strdup (param->values[maker_below (maker, (int)n)]);
        break;
      }
    case TW_PARAM_REAL:
      if (strcmp (param->id, "eps") == 0)
        text = g_strdup (eps[maker_chance (maker, 0.05) ? 4 : maker_below (maker, 4)]);
      else if (param->optional && maker_chance (maker, 0.6))
        text = g_strdup (bounds[maker_below (maker, G_N_ELEMENTS (bounds))]);
      else if (!param->optional && !param->fallback)
        text = g_strdup ("1");
      break;
    case TW_PARAM_INTEGER:
      if (strcmp (param->id, "degree") == 0 && maker_chance (maker, 0.35))
        text = g_strdup_printf ("%d", maker_chance (maker, 0.2)
                                          ? (maker_chance (maker, 0.5) ? 7 : -5)
                                          : maker_below (maker, 5) - 2);
      else if (strcmp (param->id, "group") == 0)
        text = maker_chance (maker, 0.2) ? g_strdup ("64") : NULL;
      else if (!param->fallback && !param->optional)
        text = g_strdup_printf ("%g", MAX (param->minimum, 1));
      break;
    case TW_PARAM_BOOLEAN:
      text = g_strdup (maker_chance (maker, 0.5) ? "true" : "false");
      break;
    case TW_PARAM_DTYPE:
      text = g_strdup (choose_dtype (maker));
      if (maker_chance (maker, 0.5))
        {
          g_free (text);
          text = g_strdup (tw_dtype_get_name ((TwDtype)maker_below (maker, TW_DTYPE_LAST)));
        }
      break;
    case TW_PARAM_DIMENSION:
      text = find_width (maker, shape->id);
      break;
    default:
      break;
    }
  if (text)
    maker_set (maker, shape->id, param->id, text);
}

/* Adds a node of the block with everything it needs; its id in *id (may be NULL), g_free. */
gboolean
maker_grow (Maker *maker, const TwBlock *block, const Value *first, char **id)
{
  /* What moves columns about is for weights. */
  if (first && block->kind == TW_KIND_ELEMENTWISE && !tw_formula_is_elementwise (block->formula))
    return FALSE;
  maker_begin (maker);
  g_autofree char *node = maker_add (maker, block->id);
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
          || (port->optional && maker_chance (maker, 0.5)))
        continue;
      if (first && g_hash_table_size (shape.names) == 0)
        {
          /* A change that was undone in between has made new types. */
          const TwType *type = tw_typing_get (maker->typing, first->node, first->port);
          if (type)
            learn (&shape, port, type);
          maker_wire (maker, first, node, port->id);
        }
      else
        wire_port (maker, &shape, port);
    }
  for (int p = 0; p < block->n_params; p++)
    if (block->params[p].type == TW_PARAM_DIMENSION)
      choose_param (maker, &shape, &block->params[p]);
  g_hash_table_unref (shape.names);
  g_hash_table_unref (shape.dtypes);
  gboolean good = maker_end (maker);
  if (good && id)
    *id = g_steal_pointer (&node);
  return good;
}
