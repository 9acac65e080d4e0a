/* See notation.h. */
#include "notation.h"

#include <string.h>

#define MAX_DEPTH 24
#define MAX_LENGTH 2000
#define MAX_VISITS 200 /* fan-out doubles a text at each node */

typedef struct
{
  const TwGraph *graph;
  const TwCatalog *catalog;
  GHashTable *open, *stop;
  int depth, visits;
} Printer;

static char *print_value (Printer *printer, const char *node, const char *port);

/* No space outside parentheses: needs none around it. */
static gboolean
is_atomic (const char *text)
{
  int depth = 0;
  for (const char *c = text; *c; c++)
    {
      depth += (*c == '(') - (*c == ')');
      if (*c == ' ' && depth == 0)
        return FALSE;
    }
  return TRUE;
}

/* The placeholder text[begin, end) is an argument by itself: f({x}, {y}). */
static gboolean
is_enclosed (const char *text, const char *begin, const char *end)
{
  while (begin > text && begin[-1] == ' ')
    begin--;
  while (*end == ' ')
    end++;
  gboolean left = begin == text || begin[-1] == '(' || begin[-1] == ',';
  return left && (*end == 0 || *end == ')' || *end == ',');
}

/* The port that carries operand `name`; *part is set where it is one of a pair. */
static const TwPortSpec *
find_port (const TwBlock *block, const TwNode *node, const char *name, const char **part)
{
  *part = NULL;
  for (int p = 0; p < block->n_ports; p++)
    {
      const TwPortSpec *port = &block->ports[p];
      if (port->direction != TW_DIRECTION_IN || !tw_node_has_port (node, block, port))
        continue;
      if (strcmp (port->id, name) == 0)
        return port;
      for (int o = 0; o < 2; o++)
        if (g_strcmp0 (port->operands[o], name) == 0)
          {
            *part = name;
            return port;
          }
    }
  return NULL;
}

static char *
print_name (Printer *printer, const char *name, const TwBlock *block, const TwNode *node)
{
  const char *part = NULL;
  const TwPortSpec *port = find_port (block, node, name, &part);
  const char *value = tw_node_get_param (node, block, name);
  if (strcmp (name, "id") == 0)
    return g_strdup (node->id);
  if (port)
    {
      const TwLink *link = tw_graph_get_link_to (printer->graph, node->id, port->id);
      if (!link)
        return g_strdup ("?");
      g_autofree char *text = print_value (printer, link->from_node, link->from_port);
      if (!part)
        return g_steal_pointer (&text);
      return is_atomic (text) ? g_strdup_printf ("%s.%s", text, part)
                              : g_strdup_printf ("(%s).%s", text, part);
    }
  return g_strdup (value ? value : name);
}

static char *
print_notation (Printer *printer, const TwBlock *block, const TwNode *node)
{
  GString *out = g_string_new (NULL);
  for (const char *c = block->notation; *c && out->len < MAX_LENGTH;)
    {
      const char *end = *c == '{' ? strchr (c, '}') : NULL;
      if (!end)
        {
          g_string_append_c (out, *c++);
          continue;
        }
      g_autofree char *name = g_strndup (c + 1, (gsize)(end - c - 1));
      g_autofree char *text = print_name (printer, name, block, node);
      gboolean power = out->len > 0 && out->str[out->len - 1] == '^';
      if (power && strcmp (text, "1") == 0)
        g_string_truncate (out, out->len - 1);
      else if (is_atomic (text) || is_enclosed (block->notation, c, end + 1))
        g_string_append (out, text);
      else
        g_string_append_printf (out, "(%s)", text);
      c = end + 1;
    }
  return g_string_free (out, FALSE);
}

/* Bounded by MAX_DEPTH, whatever the graph. */
static char *
print_value (Printer *printer, const char *node, const char *port)
{
  const TwNode *n = tw_graph_get_node (printer->graph, node);
  const TwBlock *block = n ? tw_catalog_get (printer->catalog, n->block) : NULL;
  gboolean open = printer->depth == 0
                  || (printer->stop ? !g_hash_table_contains (printer->stop, node)
                                    : printer->open && g_hash_table_contains (printer->open, node));
  int n_outputs = 0;
  for (int p = 0; block && p < block->n_ports; p++)
    n_outputs += block->ports[p].direction == TW_DIRECTION_OUT;
  if (!block || !block->notation || block->kind == TW_KIND_SOURCE || !open
      || printer->depth >= MAX_DEPTH || printer->visits++ >= MAX_VISITS)
    return n_outputs > 1 ? g_strdup_printf ("%s.%s", node, port) : g_strdup (node);
  printer->depth++;
  g_autofree char *text = print_notation (printer, block, n);
  printer->depth--;
  if (n_outputs < 2)
    return g_steal_pointer (&text);
  return is_atomic (text) ? g_strdup_printf ("%s.%s", text, port)
                          : g_strdup_printf ("(%s).%s", text, port);
}

char *
tw_notation_print (const TwGraph *graph, const TwCatalog *catalog, const char *node,
                   const char *port, GHashTable *open, GHashTable *stop)
{
  Printer printer = { graph, catalog, open, stop, 0, 0 };
  g_autofree char *text = print_value (&printer, node, port);
  if (strlen (text) <= MAX_LENGTH)
    return g_steal_pointer (&text);
  text[MAX_LENGTH] = 0;
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  return g_strdup_printf ("%s...", valid);
}
