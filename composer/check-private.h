/* What the parts of the checker share. Not for others: check.h is the interface.
 *
 * The shape of the work: a graph has many nodes of few blocks and few distinct shape texts. So what
 * depends on the block (parsed port dimensions) or on the text (parsed shapes) is computed once,
 * and a node costs a few comparisons. */
#pragma once

#include "check.h"

G_BEGIN_DECLS

/* A port's dimension expression, parsed. */
typedef struct
{
  TwDim *dim;
  int n_names;  /* distinct names it holds */
  int names[4]; /* indices into TwBlockFacts.names */
} TwPattern;

/* What is known of a block before any node is seen. */
typedef struct
{
  const TwBlock *block;
  TwPattern (*patterns)[3]; /* per port */
  char **names;             /* the dimension names of its ports; n_names */
  int n_names;
  gboolean weight; /* a source whose values are known at prepare time */
} TwBlockFacts;

/* One node. Fields after `bindings` live only while checking. */
typedef struct
{
  char *id;
  TwBlockFacts *facts; /* NULL: unknown block */
  TwType *types;       /* per port */
  guint8 *known;       /* per port */
  guint8 *plain;       /* per port: columns stated to be unpaired */
  TwDim **bindings;    /* per name of the block, NULL where unbound; then per parameter */
  const TwNode *node;
  const TwLink **links; /* per port: the link into it */
  int *sources;         /* per port: index of the node at its other end */
  int *source_ports;    /* and the port there, -1 where its block is unknown */
  guint8 *present;      /* per port, under the parameters' values */
  gboolean bad_link;    /* a link into it names no port: missing inputs are its consequence */
  gboolean cyclic;
  TwDim *width; /* statistic: true columns, NULL if not known */
} TwNodeTyping;

struct _TwTyping
{
  TwCatalog *catalog;
  TwNodeTyping *nodes;
  int n_nodes;
  GHashTable *index; /* id -> node index + 1 */
  GHashTable *facts; /* TwBlock* -> TwBlockFacts */
  GPtrArray *diagnostics;
  GPtrArray *guards;
};

typedef struct
{
  TwDiagnostic *diagnostic;
  int node, order;
} TwFinding;

typedef struct
{
  const TwGraph *graph;
  const TwCheckOptions *options;
  TwTyping *typing;
  GArray *findings;  /* TwFinding */
  GHashTable *dims;  /* name -> const TwDimension* */
  GHashTable *fixed; /* name -> TwDim: numbers of fixed dimensions */
  GHashTable *texts; /* expression text -> TwDim over dynamic dimensions */
  char **dim_names;  /* for "did you mean" */
  char **block_names;
} TwCheck;

/* Records a diagnostic at node index `node` (-1: the graph). The result may get more fixes. */
TwDiagnostic *tw_check_add (TwCheck *check, TwSeverity severity, const char *code, int node,
                            const char *port, int line, const char *found, const char *expected,
                            const char *fix, const char *format, ...) G_GNUC_PRINTF (10, 11);

/* check-params.c */
void tw_check_dimensions (TwCheck *check);
/* Every parameter of a node against its block. */
void tw_check_params (TwCheck *check, int node);
/* `text` over the graph's dynamic dimensions; NULL (borrowed otherwise) with a diagnostic at `node`
 * about parameter `param` if it is none. */
TwDim *tw_check_dim (TwCheck *check, int node, const char *param, const char *text);
/* Up to three dimensions of a shape text, borrowed. Their number, or -1 with a diagnostic. */
int tw_check_shape (TwCheck *check, int node, const char *param, const char *text, TwDim *dims[3]);

/* check-links.c */
TwBlockFacts *tw_check_facts (TwCheck *check, const TwBlock *block);
void tw_check_links (TwCheck *check);
/* Index of the node, or -1. */
int tw_check_find (const TwCheck *check, const char *id);

/* check-order.c */
/* Node indices in topological order; nodes on and behind cycles are left out, each cycle is
 * reported. g_free. */
int *tw_check_sort (TwCheck *check, int *n);
void tw_check_liveness (TwCheck *check);

/* One node while its types are found. */
#define TW_MAX_VARIABLES 8
typedef struct
{
  const char *name; /* a dtype variable of the block */
  TwDtype dtype;
  int port; /* the port that bound it */
} TwVariable;

typedef struct
{
  TwCheck *check;
  int index;
  TwNodeTyping *node;
  const TwBlock *block;
  TwVariable variables[TW_MAX_VARIABLES];
  int n_variables;
  int *binder; /* per dimension name: the port that bound it */
} TwNodeCheck;

/* check-ports.c. `port` is an input port with a link whose source has a type. */
const TwNodeTyping *tw_check_source (const TwNodeCheck *context, int port);
const TwType *tw_check_source_type (const TwNodeCheck *context, int port);
/* An error at the port; what is found is the source's type. */
TwDiagnostic *tw_check_report (const TwNodeCheck *context, const char *code, int port,
                               const char *expected, const char *fix, const char *message);
/* "[512, N]": what is bound is written as bound. g_free. */
char *tw_check_expected (const TwNodeCheck *context, int port);
/* "one value per row". Static. */
const char *tw_check_role_name (TwRole role);
/* "interleaved(8)". g_free. */
char *tw_check_layout_name (TwPartner partner, int group);
/* The layout that a packed port has at this node. */
void tw_check_interleave (const TwNodeCheck *context, const TwPortSpec *spec, TwType *type);
/* TRUE and *dtype if the port's dtype is a name, or a parameter that holds one. */
gboolean tw_check_literal (const TwNodeCheck *context, const TwPortSpec *spec, TwDtype *dtype);
TwVariable *tw_check_variable (TwNodeCheck *context, const char *name);
/* Each is TRUE, or FALSE with a diagnostic. */
gboolean tw_check_kind (const TwNodeCheck *context, int port, const TwType *type);
gboolean tw_check_layout (const TwNodeCheck *context, int port, const TwType *type, gboolean plain);
gboolean tw_check_port_dtype (TwNodeCheck *context, int port, const TwType *type);

/* check-unify.c. A port's dimension with what is bound put in; *free_name is the one unbound name,
 * -1 for none, -2 for several (then NULL). */
TwDim *tw_check_fill (const TwNodeTyping *node, const TwPattern *pattern, int *free_name);
/* Binds the names by the known input ports; a port that disagrees becomes unknown. */
void tw_check_unify (TwNodeCheck *context);

/* check-types.c: the types of a node's ports, from those of the nodes before it. */
void tw_check_node_types (TwCheck *check, int node);

/* check-require.c: requirements of the node's block under its types. */
void tw_check_requirements (TwCheck *check, int node);

G_END_DECLS
