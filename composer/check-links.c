/* Links: whether they reach ports that exist, the order they impose, and what they leave unused. */
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

static int
find_node (const TwCheck *check, const char *id)
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
      int from = find_node (check, link->from_node);
      int to = find_node (check, link->to_node);
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
      if (n->links[to_port] != NULL)
        {
          g_autofree char *found
              = g_strdup_printf ("%s.%s and %s.%s", n->links[to_port]->from_node,
                                 n->links[to_port]->from_port, link->from_node, link->from_port);
          tw_check_add (check, TW_SEVERITY_ERROR, "duplicate-use", to, link->to_port, link->line,
                        found, "one link", "remove one of the links", "two links end in %s.%s",
                        n->id, link->to_port);
          continue;
        }
      n->links[to_port] = link;
      n->sources[to_port] = from;
      n->source_ports[to_port] = from_port;
    }
}

/* Order */

typedef struct
{
  int *start, *ends; /* successors of node i: ends[start[i] .. start[i + 1]) */
  int *degree;       /* predecessors */
} Edges;

/* Every link between two nodes that are there, whatever its ports. */
static Edges
make_edges (const TwCheck *check, gboolean reverse)
{
  int n = check->typing->n_nodes, n_links = tw_graph_get_n_links (check->graph);
  Edges edges = { g_new0 (int, (gsize)n + 2), g_new0 (int, (gsize)n_links + 1),
                  g_new0 (int, (gsize)n + 1) };
  g_autofree int *from = g_new (int, (gsize)n_links + 1);
  g_autofree int *to = g_new (int, (gsize)n_links + 1);
  for (int i = 0; i < n_links; i++)
    {
      const TwLink *link = tw_graph_get_nth_link (check->graph, i);
      from[i] = find_node (check, reverse ? link->to_node : link->from_node);
      to[i] = find_node (check, reverse ? link->from_node : link->to_node);
      if (from[i] >= 0 && to[i] >= 0)
        edges.start[from[i] + 2]++, edges.degree[to[i]]++;
    }
  for (int i = 1; i <= n; i++)
    edges.start[i + 1] += edges.start[i];
  for (int i = 0; i < n_links; i++)
    if (from[i] >= 0 && to[i] >= 0)
      edges.ends[edges.start[from[i] + 1]++] = to[i];
  return edges;
}

static void
clear_edges (Edges *edges)
{
  g_free (edges->start);
  g_free (edges->ends);
  g_free (edges->degree);
}

/* Kahn's algorithm; `degree` keeps what is left of nodes that were not reached. */
static int
peel (const Edges *edges, int n, int *order)
{
  int n_done = 0;
  for (int i = 0; i < n; i++)
    if (edges->degree[i] == 0)
      order[n_done++] = i;
  for (int head = 0; head < n_done; head++)
    for (int e = edges->start[order[head]]; e < edges->start[order[head] + 1]; e++)
      if (--edges->degree[edges->ends[e]] == 0)
        order[n_done++] = edges->ends[e];
  return n_done;
}

static void
report_cycle (TwCheck *check, const int *predecessor, int member)
{
  /* The report is the same from whichever node the cycle was found: it starts at the node that was
   * drawn first. */
  int first = member;
  for (int i = predecessor[member]; i != member; i = predecessor[i])
    first = MIN (first, i);
  g_autoptr (GPtrArray) path = g_ptr_array_new ();
  TwNodeTyping *nodes = check->typing->nodes;
  g_ptr_array_add (path, nodes[first].id);
  for (int i = predecessor[first]; i != first; i = predecessor[i])
    g_ptr_array_add (path, nodes[i].id);
  g_ptr_array_add (path, nodes[first].id);
  GString *text = g_string_new (nodes[first].id);
  for (guint i = path->len - 1; i-- > 0;)
    {
      if (path->len > 12 && i == path->len - 6)
        {
          g_string_append_printf (text, " -> ... (%u more)", path->len - 11);
          i = 5;
          continue;
        }
      g_string_append_printf (text, " -> %s", (char *)g_ptr_array_index (path, i));
    }
  const char *from = nodes[predecessor[first]].id, *port = NULL, *from_port = "?";
  int line = nodes[first].node->line;
  g_autoptr (GPtrArray) links = tw_graph_get_links_from (check->graph, from, NULL);
  for (guint i = 0; i < links->len && port == NULL; i++)
    {
      const TwLink *link = g_ptr_array_index (links, i);
      if (strcmp (link->to_node, nodes[first].id) != 0)
        continue;
      port = link->to_port;
      from_port = link->from_port;
      line = link->line;
    }
  g_autofree char *fix = g_strdup_printf (
      "remove the link from %s.%s to %s.%s, or take the value from before the cycle", from,
      from_port, nodes[first].id, port != NULL ? port : "?");
  tw_check_add (check, TW_SEVERITY_ERROR, "cycle", first, port, line, text->str,
                "a graph without cycles", fix, "%s depends on its own value", nodes[first].id);
  g_string_free (text, TRUE);
}

int *
tw_check_sort (TwCheck *check, int *n_sorted)
{
  int n = check->typing->n_nodes;
  int *order = g_new (int, (gsize)n + 1);
  Edges forward = make_edges (check, FALSE);
  *n_sorted = peel (&forward, n, order);
  if (*n_sorted < n)
    {
      /* What is left lies on cycles or behind them; each such node has a predecessor among the
       * rest, so that walking back from anywhere must end in a cycle. */
      Edges back = make_edges (check, TRUE);
      g_autofree int *predecessor = g_new (int, (gsize)n + 1);
      g_autofree int *walk = g_new0 (int, (gsize)n + 1);
      for (int i = 0; i < n; i++)
        {
          predecessor[i] = -1;
          for (int e = back.start[i]; e < back.start[i + 1] && forward.degree[i] > 0; e++)
            if (forward.degree[back.ends[e]] > 0
                && (predecessor[i] < 0 || back.ends[e] < predecessor[i]))
              predecessor[i] = back.ends[e];
        }
      for (int i = 0; i < n; i++)
        {
          int at = i;
          while (at >= 0 && predecessor[at] >= 0 && walk[at] == 0)
            {
              walk[at] = i + 1;
              at = predecessor[at];
            }
          if (at >= 0 && predecessor[at] >= 0 && walk[at] == i + 1 && forward.degree[i] > 0
              && !check->typing->nodes[at].cyclic)
            {
              int member = at;
              do
                check->typing->nodes[member].cyclic = TRUE;
              while ((member = predecessor[member]) != at);
              report_cycle (check, predecessor, at);
            }
        }
      clear_edges (&back);
    }
  clear_edges (&forward);
  return order;
}

/* Use */

void
tw_check_liveness (TwCheck *check)
{
  TwNodeTyping *nodes = check->typing->nodes;
  int n = check->typing->n_nodes, n_queue = 0;
  gboolean any_unknown = FALSE;
  g_autofree int *queue = g_new (int, (gsize)n + 1);
  g_autofree guint8 *live = g_new0 (guint8, (gsize)n + 1);
  for (int i = 0; i < n; i++)
    {
      any_unknown |= nodes[i].facts == NULL;
      if (nodes[i].facts != NULL && nodes[i].facts->block->kind == TW_KIND_SINK)
        {
          live[i] = 1;
          queue[n_queue++] = i;
        }
    }
  if (n_queue == 0)
    {
      if (!any_unknown)
        tw_check_add (check, TW_SEVERITY_ERROR, "no-output", -1, NULL, 0, "no output node",
                      "one or more", "add a node of block output and wire a value to it",
                      "nothing leaves the graph");
      return;
    }
  Edges back = make_edges (check, TRUE);
  for (int head = 0; head < n_queue; head++)
    for (int e = back.start[queue[head]]; e < back.start[queue[head] + 1]; e++)
      if (!live[back.ends[e]])
        {
          live[back.ends[e]] = 1;
          queue[n_queue++] = back.ends[e];
        }
  /* Of a chain that leads nowhere its end is named; the rest follows. `degree` of the reversed
   * graph counts readers. */
  for (int i = 0; i < n; i++)
    if (!live[i] && back.degree[i] == 0)
      {
        g_autofree char *fix = g_strdup_printf ("wire %s to an output, or remove it", nodes[i].id);
        tw_check_add (check, TW_SEVERITY_WARNING, "unused-node", i, NULL, nodes[i].node->line,
                      "no reader", "a way to an output", fix, "%s reaches no output", nodes[i].id);
      }
  clear_edges (&back);
}
