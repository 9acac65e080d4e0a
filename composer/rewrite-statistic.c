/* Statistics of values that a product makes are gathered in its epilogue, as partials; what
 * finishes them is computed where it is read. */
#include "rewrite-private.h"

#define GROUP 64 /* columns of a partial: a panel */

static gboolean
is_statistic (const TwBlock *block)
{
  return block->kind == TW_KIND_STATISTIC;
}

static gboolean
is_finish (const TwBlock *block)
{
  return block->kind == TW_KIND_FINISH;
}

static const TwPortSpec *
find_port (const TwBlock *block, TwDirection direction)
{
  for (int p = 0; p < block->n_ports; p++)
    if (block->ports[p].direction == direction)
      return &block->ports[p];
  return NULL;
}

/* The reader of another kind than a finish, NULL if there is none. */
static const char *
find_other_reader (TwRewriting *rewriting, const char *node)
{
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, node, NULL);
  for (guint i = 0; i < readers->len; i++)
    {
      const char *reader = g_array_index (readers, TwEnd, i).node;
      const TwBlock *block = tw_rewriting_get_block (rewriting, reader);
      if (!block || block->kind != TW_KIND_FINISH)
        return reader;
    }
  return NULL;
}

static void
split (TwRewriting *rewriting, const char *id, const TwBlock *block)
{
  const char *rule = "statistic-partials";
  const TwPortSpec *out = find_port (block, TW_DIRECTION_OUT);
  const TwPortSpec *in = find_port (block, TW_DIRECTION_IN);
  const TwNode *node = tw_graph_get_node (rewriting->graph, id);
  double group = 0;
  if (!out || !in || !out->group_param
      || (tw_node_get_number (node, block, out->group_param, &group) && group != 0))
    return;
  TwEnd from = tw_rewriting_get_source (rewriting, id, in->id);
  const TwBlock *source = from.node ? tw_rewriting_get_block (rewriting, from.node) : NULL;
  if (!source)
    return;
  if (!tw_rewriting_get_place (rewriting, from.node).epilogue)
    {
      tw_rewriting_refuse (rewriting, rule, id,
                           "%s is not made in a product's epilogue (%s): its rows are read once, "
                           "whole",
                           from.node,
                           source->kind == TW_KIND_SOURCE ? "it is given" : "it has its own pass");
      return;
    }
  const char *other = find_other_reader (rewriting, id);
  if (other)
    {
      tw_rewriting_refuse (rewriting, rule, id,
                           "%s is read by %s, which expects whole rows: partials would change what "
                           "leaves the graph",
                           id, other);
      return;
    }
  const TwType *type = tw_rewriting_get_type (rewriting, from.node, from.port);
  gint64 columns = type && type->n_dims > 0
                       ? tw_rewriting_get_extent (rewriting, type->dims[type->n_dims - 1])
                       : 0;
  gint64 rows = type && type->n_dims > 1 ? tw_rewriting_get_extent (rewriting, type->dims[0]) : 0;
  gint64 partials = 2 * 4 * rows * ((columns + GROUP - 1) / GROUP);
  char *before = tw_rewriting_print (rewriting, id, out->id, NULL);
  g_autofree char *number = g_strdup_printf ("%d", GROUP);
  tw_rewriting_set_param (rewriting, id, out->group_param, number);
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "%s is made in a product's epilogue", from.node);
  tw_conditions_add (conditions, "every reader of %s is a finish, which folds partials", id);
  char *after = g_strdup_printf ("%s per %d columns, folded in order", before, GROUP);
  tw_rewriting_step (rewriting, rule, id, before, after,
                     "A sum over a row is the sum of the sums over its groups of columns; a tile "
                     "sees some groups whole.",
                     conditions, tw_rewriting_get_bytes (rewriting, type) - partials, 1, NULL);
}

void
tw_rewrite_split_statistics (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) ids = tw_rewriting_list (rewriting, is_statistic);
  for (guint i = 0; i < ids->len && !rewriting->failed; i++)
    split (rewriting, ids->pdata[i], tw_rewriting_get_block (rewriting, ids->pdata[i]));
}

static void
place_finish (TwRewriting *rewriting, const char *id, const TwBlock *block)
{
  const char *rule = "finish-in-consumer";
  const TwPortSpec *out = find_port (block, TW_DIRECTION_OUT);
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, id, NULL);
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  if (!out || readers->len == 0)
    return;
  TwEnd shown = { NULL, NULL };
  for (guint i = 0; i < readers->len; i++)
    {
      TwEnd reader = g_array_index (readers, TwEnd, i);
      const TwBlock *other = tw_rewriting_get_block (rewriting, reader.node);
      if (!other || other->kind == TW_KIND_SINK)
        {
          tw_rewriting_refuse (
              rewriting, rule, id,
              "%s leaves the graph at output %s: it has a launch of its own and is "
              "read from there",
              id, reader.node);
          return;
        }
      const TwPortSpec *port = find_port (other, TW_DIRECTION_OUT);
      if (!shown.node && port)
        shown = (TwEnd){ reader.node, tw_rewriting_keep (rewriting, port->id) };
    }
  if (!shown.node)
    return;
  char *before = tw_rewriting_print (rewriting, shown.node, shown.port, NULL);
  g_hash_table_add (open, (gpointer)id);
  char *after = tw_rewriting_print (rewriting, shown.node, shown.port, open);
  const TwType *type = tw_rewriting_get_type (rewriting, id, out->id);
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "%s is not wired to an output", id);
  tw_conditions_add (conditions,
                     readers->len == 1
                         ? "one number a row: its reader computes it in its prologue"
                         : "one number a row: each of its %u readers computes it in its "
                           "prologue",
                     readers->len);
  tw_rewriting_step (rewriting, rule, id, before, after,
                     "A value may be computed where it is read instead of being stored and loaded.",
                     conditions, 2 * tw_rewriting_get_bytes (rewriting, type), 1, NULL);
}

void
tw_rewrite_place_finishes (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) ids = tw_rewriting_list (rewriting, is_finish);
  for (guint i = 0; i < ids->len && !rewriting->failed; i++)
    place_finish (rewriting, ids->pdata[i], tw_rewriting_get_block (rewriting, ids->pdata[i]));
}
