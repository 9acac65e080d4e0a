/* Links: whether they reach nodes and ports that exist. */
#include "check-private.h"

#include <string.h>

/* Facts of a block */

typedef struct
{
  TwBlockFacts *facts;
  TwPattern *pattern;
  GPtrArray *names;
} Collect;

static void
collect_name (const char *name, gpointer user_data)
{
  Collect *collect = user_data;
  guint i = 0;
  while (i < collect->names->len && strcmp (g_ptr_array_index (collect->names, i), name) != 0)
    i++;
  if (i == collect->names->len)
    g_ptr_array_add (collect->names, g_strdup (name));
  if (collect->pattern->n_names < (int)G_N_ELEMENTS (collect->pattern->names))
    collect->pattern->names[collect->pattern->n_names++] = (int)i;
}

TwBlockFacts *
tw_check_facts (TwCheck *check, const TwBlock *block)
{
  TwBlockFacts *facts = g_hash_table_lookup (check->typing->facts, block);
  if (facts != NULL)
    return facts;
  facts = g_new0 (TwBlockFacts, 1);
  facts->block = block;
  facts->patterns = g_malloc0 (sizeof (*facts->patterns) * ((gsize)block->n_ports + 1));
  facts->weight = block->kind == TW_KIND_SOURCE && tw_block_get_param (block, "mode") != NULL;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  for (int p = 0; p < block->n_ports; p++)
    for (int d = 0; d < block->ports[p].n_dims; d++)
      {
        TwPattern *pattern = &facts->patterns[p][d];
        pattern->dim = tw_dim_parse (block->ports[p].dims[d], NULL);
        if (pattern->dim == NULL)
          continue;
        Collect collect = { facts, pattern, names };
        tw_dim_foreach_name (pattern->dim, collect_name, &collect);
      }
  facts->n_names = (int)names->len;
  g_ptr_array_add (names, NULL);
  facts->names = (char **)g_ptr_array_steal (names, NULL);
  g_hash_table_insert (check->typing->facts, (gpointer)block, facts);
  return facts;
}

/* Ends of links */

static int
find_port (const TwBlock *block, const char *id)
{
  for (int p = 0; p < block->n_ports; p++)
    if (strcmp (block->ports[p].id, id) == 0)
      return p;
  return -1;
}

/* The port `id` is there only under other values of a parameter. */
static void
report_absent (TwCheck *check, int node, int port, const TwLink *link)
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  const TwBlock *block = n->facts->block;
  const TwPortSpec *spec = &block->ports[port];
  gboolean packed = FALSE;
  for (int p = 0; p < block->n_ports; p++)
    packed |= block->ports[p].partner != TW_PARTNER_NONE && block->ports[p].when_param != NULL
              && strcmp (block->ports[p].when_param, spec->when_param) == 0;
  g_autofree char *values = g_strjoinv (" or ", spec->when_values);
  const char *value = tw_node_get_param (n->node, block, spec->when_param);
  g_autofree char *found
      = g_strdup_printf ("%s=%s", spec->when_param, value != NULL ? value : "unset");
  g_autofree char *expected = g_strdup_printf ("%s=%s", spec->when_param, values);
  TwDiagnostic *diagnostic = tw_check_add (
      check, TW_SEVERITY_ERROR, packed ? "layout-mismatch" : "unknown-port", node, spec->id,
      link->line, found, expected, NULL, "%s has port %s only where %s is %s", n->id, spec->id,
      spec->when_param, values);
  for (int i = 0; spec->when_values[i] != NULL; i++)
    {
      g_autofree char *fix
          = g_strdup_printf ("set %s=%s on %s", spec->when_param, spec->when_values[i], n->id);
      tw_diagnostic_add_fix (diagnostic, fix);
    }
  GString *others = g_string_new (NULL);
  for (int p = 0; p < block->n_ports; p++)
    if (n->present[p] && block->ports[p].direction == spec->direction
        && block->ports[p].when_param != NULL)
      g_string_append_printf (others, "%s%s", others->len > 0 ? " and " : "", block->ports[p].id);
  g_autofree char *fix = g_strdup_printf ("wire to %s instead", others->str);
  if (others->len > 0)
    tw_diagnostic_add_fix (diagnostic, fix);
  g_string_free (others, TRUE);
}

/* The port's index, or -1 with a diagnostic. */
static int
resolve_port (TwCheck *check, int node, const char *id, TwDirection direction, const TwLink *link)
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  const TwBlock *block = n->facts->block;
  int port = find_port (block, id);
  if (port >= 0 && block->ports[port].direction == direction)
    {
      if (n->present[port])
        return port;
      report_absent (check, node, port, link);
      return -1;
    }
  g_autofree const char **names = g_new0 (const char *, (gsize)block->n_ports + 1);
  int n_names = 0;
  for (int p = 0; p < block->n_ports; p++)
    if (block->ports[p].direction == direction && n->present[p])
      names[n_names++] = block->ports[p].id;
  const char *kind = direction == TW_DIRECTION_IN ? "input" : "output";
  const char *near = n_names == 1 ? names[0] : tw_nearest_name (id, names);
  g_autofree char *all
      = n_names > 0 ? g_strjoinv (", ", (char **)names) : g_strdup_printf ("no %s", kind);
  g_autofree char *fix = near != NULL ? g_strdup_printf ("did you mean %s.%s?", n->id, near)
                                      : g_strdup ("wire another port, or remove the link");
  tw_check_add (check, TW_SEVERITY_ERROR, "unknown-port", node, id, link->line, id, all, fix,
                "block %s has no %s port %s%s", block->id, kind, id,
                port >= 0 ? " (it goes the other way)" : "");
  return -1;
}

int
tw_check_find (const TwCheck *check, const char *id)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (check->typing->index, id)) - 1;
}

static void
report_no_node (TwCheck *check, const TwLink *link, const char *missing, int other,
                const char *other_port)
{
  g_autofree const char **ids = g_new0 (const char *, (gsize)check->typing->n_nodes + 1);
  for (int i = 0; i < check->typing->n_nodes; i++)
    ids[i] = check->typing->nodes[i].id;
  /* Nearest names cost the length of the graph: only where that stays small. */
  const char *near = check->typing->n_nodes <= 1000 && check->findings->len < 100
                         ? tw_nearest_name (missing, ids)
                         : NULL;
  g_autofree char *fix = near != NULL ? g_strdup_printf ("did you mean %s?", near)
                                      : g_strdup ("remove the link, or add the node");
  tw_check_add (check, TW_SEVERITY_ERROR, "unknown-node", other, other_port, link->line, missing,
                "a node of this graph", fix,
                "a link from %s.%s to %s.%s names a node that is not "
                "there",
                link->from_node, link->from_port, link->to_node, link->to_port);
}

void
tw_check_links (TwCheck *check)
{
  TwTyping *typing = check->typing;
  int n_links = tw_graph_get_n_links (check->graph);
  for (int i = 0; i < n_links; i++)
    {
      const TwLink *link = tw_graph_get_nth_link (check->graph, i);
      int from = tw_check_find (check, link->from_node);
      int to = tw_check_find (check, link->to_node);
      if (from < 0)
        report_no_node (check, link, link->from_node, to, to < 0 ? NULL : link->to_port);
      if (to < 0)
        report_no_node (check, link, link->to_node, from, from < 0 ? NULL : link->from_port);
      int from_port = -1, to_port = -1;
      if (from >= 0 && typing->nodes[from].facts != NULL)
        from_port = resolve_port (check, from, link->from_port, TW_DIRECTION_OUT, link);
      if (to < 0 || typing->nodes[to].facts == NULL)
        continue;
      TwNodeTyping *n = &typing->nodes[to];
      to_port = resolve_port (check, to, link->to_port, TW_DIRECTION_IN, link);
      if (to_port < 0 || from < 0)
        n->bad_link = TRUE;
      if (to_port < 0)
        continue;
      n->links[to_port] = link;
      n->sources[to_port] = from;
      n->source_ports[to_port] = from_port;
    }
}
