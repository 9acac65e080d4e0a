/* Canonical XML: two spaces an indent, known attributes in a fixed order, then the others; doc,
 * dimensions, nodes, links, layout, each in the graph's order. */
#include "graph-private.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static void
put (GString *out, const char *attribute, const char *value)
{
  if (value == NULL)
    return;
  g_string_append_printf (out, " %s=\"", attribute);
  tw_xml_append_escaped (out, value, TRUE);
  g_string_append_c (out, '"');
}

static void
put_integer (GString *out, const char *attribute, gint64 value)
{
  g_string_append_printf (out, " %s=\"%" G_GINT64_FORMAT "\"", attribute, value);
}

/* The shortest text that reads back as the same number; no exponent where it is an integer. */
static void
put_number (GString *out, const char *attribute, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE], format[8];
  int digits = value == floor (value) && fabs (value) < 1e15 ? 15 : 1;
  do
    {
      g_snprintf (format, sizeof format, "%%.%dg", digits++);
      g_ascii_formatd (text, sizeof text, format, value);
    }
  while (digits <= 17 && g_ascii_strtod (text, NULL) != value);
  put (out, attribute, text);
}

/* What was kept, each on a line of its own; lines of a long comment stay as they are. */
static void
put_lines (GString *out, const char *text, int indent)
{
  for (const char *end; text != NULL && (end = strchr (text, TW_KEPT_END)) != NULL; text = end + 1)
    g_string_append_printf (out, "%*s%.*s\n", indent, "", (int)(end - text), text);
}

/* Ends a start tag whose children were collected in `content`. */
static void
put_end (GString *out, const char *element, const TwExtra *extra, int indent,
         const GString *content)
{
  if (extra->attributes != NULL)
    g_string_append (out, extra->attributes);
  if (content->len == 0 && extra->inside == NULL)
    {
      g_string_append (out, "/>\n");
      return;
    }
  g_string_append (out, ">\n");
  g_string_append_len (out, content->str, (gssize)content->len);
  put_lines (out, extra->inside, indent + 2);
  g_string_append_printf (out, "%*s</%s>\n", indent, "", element);
}

static void
put_start (GString *out, const char *element, const TwExtra *extra, int indent)
{
  put_lines (out, extra->before, indent);
  g_string_append_printf (out, "%*s<%s", indent, "", element);
}

static void
put_dimension (GString *out, const TwDimensionRecord *record)
{
  const TwDimension *view = &record->view;
  g_autoptr (GString) none = g_string_new (NULL);
  put_start (out, "dimension", &record->extra, 2);
  put (out, "name", view->name);
  put (out, "kind", view->dynamic ? "dynamic" : "fixed");
  put_integer (out, "value", view->value);
  if (view->dynamic)
    {
      put_integer (out, "min", view->minimum);
      put_integer (out, "max", view->maximum);
    }
  if (view->dynamic && view->multiple != 1)
    put_integer (out, "multiple", view->multiple);
  put_end (out, "dimension", &record->extra, 2, none);
}

static void
put_node (GString *out, const TwNodeRecord *record)
{
  const TwNode *view = &record->view;
  g_autoptr (GString) params = g_string_new (NULL);
  g_autoptr (GString) none = g_string_new (NULL);
  for (int i = 0; i < view->n_params; i++)
    {
      put_start (params, "param", &record->param_extras[i], 4);
      put (params, "name", view->params[i].name);
      put (params, "value", view->params[i].value);
      put_end (params, "param", &record->param_extras[i], 4, none);
    }
  put_start (out, "node", &record->extra, 2);
  put (out, "id", view->id);
  put (out, "block", view->block);
  put (out, "label", view->label);
  put (out, "origin", view->origin);
  put_end (out, "node", &record->extra, 2, params);
}

static void
put_link (GString *out, const TwLinkRecord *record)
{
  const TwLink *view = &record->view;
  g_autofree char *from = g_strconcat (view->from_node, ".", view->from_port, NULL);
  g_autofree char *to = g_strconcat (view->to_node, ".", view->to_port, NULL);
  g_autoptr (GString) owed = g_string_new (NULL);
  g_autoptr (GString) none = g_string_new (NULL);
  for (int i = 0; i < view->n_owed; i++)
    {
      put_start (owed, "owed", &record->owed_extras[i], 4);
      put (owed, "node", view->owed[i].node);
      put (owed, "port", view->owed[i].port);
      put_integer (owed, "degree", view->owed[i].degree);
      if (view->owed[i].first_column != 0 || view->owed[i].n_columns != 0)
        put_integer (owed, "first", view->owed[i].first_column);
      if (view->owed[i].n_columns != 0)
        put_integer (owed, "columns", view->owed[i].n_columns);
      put_end (owed, "owed", &record->owed_extras[i], 4, none);
    }
  if (view->shift_mu_node != NULL)
    {
      put_start (owed, "shift", &record->shift, 4);
      g_string_append_printf (owed, " mu=\"%s.%s\" v=\"%s.%s\"", view->shift_mu_node,
                              view->shift_mu_port, view->shift_v_node, view->shift_v_port);
      put_end (owed, "shift", &record->shift, 4, none);
    }
  put_start (out, "link", &record->extra, 2);
  put (out, "from", from);
  put (out, "to", to);
  put (out, "fuse", view->fuse_required ? "required" : NULL);
  put_end (out, "link", &record->extra, 2, owed);
}

static void
put_places (GString *out, const GPtrArray *records)
{
  g_autoptr (GString) none = g_string_new (NULL);
  for (guint i = 0; i < records->len; i++)
    {
      const TwNodeRecord *record = records->pdata[i];
      if (!record->view.placed)
        continue;
      put_start (out, "place", &record->place, 4);
      put (out, "node", record->view.id);
      put_number (out, "x", record->view.x);
      put_number (out, "y", record->view.y);
      put_end (out, "place", &record->place, 4, none);
    }
}

static void
put_layout (GString *out, const TwGraph *graph)
{
  const TwExtra *extra = &graph->layout;
  g_autoptr (GString) places = g_string_new (NULL);
  put_places (places, graph->nodes);
  put_places (places, graph->lost);
  if (places->len == 0 && extra->before == NULL && extra->attributes == NULL
      && extra->inside == NULL)
    return;
  put_start (out, "layout", extra, 2);
  put_end (out, "layout", extra, 2, places);
}

char *
tw_graph_to_xml (const TwGraph *graph)
{
  g_autoptr (GString) content = g_string_new (NULL);
  if (graph->doc != NULL)
    {
      put_start (content, "doc", &graph->doc_extra, 2);
      g_string_append_printf (content, "%s>",
                              graph->doc_extra.attributes ? graph->doc_extra.attributes : "");
      tw_xml_append_escaped (content, graph->doc, FALSE);
      g_string_append (content, "</doc>\n");
    }
  for (guint i = 0; i < graph->dimensions->len; i++)
    put_dimension (content, graph->dimensions->pdata[i]);
  for (guint i = 0; i < graph->nodes->len; i++)
    put_node (content, graph->nodes->pdata[i]);
  for (guint i = 0; i < graph->links->len; i++)
    put_link (content, graph->links->pdata[i]);
  put_layout (content, graph);

  GString *out = g_string_new ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
  put_lines (out, graph->prolog, 0);
  g_string_append (out, "<graph");
  put_integer (out, "format", graph->format);
  put (out, "name", graph->name);
  put_end (out, "graph", &graph->root, 0, content);
  put_lines (out, graph->epilog, 0);
  return g_string_free (out, FALSE);
}

/* The file that `path` names, through links, also one to a file that is not there yet. */
static char *
follow_links (const char *path)
{
  char *at = g_strdup (path);
  for (int i = 0; i < 40; i++)
    {
      g_autofree char *link = g_file_read_link (at, NULL);
      if (link == NULL)
        break;
      g_autofree char *folder = g_path_get_dirname (at);
      g_free (at);
      at = g_path_is_absolute (link) ? g_steal_pointer (&link)
                                     : g_build_filename (folder, link, NULL);
    }
  return at;
}

gboolean
tw_graph_save (TwGraph *graph, const char *path, gboolean *canonicalised, GError **error)
{
  if (tw_graph_is_read_only (graph))
    {
      g_set_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_NEWER,
                   "%s: graph %s has format %d, newer than this program's, %d, which would lose "
                   "what it does not know. Update the program",
                   path, graph->name, graph->format, TW_GRAPH_FORMAT);
      return FALSE;
    }
  g_autofree char *text = tw_graph_to_xml (graph);
  /* A link is written through; a new file replaces the old one in one step. */
  g_autofree char *target = follow_links (path);
  struct stat status;
  gboolean exists = stat (target, &status) == 0;
  mode_t mode = exists ? status.st_mode & 0777 : 0666;
  g_autoptr (GError) inner = NULL;
  gboolean good = g_file_set_contents_full (
      target, text, -1, G_FILE_SET_CONTENTS_CONSISTENT | G_FILE_SET_CONTENTS_DURABLE, (int)mode,
      &inner);
  /* The new file was made under the umask. */
  if (good && exists && stat (target, &status) == 0 && (status.st_mode & 0777) != mode
      && chmod (target, mode) != 0)
    g_debug ("%s: its mode could not be kept", target);
  if (!good)
    {
      g_set_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_WRITE, "%s: cannot be written: %s", path,
                   inner->message);
      return FALSE;
    }
  if (canonicalised != NULL)
    *canonicalised = !graph->canonical;
  graph->canonical = TRUE;
  return TRUE;
}
