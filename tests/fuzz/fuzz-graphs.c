/* Shapes worth drawing often, outputs, and the mixture of it all. */
#include "fuzz-maker.h"

#include <string.h>

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
    maker_grow (maker, scale, NULL, NULL);
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
  const Value *value = maker_find_value (maker, TW_ROLE_MATRIX, any, 2, NULL);
  if (!gemm || !value)
    return;
  g_autofree char *normed = NULL;
  Value a = copy_value (value);
  if (norm && maker_chance (maker, 0.5) && maker_grow (maker, norm, &a, &normed))
    {
      value = get_output (maker, normed);
      clear_value (&a);
      a = copy_value (value);
    }
  int n = maker_chance (maker, 0.3) ? 3 : 2;
  char *made[3] = { NULL };
  g_autofree char *other = maker_choose_dim (maker);
  g_autofree char *columns = maker_choose_dim (maker);
  gboolean column = maker_chance (maker, 0.15), trainable = maker_chance (maker, 0.12);
  maker_begin (maker);
  for (int i = 0; i < n; i++)
    {
      const TwType *type = tw_typing_get (maker->typing, a.node, a.port);
      if (!type)
        break;
      const char *wide = maker_chance (maker, 0.1) ? other : columns;
      g_autofree char *text = g_strdup_printf ("%s, %s", tw_dim_get_text (type->dims[1]), wide);
      g_autofree char *w = maker_add (maker, "weight");
      maker_set (maker, w, "shape", text);
      maker_set (maker, w, "dtype", tw_dtype_get_name (type->dtype));
      if (column)
        maker_set (maker, w, "order", "column");
      if (trainable)
        maker_set (maker, w, "mode", "trainable");
      made[i] = maker_add (maker, "gemm");
      Value right = { w, (char *)"y", NULL, NULL };
      maker_wire (maker, &a, made[i], "a");
      maker_wire (maker, &right, made[i], "b");
    }
  if (maker_end (maker) && made[1])
    {
      int n_blocks = 0;
      const TwBlock *const *blocks = tw_catalog_list (maker->fuzz->catalog, &n_blocks);
      for (int tries = 0; tries < 20; tries++)
        {
          const TwBlock *block = blocks[maker_below (maker, n_blocks)];
          if (block->kind != TW_KIND_ELEMENTWISE || block->n_operands != 2
              || !tw_formula_is_elementwise (block->formula))
            continue;
          maker_begin (maker);
          g_autofree char *node = maker_add (maker, block->id);
          int wired = 0;
          for (int p = 0; p < block->n_ports && wired < 2; p++)
            if (block->ports[p].direction == TW_DIRECTION_IN)
              {
                Value from = { made[wired], (char *)"y", NULL, NULL };
                maker_wire (maker, &from, node, block->ports[p].id);
                wired++;
              }
          if (maker_end (maker))
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
      const TwBlock *block = blocks[maker_below (maker, n_blocks)];
      if (block->kind == TW_KIND_COMPOSITE)
        norm = block;
    }
  g_autofree char *id = NULL, *middle = NULL;
  if (!norm || !gemm || !maker_grow (maker, norm, NULL, &id))
    return;
  const Value *value = get_output (maker, id);
  if (value && maker_chance (maker, 0.4))
    {
      Value first = copy_value (value);
      for (int tries = 0; tries < 8 && !middle; tries++)
        {
          const TwBlock *block = blocks[maker_below (maker, n_blocks)];
          if (block->kind == TW_KIND_ELEMENTWISE)
            maker_grow (maker, block, &first, &middle);
        }
      clear_value (&first);
      value = middle ? get_output (maker, middle) : get_output (maker, id);
    }
  if (value && maker_chance (maker, 0.85))
    {
      Value first = copy_value (value);
      maker_grow (maker, gemm, &first, NULL);
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
      const TwBlock *block = blocks[maker_below (maker, n_blocks)];
      g_autofree char *id = NULL;
      if (block->kind != TW_KIND_STATISTIC || !maker_grow (maker, block, NULL, &id))
        continue;
      const TwBlock *finish = tw_catalog_get (maker->fuzz->catalog, "finish");
      const Value *value = get_output (maker, id);
      if (finish && value && maker_chance (maker, 0.85))
        {
          Value first = copy_value (value);
          maker_grow (maker, finish, &first, NULL);
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
  const TwBlock *block = blocks[maker_below (maker, n_blocks)];
  if (block->kind != TW_KIND_SOURCE && block->kind != TW_KIND_SINK)
    maker_grow (maker, block, NULL, NULL);
}

/* Outputs */

static void
add_output (Maker *maker, const Value *value)
{
  maker_begin (maker);
  g_autofree char *id = maker_add (maker, "output");
  maker_wire (maker, value, id, "x");
  maker_end (maker);
}

static void
add_outputs (Maker *maker)
{
  g_autoptr (GPtrArray) wanted = g_ptr_array_new_with_free_func (maker_free_value);
  for (guint i = 0; i < maker->values->len; i++)
    {
      const Value *value = maker->values->pdata[i];
      const TwBlock *block = tw_catalog_get (maker->fuzz->catalog, value->block);
      g_autoptr (GPtrArray) links
          = tw_graph_get_links_from (maker->graph, value->node, value->port);
      if (block->kind != TW_KIND_SOURCE && !value->type->weight
          && (links->len == 0 || maker_chance (maker, 0.06)))
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
          = sizes[maker_below (maker, maker_chance (maker, 0.7) ? 5 : (int)G_N_ELEMENTS (sizes))];
      maker_apply (maker, &set_dim);
    }
  TwCommand rows = { .kind = TW_COMMAND_SET_DIMENSION };
  rows.dimension = (TwDimension){ .name = "T",
                                  .dynamic = TRUE,
                                  .value = 1 + maker_below (maker, 5),
                                  .minimum = 0,
                                  .maximum = 1024,
                                  .multiple = 1 };
  maker_apply (maker, &rows);
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
          maker_apply (maker, &remove);
          again = TRUE;
        }
    }
}

TwGraph *
graph_fuzz_make (const GraphFuzz *fuzz, const char *name)
{
  Maker maker = { .fuzz = fuzz, .graph = tw_graph_new (name) };
  maker.history = tw_history_new (maker.graph);
  maker.values = g_ptr_array_new_with_free_func (maker_free_value);
  double pick = g_rand_double (fuzz->rand);
  maker.dtype = pick < 0.5 ? TW_DTYPE_BF16 : pick < 0.8 ? TW_DTYPE_F16 : TW_DTYPE_F32;
  add_dimensions (&maker);
  maker_begin (&maker);
  g_autofree char *columns = maker_choose_dim (&maker);
  g_autofree char *shape = g_strdup_printf ("T, %s", columns);
  g_free (maker_add_source (&maker, TW_ROLE_MATRIX, shape, tw_dtype_get_name (maker.dtype), FALSE));
  maker_end (&maker);
  for (int i = 0; i < 4 * fuzz->n_nodes && tw_graph_get_n_nodes (maker.graph) < 2 * fuzz->n_nodes;
       i++)
    switch (maker_below (&maker, 12))
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
