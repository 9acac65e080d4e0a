/* blocks/<id>/cases.xml: what a block is tried on. docs/design/blocks.md documents the format.
 *
 * A case is one exported program. Its settings are all combinations of what its choices list
 * (storage types, parameters of the block, parameters of what feeds it); each setting is one node
 * of the program's graph with inputs and outputs of its own. */
#pragma once

#include "composer/evaluate.h"

G_BEGIN_DECLS

#define CASES_MAX_SETTINGS 48
#define CASES_MAX_SIZES 32

typedef enum
{
  CHOICE_DTYPE, /* of a dtype variable of the block */
  CHOICE_PARAM, /* of the block */
  CHOICE_INPUT  /* of the node that feeds port `port` */
} ChoiceKind;

typedef struct
{
  ChoiceKind kind;
  char *port; /* INPUT; else NULL */
  char *name;
  char **values;
} Choice;

typedef struct
{
  char *id;
  GPtrArray *choices; /* Choice */
  char **dims;        /* names of the graph's dimensions */
  int n_dims;
  GArray *sizes; /* gint64[n_dims] each, one after the other */
  int n_sizes;
  char **fills;
  char **guarded; /* fills in which the oracle may say NaN where the formula has a number */
  double error;   /* in units of 2^-24 of the magnitude */
  gboolean fixed; /* sizes are fixed dimensions (one size), and feeding nodes are weights */
} Case;

/* Cases of `block`; without a cases.xml one of every storage type. GPtrArray of Case (owned);
 * NULL with `error`. */
GPtrArray *cases_load (const TwBlock *block, GError **error);

/* Number of settings of a case, and the choice a setting makes: setting s takes value
 * cases_value (c, i, s) of choice i. */
int cases_n_settings (const Case *c);
const char *cases_value (const Case *c, guint choice, int setting);
/* The value chosen, or NULL. */
const char *cases_find (const Case *c, int setting, ChoiceKind kind, const char *port,
                        const char *name);

/* case-graph.c: one node of the block a setting, each with inputs and outputs of its own. */
typedef struct
{
  char *node, *port; /* of the block under test */
  char *id;          /* the input, weight or output node */
  gboolean weight;
} CaseTensor;

typedef struct
{
  char *label;
  char *node;
  GPtrArray *inputs, *outputs; /* CaseTensor */
} CaseSetting;

typedef struct
{
  char *xml;
  GPtrArray *settings; /* CaseSetting */
} CaseGraph;

CaseGraph *case_graph_new (const TwBlock *block, const Case *c);
void case_graph_free (CaseGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CaseGraph, case_graph_free)

/* case-data.c: values, exact results and their magnitudes of every run, as harness.c reads them. */
typedef struct
{
  const TwGraph *graph;
  const TwCatalog *catalog;
  const TwTyping *typing;
  const TwBlock *block;
  const Case *c;
  const CaseGraph *drawn;
} CaseProgram;

GByteArray *case_data_new (const CaseProgram *program, guint32 seed, GError **error);

G_END_DECLS
