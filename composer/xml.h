/* Reading XML that nobody vouches for. Not for users of the composer: block-xml.c and graph-load.c
 * stand on it. No network, no DOCTYPE, no entities beyond the predefined ones; bounded size and
 * depth. */
#pragma once

#include <glib.h>
#include <libxml/tree.h>

G_BEGIN_DECLS

/* What the caller's errors are called. */
typedef struct
{
  GQuark domain;
  int read, schema; /* codes: cannot be parsed at all; against the schema */
  const char *what; /* "graph", "block": for messages */
  const char *schema_file; /* "graph.xsd", in the share directory */
  gsize max_bytes;
  int max_depth;
} TwXmlKind;

/* Reads a regular file of at most max_bytes. g_free the text; NULL with error. */
char *tw_xml_read_file (const char *path, const TwXmlKind *kind, gsize *length, GError **error);
/* Parses; messages say `name:line: what was found, what is needed`. xmlFreeDoc; NULL with error. */
xmlDoc *tw_xml_parse (const char *text, gsize length, const char *name, const TwXmlKind *kind,
                      GError **error);
/* Against the schema (compiled once a process, thread-safe). */
gboolean tw_xml_validate (xmlDoc *doc, const char *name, const TwXmlKind *kind, GError **error);

/* g_free; NULL if absent. */
char *tw_xml_get (const xmlNode *node, const char *attribute);
/* Text content without surrounding white space. g_free. */
char *tw_xml_get_text (const xmlNode *node);
gboolean tw_xml_is (const xmlNode *node, const char *name); /* an element without a namespace */
/* Appends `text` escaped for an attribute (quotes and line ends too) or for content. */
void tw_xml_append_escaped (GString *out, const char *text, gboolean attribute);

G_END_DECLS
