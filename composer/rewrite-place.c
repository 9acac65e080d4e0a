/* Where values will be computed, as far as rules must know before there is a plan: in the epilogue
 * of a contraction, or in a pass of its own.
 *
 * A contraction reads stored values, so its kernel comes after those that make them: its level is
 * one more than the highest of its operands. A statistic is whole only when its kernel has ended:
 * what a finish makes of it is one level up. Elementwise work belongs to the highest level among
 * its operands, and to a contraction's epilogue if an operand is made in one of that level. So an
 * unhoisted norm behind a contraction needs a pass: its scale is one level above its value. */
#include "rewrite-private.h"

static TwPlace
place_node (TwRewriting *rewriting, const char *node, const TwBlock *block)
{
  TwPlace place = { 0, FALSE };
  gboolean matrix = FALSE;
  for (int p = 0; p < block->n_ports; p++)
    {
      if (block->ports[p].direction != TW_DIRECTION_IN)
        continue;
      const TwLink *link = tw_graph_get_link_to (rewriting->graph, node, block->ports[p].id);
      const TwPlace *from = link ? g_hash_table_lookup (rewriting->places, link->from_node) : NULL;
      if (!from)
        continue;
      if (from->level > place.level)
        place = *from;
      else if (from->level == place.level)
        place.epilogue |= from->epilogue;
      matrix = TRUE;
    }
  if (block->kind == TW_KIND_CONTRACTION)
    place = (TwPlace){ place.level + 1, TRUE };
  else if (block->kind == TW_KIND_FINISH)
    place = (TwPlace){ place.level + (matrix && place.epilogue), FALSE };
  else if (block->kind == TW_KIND_SOURCE)
    place = (TwPlace){ 0, FALSE };
  else if (block->formula && block->kind == TW_KIND_ELEMENTWISE
           && !tw_formula_is_elementwise (block->formula))
    /* It reads elements of other columns, which must be in memory. */
    place = (TwPlace){ place.level + place.epilogue, FALSE };
  return place;
}

static void
place_nodes (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) ids = tw_graph_sort (rewriting->graph, NULL);
  rewriting->places = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  for (guint i = 0; i < ids->len; i++)
    {
      const TwBlock *block = tw_rewriting_get_block (rewriting, ids->pdata[i]);
      TwPlace *place = g_new0 (TwPlace, 1);
      if (block)
        *place = place_node (rewriting, ids->pdata[i], block);
      g_hash_table_insert (rewriting->places,
                           (gpointer)tw_rewriting_keep (rewriting, ids->pdata[i]), place);
    }
}

TwPlace
tw_rewriting_get_place (TwRewriting *rewriting, const char *node)
{
  static const TwPlace unknown = { 0, FALSE };
  if (!rewriting->places)
    place_nodes (rewriting);
  const TwPlace *place = g_hash_table_lookup (rewriting->places, node);
  return place ? *place : unknown;
}
