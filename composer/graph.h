/* The drawing: nodes, links, dimensions, layout. Read-only here; every change is a command
 * (command.h). A graph has one owner; nodes are known by id, and the views handed out are valid
 * until the next change.
 *
 * What a file holds that this version does not know (attributes, foreign elements, unknown blocks,
 * links to missing ports) is kept and written back. */
#pragma once

#include "catalog.h"
#include "dimension.h"

G_BEGIN_DECLS

#define TW_GRAPH_ERROR (tw_graph_error_quark ())
GQuark tw_graph_error_quark (void);
typedef enum
{
  TW_GRAPH_ERROR_READ,   /* cannot be read, too large or deep, DOCTYPE, not well-formed */
  TW_GRAPH_ERROR_SCHEMA, /* against share/graph.xsd; the message has line, found, needed */
  TW_GRAPH_ERROR_NEWER,  /* asked to change or save a graph of a newer format */
  TW_GRAPH_ERROR_COMMAND,/* a command that does not apply; the graph is unchanged */
  TW_GRAPH_ERROR_WRITE
} TwGraphError;

#define TW_GRAPH_FORMAT 1
#define TW_GRAPH_MAX_BYTES (16 << 20)
#define TW_GRAPH_MAX_DEPTH 64
#define TW_ID_MAX 63
#define TW_DIMENSION_MAX ((gint64)1 << 40) /* a dynamic dimension's maximum where none is stated */

typedef struct
{
  const char *name;
  const char *value;
} TwParam;

typedef struct
{
  const char *id;      /* [A-Za-z_][A-Za-z0-9_]{0,62} */
  const char *block;   /* block id; may be unknown to the catalog */
  const char *label;   /* or NULL; never reaches source code */
  const char *origin;  /* rewritten graphs: id of the drawn node it came from; NULL: itself */
  const TwParam *params; int n_params; /* explicitly set ones */
  gboolean placed; double x, y;
  int line;            /* in the file, 0 if made by a command */
} TwNode;

/* What the value on a link still owes: true value = stored value * product of scale^degree, and,
 * with a shift, true = stored + mu[m]*v[n]. Empty in drawn graphs; rules maintain it. */
typedef struct
{
  const char *node, *port; /* the per-row scale's source */
  int degree;
  gint64 first_column, n_columns; /* n_columns 0: all */
} TwOwed;

typedef struct
{
  const char *from_node, *from_port, *to_node, *to_port;
  gboolean fuse_required;    /* fuse="required": the edge may not go through memory */
  const TwOwed *owed; int n_owed;
  const char *shift_mu_node, *shift_mu_port, *shift_v_node, *shift_v_port; /* or all NULL */
  int line;
} TwLink;

typedef struct
{
  const char *name;
  gboolean dynamic;   /* launch argument; else fixed at export */
  gint64 value;       /* fixed: the value; dynamic: the default used to check and to bench */
  gint64 minimum, maximum, multiple; /* dynamic */
  int line;
} TwDimension;

/* An empty graph named `name`. */
TwGraph *tw_graph_new (const char *name);
TwGraph *tw_graph_copy (const TwGraph *graph);
void tw_graph_free (TwGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwGraph, tw_graph_free)

/* Reads `path` / `xml`. NULL with `error` otherwise. */
TwGraph *tw_graph_load (const char *path, GError **error);
TwGraph *tw_graph_parse (const char *xml, gsize length, GError **error);
/* Canonical XML. g_free. A canonical file round-trips to the byte. */
char *tw_graph_to_xml (const TwGraph *graph);
/* Writes atomically (a crash leaves the old file). *canonicalised (may be NULL) tells that the file
 * read was not canonical, so that the user can be told. */
gboolean tw_graph_save (TwGraph *graph, const char *path, gboolean *canonicalised, GError **error);

const char *tw_graph_get_name (const TwGraph *graph);
const char *tw_graph_get_doc (const TwGraph *graph);
int tw_graph_get_format (const TwGraph *graph);
gboolean tw_graph_is_read_only (const TwGraph *graph); /* newer format */

int tw_graph_get_n_nodes (const TwGraph *graph);
const TwNode *tw_graph_get_nth_node (const TwGraph *graph, int i);
const TwNode *tw_graph_get_node (const TwGraph *graph, const char *id); /* O(1); NULL */
int tw_graph_get_n_links (const TwGraph *graph);
const TwLink *tw_graph_get_nth_link (const TwGraph *graph, int i);
/* The link into a port (at most one), O(1); NULL. */
const TwLink *tw_graph_get_link_to (const TwGraph *graph, const char *node, const char *port);
/* All links from an output port (NULL port: from any port): array of TwLink*, g_ptr_array_unref. */
GPtrArray *tw_graph_get_links_from (const TwGraph *graph, const char *node, const char *port);
int tw_graph_get_n_dimensions (const TwGraph *graph);
const TwDimension *tw_graph_get_nth_dimension (const TwGraph *graph, int i);
const TwDimension *tw_graph_get_dimension (const TwGraph *graph, const char *name);
/* What an expression is worth at the graph's default dimensions; 0 where it has no value. */
gint64 tw_graph_get_extent (const TwGraph *graph, const TwDim *dim);

/* The node's value of a parameter as text: as set, else the block's default, else NULL. */
const char *tw_node_get_param (const TwNode *node, const TwBlock *block, const char *name);
/* As a number: integer, real, boolean, enum number. FALSE if unset or no number. */
gboolean tw_node_get_number (const TwNode *node, const TwBlock *block, const char *name,
                             double *value);
/* TRUE if the node has `port` under its parameters' values (`when`). */
gboolean tw_node_has_port (const TwNode *node, const TwBlock *block, const TwPortSpec *port);

/* Node ids in topological order, ties in drawing order; nodes of cycles are left out and *cyclic
 * (may be NULL) names one of them. Array of borrowed const char*. g_ptr_array_unref. */
GPtrArray *tw_graph_sort (const TwGraph *graph, const char **cyclic);

G_END_DECLS
