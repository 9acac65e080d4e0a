/* Types: unification of dtypes and dimensions over the whole graph, and every other thing that must
 * hold before a graph can be rewritten. All problems are collected. */
#pragma once

#include "graph.h"

G_BEGIN_DECLS

/* The type of a port of a node. */
typedef struct
{
  TwDtype dtype;
  TwRole role;
  int n_dims;
  TwDim *dims[3];        /* over the graph's dimensions; fixed ones are already numbers */
  gboolean column_order; /* stored column-major (inputs and weights with order=column) */
  TwPartner partner;     /* packed pairs */
  int partner_group;
  const char *statistic; /* operation, or NULL */
  gint64 group;          /* statistic: columns of each partial, 0 = final (whole row) */
  gboolean positive;     /* per-row values known to be > 0 */
  gboolean weight;       /* computed from weights alone: known at prepare time */
} TwType;

typedef struct _TwTyping TwTyping;

typedef struct
{
  const char *target;  /* "cpu", "sm80", "sm90a" or NULL: no target's refusals */
} TwCheckOptions;

/* Checks `graph`. Never fails as a whole: what is wrong is in the diagnostics. The typing keeps no
 * reference to the graph. Linear in the size of the graph. */
TwTyping *tw_check (const TwGraph *graph, const TwCatalog *catalog, const TwCheckOptions *options);
void tw_typing_free (TwTyping *typing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwTyping, tw_typing_free)

gboolean tw_typing_is_good (const TwTyping *typing); /* no error among the diagnostics */
const GPtrArray *tw_typing_get_diagnostics (const TwTyping *typing);

/* The type of an input or output port; NULL if it could not be found. Borrowed. */
const TwType *tw_typing_get (const TwTyping *typing, const char *node, const char *port);
/* What a block's dimension name ("M") stands for at `node`; NULL if unbound. Borrowed. */
const TwDim *tw_typing_get_dim (const TwTyping *typing, const char *node, const char *name);

/* "bf16[T, 1024]", for messages and tooltips. g_free. */
char *tw_type_to_text (const TwType *type);

/* Requirements that could not be proved here and must be guarded by the launcher: array of
 * {char *node; char *expression (C over dimension names); char *message}. Borrowed. */
typedef struct
{
  char *node, *expression, *message;
} TwGuard;
const GPtrArray *tw_typing_get_guards (const TwTyping *typing);

G_END_DECLS
