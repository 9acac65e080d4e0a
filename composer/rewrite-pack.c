/* On request, at the cost of a copy that `prepare` makes: a column scale folded into the rows of
 * the weight that follows it, and two weights interleaved into one. A trainable weight is never
 * copied: the copy would be stale after the next update. */
#include "rewrite-private.h"

#include <string.h>

/* What may be done to a weight. */
typedef struct
{
  gboolean weight, frozen, packed;
} Weight;

static Weight
get_weight (TwRewriting *rewriting, TwEnd end)
{
  Weight weight = { FALSE, FALSE, FALSE };
  const TwNode *node = end.node ? tw_graph_get_node (rewriting->graph, end.node) : NULL;
  const TwBlock *block = node ? tw_catalog_get (rewriting->catalog, node->block) : NULL;
  const TwType *type = block ? tw_rewriting_get_type (rewriting, end.node, end.port) : NULL;
  if (!type || block->kind != TW_KIND_SOURCE)
    return weight;
  const char *mode = tw_node_get_param (node, block, "mode");
  const char *storage = tw_node_get_param (node, block, "storage");
  weight.weight = type->weight;
  weight.frozen = g_strcmp0 (mode, "trainable") != 0;
  weight.packed = rewriting->options->pack || g_strcmp0 (storage, "packed") == 0;
  return weight;
}

/* Column scales into weights */

static gboolean
is_column_scale (const TwBlock *block)
{
  return strcmp (block->id, "scale_columns") == 0;
}

static gboolean
takes_column_order (const TwRewriting *rewriting, const char *block_id, const char *port)
{
  const TwBlock *block = tw_catalog_get (rewriting->catalog, block_id);
  const TwPortSpec *spec = block ? tw_block_get_port (block, port) : NULL;
  return spec && spec->column_order_allowed;
}

/* The weights that take the scale for one reader, in `targets` (TwEnd: contraction and port). FALSE
 * with the reason, g_free, where one does not; NULL reason: it was not asked for. */
static gboolean
find_targets (TwRewriting *rewriting, TwEnd reader, GArray *targets, char **reason)
{
  const TwBlock *block = tw_rewriting_get_block (rewriting, reader.node);
  const TwLaw *law = block && block->kind == TW_KIND_CONTRACTION
                         ? tw_law_get_transfer (block, reader.port)
                         : NULL;
  if (!law)
    {
      *reason
          = g_strdup_printf ("%s reads the scaled value too, and has no weight whose rows could "
                             "take the scale",
                             reader.node);
      return FALSE;
    }
  for (int i = 1; law->inputs[i]; i++)
    {
      TwEnd target = { reader.node, tw_rewriting_keep (rewriting, law->inputs[i]) };
      TwEnd from = tw_rewriting_get_source (rewriting, target.node, target.port);
      Weight weight = get_weight (rewriting, from);
      const TwType *type
          = from.node ? tw_rewriting_get_type (rewriting, from.node, from.port) : NULL;
      if (!weight.weight)
        *reason = g_strdup_printf ("%s.%s is no weight: its values are not known at prepare time",
                                   target.node, target.port);
      else if (!weight.packed)
        return FALSE;
      else if (!weight.frozen)
        *reason = g_strdup_printf ("weight %s is trainable: a folded copy would be stale after the "
                                   "next update",
                                   from.node);
      else if (type->column_order && !takes_column_order (rewriting, "scale_rows", "x"))
        *reason = g_strdup_printf ("weight %s is stored by columns, which only products read",
                                   from.node);
      if (*reason)
        return FALSE;
      g_array_append_val (targets, target);
    }
  return targets->len > 0;
}

/* w' = (offset + g) by rows of w: the source of the scaled copy. */
static TwEnd
scale_weight (TwRewriting *rewriting, TwEnd w, TwEnd g, gboolean one_plus, const char *origin)
{
  g_autofree char *name = g_strdup_printf ("%s_%s", w.node, g.node);
  const char *scaled = tw_rewriting_add (rewriting, name, "scale_rows", origin, w);
  TwEnd y = { scaled, "y" };
  tw_rewriting_connect (rewriting, w, (TwEnd){ scaled, "x" }, FALSE);
  tw_rewriting_connect (rewriting, g, (TwEnd){ scaled, "s" }, FALSE);
  if (!one_plus)
    return y;
  const char *sum = tw_rewriting_add (rewriting, name, "add", origin, w);
  tw_rewriting_connect (rewriting, w, (TwEnd){ sum, "a" }, FALSE);
  tw_rewriting_connect (rewriting, y, (TwEnd){ sum, "b" }, FALSE);
  return (TwEnd){ sum, "y" };
}

static void
fold (TwRewriting *rewriting, const char *id)
{
  const char *rule = "fold-column-scale";
  TwEnd x = tw_rewriting_get_source (rewriting, id, "x");
  TwEnd g = tw_rewriting_get_source (rewriting, id, "g");
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, id, "y");
  g_autoptr (GArray) targets = g_array_new (FALSE, FALSE, sizeof (TwEnd));
  if (!x.node || !g.node || readers->len == 0)
    return;
  for (guint i = 0; i < readers->len; i++)
    {
      g_autofree char *reason = NULL;
      if (find_targets (rewriting, g_array_index (readers, TwEnd, i), targets, &reason))
        continue;
      if (reason && (rewriting->options->pack || targets->len > 0))
        tw_rewriting_refuse (rewriting, rule, id, "%s", reason);
      return;
    }
  Weight gamma = get_weight (rewriting, g);
  if (!gamma.weight || !gamma.frozen)
    {
      tw_rewriting_refuse (rewriting, rule, id,
                           gamma.weight
                               ? "weight %s is trainable: a folded copy would be stale after "
                                 "the next update"
                               : "%s is no weight: its values are not known at prepare time",
                           g.node);
      return;
    }
  g_autoptr (GArray) others = tw_rewriting_get_readers (rewriting, g.node, g.port);
  for (guint i = 0; i < others->len; i++)
    {
      const TwEnd *other = &g_array_index (others, TwEnd, i);
      const TwBlock *block = tw_rewriting_get_block (rewriting, other->node);
      if (strcmp (other->node, id) != 0 && block && !tw_rewriting_is_scale (block))
        {
          tw_rewriting_refuse (
              rewriting, rule, id,
              "%s is also read by %s, as one value per column: it cannot be one per "
              "row of a weight as well",
              g.node, other->node);
          return;
        }
    }
  const TwNode *node = tw_graph_get_node (rewriting->graph, id);
  double offset = 0;
  tw_node_get_number (node, tw_rewriting_get_block (rewriting, id), "offset", &offset);
  const char *origin = tw_rewriting_keep (rewriting, node->origin ? node->origin : node->id);
  if ((offset != 0 && offset != 1) || (offset == 1 && !tw_catalog_get (rewriting->catalog, "add")))
    {
      tw_rewriting_refuse (rewriting, rule, id, "no block scales a weight by %g + %s", offset,
                           g.node);
      return;
    }
  TwEnd first = g_array_index (targets, TwEnd, 0);
  const TwBlock *product = tw_rewriting_get_block (rewriting, first.node);
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_add (open, (gpointer)id);
  char *before = tw_rewriting_print (rewriting, first.node, product->outputs[0].name, open);
  gint64 copied = 0;
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "every reader of %s is a product with a weight", id);
  for (guint i = 0; i < targets->len; i++)
    {
      TwEnd target = g_array_index (targets, TwEnd, i);
      TwEnd w = tw_rewriting_get_source (rewriting, target.node, target.port);
      copied
          += tw_rewriting_get_bytes (rewriting, tw_rewriting_get_type (rewriting, w.node, w.port));
      tw_conditions_add (conditions, "%s and %s are frozen", g.node, w.node);
      TwEnd scaled = scale_weight (rewriting, w, g, offset == 1, origin);
      g_hash_table_add (open, (gpointer)scaled.node);
      tw_rewriting_connect (rewriting, scaled, target, FALSE);
      TwEnd s = tw_rewriting_get_source (rewriting, scaled.node, "b");
      if (s.node)
        {
          g_hash_table_add (open, (gpointer)s.node);
          tw_rewriting_order (rewriting, s.node);
        }
      tw_rewriting_order (rewriting, scaled.node);
    }
  const TwBlock *source = tw_rewriting_get_block (rewriting, x.node);
  const TwType *type = tw_rewriting_get_type (rewriting, x.node, x.port);
  gboolean pass = source && source->kind == TW_KIND_SOURCE;
  gint64 bytes = pass ? 2 * tw_rewriting_get_bytes (rewriting, type) : 0;
  for (guint i = 0; i < readers->len; i++)
    tw_rewriting_reconnect (rewriting, x, g_array_index (readers, TwEnd, i));
  tw_rewriting_remove (rewriting, id);
  g_autofree char *size = g_strdup_printf ("%" G_GINT64_FORMAT, copied);
  tw_rewriting_step (
      rewriting, rule, id, before,
      tw_rewriting_print (rewriting, first.node, product->outputs[0].name, open),
      "Scaling column k of the left operand is scaling row k of the right one: both multiply the "
      "k-th term of every sum.",
      conditions, bytes, pass,
      pass ? g_strdup_printf ("a pass over %s, for %s bytes of prepared weights", x.node, size)
           : g_strdup_printf ("a multiplication an element, for %s bytes of prepared weights",
                              size));
}

void
tw_rewrite_fold_columns (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) ids = tw_rewriting_list (rewriting, is_column_scale);
  for (guint i = 0; i < ids->len && !rewriting->failed; i++)
    fold (rewriting, ids->pdata[i]);
}

/* Two weights into one */

/* What reads the two products as a pair. */
typedef struct
{
  TwEnd gate, up;           /* ports of the reader */
  const TwPortSpec *packed; /* the port that takes both */
  const char *value;        /* of its parameter */
  int group;
  const char *scales[2]; /* scale_rows between product and reader, or NULL */
  gboolean swapped;      /* the second product is the first partner */
} Pair;

/* The end of the chain product -> [scale_rows] -> reader; FALSE if something else reads along it.
 */
static gboolean
follow (TwRewriting *rewriting, const char *product, const char **scale, TwEnd *end)
{
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, product, "y");
  *scale = NULL;
  if (readers->len != 1)
    return FALSE;
  *end = g_array_index (readers, TwEnd, 0);
  const TwBlock *block = tw_rewriting_get_block (rewriting, end->node);
  if (!block || !tw_rewriting_is_scale (block))
    return TRUE;
  g_autoptr (GArray) next = tw_rewriting_get_readers (rewriting, end->node, "y");
  if (next->len != 1 || strcmp (end->port, "x") != 0)
    return FALSE;
  *scale = end->node;
  *end = g_array_index (next, TwEnd, 0);
  return TRUE;
}

static gboolean
same_scale (TwRewriting *rewriting, const char *one, const char *two)
{
  if (!one || !two)
    return one == two;
  TwEnd s = tw_rewriting_get_source (rewriting, one, "s");
  TwEnd t = tw_rewriting_get_source (rewriting, two, "s");
  return s.node && t.node && strcmp (s.node, t.node) == 0 && strcmp (s.port, t.port) == 0
         && tw_rewriting_get_degree (rewriting, one) == tw_rewriting_get_degree (rewriting, two);
}

/* The widest interleave that divides `columns`. */
static void
choose_group (const TwBlock *block, Pair *pair, gint64 columns)
{
  const TwParamSpec *param = tw_block_get_param (block, pair->packed->when_param);
  pair->group = 0;
  for (int v = 0; param && param->values && param->values[v]; v++)
    {
      int group = (int)param->numbers[v];
      if (group >= 1 && group > pair->group && columns % group == 0
          && tw_port_spec_present (pair->packed, param->values[v]))
        {
          pair->group = group;
          pair->value = param->values[v];
        }
    }
}

static gboolean
find_pair (TwRewriting *rewriting, const TwSiblings *siblings, Pair *pair)
{
  const char *rule = "pack-siblings", *where = siblings->first;
  TwEnd ends[2] = { { NULL, NULL }, { NULL, NULL } };
  if (!follow (rewriting, siblings->first, &pair->scales[0], &ends[0])
      || !follow (rewriting, siblings->second, &pair->scales[1], &ends[1])
      || strcmp (ends[0].node, ends[1].node) != 0)
    {
      tw_rewriting_refuse (
          rewriting, rule, where,
          "%s and %s are not read by one block alone, so that no block takes them as "
          "pairs",
          siblings->first, siblings->second);
      return FALSE;
    }
  const TwBlock *block = tw_rewriting_get_block (rewriting, ends[0].node);
  for (int p = 0; block && p < block->n_ports; p++)
    {
      const TwPortSpec *port = &block->ports[p];
      if (port->direction != TW_DIRECTION_IN || !port->operands[1] || !port->when_param)
        continue;
      pair->swapped = strcmp (port->operands[0], ends[1].port) == 0;
      pair->gate = ends[pair->swapped];
      pair->up = ends[!pair->swapped];
      if (strcmp (port->operands[0], pair->gate.port) == 0
          && strcmp (port->operands[1], pair->up.port) == 0)
        pair->packed = port;
    }
  if (!pair->packed)
    {
      tw_rewriting_refuse (rewriting, rule, where, "%s (%s) takes no pairs in one tensor",
                           ends[0].node, block ? block->id : "unknown");
      return FALSE;
    }
  if (!same_scale (rewriting, pair->scales[0], pair->scales[1]))
    {
      tw_rewriting_refuse (rewriting, rule, where, "%s and %s do not owe the same scale",
                           siblings->first, siblings->second);
      return FALSE;
    }
  const TwType *type = tw_rewriting_get_type (rewriting, siblings->b0.node, siblings->b0.port);
  gint64 columns
      = type && type->n_dims == 2 ? tw_rewriting_get_extent (rewriting, type->dims[1]) : 0;
  choose_group (block, pair, columns);
  if (!pair->group)
    tw_rewriting_refuse (rewriting, rule, where,
                         "no interleave of %s divides %" G_GINT64_FORMAT " columns", block->id,
                         columns);
  return pair->group > 0;
}

/* TRUE if both weights may be copied; FALSE with a refusal, or silently if nobody asked. */
static gboolean
may_pack (TwRewriting *rewriting, const TwSiblings *siblings)
{
  TwEnd ends[] = { siblings->b0, siblings->b1 };
  for (int i = 0; i < 2; i++)
    {
      const TwType *type = tw_rewriting_get_type (rewriting, ends[i].node, ends[i].port);
      const TwBlock *block = tw_rewriting_get_block (rewriting, ends[i].node);
      Weight weight = get_weight (rewriting, ends[i]);
      /* What fold-column-scale made is prepared anyway. */
      gboolean prepared = type && type->weight && block && block->kind != TW_KIND_SOURCE;
      if (prepared)
        continue;
      if (!weight.packed)
        return FALSE;
      if (!weight.weight || !weight.frozen)
        {
          tw_rewriting_refuse (
              rewriting, "pack-siblings", siblings->first,
              weight.weight ? "weight %s is trainable: a packed copy would be stale after the next "
                              "update"
                            : "%s is no weight: its values are not known at prepare time",
              ends[i].node);
          return FALSE;
        }
    }
  if (siblings->column_order && !takes_column_order (rewriting, "interleave", "w0"))
    {
      tw_rewriting_refuse (rewriting, "pack-siblings", siblings->first,
                           "weight %s is stored by columns, which only products read",
                           siblings->b0.node);
      return FALSE;
    }
  return TRUE;
}

static void
set_group (TwRewriting *rewriting, const char *node, const TwBlock *block, int group)
{
  for (int p = 0; p < block->n_params; p++)
    {
      const TwParamSpec *param = &block->params[p];
      g_autofree char *number = g_strdup_printf ("%d", group);
      if (strcmp (param->id, "group") != 0)
        continue;
      for (int v = 0; param->values && param->values[v]; v++)
        if ((int)param->numbers[v] == group)
          {
            tw_rewriting_set_param (rewriting, node, param->id, param->values[v]);
            return;
          }
      tw_rewriting_set_param (rewriting, node, param->id, number);
    }
}

static void
pack (TwRewriting *rewriting, const TwSiblings *siblings, Pair *pair)
{
  const TwEnd unknown = { NULL, NULL };
  const TwBlock *block = tw_catalog_get (rewriting->catalog, "interleave");
  const TwNode *node = tw_graph_get_node (rewriting->graph, siblings->first);
  const char *origin = tw_rewriting_keep (rewriting, node->origin ? node->origin : node->id);
  TwEnd w0 = pair->swapped ? siblings->b1 : siblings->b0;
  TwEnd w1 = pair->swapped ? siblings->b0 : siblings->b1;
  const TwBlock *reader_block = tw_rewriting_get_block (rewriting, pair->gate.node);
  const char *reader = pair->gate.node, *result = reader_block->outputs[0].name;
  const TwPortSpec *pair_port = NULL;
  for (int p = 0; p < block->n_ports; p++)
    if (block->ports[p].direction == TW_DIRECTION_OUT)
      pair_port = &block->ports[p];
  if (!pair_port)
    return;
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_add (open, (gpointer)siblings->first);
  g_hash_table_add (open, (gpointer)siblings->second);
  for (int i = 0; i < 2; i++)
    if (pair->scales[i])
      g_hash_table_add (open, (gpointer)pair->scales[i]);
  char *before = tw_rewriting_print (rewriting, reader, result, open);
  const TwType *a_type = tw_rewriting_get_type (rewriting, siblings->a.node, siblings->a.port);
  const TwType *y_type = tw_rewriting_get_type (rewriting, siblings->first, "y");
  const TwType *w_type = tw_rewriting_get_type (rewriting, w0.node, w0.port);
  g_autofree char *weights = g_strdup_printf ("%s_%s", w0.node, w1.node);
  g_autofree char *products = g_strdup_printf ("%s_%s", siblings->first, siblings->second);
  /* Twice as wide as anything the typing knows. */
  const char *both = tw_rewriting_add (rewriting, weights, "interleave", origin, unknown);
  set_group (rewriting, both, block, pair->group);
  tw_rewriting_connect (rewriting, w0, (TwEnd){ both, "w0" }, FALSE);
  tw_rewriting_connect (rewriting, w1, (TwEnd){ both, "w1" }, FALSE);
  const char *product = tw_rewriting_add (rewriting, products, "gemm", origin, unknown);
  TwEnd value = { product, "y" };
  const TwLink *old = tw_graph_get_link_to (rewriting->graph, siblings->first, "a");
  tw_rewriting_connect (rewriting, siblings->a, (TwEnd){ product, "a" }, old && old->fuse_required);
  old = tw_graph_get_link_to (rewriting->graph, siblings->first, "a");
  tw_rewriting_owe_like (rewriting, (TwEnd){ product, "a" }, old, (TwEnd){ "", "" }, 0);
  tw_rewriting_connect (rewriting, (TwEnd){ both, pair_port->id }, (TwEnd){ product, "b" }, FALSE);
  if (pair->scales[0])
    {
      const char *scale = pair->scales[0];
      TwEnd s = tw_rewriting_get_source (rewriting, scale, "s"), x = { scale, "x" };
      int degree = tw_rewriting_get_degree (rewriting, scale);
      tw_rewriting_connect (rewriting, value, x, FALSE);
      tw_rewriting_owe_like (rewriting, x, NULL, s, degree);
      TwEnd *like = g_new0 (TwEnd, 1);
      g_hash_table_insert (rewriting->likes, (gpointer)scale, like);
      value = (TwEnd){ scale, "y" };
    }
  TwCommand cut[] = {
    { .kind = TW_COMMAND_DISCONNECT, .to_node = pair->gate.node, .to_port = pair->gate.port },
    { .kind = TW_COMMAND_DISCONNECT, .to_node = pair->up.node, .to_port = pair->up.port },
  };
  old = tw_graph_get_link_to (rewriting->graph, pair->gate.node, pair->gate.port);
  gboolean fuse = old && old->fuse_required;
  old = tw_graph_get_link_to (rewriting->graph, pair->up.node, pair->up.port);
  fuse |= old && old->fuse_required;
  tw_rewriting_apply (rewriting, &cut[0]);
  tw_rewriting_apply (rewriting, &cut[1]);
  tw_rewriting_set_param (rewriting, reader, pair->packed->when_param, pair->value);
  tw_rewriting_connect (rewriting, value, (TwEnd){ reader, pair->packed->id }, fuse);
  tw_rewriting_remove (rewriting, siblings->first);
  tw_rewriting_remove (rewriting, siblings->second);
  if (pair->scales[1])
    tw_rewriting_remove (rewriting, pair->scales[1]);
  tw_rewriting_order (rewriting, both);
  tw_rewriting_order (rewriting, product);
  if (pair->scales[0])
    tw_rewriting_order (rewriting, pair->scales[0]);
  g_hash_table_add (open, (gpointer)product);
  g_hash_table_add (open, (gpointer)both);
  gint64 copied = 2 * tw_rewriting_get_bytes (rewriting, w_type);
  gint64 bytes
      = tw_rewriting_get_bytes (rewriting, a_type) + 2 * tw_rewriting_get_bytes (rewriting, y_type);
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "both read %s.%s; weights of one shape, dtype and order",
                     siblings->a.node, siblings->a.port);
  tw_conditions_add (conditions, "%s and %s are frozen", w0.node, w1.node);
  tw_conditions_add (conditions, "%s takes pairs interleaved by %d", reader, pair->group);
  g_autofree char *size = g_strdup_printf ("%" G_GINT64_FORMAT, copied);
  tw_rewriting_step (
      rewriting, "pack-siblings", reader, before,
      tw_rewriting_print (rewriting, reader, result, open),
      "Columns of a product are products with columns of the weight: columns may lie "
      "in any order, if the reader knows it.",
      conditions, bytes, 1,
      g_strdup_printf ("one read of %s, the pair's trip through memory and a launch, "
                       "for %s bytes of prepared weights",
                       siblings->a.node, size));
}

void
tw_rewrite_pack_siblings (TwRewriting *rewriting)
{
  if (!tw_catalog_get (rewriting->catalog, "interleave"))
    return;
  g_autoptr (GArray) pairs = tw_rewriting_find_siblings (rewriting, "pack-siblings", FALSE);
  for (guint i = 0; i < pairs->len && !rewriting->failed; i++)
    {
      TwSiblings *siblings = &g_array_index (pairs, TwSiblings, i);
      Pair pair = { .packed = NULL };
      tw_rewriting_refresh_siblings (rewriting, siblings);
      if (may_pack (rewriting, siblings) && find_pair (rewriting, siblings, &pair))
        pack (rewriting, siblings, &pair);
    }
}
