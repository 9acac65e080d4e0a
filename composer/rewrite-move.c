/* Moving scales through a region in which every scale is known to pass: one node a step, in
 * topological order, so that what feeds a node has let its scales go before. */
#include "rewrite-hoist.h"

#include <string.h>

/* What a scale's pass costs, if it needs one that hoisting saves. */
static void
give_credit (TwHoist *hoist, const char *scale)
{
  TwRewriting *rewriting = hoist->rewriting;
  TwEnd base = tw_rewriting_get_source (rewriting, scale, "x");
  const TwBlock *block = base.node ? tw_rewriting_get_block (rewriting, base.node) : NULL;
  const TwType *type = tw_rewriting_get_type (rewriting, scale, "y");
  gboolean pass = block && !tw_rewriting_get_place (rewriting, scale).epilogue;
  if (pass && block->kind == TW_KIND_SOURCE)
    {
      g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, scale, "y");
      for (guint i = 0; i < readers->len; i++)
        {
          const TwBlock *reader
              = tw_rewriting_get_block (rewriting, g_array_index (readers, TwEnd, i).node);
          pass &= reader && reader->kind == TW_KIND_CONTRACTION;
        }
    }
  else if (pass)
    pass = tw_rewriting_get_place (rewriting, base.node).epilogue;
  gint64 *bytes = g_new (gint64, 1);
  *bytes = pass ? 2 * tw_rewriting_get_bytes (rewriting, type) : -1;
  g_hash_table_insert (hoist->credit, (gpointer)scale, bytes);
}

static void
take_credit (TwHoist *hoist, const TwStop *stop, gint64 *bytes, int *launches)
{
  GHashTableIter iter;
  gpointer scale;
  g_hash_table_iter_init (&iter, stop->scales);
  while (g_hash_table_iter_next (&iter, &scale, NULL))
    {
      const gint64 *credit = g_hash_table_lookup (hoist->credit, scale);
      if (credit && *credit >= 0)
        {
          *bytes += *credit;
          *launches += 1;
        }
      g_hash_table_remove (hoist->credit, scale);
    }
}

/* Puts scale `scale` (NULL: a new one) behind an output, before all that read it. */
static const char *
put_scale (TwHoist *hoist, const TwStop *stop, TwEnd from, int degree, const char *scale,
           const char *base, const char *origin)
{
  TwRewriting *rewriting = hoist->rewriting;
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, from.node, from.port);
  if (readers->len == 0)
    return NULL;
  if (scale)
    {
      const TwEnd *other = g_hash_table_lookup (rewriting->likes, from.node);
      TwEnd *like = g_new (TwEnd, 1);
      *like = other ? *other : from;
      g_hash_table_insert (rewriting->likes, (gpointer)scale, like);
    }
  else
    {
      g_autofree char *name = g_strdup_printf ("%s_%s", base, stop->id);
      scale = tw_rewriting_add (rewriting, name, "scale_rows", origin, from);
      tw_rewriting_connect (rewriting, hoist->s, (TwEnd){ scale, "s" }, FALSE);
    }
  tw_rewriting_set_degree (rewriting, scale, degree);
  TwEnd first = g_array_index (readers, TwEnd, 0);
  TwEnd y = { scale, "y" }, x = { scale, "x" };
  tw_rewriting_connect (rewriting, from, x, FALSE);
  tw_rewriting_owe_like (rewriting, x,
                         tw_graph_get_link_to (rewriting->graph, first.node, first.port), hoist->s,
                         degree);
  for (guint i = 0; i < readers->len; i++)
    tw_rewriting_reconnect (rewriting, y, g_array_index (readers, TwEnd, i));
  tw_rewriting_order (rewriting, scale);
  if (stop->block->kind == TW_KIND_CONTRACTION)
    g_hash_table_add (rewriting->settled, (gpointer)scale);
  return scale;
}

static void
describe_move (TwHoist *hoist, const TwStop *stop, char *before, char *after)
{
  const TwBlock *block = stop->block;
  gboolean product = block->kind == TW_KIND_CONTRACTION;
  GPtrArray *conditions = tw_conditions_new ();
  gint64 bytes = 0;
  int launches = 0;
  int last = stop->degrees[0];
  for (guint i = 1; i < G_N_ELEMENTS (stop->degrees); i++)
    last = last ? last : stop->degrees[i];
  for (guint i = 0; i < stop->ports->len; i++)
    {
      const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, i);
      TwEnd from = tw_rewriting_get_source (hoist->rewriting, stop->id, owed->port);
      const TwType *type = tw_rewriting_get_type (hoist->rewriting, from.node, from.port);
      if (type && type->dtype == TW_DTYPE_F16)
        tw_conditions_add (conditions, "f16: values of %s.%s stay within %.6g < 65504 (max-rms)",
                           stop->id, owed->port, owed->bound);
    }
  const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, 0);
  if (stop->nonlinear)
    {
      tw_conditions_add (conditions, "law of %s: %s^%d before, %s^%d behind", block->id,
                         hoist->s.node, owed->degree, hoist->s.node, last);
      tw_conditions_add (conditions, "%s", hoist->words);
    }
  else
    {
      tw_conditions_add (conditions, "law of %s: linear in %s", block->id, owed->port);
      if (hoist->positive)
        tw_conditions_add (conditions, "%s", hoist->words);
    }
  if (product)
    {
      tw_conditions_add (conditions, "no force point between the scale and %s", stop->id);
      take_credit (hoist, stop, &bytes, &launches);
    }
  const char *proof
      = product ? "Each element of a product is a sum along one row of the left operand: a factor "
                  "common to that row comes out of the sum."
        : stop->nonlinear ? "The operation is homogeneous: f(s*x) = s^p * f(x) for s > 0, so that "
                            "the scale passes "
                            "with its power."
                          : "The operation is linear: f(s*x) = s * f(x), row by row.";
  char *saves = bytes == 0 && launches == 0
                    ? g_strdup (product ? "no pass: the scale is paid in the product's epilogue"
                                        : "nothing by itself: the scale is on its way")
                    : NULL;
  tw_rewriting_step (hoist->rewriting,
                     stop->nonlinear ? "hoist-scale-homogeneous" : "hoist-scale-linear", stop->id,
                     before, after, proof, conditions, bytes, launches, saves);
}

/* Every owing port of `stop` reads past its scale; a scale is put behind each output that owes. */
static void
move_past (TwHoist *hoist, const TwStop *stop, GHashTable *open)
{
  TwRewriting *rewriting = hoist->rewriting;
  int shown = 0;
  for (int o = stop->block->n_outputs - 1; o >= 0; o--)
    if (o < (int)G_N_ELEMENTS (stop->degrees) && stop->degrees[o] != 0)
      shown = o;
  TwEnd output = { stop->id, tw_rewriting_keep (rewriting, stop->block->outputs[shown].name) };
  char *before = tw_rewriting_print (rewriting, output.node, output.port, open);
  g_autoptr (GPtrArray) idle = g_ptr_array_new (); /* scales without readers */
  const char *base = NULL, *origin = NULL;
  for (guint i = 0; i < stop->ports->len && !rewriting->failed; i++)
    {
      const TwOwedPort *owed = &g_array_index (stop->ports, TwOwedPort, i);
      TwEnd to = { stop->id, owed->port };
      const char *scale = tw_rewriting_get_source (rewriting, to.node, to.port).node;
      const TwNode *node = scale ? tw_graph_get_node (rewriting->graph, scale) : NULL;
      if (!node || strcmp (node->block, "scale_rows") != 0)
        {
          rewriting->failed = TRUE;
          break;
        }
      base = scale;
      origin = tw_rewriting_keep (rewriting, node->origin ? node->origin : node->id);
      TwEnd from = tw_rewriting_get_source (rewriting, scale, "x");
      const TwLink *into = tw_graph_get_link_to (rewriting->graph, scale, "x");
      const TwLink *out = tw_graph_get_link_to (rewriting->graph, to.node, to.port);
      gboolean fuse = (into && into->fuse_required) || out->fuse_required;
      tw_rewriting_connect (rewriting, from, to, fuse);
      tw_rewriting_owe_like (rewriting, to, tw_graph_get_link_to (rewriting->graph, scale, "x"),
                             hoist->s, owed->degree);
      g_autoptr (GArray) left = tw_rewriting_get_readers (rewriting, scale, "y");
      if (left->len == 0)
        g_ptr_array_add (idle, (gpointer)scale);
    }
  char *after = NULL;
  guint used = 0;
  for (int o = 0;
       o < (int)G_N_ELEMENTS (stop->degrees) && o < stop->block->n_outputs && !rewriting->failed;
       o++)
    {
      TwEnd from = { stop->id, tw_rewriting_keep (rewriting, stop->block->outputs[o].name) };
      const char *scale = NULL;
      if (stop->degrees[o] != 0)
        scale = put_scale (hoist, stop, from, stop->degrees[o],
                           used < idle->len ? idle->pdata[used] : NULL, base, origin);
      if (!scale)
        continue;
      used += used < idle->len;
      g_hash_table_add (open, (gpointer)scale);
      if (!after)
        after = tw_rewriting_print (rewriting, scale, "y", open);
    }
  for (guint i = used; i < idle->len; i++)
    tw_rewriting_remove (rewriting, idle->pdata[i]);
  if (!after)
    after = tw_rewriting_print (rewriting, output.node, output.port, open);
  if (rewriting->failed)
    {
      g_free (before);
      g_free (after);
      return;
    }
  describe_move (hoist, stop, before, after);
}

void
tw_hoist_move (TwHoist *hoist)
{
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < hoist->order->len; i++)
    {
      const TwStop *stop = hoist->order->pdata[i];
      g_hash_table_add (open, (gpointer)stop->id);
      if (stop->member)
        give_credit (hoist, stop->id);
    }
  for (guint i = 0; i < hoist->order->len && !hoist->rewriting->failed; i++)
    {
      const TwStop *stop = hoist->order->pdata[i];
      if (stop->member && stop->ports->len > 0)
        tw_rewriting_merge_scale (hoist->rewriting, stop->id);
      else if (!stop->member)
        move_past (hoist, stop, open);
    }
}
