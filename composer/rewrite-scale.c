/* Scales of rows: their degrees, what links owe them, and two in a row made one. */
#include "rewrite-private.h"

#include <string.h>

gboolean
tw_rewriting_is_scale (const TwBlock *block)
{
  return strcmp (block->id, "scale_rows") == 0;
}

int
tw_rewriting_get_degree (const TwRewriting *rewriting, const char *scale)
{
  const TwNode *node = tw_graph_get_node (rewriting->graph, scale);
  const TwBlock *block = node ? tw_catalog_get (rewriting->catalog, node->block) : NULL;
  double degree = 1;
  return block && tw_node_get_number (node, block, "degree", &degree) ? (int)degree : 1;
}

void
tw_rewriting_set_degree (TwRewriting *rewriting, const char *scale, int degree)
{
  g_autofree char *text = g_strdup_printf ("%d", degree);
  if (tw_rewriting_get_degree (rewriting, scale) != degree)
    tw_rewriting_set_param (rewriting, scale, "degree", degree == 1 ? NULL : text);
}

gboolean
tw_rewriting_degree_fits (const TwRewriting *rewriting, int degree)
{
  const TwBlock *block = tw_catalog_get (rewriting->catalog, "scale_rows");
  const TwParamSpec *param = block ? tw_block_get_param (block, "degree") : NULL;
  return param && degree >= param->minimum && degree <= param->maximum;
}

gboolean
tw_rewriting_is_positive (const TwRewriting *rewriting, TwEnd s, char **words)
{
  const TwType *type = tw_rewriting_get_type (rewriting, s.node, s.port);
  const TwNode *node = tw_graph_get_node (rewriting->graph, s.node);
  const TwBlock *block = node ? tw_catalog_get (rewriting->catalog, node->block) : NULL;
  if (!type || !type->positive)
    {
      *words = g_strdup_printf ("%s > 0 is not known: no law or promise says so (positive=true on "
                                "an input is one)",
                                s.node);
      return FALSE;
    }
  const char *eps = block ? tw_node_get_param (node, block, "eps") : NULL;
  if (eps)
    *words = g_strdup_printf ("%s > 0: finish gives rsqrt(mean + eps) with eps = %s", s.node, eps);
  else
    *words = g_strdup_printf ("%s > 0: declared", s.node);
  return TRUE;
}

void
tw_rewriting_owe_like (TwRewriting *rewriting, TwEnd to, const TwLink *like, TwEnd s, int degree)
{
  int n = 0;
  g_autofree TwOwed *owed = g_new0 (TwOwed, (gsize)(like ? like->n_owed : 0) + 1);
  for (int i = 0; like && i < like->n_owed; i++)
    if (strcmp (like->owed[i].node, s.node) != 0 || strcmp (like->owed[i].port, s.port) != 0)
      {
        owed[n] = like->owed[i];
        owed[n].node = tw_rewriting_keep (rewriting, like->owed[i].node);
        owed[n].port = tw_rewriting_keep (rewriting, like->owed[i].port);
        n++;
      }
  if (degree != 0)
    owed[n++] = (TwOwed){ .node = s.node, .port = s.port, .degree = degree };
  const TwLink *link = tw_graph_get_link_to (rewriting->graph, to.node, to.port);
  if (n > 0 || (link && link->n_owed > 0))
    tw_rewriting_owe (rewriting, to, owed, n);
}

static gboolean
owes (const TwLink *link, TwEnd s)
{
  for (int i = 0; link && i < link->n_owed; i++)
    if (strcmp (link->owed[i].node, s.node) == 0 && strcmp (link->owed[i].port, s.port) == 0)
      return TRUE;
  return FALSE;
}

/* All readers of `scale` read `base` instead; the scale goes. */
static void
bypass (TwRewriting *rewriting, const char *scale, TwEnd base)
{
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, scale, "y");
  for (guint i = 0; i < readers->len; i++)
    {
      TwEnd to = g_array_index (readers, TwEnd, i);
      const TwLink *link = tw_graph_get_link_to (rewriting->graph, to.node, to.port);
      tw_rewriting_connect (rewriting, base, to, link && link->fuse_required);
    }
  tw_rewriting_remove (rewriting, scale);
}

gboolean
tw_rewriting_merge_scale (TwRewriting *rewriting, const char *second)
{
  TwEnd s = tw_rewriting_get_source (rewriting, second, "s");
  const char *first = tw_rewriting_get_source (rewriting, second, "x").node;
  int one = tw_rewriting_get_degree (rewriting, first);
  int two = tw_rewriting_get_degree (rewriting, second), sum = one + two;
  g_autofree char *words = NULL;
  gboolean positive = tw_rewriting_is_positive (rewriting, s, &words);
  if (!tw_rewriting_degree_fits (rewriting, sum))
    {
      tw_rewriting_refuse (rewriting, "merge-scales", second,
                           "%s^%d * %s^%d would be a power that scale_rows does not take", s.node,
                           one, s.node, two);
      return FALSE;
    }
  if ((one < 0 || two < 0) && !positive)
    {
      tw_rewriting_refuse (rewriting, "merge-scales", second,
                           "%s^%d * %s^%d is %s^%d only for a scale that is not 0, and %s", s.node,
                           one, s.node, two, s.node, sum, words);
      return FALSE;
    }
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_add (open, (gpointer)first);
  g_hash_table_add (open, (gpointer)second);
  char *before = tw_rewriting_print (rewriting, second, "y", open);
  TwEnd base = tw_rewriting_get_source (rewriting, first, "x");
  const TwLink *link = tw_graph_get_link_to (rewriting->graph, first, "x");
  gboolean owed = owes (link, s), fuse = link && link->fuse_required;
  TwEnd x = { second, "x" };
  tw_rewriting_connect (rewriting, base, x, fuse);
  link = tw_graph_get_link_to (rewriting->graph, first, "x");
  tw_rewriting_owe_like (rewriting, x, link, s, owed ? sum : 0);
  g_autoptr (GArray) left = tw_rewriting_get_readers (rewriting, first, "y");
  if (left->len == 0)
    tw_rewriting_remove (rewriting, first);
  char *after = NULL;
  if (sum == 0)
    {
      bypass (rewriting, second, base);
      after = tw_rewriting_print (rewriting, base.node, base.port, NULL);
    }
  else
    {
      tw_rewriting_set_degree (rewriting, second, sum);
      after = tw_rewriting_print (rewriting, second, "y", open);
      if (g_hash_table_contains (rewriting->settled, first))
        g_hash_table_add (rewriting->settled, (gpointer)second);
    }
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "both scale by the same %s", s.node);
  if (positive)
    tw_conditions_add (conditions, "%s", words);
  tw_rewriting_step (
      rewriting, "merge-scales", second, before, after,
      "Powers of one scale multiply: s^a * s^b = s^(a+b); the power 0 is no scale.", conditions, 0,
      0, sum == 0 ? g_strdup ("both multiplications") : g_strdup ("one multiplication"));
  return TRUE;
}

void
tw_rewrite_merge_scales (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) scales = tw_rewriting_list (rewriting, tw_rewriting_is_scale);
  gboolean again = rewriting->merged;
  rewriting->merged = TRUE;
  for (guint i = 0; i < scales->len && !rewriting->failed; i++)
    {
      const char *second = scales->pdata[i];
      if (!tw_graph_get_node (rewriting->graph, second))
        continue;
      TwEnd x = tw_rewriting_get_source (rewriting, second, "x");
      TwEnd s = tw_rewriting_get_source (rewriting, second, "s");
      const TwBlock *block = x.node ? tw_rewriting_get_block (rewriting, x.node) : NULL;
      if (!block || !s.node || !tw_rewriting_is_scale (block))
        continue;
      TwEnd other = tw_rewriting_get_source (rewriting, x.node, "s");
      /* What was refused before hoisting is not refused again. */
      gboolean news = !again || g_hash_table_contains (rewriting->settled, x.node)
                      || g_hash_table_contains (rewriting->settled, second);
      if (news && other.node && strcmp (other.node, s.node) == 0
          && strcmp (other.port, s.port) == 0)
        tw_rewriting_merge_scale (rewriting, second);
    }
}
