/* From graph.xml to TwGraph. What a file holds that we do not know is kept as text: attributes
 * after ours, comments and foreign elements where they stood. */
#include "graph-private.h"

#include <math.h>
#include <string.h>

#define MAX_PARAMS 256 /* of a node; each is compared with the others */

typedef struct
{
  const char *name; /* of the file */
  TwGraph *graph;
  GError **error;
  GHashTable *places;     /* node id -> <place>, until its node has been read */
  GHashTable *dimensions; /* names */
} Reader;

static TwXmlKind
xml_kind (void)
{
  return (TwXmlKind){ .domain = TW_GRAPH_ERROR,
                      .read = TW_GRAPH_ERROR_READ,
                      .schema = TW_GRAPH_ERROR_SCHEMA,
                      .what = "graph",
                      .schema_file = "graph.xsd",
                      .max_bytes = TW_GRAPH_MAX_BYTES,
                      .max_depth = TW_GRAPH_MAX_DEPTH };
}

static gboolean fail (const Reader *reader, const xmlNode *node, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const Reader *reader, const xmlNode *node, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (reader->error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_SCHEMA, "%s:%ld: %s", reader->name,
               xmlGetLineNo (node), message);
  return FALSE;
}

/* ---- what we do not know ---- */
static void
append_namespaces (GString *out, const xmlNode *node)
{
  for (const xmlNs *ns = node->nsDef; ns != NULL; ns = ns->next)
    {
      g_string_append_printf (out, ns->prefix != NULL ? " xmlns:%s=\"" : " xmlns%s=\"",
                              ns->prefix != NULL ? (const char *)ns->prefix : "");
      tw_xml_append_escaped (out, ns->href != NULL ? (const char *)ns->href : "", TRUE);
      g_string_append_c (out, '"');
    }
}

/* Attributes but those in `known`, NULL-terminated. */
static char *
keep_attributes (const xmlNode *node, const char *const *known)
{
  g_autoptr (GString) out = g_string_new (NULL);
  append_namespaces (out, node);
  for (const xmlAttr *attr = node->properties; attr != NULL; attr = attr->next)
    {
      if (attr->ns == NULL && g_strv_contains (known, (const char *)attr->name))
        continue;
      if (attr->ns != NULL && attr->ns->prefix != NULL)
        g_string_append_printf (out, " %s:%s=\"", attr->ns->prefix, attr->name);
      else
        g_string_append_printf (out, " %s=\"", attr->name);
      for (const xmlNode *text = attr->children; text != NULL; text = text->next)
        if (text->content != NULL)
          tw_xml_append_escaped (out, (const char *)text->content, TRUE);
      g_string_append_c (out, '"');
    }
  return out->len > 0 ? g_string_free (g_steal_pointer (&out), FALSE) : NULL;
}

static gboolean
is_kept (const xmlNode *node)
{
  return node->type == XML_COMMENT_NODE || node->type == XML_PI_NODE
         || (node->type == XML_ELEMENT_NODE && node->ns != NULL);
}

static void
keep (GString *out, const xmlNode *node)
{
  xmlBuffer *buffer = xmlBufferCreate ();
  if (buffer == NULL || xmlNodeDump (buffer, node->doc, (xmlNode *)node, 0, 0) < 0)
    g_error ("out of memory"); /* as in GLib */
  g_string_append (out, (const char *)xmlBufferContent (buffer));
  g_string_append_c (out, TW_KEPT_END);
  xmlBufferFree (buffer);
}

static char *
steal (GString *kept)
{
  char *text = kept->len > 0 ? g_strdup (kept->str) : NULL;
  g_string_set_size (kept, 0);
  return text;
}

/* Comments and foreign elements among the children that `node` has no more use for. */
static char *
keep_inside (const xmlNode *node)
{
  g_autoptr (GString) kept = g_string_new (NULL);
  for (const xmlNode *child = node->children; child != NULL; child = child->next)
    if (is_kept (child))
      keep (kept, child);
  return steal (kept);
}

/* ---- elements ---- */
static double
get_number (const xmlNode *node, const char *attribute)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  return text != NULL ? g_ascii_strtod (text, NULL) : 0;
}

static gint64
get_integer (const xmlNode *node, const char *attribute, gint64 fallback)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  return text != NULL ? g_ascii_strtoll (text, NULL, 10) : fallback;
}

/* No schema has looked at a newer format: what does not fit there is left out, or brought in range.
 */
static gint64
get_extent (const xmlNode *node, const char *attribute, gint64 fallback)
{
  return CLAMP (get_integer (node, attribute, fallback), 0, TW_DIMENSION_MAX);
}

static gboolean
is_end (const char *node, const char *port)
{
  return node != NULL && port != NULL && tw_is_id (node) && tw_is_id (port);
}

static gboolean
read_params (Reader *reader, const xmlNode *node, TwNodeRecord *record)
{
  static const char *const known[] = { "name", "value", NULL };
  g_autoptr (GString) kept = g_string_new (NULL);
  for (const xmlNode *child = node->children; child != NULL; child = child->next)
    if (is_kept (child))
      keep (kept, child);
    else if (tw_xml_is (child, "param"))
      {
        g_autofree char *name = tw_xml_get (child, "name");
        g_autofree char *value = tw_xml_get (child, "value");
        if (name == NULL || value == NULL || !tw_is_param_name (name))
          continue; /* a newer format */
        if (record->view.n_params == MAX_PARAMS)
          return fail (reader, child, "node %s sets more than %d parameters; take some away",
                       record->view.id, MAX_PARAMS);
        for (int i = 0; i < record->view.n_params; i++)
          if (strcmp (record->view.params[i].name, name) == 0)
            return fail (reader, child, "node %s sets parameter %s twice; take one away",
                         record->view.id, name);
        tw_node_record_set_param (record, name, value);
        TwExtra *extra = &record->param_extras[record->view.n_params - 1];
        extra->before = steal (kept);
        extra->attributes = keep_attributes (child, known);
        extra->inside = keep_inside (child);
      }
  record->extra.inside = steal (kept);
  return TRUE;
}

static void
read_place (const xmlNode *place, TwNodeRecord *record)
{
  static const char *const known[] = { "node", "x", "y", NULL };
  record->view.placed = TRUE;
  record->view.x = get_number (place, "x");
  record->view.y = get_number (place, "y");
  record->place.attributes = keep_attributes (place, known);
  record->place.inside = keep_inside (place);
}

static gboolean
read_node (Reader *reader, const xmlNode *node, char *before)
{
  static const char *const known[] = { "id", "block", "label", "origin", NULL };
  g_autofree char *id = tw_xml_get (node, "id");
  g_autofree char *block = tw_xml_get (node, "block");
  if (!is_end (id, block))
    {
      g_free (before);
      return TRUE; /* a newer format */
    }
  TwNodeRecord *record = tw_node_record_new (id, block);
  record->extra.before = before;
  record->extra.attributes = keep_attributes (node, known);
  record->view.label = tw_xml_get (node, "label");
  g_autofree char *origin = tw_xml_get (node, "origin");
  if (origin != NULL && tw_is_id (origin))
    record->view.origin = g_steal_pointer (&origin);
  record->view.line = (int)xmlGetLineNo (node);
  const TwNode *other = tw_graph_get_node (reader->graph, id);
  gboolean good = other == NULL
                      ? read_params (reader, node, record)
                      : fail (reader, node, "a second node %s; the first is in line %d. Rename one",
                              id, other->line);
  const xmlNode *place = g_hash_table_lookup (reader->places, id);
  if (!good)
    {
      tw_node_record_unref (record);
      return FALSE;
    }
  if (place != NULL)
    {
      read_place (place, record);
      g_hash_table_remove (reader->places, id);
    }
  tw_graph_exchange_node (reader->graph, NULL, record);
  return TRUE;
}

/* "node.port" into its two halves; FALSE and nothing if it is not that. */
static gboolean
split (const char *text, char **node, char **port)
{
  const char *dot = text != NULL ? strchr (text, '.') : NULL;
  if (dot == NULL)
    return FALSE;
  *node = g_strndup (text, (gsize)(dot - text));
  *port = g_strdup (dot + 1);
  if (is_end (*node, *port))
    return TRUE;
  g_clear_pointer (node, g_free);
  g_clear_pointer (port, g_free);
  return FALSE;
}

static gboolean
read_shift (Reader *reader, const xmlNode *node, TwLinkRecord *record, char *before)
{
  static const char *const known[] = { "mu", "v", NULL };
  g_autofree char *mu = tw_xml_get (node, "mu"), *v = tw_xml_get (node, "v");
  char *mu_node = NULL, *mu_port = NULL, *v_node = NULL, *v_port = NULL;
  TwLink *view = &record->view;
  if (view->shift_mu_node != NULL)
    {
      g_free (before);
      return fail (reader, node, "a second <shift> of a link; take one away");
    }
  if (!split (mu, &mu_node, &mu_port) || !split (v, &v_node, &v_port))
    {
      g_free (mu_node);
      g_free (mu_port);
      g_free (before);
      return TRUE; /* a newer format */
    }
  view->shift_mu_node = mu_node;
  view->shift_mu_port = mu_port;
  view->shift_v_node = v_node;
  view->shift_v_port = v_port;
  record->shift.before = before;
  record->shift.attributes = keep_attributes (node, known);
  record->shift.inside = keep_inside (node);
  return TRUE;
}

/* What is in a link: <owed>, <shift> and what we do not know. */
static gboolean
read_owed (Reader *reader, const xmlNode *node, TwLinkRecord *record)
{
  static const char *const known[] = { "node", "port", "degree", "first", "columns", NULL };
  g_autoptr (GArray) owed = g_array_new (FALSE, FALSE, sizeof (TwOwed));
  g_autoptr (GArray) extras = g_array_new (FALSE, FALSE, sizeof (TwExtra));
  g_autoptr (GPtrArray) texts = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GString) kept = g_string_new (NULL);
  gboolean good = TRUE;
  for (const xmlNode *child = node->children; good && child != NULL; child = child->next)
    if (is_kept (child))
      keep (kept, child);
    else if (tw_xml_is (child, "owed"))
      {
        char *id = tw_xml_get (child, "node"), *port = tw_xml_get (child, "port");
        g_ptr_array_add (texts, id);
        g_ptr_array_add (texts, port);
        if (!is_end (id, port))
          continue; /* a newer format */
        TwOwed item = { id, port, (int)CLAMP (get_integer (child, "degree", 1), -64, 64),
                        get_extent (child, "first", 0), get_extent (child, "columns", 0) };
        TwExtra extra = { steal (kept), keep_attributes (child, known), keep_inside (child) };
        g_array_append_val (owed, item);
        g_array_append_val (extras, extra);
      }
    else if (tw_xml_is (child, "shift"))
      good = read_shift (reader, child, record, steal (kept));
  tw_link_record_set_owed (record, (const TwOwed *)owed->data, (int)owed->len);
  for (guint i = 0; i < owed->len; i++)
    record->owed_extras[i] = g_array_index (extras, TwExtra, i);
  record->extra.inside = steal (kept);
  return good;
}

static gboolean
read_link (Reader *reader, const xmlNode *node, char *before)
{
  static const char *const known[] = { "from", "to", "fuse", NULL };
  g_autofree char *from = tw_xml_get (node, "from"), *to = tw_xml_get (node, "to");
  g_autofree char *fuse = tw_xml_get (node, "fuse");
  g_autofree char *from_node = NULL, *from_port = NULL, *to_node = NULL, *to_port = NULL;
  if (!split (from, &from_node, &from_port) || !split (to, &to_node, &to_port))
    {
      g_free (before);
      return TRUE; /* a newer format */
    }
  const TwLink *other = tw_graph_get_link_to (reader->graph, to_node, to_port);
  if (other != NULL)
    {
      g_free (before);
      return fail (reader, node,
                   "a second link into %s; the first is in line %d. A port takes one value: take "
                   "one away, or add the two in a block",
                   to, other->line);
    }
  TwLinkRecord *record = tw_link_record_new (from_node, from_port, to_node, to_port);
  record->view.fuse_required = fuse != NULL;
  record->view.line = (int)xmlGetLineNo (node);
  record->extra.before = before;
  record->extra.attributes = keep_attributes (node, known);
  if (!read_owed (reader, node, record))
    {
      tw_link_record_unref (record);
      return FALSE;
    }
  tw_graph_exchange_link (reader->graph, NULL, record);
  return TRUE;
}

static gboolean
read_dimension (Reader *reader, const xmlNode *node, char *before)
{
  static const char *const known[] = { "name", "kind", "value", "min", "max", "multiple", NULL };
  g_autofree char *name = tw_xml_get (node, "name"), *kind = tw_xml_get (node, "kind");
  gboolean good = name != NULL && tw_is_id (name);
  if (!good || !g_hash_table_add (reader->dimensions, g_strdup (name)))
    {
      g_free (before);
      return !good
             || fail (reader, node, "a second dimension %s; take one away or rename it", name);
    }
  gboolean dynamic = kind != NULL && strcmp (kind, "dynamic") == 0;
  for (int i = 3; !dynamic && !tw_graph_is_read_only (reader->graph) && known[i] != NULL; i++)
    if (xmlHasNsProp ((xmlNode *)node, (const xmlChar *)known[i], NULL) != NULL)
      {
        g_free (before);
        return fail (reader, node,
                     "dimension %s is fixed and has %s, which is for dynamic ones; take it away, "
                     "or say kind=\"dynamic\"",
                     name, known[i]);
      }
  TwDimension view = { .name = name,
                       .dynamic = dynamic,
                       .value = get_extent (node, "value", 0),
                       .minimum = get_extent (node, "min", 0),
                       .maximum = get_extent (node, "max", TW_DIMENSION_MAX),
                       .multiple = get_extent (node, "multiple", 1),
                       .line = (int)xmlGetLineNo (node) };
  TwDimensionRecord *record = tw_dimension_record_new (&view);
  record->extra.before = before;
  record->extra.attributes = keep_attributes (node, known);
  record->extra.inside = keep_inside (node);
  g_ptr_array_add (reader->graph->dimensions, record);
  return TRUE;
}

/* Places come first: nodes then take theirs. */
static gboolean
index_places (Reader *reader, const xmlNode *root)
{
  for (const xmlNode *layout = root->children; layout != NULL; layout = layout->next)
    for (const xmlNode *place = tw_xml_is (layout, "layout") ? layout->children : NULL;
         place != NULL; place = place->next)
      {
        g_autofree char *id = tw_xml_is (place, "place") ? tw_xml_get (place, "node") : NULL;
        if (id != NULL && g_hash_table_contains (reader->places, id))
          return fail (reader, place, "a second place of node %s; take one away", id);
        if (id != NULL
            && !(fabs (get_number (place, "x")) <= 1e15 && fabs (get_number (place, "y")) <= 1e15))
          return fail (reader, place, "the place of node %s is not within 1e15 of the origin", id);
        if (id != NULL)
          g_hash_table_insert (reader->places, g_steal_pointer (&id), (gpointer)place);
      }
  return TRUE;
}

/* After the nodes. Places of nodes that are not there are kept apart. */
static void
read_layout (Reader *reader, const xmlNode *layout, char *before)
{
  static const char *const known[] = { NULL };
  TwGraph *graph = reader->graph;
  g_autoptr (GString) kept = g_string_new (NULL);
  TwExtra *extra = &graph->layout;
  tw_extra_clear (extra);
  extra->before = before;
  extra->attributes = keep_attributes (layout, known);
  for (const xmlNode *child = layout->children; child != NULL; child = child->next)
    {
      g_autofree char *id = tw_xml_is (child, "place") ? tw_xml_get (child, "node") : NULL;
      TwNodeRecord *record = id != NULL ? (TwNodeRecord *)tw_graph_get_node (graph, id) : NULL;
      if (is_kept (child))
        keep (kept, child);
      else if (id != NULL && record == NULL && tw_is_id (id))
        {
          record = tw_node_record_new (id, "");
          read_place (child, record);
          g_ptr_array_add (graph->lost, record);
        }
      if (record != NULL)
        record->place.before = steal (kept);
    }
  extra->inside = steal (kept);
}

static gboolean
read_children (Reader *reader, const xmlNode *root)
{
  static const char *const doc_known[] = { NULL };
  TwGraph *graph = reader->graph;
  const xmlNode *layout = NULL;
  g_autofree char *layout_before = NULL;
  g_autoptr (GString) kept = g_string_new (NULL);
  if (!index_places (reader, root))
    return FALSE;
  for (const xmlNode *child = root->children; child != NULL; child = child->next)
    {
      gboolean good = TRUE;
      if (is_kept (child))
        keep (kept, child);
      else if (tw_xml_is (child, "node"))
        good = read_node (reader, child, steal (kept));
      else if (tw_xml_is (child, "link"))
        good = read_link (reader, child, steal (kept));
      else if (tw_xml_is (child, "dimension"))
        good = read_dimension (reader, child, steal (kept));
      else if (tw_xml_is (child, "doc") && graph->doc == NULL)
        {
          g_autofree char *inside = keep_inside (child);
          graph->doc = tw_xml_get_text (child);
          g_string_append (kept, inside != NULL ? inside : "");
          graph->doc_extra.before = steal (kept);
          graph->doc_extra.attributes = keep_attributes (child, doc_known);
        }
      else if (tw_xml_is (child, "layout") && layout == NULL)
        {
          layout = child;
          layout_before = steal (kept);
        }
      else if (child->type == XML_ELEMENT_NODE && !tw_graph_is_read_only (graph))
        good = fail (reader, child, "a second <%s>; a graph has one", (const char *)child->name);
      if (!good)
        return FALSE;
    }
  graph->root.inside = steal (kept);
  if (layout != NULL)
    read_layout (reader, layout, g_steal_pointer (&layout_before));
  return TRUE;
}

/* Comments before and after the root. */
static char *
keep_siblings (const xmlNode *first, const xmlNode *end)
{
  g_autoptr (GString) kept = g_string_new (NULL);
  for (const xmlNode *node = first; node != NULL && node != end; node = node->next)
    if (node->type == XML_COMMENT_NODE || node->type == XML_PI_NODE)
      keep (kept, node);
  return steal (kept);
}

static TwGraph *
read_graph (xmlDoc *doc, const char *file, GError **error)
{
  static const char *const known[] = { "format", "name", NULL };
  const xmlNode *root = xmlDocGetRootElement (doc);
  TwXmlKind kind = xml_kind ();
  gint64 format = root != NULL ? get_integer (root, "format", 0) : 0;
  gboolean newer
      = root != NULL && tw_xml_is (root, "graph") && format > TW_GRAPH_FORMAT && format < G_MAXINT;
  if (!newer && !tw_xml_validate (doc, file, &kind, error))
    return NULL;
  g_autofree char *name = tw_xml_get (root, "name");
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) dimensions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (TwGraph) graph = tw_graph_new (name != NULL && tw_is_id (name) ? name : "graph");
  Reader reader = { file, graph, error, places, dimensions };
  graph->format = (int)format;
  graph->prolog = keep_siblings (doc->children, root);
  graph->epilog = keep_siblings (root->next, NULL);
  graph->root.attributes = keep_attributes (root, known);
  return read_children (&reader, root) ? g_steal_pointer (&graph) : NULL;
}

static TwGraph *
parse (const char *xml, gsize length, const char *file, GError **error)
{
  TwXmlKind kind = xml_kind ();
  xmlDoc *doc = tw_xml_parse (xml, length, file, &kind, error);
  if (doc == NULL)
    return NULL;
  TwGraph *graph = read_graph (doc, file, error);
  xmlFreeDoc (doc);
  if (graph == NULL)
    return NULL;
  g_autofree char *canonical = tw_graph_to_xml (graph);
  graph->canonical = strlen (canonical) == length && memcmp (canonical, xml, length) == 0;
  return graph;
}

TwGraph *
tw_graph_parse (const char *xml, gsize length, GError **error)
{
  return parse (xml, length, "graph", error);
}

TwGraph *
tw_graph_load (const char *path, GError **error)
{
  TwXmlKind kind = xml_kind ();
  gsize length;
  g_autofree char *text = tw_xml_read_file (path, &kind, &length, error);
  return text != NULL ? parse (text, length, path, error) : NULL;
}

TwGraph *
tw_graph_from_body (const xmlNode *body, const char *name, GError **error)
{
  g_autoptr (GHashTable) places = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) dimensions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (TwGraph) graph = tw_graph_new (name);
  Reader reader = { "body", graph, error, places, dimensions };
  return read_children (&reader, body) ? g_steal_pointer (&graph) : NULL;
}
