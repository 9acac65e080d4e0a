/* Parsing with SAX callbacks of libxml2's tree builder wrapped: DOCTYPE and depth are refused while
 * they are read, before anything is built from them. */
#include "xml.h"
#include "catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/xmlschemas.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */
static void
fail_read (const char *path, const TwXmlKind *kind, GError **error, const char *problem)
{
  g_set_error (error, kind->domain, kind->read, "%s: %s", path, problem);
}

char *
tw_xml_read_file (const char *path, const TwXmlKind *kind, gsize *length, GError **error)
{
  /* Opening a pipe without a writer would wait for one. */
  int fd = g_open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
  struct stat status;
  if (fd < 0 || fstat (fd, &status) != 0)
    {
      g_autofree char *problem = g_strdup_printf ("cannot be opened: %s", g_strerror (errno));
      fail_read (path, kind, error, problem);
      if (fd >= 0)
        close (fd);
      return NULL;
    }
  if (!S_ISREG (status.st_mode))
    {
      g_autofree char *problem
          = g_strdup_printf ("is no regular file%s; name a %s file",
                             S_ISDIR (status.st_mode) ? " but a folder" : "", kind->what);
      fail_read (path, kind, error, problem);
      close (fd);
      return NULL;
    }
  g_autoptr (GString) text = g_string_new (NULL);
  char buffer[65536];
  gssize n;
  while ((n = read (fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    {
      if (n > 0)
        g_string_append_len (text, buffer, n);
      if (text->len > kind->max_bytes)
        break;
    }
  int problem = n < 0 ? errno : 0;
  close (fd);
  if (problem != 0 || text->len > kind->max_bytes)
    {
      g_autofree char *message = problem != 0
                                     ? g_strdup_printf ("cannot be read: %s", g_strerror (problem))
                                     : g_strdup_printf ("is larger than %" G_GSIZE_FORMAT
                                                        " bytes, the most a %s may have",
                                                        kind->max_bytes, kind->what);
      fail_read (path, kind, error, message);
      return NULL;
    }
  *length = text->len;
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- parsing ---- */
/* libxml2 compares the attributes of a tag pairwise, and looks namespaces up one by one. */
#define MAX_ATTRIBUTES 256

static gboolean
refuse (const char *name, const TwXmlKind *kind, GError **error, const char *text, const char *at,
        const char *problem)
{
  int line = 1;
  for (const char *c = text; c < at; c++)
    line += *c == '\n';
  g_set_error (error, kind->domain, kind->read, "%s:%d: no readable %s: %s", name, line, kind->what,
               problem);
  return FALSE;
}

/* What is judged on the bytes, before the parser sees them. Between one < and the next there is at
 * most one tag, whatever state the parser is in. */
static gboolean
is_readable (const char *text, gsize length, const char *name, const TwXmlKind *kind,
             GError **error)
{
  const char *end = text + length, *bad = memchr (text, '\0', length);
  if (bad != NULL)
    return refuse (name, kind, error, text, bad,
                   "a NUL byte, which XML does not allow; save the file as UTF-8 text");
  if (!g_utf8_validate_len (text, length, &bad))
    {
      g_autofree char *problem = g_strdup_printf (
          "byte 0x%02x is not UTF-8; save the file as UTF-8 text", (guint)(guchar)*bad);
      return refuse (name, kind, error, text, bad, problem);
    }
  int n = 0;
  for (const char *at = text; at < end; at++)
    if (*at == '<')
      n = 0;
    else if (*at == '=')
      {
        const char *quote = at + 1;
        while (quote < end && g_ascii_isspace (*quote))
          quote++;
        n += quote < end && (*quote == '"' || *quote == '\'');
        if (n > MAX_ATTRIBUTES)
          return refuse (name, kind, error, text, at,
                         "more than 256 attributes in one tag; take some away");
        at = quote - 1;
      }
  return TRUE;
}

typedef struct
{
  const TwXmlKind *kind;
  int depth, line;
  char *problem; /* ours, or the parser's first */
} Parse;

static void
stop (xmlParserCtxt *context, char *problem)
{
  Parse *parse = context->_private;
  if (parse->problem == NULL)
    {
      parse->problem = problem;
      parse->line = context->input != NULL ? context->input->line : 0;
    }
  else
    g_free (problem);
  xmlStopParser (context);
}

static void
on_doctype (void *data, const xmlChar *name, const xmlChar *external, const xmlChar *system)
{
  stop (data, g_strdup ("a DOCTYPE, which is refused: it may define entities; take it away"));
}

static void
on_start (void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
          int n_namespaces, const xmlChar **namespaces, int n_attributes, int n_defaulted,
          const xmlChar **attributes)
{
  xmlParserCtxt *context = data;
  Parse *parse = context->_private;
  if (++parse->depth > parse->kind->max_depth)
    {
      stop (context,
            g_strdup_printf ("elements are nested deeper than %d", parse->kind->max_depth));
      return;
    }
  if (context->nsNr > 2 * MAX_ATTRIBUTES)
    {
      stop (context, g_strdup ("more than 256 namespaces in force at once; take some away"));
      return;
    }
  xmlSAX2StartElementNs (data, name, prefix, uri, n_namespaces, namespaces, n_attributes,
                         n_defaulted, attributes);
}

static void
on_end (void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
  xmlParserCtxt *context = data;
  ((Parse *)context->_private)->depth--;
  xmlSAX2EndElementNs (data, name, prefix, uri);
}

static void
on_error (void *data, xmlError *error)
{
  xmlParserCtxt *context = data;
  Parse *parse = context->_private;
  if (parse->problem != NULL || error == NULL || error->level < XML_ERR_ERROR)
    return;
  parse->problem = g_strdup (error->message != NULL ? error->message : "not well-formed");
  g_strdelimit (parse->problem, "\n", ' ');
  g_strchomp (parse->problem);
  parse->line = error->line;
}

xmlDoc *
tw_xml_parse (const char *text, gsize length, const char *name, const TwXmlKind *kind,
              GError **error)
{
  if (length > kind->max_bytes || length > G_MAXINT)
    {
      g_set_error (error, kind->domain, kind->read,
                   "%s: is larger than %" G_GSIZE_FORMAT " bytes, the most a %s may have", name,
                   kind->max_bytes, kind->what);
      return NULL;
    }
  if (!is_readable (text, length, name, kind, error))
    return NULL;
  Parse parse = { .kind = kind };
  xmlParserCtxt *context = xmlNewParserCtxt ();
  if (context == NULL)
    {
      g_set_error (error, kind->domain, kind->read, "%s: out of memory", name);
      return NULL;
    }
  context->_private = &parse;
  xmlDoc *doc = NULL;
  if (context->sax != NULL)
    {
      context->sax->internalSubset = on_doctype;
      context->sax->startElementNs = on_start;
      context->sax->endElementNs = on_end;
      context->sax->serror = (xmlStructuredErrorFunc)on_error;
      /* The bytes are UTF-8, whatever the declaration says. Naming it here would have libxml2
       * 2.9.14 convert them, which does not survive running out of memory. */
      doc = xmlCtxtReadMemory (context, text, (int)length, NULL, NULL,
                               XML_PARSE_NONET | XML_PARSE_NOCDATA | XML_PARSE_BIG_LINES
                                   | XML_PARSE_IGNORE_ENC);
    }
  /* Without its encoding a tree is written with other than ASCII characters escaped. */
  if (doc != NULL && doc->encoding == NULL)
    doc->encoding = xmlStrdup ((const xmlChar *)"UTF-8");
  gboolean good
      = doc != NULL && doc->encoding != NULL && context->wellFormed && parse.problem == NULL;
  if (context->myDoc != NULL && context->myDoc != doc)
    xmlFreeDoc (context->myDoc);
  xmlFreeParserCtxt (context);
  if (!good)
    {
      g_set_error (error, kind->domain, kind->read, "%s:%d: no readable %s: %s", name,
                   MAX (parse.line, 1), kind->what,
                   parse.problem != NULL ? parse.problem : "out of memory, or not XML");
      g_clear_pointer (&doc, xmlFreeDoc);
    }
  g_free (parse.problem);
  return doc;
}

/* ---- validation ---- */
static void
on_schema_error (void *data, xmlError *error)
{
  char **message = data;
  if (*message != NULL || error == NULL)
    return;
  g_autofree char *text = g_strdup (error->message != NULL ? error->message : "invalid");
  g_strdelimit (text, "\n", ' ');
  g_strchomp (text);
  /* libxml2 counts lines above 65535 only in the tree. */
  int line = error->node != NULL ? (int)xmlGetLineNo (error->node) : error->line;
  *message = g_strdup_printf ("%d: %s", line, text);
}

/* Compiled once; a schema that failed for lack of memory is tried again. Never freed. */
static xmlSchema *
get_schema (const char *file, GError **error, const TwXmlKind *kind)
{
  static GMutex lock;
  static GHashTable *schemas;
  g_mutex_lock (&lock);
  if (schemas == NULL)
    schemas = g_hash_table_new (g_str_hash, g_str_equal);
  xmlSchema *schema = g_hash_table_lookup (schemas, file);
  if (schema == NULL)
    {
      g_autofree char *path = g_build_filename (tw_share_directory (), file, NULL);
      g_autofree char *message = NULL;
      xmlSchemaParserCtxt *context = xmlSchemaNewParserCtxt (path);
      if (context != NULL)
        {
          xmlSchemaSetParserStructuredErrors (context, (xmlStructuredErrorFunc)on_schema_error,
                                              &message);
          schema = xmlSchemaParse (context);
          xmlSchemaFreeParserCtxt (context);
        }
      if (schema != NULL)
        g_hash_table_insert (schemas, g_strdup (file), schema);
      else
        g_set_error (error, kind->domain, kind->read, "schema %s cannot be used: %s", path,
                     message != NULL ? message : "out of memory");
    }
  g_mutex_unlock (&lock);
  return schema;
}

/* Memory must not run out in here: libxml2 2.9.14's validator does not survive it. */
gboolean
tw_xml_validate (xmlDoc *doc, const char *name, const TwXmlKind *kind, GError **error)
{
  xmlSchema *schema = get_schema (kind->schema_file, error, kind);
  if (schema == NULL)
    return FALSE;
  g_autofree char *message = NULL;
  int result = -1;
  xmlSchemaValidCtxt *context = xmlSchemaNewValidCtxt (schema);
  if (context != NULL)
    {
      xmlSchemaSetValidStructuredErrors (context, (xmlStructuredErrorFunc)on_schema_error,
                                         &message);
      result = xmlSchemaValidateDoc (context, doc);
      xmlSchemaFreeValidCtxt (context);
    }
  if (result == 0 && message == NULL)
    return TRUE;
  if (message != NULL)
    g_set_error (error, kind->domain, kind->schema, "%s:%s See share/%s", name, message,
                 kind->schema_file);
  else
    g_set_error (error, kind->domain, kind->read, "%s: out of memory", name);
  return FALSE;
}

/* ---- looking at a tree ---- */
/* Text is copied node by node: libxml2's own functions allocate, and give NULL where that fails. */
static void
append_text (GString *out, const xmlNode *first)
{
  for (const xmlNode *node = first; node != NULL; node = node->next)
    if ((node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE)
        && node->content != NULL)
      g_string_append (out, (const char *)node->content);
}

char *
tw_xml_get (const xmlNode *node, const char *attribute)
{
  for (const xmlAttr *attr = node->properties; attr != NULL; attr = attr->next)
    if (attr->ns == NULL && strcmp ((const char *)attr->name, attribute) == 0)
      {
        GString *out = g_string_new (NULL);
        append_text (out, attr->children);
        return g_string_free (out, FALSE);
      }
  return NULL;
}

char *
tw_xml_get_text (const xmlNode *node)
{
  GString *out = g_string_new (NULL);
  append_text (out, node->children);
  return g_strstrip (g_string_free (out, FALSE));
}

gboolean
tw_xml_is (const xmlNode *node, const char *name)
{
  return node->type == XML_ELEMENT_NODE && node->ns == NULL
         && strcmp ((const char *)node->name, name) == 0;
}

void
tw_xml_append_escaped (GString *out, const char *text, gboolean attribute)
{
  for (const char *at = text; *at != '\0'; at++)
    switch (*at)
      {
      case '&':
        g_string_append (out, "&amp;");
        break;
      case '<':
        g_string_append (out, "&lt;");
        break;
      case '>':
        g_string_append (out, "&gt;");
        break;
      case '\r':
        g_string_append (out, "&#13;");
        break;
      case '"':
      case '\n':
      case '\t':
        if (attribute)
          g_string_append_printf (out, *at == '"' ? "&quot;" : "&#%d;", *at);
        else
          g_string_append_c (out, *at);
        break;
      default:
        g_string_append_c (out, *at);
      }
}
