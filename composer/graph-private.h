/* How a graph is kept. For graph*.c, command.c and block-xml.c: graph.h is the interface.
 *
 * The workload: a rewriting of hundreds of steps keeps a copy per step, undo keeps one per command.
 * So records of nodes, links and dimensions are immutable once in a graph and shared between
 * copies; a change replaces a record. Indices are built on the first lookup and kept up to date. */
#pragma once

#include "graph.h"
#include "xml.h"

G_BEGIN_DECLS

/* No text of an XML file can hold it. */
#define TW_KEPT_END '\001'

/* What a file holds beside what we know, as XML text; any may be NULL. */
typedef struct
{
  char *before;     /* comments and foreign elements in front, TW_KEPT_END behind each */
  char *attributes; /* " a=\"1\" b=\"2\"" */
  char *inside;     /* the same after the last known child */
} TwExtra;

typedef struct
{
  TwNode view; /* strings and arrays are owned */
  int ref_count;
  TwExtra extra, place;
  TwExtra *param_extras; /* view.n_params */
} TwNodeRecord;

typedef struct
{
  TwLink view;
  int ref_count;
  TwExtra extra, shift;
  TwExtra *owed_extras; /* view.n_owed */
} TwLinkRecord;

typedef struct
{
  TwDimension view;
  int ref_count;
  TwExtra extra;
} TwDimensionRecord;

struct _TwGraph
{
  char *name, *doc;
  int format;
  gboolean canonical; /* the file read was, or there was none */
  char *prolog, *epilog;
  TwExtra root, doc_extra, layout;
  GPtrArray *nodes, *links, *dimensions; /* of records */
  GPtrArray *lost;    /* node records that stand for places of nodes that are not there */
  GHashTable *by_id;  /* id -> TwNodeRecord; NULL until asked for, as are the others */
  GHashTable *into;   /* set of TwLinkRecord by target */
  GHashTable *out_of; /* node id -> GPtrArray of TwLinkRecord */
};

/* Records: new ones have one reference, which the graph takes over; copies are for changing. */
TwNodeRecord *tw_node_record_new (const char *id, const char *block);
TwNodeRecord *tw_node_record_copy (const TwNodeRecord *record);
void tw_node_record_unref (TwNodeRecord *record);
/* `value` NULL: takes it away. */
void tw_node_record_set_param (TwNodeRecord *record, const char *name, const char *value);
TwLinkRecord *tw_link_record_new (const char *from_node, const char *from_port, const char *to_node,
                                  const char *to_port);
TwLinkRecord *tw_link_record_copy (const TwLinkRecord *record);
void tw_link_record_unref (TwLinkRecord *record);
void tw_link_record_set_owed (TwLinkRecord *record, const TwOwed *owed, int n_owed);
TwDimensionRecord *tw_dimension_record_new (const TwDimension *dimension);
void tw_dimension_record_unref (TwDimensionRecord *record);
void tw_extra_clear (TwExtra *extra);
void tw_extra_copy (TwExtra *to, const TwExtra *from);
/* Replaces a string. */
void tw_set_text (const char **target, const char *value);

/* NULL: append the fresh one; fresh NULL: remove the old one. */
void tw_graph_exchange_node (TwGraph *graph, TwNodeRecord *old, TwNodeRecord *fresh);
/* Gives `record`, which is not yet in the graph, the place that waits for its id, if there is one
 * and it has none. */
void tw_graph_claim_place (TwGraph *graph, TwNodeRecord *record);
void tw_graph_exchange_link (TwGraph *graph, TwLinkRecord *old, TwLinkRecord *fresh);
/* As *graph was at `copy`; the copy keeps its own. */
void tw_graph_restore (TwGraph *graph, const TwGraph *copy);

gboolean tw_is_id (const char *text);
gboolean tw_is_param_name (const char *text);

/* The body of a composite: <node> and <link> children of `body`. */
TwGraph *tw_graph_from_body (const xmlNode *body, const char *name, GError **error);

G_END_DECLS
