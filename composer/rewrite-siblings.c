/* Products that read the same left operand: two become one, whose tiles take half of their columns
 * from each weight, so that gate and up of one element are in one register file.
 *
 * Candidates are grouped by left operand and type of weight, which is an equivalence; inside a
 * group each product is looked at once. Pairs whose values meet in one elementwise node come first.
 */
#include "rewrite-private.h"

#include <string.h>

static gboolean
is_product (const TwBlock *block)
{
  return strcmp (block->id, "gemm") == 0;
}

/* Elementwise nodes that a node's values reach without passing anything else, in `reach`. */
static void
reach_elementwise (TwRewriting *rewriting, const char *from, GHashTable *reach)
{
  g_autoptr (GPtrArray) todo = g_ptr_array_new ();
  g_ptr_array_add (todo, (gpointer)from);
  while (todo->len > 0)
    {
      const char *node = g_ptr_array_steal_index (todo, todo->len - 1);
      g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, node, NULL);
      for (guint i = 0; i < readers->len; i++)
        {
          const char *reader = g_array_index (readers, TwEnd, i).node;
          const TwBlock *block = tw_rewriting_get_block (rewriting, reader);
          if (block && block->kind == TW_KIND_ELEMENTWISE
              && g_hash_table_add (reach, (gpointer)reader))
            g_ptr_array_add (todo, (gpointer)reader);
        }
    }
}

static const char *
find_first (TwRewriting *rewriting, GHashTable *one, GHashTable *two)
{
  const char *first = NULL;
  GHashTableIter iter;
  gpointer node;
  g_hash_table_iter_init (&iter, one);
  while (g_hash_table_iter_next (&iter, &node, NULL))
    if (g_hash_table_contains (two, node)
        && (!first
            || tw_rewriting_get_position (rewriting, node)
                   < tw_rewriting_get_position (rewriting, first)))
      first = node;
  return first;
}

const char *
tw_rewriting_find_meeting (TwRewriting *rewriting, const TwSiblings *siblings)
{
  g_autoptr (GHashTable) one = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) two = g_hash_table_new (g_str_hash, g_str_equal);
  reach_elementwise (rewriting, siblings->first, one);
  reach_elementwise (rewriting, siblings->second, two);
  return find_first (rewriting, one, two);
}

/* A finish of a statistic of values that `one` holds and `two` does not (nor is `node` in both),
 * read in `two`: the second product's epilogue waits for the first product's kernel. NULL if none.
 */
static const char *
find_wait (TwRewriting *rewriting, const char *node, GHashTable *one, GHashTable *two)
{
  g_autoptr (GPtrArray) values = g_ptr_array_new ();
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init (&iter, one);
  while (g_hash_table_iter_next (&iter, &value, NULL))
    g_ptr_array_add (values, value);
  g_ptr_array_add (values, (gpointer)node);
  for (guint v = 0; v < values->len; v++)
    {
      if (g_hash_table_contains (two, values->pdata[v]))
        continue;
      g_autoptr (GArray) statistics = tw_rewriting_get_readers (rewriting, values->pdata[v], NULL);
      for (guint s = 0; s < statistics->len; s++)
        {
          const char *statistic = g_array_index (statistics, TwEnd, s).node;
          const TwBlock *block = tw_rewriting_get_block (rewriting, statistic);
          if (!block || block->kind != TW_KIND_STATISTIC)
            continue;
          g_autoptr (GArray) finishes = tw_rewriting_get_readers (rewriting, statistic, NULL);
          for (guint f = 0; f < finishes->len; f++)
            {
              const char *finish = g_array_index (finishes, TwEnd, f).node;
              g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, finish, NULL);
              for (guint r = 0; r < readers->len; r++)
                if (g_hash_table_contains (two, g_array_index (readers, TwEnd, r).node))
                  return finish;
            }
        }
    }
  return NULL;
}

/* TRUE if one kernel may make both; else a refusal. */
static gboolean
may_pair (TwRewriting *rewriting, const TwSiblings *pair, const char *rule, gboolean refuse)
{
  g_autoptr (GHashTable) one = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) two = g_hash_table_new (g_str_hash, g_str_equal);
  reach_elementwise (rewriting, pair->first, one);
  reach_elementwise (rewriting, pair->second, two);
  const char *wait = find_wait (rewriting, pair->first, one, two);
  if (!wait)
    wait = find_wait (rewriting, pair->second, two, one);
  if (wait && refuse)
    tw_rewriting_refuse (
        rewriting, rule, pair->second,
        "%s and %s read the same rows, but %s is known only when one of the two has "
        "ended, and the other's epilogue needs it: as one kernel they would need "
        "another pass",
        pair->first, pair->second, wait);
  return !wait;
}

/* A product and where its operands come from; FALSE if its weight is none. */
static gboolean
get_product (TwRewriting *rewriting, const char *node, TwEnd *a, TwEnd *b, const TwType **type)
{
  *a = tw_rewriting_get_source (rewriting, node, "a");
  *b = tw_rewriting_get_source (rewriting, node, "b");
  if (!a->node || !b->node)
    return FALSE;
  const TwBlock *block = tw_rewriting_get_block (rewriting, b->node);
  *type = tw_rewriting_get_type (rewriting, b->node, b->port);
  return block && *type && ((*type)->weight || block->kind == TW_KIND_SOURCE);
}

static char *
describe_weight (const TwType *type)
{
  g_autofree char *text = tw_type_to_text (type);
  return g_strdup_printf ("%s %s order", text, type->column_order ? "column" : "row");
}

static void
add_pair (TwRewriting *rewriting, GArray *pairs, GHashTable *taken, TwSiblings *pair)
{
  if (tw_rewriting_get_position (rewriting, pair->second)
      < tw_rewriting_get_position (rewriting, pair->first))
    {
      const char *node = pair->first;
      TwEnd b = pair->b0;
      pair->first = pair->second;
      pair->b0 = pair->b1;
      pair->second = node;
      pair->b1 = b;
    }
  g_hash_table_add (taken, (gpointer)pair->first);
  g_hash_table_add (taken, (gpointer)pair->second);
  g_array_append_val (pairs, *pair);
}

static TwSiblings
make_pair (TwRewriting *rewriting, const char *first, const char *second)
{
  TwSiblings pair = { .first = first, .second = second };
  const TwType *type = NULL;
  get_product (rewriting, first, &pair.a, &pair.b0, &type);
  get_product (rewriting, second, &pair.a, &pair.b1, &type);
  pair.column_order = type->column_order;
  return pair;
}

/* Pairs of one group; each product is looked at a bounded number of times. */
static void
pair_group (TwRewriting *rewriting, GPtrArray *group, GArray *pairs, const char *rule,
            gboolean refuse)
{
  g_autoptr (GHashTable) claimed = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) taken = g_hash_table_new (g_str_hash, g_str_equal);
  for (guint i = 0; i < group->len; i++)
    {
      g_autoptr (GHashTable) reach = g_hash_table_new (g_str_hash, g_str_equal);
      const char *node = group->pdata[i], *partner = NULL;
      double best = G_MAXDOUBLE;
      GHashTableIter iter;
      gpointer met;
      reach_elementwise (rewriting, node, reach);
      g_hash_table_iter_init (&iter, reach);
      while (g_hash_table_iter_next (&iter, &met, NULL))
        {
          const char *other = g_hash_table_lookup (claimed, met);
          double position = tw_rewriting_get_position (rewriting, met);
          if (other && !g_hash_table_contains (taken, other) && position < best)
            {
              partner = other;
              best = position;
            }
          else if (!other)
            g_hash_table_insert (claimed, met, (gpointer)node);
        }
      TwSiblings pair = partner ? make_pair (rewriting, partner, node) : (TwSiblings){ 0 };
      if (partner && may_pair (rewriting, &pair, rule, refuse))
        add_pair (rewriting, pairs, taken, &pair);
    }
  const char *left = NULL;
  for (guint i = 0; i < group->len; i++)
    {
      const char *node = group->pdata[i];
      if (g_hash_table_contains (taken, node))
        continue;
      TwSiblings pair = left ? make_pair (rewriting, left, node) : (TwSiblings){ 0 };
      if (left && may_pair (rewriting, &pair, rule, refuse))
        {
          add_pair (rewriting, pairs, taken, &pair);
          left = NULL;
        }
      else
        left = node;
    }
  if (left && refuse && group->len > 2)
    tw_rewriting_refuse (
        rewriting, rule, left,
        "%u products read the same rows and a merged product takes two: %s is left "
        "over",
        group->len, left);
}

GArray *
tw_rewriting_find_siblings (TwRewriting *rewriting, const char *rule, gboolean refuse)
{
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (TwSiblings));
  g_autoptr (GPtrArray) products = tw_rewriting_list (rewriting, is_product);
  g_autoptr (GHashTable) groups
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  g_autoptr (GHashTable) readers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) order = g_ptr_array_new ();
  for (guint i = 0; i < products->len; i++)
    {
      TwEnd a, b;
      const TwType *type = NULL;
      if (!get_product (rewriting, products->pdata[i], &a, &b, &type))
        continue;
      g_autofree char *weight = describe_weight (type);
      g_autofree char *key = g_strdup_printf ("%s.%s %s", a.node, a.port, weight);
      g_autofree char *rows = g_strdup_printf ("%s.%s", a.node, a.port);
      GPtrArray *group = g_hash_table_lookup (groups, key);
      if (!group)
        {
          group = g_ptr_array_new ();
          g_hash_table_insert (groups, g_steal_pointer (&key), group);
          g_ptr_array_add (order, group);
        }
      g_ptr_array_add (group, products->pdata[i]);
      const char *other = g_hash_table_lookup (readers, rows);
      TwEnd other_a, other_b;
      const TwType *other_type = NULL;
      if (!other)
        g_hash_table_insert (readers, g_steal_pointer (&rows), products->pdata[i]);
      else if (refuse && group->len == 1
               && get_product (rewriting, other, &other_a, &other_b, &other_type))
        {
          g_autofree char *other_weight = describe_weight (other_type);
          tw_rewriting_refuse (rewriting, rule, products->pdata[i],
                               "%s and %s read the same rows, but their weights differ: %s and %s",
                               other, (const char *)products->pdata[i], other_weight, weight);
        }
    }
  for (guint g = 0; g < order->len; g++)
    {
      GPtrArray *group = order->pdata[g];
      if (group->len > 1)
        pair_group (rewriting, group, pairs, rule, refuse);
    }
  return pairs;
}

void
tw_rewriting_refresh_siblings (TwRewriting *rewriting, TwSiblings *pair)
{
  pair->a = tw_rewriting_get_source (rewriting, pair->first, "a");
  pair->b0 = tw_rewriting_get_source (rewriting, pair->first, "b");
  pair->b1 = tw_rewriting_get_source (rewriting, pair->second, "b");
}

/* All readers of one output read another, owing what they owed. */
static void
rewire (TwRewriting *rewriting, TwEnd from, TwEnd to)
{
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, from.node, from.port);
  for (guint i = 0; i < readers->len; i++)
    tw_rewriting_reconnect (rewriting, to, g_array_index (readers, TwEnd, i));
}

static void
merge (TwRewriting *rewriting, const TwSiblings *pair)
{
  const TwNode *node = tw_graph_get_node (rewriting->graph, pair->first);
  const char *origin = tw_rewriting_keep (rewriting, node->origin ? node->origin : node->id);
  const char *meeting = tw_rewriting_find_meeting (rewriting, pair);
  g_autofree char *one = tw_rewriting_print (rewriting, pair->first, "y", NULL);
  g_autofree char *two = tw_rewriting_print (rewriting, pair->second, "y", NULL);
  g_autofree char *name = g_strdup_printf ("%s_%s", pair->first, pair->second);
  const TwType *a_type = tw_rewriting_get_type (rewriting, pair->a.node, pair->a.port);
  const TwType *y_type = tw_rewriting_get_type (rewriting, pair->first, "y");
  gint64 a_bytes = tw_rewriting_get_bytes (rewriting, a_type);
  gint64 y_bytes = tw_rewriting_get_bytes (rewriting, y_type);
  TwEnd y = { pair->first, "y" }, z = { pair->second, "y" };
  const char *dual = tw_rewriting_add (rewriting, name, "dual_gemm", origin, y);
  TwEnd a = { dual, "a" }, b0 = { dual, "b0" }, b1 = { dual, "b1" };
  TwEnd y0 = { dual, "y0" }, y1 = { dual, "y1" };
  const TwLink *old = tw_graph_get_link_to (rewriting->graph, pair->first, "a");
  tw_rewriting_connect (rewriting, pair->a, a, old && old->fuse_required);
  old = tw_graph_get_link_to (rewriting->graph, pair->first, "a");
  tw_rewriting_owe_like (rewriting, a, old, (TwEnd){ "", "" }, 0);
  tw_rewriting_connect (rewriting, pair->b0, b0, FALSE);
  tw_rewriting_connect (rewriting, pair->b1, b1, FALSE);
  rewire (rewriting, y, y0);
  rewire (rewriting, z, y1);
  tw_rewriting_remove (rewriting, pair->first);
  tw_rewriting_remove (rewriting, pair->second);
  tw_rewriting_order (rewriting, dual);
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "both read %s.%s", pair->a.node, pair->a.port);
  tw_conditions_add (conditions, "weights %s and %s have one shape, dtype and order", pair->b0.node,
                     pair->b1.node);
  tw_conditions_add (conditions, "neither epilogue waits for a statistic of the other");
  if (meeting)
    tw_conditions_add (conditions, "their values meet in %s", meeting);
  g_autofree char *three = tw_rewriting_print (rewriting, dual, "y0", NULL);
  g_autofree char *four = tw_rewriting_print (rewriting, dual, "y1", NULL);
  tw_rewriting_step (rewriting, "merge-siblings", dual, g_strdup_printf ("%s; %s", one, two),
                     g_strdup_printf ("%s; %s", three, four),
                     meeting ? "Two products over the same rows are one product over columns of "
                               "both: the rows are read once, and the pair is combined before it "
                               "is stored."
                             : "Two products over the same rows are one product over columns of "
                               "both: the rows are read once.",
                     conditions, a_bytes + (meeting ? 2 * y_bytes : 0), 1, NULL);
}

void
tw_rewrite_merge_siblings (TwRewriting *rewriting)
{
  if (!tw_catalog_get (rewriting->catalog, "dual_gemm"))
    return;
  g_autoptr (GArray) pairs = tw_rewriting_find_siblings (rewriting, "merge-siblings", TRUE);
  for (guint i = 0; i < pairs->len && !rewriting->failed; i++)
    {
      TwSiblings *pair = &g_array_index (pairs, TwSiblings, i);
      tw_rewriting_refresh_siblings (rewriting, pair);
      merge (rewriting, pair);
    }
}
