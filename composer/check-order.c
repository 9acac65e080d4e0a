/* The order that links impose: topological order, cycles, and what reaches no output. */
#include "check-private.h"

#include <string.h>

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
      from[i] = tw_check_find (check, reverse ? link->to_node : link->from_node);
      to[i] = tw_check_find (check, reverse ? link->from_node : link->to_node);
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
  /* It starts at the node that was drawn first. */
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

/* Depth-first walk over what `degree` left, from `root`; nodes are marked with `mark` in `seen` and
 * put into `done` after all that they reach. */
static int
walk (const Edges *edges, const int *degree, int root, int mark, int *seen, int *done, int n_done,
      int *stack, int *next)
{
  int depth = 0;
  stack[depth++] = root;
  seen[root] = mark;
  next[root] = edges->start[root];
  while (depth > 0)
    {
      int at = stack[depth - 1];
      if (next[at] == edges->start[at + 1])
        {
          done[n_done++] = at;
          depth--;
          continue;
        }
      int to = edges->ends[next[at]++];
      if (degree[to] == 0 || seen[to] != 0)
        continue;
      seen[to] = mark;
      next[to] = edges->start[to];
      stack[depth++] = to;
    }
  return n_done;
}

/* One cycle for each strongly connected part of what is left (Kosaraju), so that independent cycles
 * are all reported and one is reported once. */
static void
report_cycles (TwCheck *check, const Edges *forward, int n)
{
  gsize size = (gsize)n + 1;
  const int *degree = forward->degree;
  Edges back = make_edges (check, TRUE);
  g_autofree int *seen = g_new0 (int, size);
  g_autofree int *done = g_new (int, size);
  g_autofree int *stack = g_new (int, size);
  g_autofree int *next = g_new (int, size);
  g_autofree int *part = g_new0 (int, size);
  g_autofree int *members = g_new (int, size);
  g_autofree int *predecessor = g_new (int, size);
  int n_done = 0;
  for (int i = 0; i < n; i++)
    if (degree[i] > 0 && seen[i] == 0)
      n_done = walk (forward, degree, i, 1, seen, done, n_done, stack, next);
  for (int i = n_done - 1; i >= 0; i--)
    if (part[done[i]] == 0)
      walk (&back, degree, done[i], i + 1, part, members, 0, stack, next);
  for (int i = 0; i < n; i++)
    {
      predecessor[i] = -1;
      for (int e = back.start[i]; e < back.start[i + 1] && degree[i] > 0; e++)
        if (part[back.ends[e]] == part[i] && (predecessor[i] < 0 || back.ends[e] < predecessor[i]))
          predecessor[i] = back.ends[e];
    }
  /* Within a part every node has a predecessor, unless it is the part alone; going back from one of
   * them ends in a cycle. */
  memset (seen, 0, size * sizeof *seen);
  for (int i = 0; i < n; i++)
    {
      if (predecessor[i] < 0 || seen[part[i]] != 0)
        continue;
      seen[part[i]] = 1;
      int at = i;
      for (; !check->typing->nodes[at].cyclic; at = predecessor[at])
        check->typing->nodes[at].cyclic = TRUE;
      report_cycle (check, predecessor, at);
    }
  clear_edges (&back);
}

int *
tw_check_sort (TwCheck *check, int *n_sorted)
{
  int n = check->typing->n_nodes;
  int *order = g_new (int, (gsize)n + 1);
  Edges forward = make_edges (check, FALSE);
  *n_sorted = peel (&forward, n, order);
  if (*n_sorted < n)
    report_cycles (check, &forward, n);
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
