#include "expand.h"

#include "command.h"

#include <string.h>

#define MAX_ROUNDS 16    /* composites in composites */
#define MAX_NODES 100000 /* of an expanded graph */

typedef struct
{
  TwGraph *graph;
  const TwCatalog *catalog;
  const TwTyping *typing;
  const TwNode *node; /* the composite, a copy */
  const TwBlock *block;
  TwHistory *history;
  GHashTable *names; /* body node -> new id */
} Expansion;

static gboolean G_GNUC_PRINTF (2, 3) refuse (GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error_literal (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND, message);
  return FALSE;
}

/* A boundary node of a body: it stands for a port of the composite. */
static const TwPortSpec *
get_boundary (const TwBlock *block, const char *id)
{
  const TwNode *inner = tw_graph_get_node (block->body, id);
  const TwPortSpec *port = inner ? tw_block_get_port (block, id) : NULL;
  const char *needed = port && port->direction == TW_DIRECTION_IN ? "input" : "output";
  return port && strcmp (inner->block, needed) == 0 ? port : NULL;
}

/* The value of an enum as the inner parameter takes it: the same word if it has it, else the value
 * with the same number, else the number. */
static char *
convert_enum (const TwParamSpec *outer, const char *value, const TwParamSpec *inner)
{
  double number = 0;
  gboolean known = FALSE;
  for (int i = 0; outer->values && outer->values[i]; i++)
    if (strcmp (outer->values[i], value) == 0)
      {
        number = outer->numbers[i];
        known = TRUE;
      }
  if (!known || !inner)
    return g_strdup (value);
  if (inner->type == TW_PARAM_ENUM)
    {
      for (int i = 0; inner->values && inner->values[i]; i++)
        if (strcmp (inner->values[i], value) == 0)
          return g_strdup (value);
      for (int i = 0; inner->values && inner->values[i]; i++)
        if (inner->numbers[i] == number)
          return g_strdup (inner->values[i]);
      return g_strdup (value);
    }
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup (g_ascii_formatd (text, sizeof text, "%.17g", number));
}

/* What "$name" stands for; NULL without error: an optional parameter that is not set. */
static char *
resolve (const Expansion *expansion, const char *name, const TwParamSpec *inner, GError **error)
{
  const TwParamSpec *param = tw_block_get_param (expansion->block, name);
  if (param)
    {
      const char *value = tw_node_get_param (expansion->node, expansion->block, name);
      if (value)
        return param->type == TW_PARAM_ENUM ? convert_enum (param, value, inner) : g_strdup (value);
      if (!param->optional)
        refuse (error, "parameter '%s' of node '%s' is not set", name, expansion->node->id);
      return NULL;
    }
  const TwDim *dim
      = expansion->typing ? tw_typing_get_dim (expansion->typing, expansion->node->id, name) : NULL;
  if (dim)
    return g_strdup (tw_dim_get_text (dim));
  refuse (error, "'$%s' in block '%s' is neither a parameter nor a dimension known at node '%s'",
          name, expansion->block->id, expansion->node->id);
  return NULL;
}

/* `text` with every "$name" replaced; *unset where one is an unset optional parameter. */
static char *
substitute (const Expansion *expansion, const char *text, const TwParamSpec *inner, gboolean *unset,
            GError **error)
{
  g_autoptr (GString) out = g_string_new (NULL);
  *unset = FALSE;
  for (const char *c = text; *c;)
    {
      if (*c != '$')
        {
          g_string_append_c (out, *c++);
          continue;
        }
      const char *end = c + 1;
      while (g_ascii_isalnum (*end) || *end == '_'
             || (*end == '-' && (g_ascii_isalpha (end[1]) || end[1] == '_')))
        end++;
      g_autofree char *name = g_strndup (c + 1, (gsize)(end - c - 1));
      GError *failure = NULL;
      g_autofree char *value = resolve (expansion, name, inner, &failure);
      if (failure)
        {
          g_propagate_error (error, failure);
          return NULL;
        }
      *unset = *unset || !value;
      gboolean whole = c == text && !*end;
      if (value)
        g_string_append_printf (out, whole ? "%s" : "(%s)", value);
      c = end;
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static gboolean
apply (const Expansion *expansion, const TwCommand *command, GError **error)
{
  return tw_history_apply (expansion->history, command, error);
}

static char *
make_id (const TwGraph *graph, const char *node, const char *inner)
{
  g_autofree char *base = g_strdup_printf ("%s_%s", node, inner);
  if (strlen (base) > TW_ID_MAX)
    base[TW_ID_MAX] = 0;
  char *id = g_strdup (base);
  for (int i = 2; tw_graph_get_node (graph, id); i++)
    {
      g_autofree char *suffix = g_strdup_printf ("_%d", i);
      g_free (id);
      id = g_strdup_printf ("%.*s%s", (int)(TW_ID_MAX - strlen (suffix)), base, suffix);
    }
  return id;
}

static gboolean
add_inner (const Expansion *expansion, const TwNode *inner, GError **error)
{
  const TwNode *node = expansion->node;
  g_autofree char *id = make_id (expansion->graph, node->id, inner->id);
  const TwBlock *block = tw_catalog_get (expansion->catalog, inner->block);
  TwCommand add = { .kind = TW_COMMAND_ADD_NODE, .node = id, .block = inner->block };
  TwCommand origin = { .kind = TW_COMMAND_SET_ORIGIN,
                       .node = id,
                       .value = node->origin ? node->origin : node->id };
  if (!apply (expansion, &add, error) || !apply (expansion, &origin, error))
    return FALSE;
  for (int i = 0; i < inner->n_params; i++)
    {
      const TwParam *param = &inner->params[i];
      const TwParamSpec *spec = block ? tw_block_get_param (block, param->name) : NULL;
      gboolean unset = FALSE;
      g_autofree char *value = substitute (expansion, param->value, spec, &unset, error);
      if (!value)
        return FALSE;
      TwCommand set
          = { .kind = TW_COMMAND_SET_PARAM, .node = id, .name = param->name, .value = value };
      if (!unset && !apply (expansion, &set, error))
        return FALSE;
    }
  g_hash_table_insert (expansion->names, g_strdup (inner->id), g_steal_pointer (&id));
  return TRUE;
}

/* What feeds port `to_port` of body node `to`: a new node's port, or what feeds the composite. */
static gboolean
find_source (const Expansion *expansion, const char *to, const char *to_port, const char **node,
             const char **port, const TwLink **outer)
{
  const TwLink *link = tw_graph_get_link_to (expansion->block->body, to, to_port);
  *outer = NULL;
  if (!link)
    return FALSE;
  const TwPortSpec *boundary = get_boundary (expansion->block, link->from_node);
  if (!boundary)
    {
      *node = g_hash_table_lookup (expansion->names, link->from_node);
      *port = link->from_port;
      return *node != NULL;
    }
  *outer = tw_graph_get_link_to (expansion->graph, expansion->node->id, boundary->id);
  if (!*outer)
    return FALSE;
  *node = (*outer)->from_node;
  *port = (*outer)->from_port;
  return TRUE;
}

/* Connects, with the demand and what is owed taken from `like` (may be NULL). */
static gboolean
connect (const Expansion *expansion, const char *node, const char *port, const char *to,
         const char *to_port, const TwLink *like, GError **error)
{
  /* The strings and arrays of `like` may go with the link that is replaced. */
  g_autofree char *from = g_strdup (node), *from_port = g_strdup (port);
  g_autofree char *into = g_strdup (to), *into_port = g_strdup (to_port);
  gboolean fuse = like && like->fuse_required;
  int n_owed = like ? like->n_owed : 0;
  g_autofree TwOwed *owed = g_new0 (TwOwed, (gsize)n_owed + 1);
  g_autoptr (GPtrArray) kept = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; i < n_owed; i++)
    {
      owed[i] = like->owed[i];
      owed[i].node = g_strdup (like->owed[i].node);
      owed[i].port = g_strdup (like->owed[i].port);
      g_ptr_array_add (kept, (gpointer)owed[i].node);
      g_ptr_array_add (kept, (gpointer)owed[i].port);
    }
  TwCommand link = { .kind = TW_COMMAND_CONNECT,
                     .node = from,
                     .port = from_port,
                     .to_node = into,
                     .to_port = into_port };
  TwCommand demand
      = { .kind = TW_COMMAND_SET_FUSE, .to_node = into, .to_port = into_port, .flag = TRUE };
  TwCommand owe = { .kind = TW_COMMAND_SET_OWED,
                    .to_node = into,
                    .to_port = into_port,
                    .owed = owed,
                    .n_owed = n_owed };
  return apply (expansion, &link, error) && (!fuse || apply (expansion, &demand, error))
         && (!n_owed || apply (expansion, &owe, error));
}

static gboolean
connect_inner (const Expansion *expansion, GError **error)
{
  const TwGraph *body = expansion->block->body;
  for (int i = 0; i < tw_graph_get_n_links (body); i++)
    {
      const TwLink *link = tw_graph_get_nth_link (body, i), *outer = NULL;
      const char *to = g_hash_table_lookup (expansion->names, link->to_node);
      const char *node = NULL, *port = NULL;
      if (to && find_source (expansion, link->to_node, link->to_port, &node, &port, &outer)
          && !connect (expansion, node, port, to, link->to_port, outer, error))
        return FALSE;
    }
  return TRUE;
}

typedef struct
{
  char *to_node, *to_port;
} Reader;

static void
free_reader (gpointer data)
{
  Reader *reader = data;
  g_free (reader->to_node);
  g_free (reader->to_port);
  g_free (reader);
}

static gboolean
connect_output (const Expansion *expansion, const TwPortSpec *port, GHashTable *outputs,
                GError **error)
{
  const char *id = expansion->node->id, *node = NULL, *from_port = NULL;
  const TwLink *outer = NULL;
  if (!get_boundary (expansion->block, port->id)
      || !find_source (expansion, port->id, "x", &node, &from_port, &outer))
    return TRUE;
  g_autofree char *source = g_strdup (node), *source_port = g_strdup (from_port);
  if (outputs)
    g_hash_table_insert (outputs, g_strdup_printf ("%s.%s", id, port->id),
                         g_strdup_printf ("%s.%s", source, source_port));
  g_autoptr (GPtrArray) readers = g_ptr_array_new_with_free_func (free_reader);
  g_autoptr (GPtrArray) links = tw_graph_get_links_from (expansion->graph, id, port->id);
  for (guint i = 0; i < links->len; i++)
    {
      const TwLink *link = links->pdata[i];
      Reader *reader = g_new (Reader, 1);
      reader->to_node = g_strdup (link->to_node);
      reader->to_port = g_strdup (link->to_port);
      g_ptr_array_add (readers, reader);
    }
  for (guint i = 0; i < readers->len; i++)
    {
      const Reader *reader = readers->pdata[i];
      const TwLink *like
          = tw_graph_get_link_to (expansion->graph, reader->to_node, reader->to_port);
      if (!connect (expansion, source, source_port, reader->to_node, reader->to_port, like, error))
        return FALSE;
    }
  return TRUE;
}

static gboolean
expand (const Expansion *expansion, GHashTable *outputs, GError **error)
{
  const TwBlock *block = expansion->block;
  for (int i = 0; i < tw_graph_get_n_nodes (block->body); i++)
    {
      const TwNode *inner = tw_graph_get_nth_node (block->body, i);
      if (!get_boundary (block, inner->id) && !add_inner (expansion, inner, error))
        return FALSE;
    }
  if (!connect_inner (expansion, error))
    return FALSE;
  for (int i = 0; i < block->n_ports; i++)
    if (block->ports[i].direction == TW_DIRECTION_OUT
        && !connect_output (expansion, &block->ports[i], outputs, error))
      return FALSE;
  TwCommand remove = { .kind = TW_COMMAND_REMOVE_NODE, .node = expansion->node->id };
  return apply (expansion, &remove, error);
}

static gboolean
expand_node (TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing, const char *id,
             GHashTable *outputs, GError **error)
{
  const TwNode *node = tw_graph_get_node (graph, id);
  if (!node)
    return refuse (error, "there is no node '%s'", id);
  const TwBlock *block = tw_catalog_get (catalog, node->block);
  if (!block || block->kind != TW_KIND_COMPOSITE || !block->body)
    return refuse (error, "node '%s' is no composite", id);
  /* Commands move nodes about in memory: the composite is read from a copy. */
  g_autoptr (TwGraph) before = tw_graph_copy (graph);
  g_autoptr (TwHistory) history = tw_history_new (graph);
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  Expansion expansion = { graph, catalog, typing, NULL, block, history, names };
  /* Looked for along the list: an index of the copy would be made for this alone. */
  for (int i = 0; i < tw_graph_get_n_nodes (before) && !expansion.node; i++)
    if (strcmp (tw_graph_get_nth_node (before, i)->id, id) == 0)
      expansion.node = tw_graph_get_nth_node (before, i);
  tw_history_begin (history, "expand");
  gboolean good = expand (&expansion, outputs, error);
  tw_history_end (history);
  if (!good)
    tw_history_undo (history);
  return good;
}

gboolean
tw_expand_node (TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing, const char *id,
                GError **error)
{
  return expand_node (graph, catalog, typing, id, NULL, error);
}

/* Ids of the composites in `graph`. */
static GPtrArray *
list_composites (const TwGraph *graph, const TwCatalog *catalog)
{
  GPtrArray *ids = g_ptr_array_new_with_free_func (g_free);
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);
      if (block && block->kind == TW_KIND_COMPOSITE)
        g_ptr_array_add (ids, g_strdup (node->id));
    }
  return ids;
}

/* An output that is a nested composite's stands for what that one stands for. */
static void
follow_outputs (GHashTable *outputs)
{
  GHashTableIter iter;
  gpointer key, value;
  g_hash_table_iter_init (&iter, outputs);
  while (g_hash_table_iter_next (&iter, &key, &value))
    {
      const char *last = value, *next;
      while ((next = g_hash_table_lookup (outputs, last)) && next != last)
        last = next;
      if (last != value)
        g_hash_table_iter_replace (&iter, g_strdup (last));
    }
}

TwGraph *
tw_expand_with_outputs (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing,
                        GHashTable *outputs, GError **error)
{
  g_autoptr (TwGraph) expanded = tw_graph_copy (graph);
  g_autoptr (TwTyping) own = NULL;
  for (int round = 0;; round++)
    {
      g_autoptr (GPtrArray) ids = list_composites (expanded, catalog);
      if (!ids->len)
        break;
      if (round == MAX_ROUNDS)
        {
          refuse (error, "composites are nested more than %d deep", MAX_ROUNDS);
          return NULL;
        }
      if (round > 0)
        {
          g_clear_pointer (&own, tw_typing_free);
          own = tw_check (expanded, catalog, NULL);
          typing = own;
        }
      for (guint i = 0; i < ids->len; i++)
        {
          if (!expand_node (expanded, catalog, typing, ids->pdata[i], outputs, error))
            return NULL;
          if (tw_graph_get_n_nodes (expanded) > MAX_NODES)
            {
              refuse (error, "the expanded graph has more than %d nodes", MAX_NODES);
              return NULL;
            }
        }
    }
  if (outputs)
    follow_outputs (outputs);
  return g_steal_pointer (&expanded);
}

TwGraph *
tw_expand (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing, GError **error)
{
  return tw_expand_with_outputs (graph, catalog, typing, NULL, error);
}
