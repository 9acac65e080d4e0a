/* Rewriting: one rule = one table row (name, pattern, guard, action). A rewritten graph is a graph
 * in the same vocabulary. No mutation before the guard has passed; every application is a step,
 * every refusal keeps the condition that failed. docs/design/rewriting.md lists the rules. */
#pragma once

#include "check.h"

G_BEGIN_DECLS

typedef struct
{
  char *text; /* "s > 0: finish gives rsqrt(mean + eps) with eps = 1e-6" */
} TwCondition;

typedef struct
{
  const char *rule;     /* "hoist-scale"; static */
  char *node;           /* the node it was applied to */
  char *before, *after; /* formulas, e.g. "((h * rstd) * gamma) @ w_up" */
  char *proof;          /* one line a student follows */
  char **conditions;    /* ticked, NULL-terminated */
  gint64 bytes_saved;   /* memory traffic at the graph's default dimensions, >= 0 */
  int launches_saved;
  char *saves; /* the same in words */
  /* Private: how the graph after this step is made; see tw_rewrite_get_graph. */
  TwGraph *snapshot;
  GPtrArray *commands;
} TwStep;

typedef struct
{
  const char *rule; /* static */
  char *node;
  char *reason; /* the condition that failed, with the values found */
} TwRefusal;

typedef struct
{
  gboolean fuse; /* FALSE: expand composites only (--fuse none) */
  gboolean pack; /* fold column scales into frozen weights, pack siblings: a prepare-time copy */
} TwRewriteOptions;

typedef struct
{
  TwGraph *graph;         /* the result */
  TwTyping *typing;       /* of the result; good */
  GPtrArray *steps;       /* TwStep */
  GPtrArray *refusals;    /* TwRefusal */
  GPtrArray *diagnostics; /* warnings, e.g. eps below 1e-12 */
  TwGraph *drawn;         /* what was rewritten, a copy */
  GStringChunk *strings;  /* private */
} TwRewrite;

/* `graph` must check without errors under `options`' target (the caller did so). */
TwRewrite *tw_rewrite (const TwGraph *graph, const TwCatalog *catalog,
                       const TwRewriteOptions *options);
void tw_rewrite_free (TwRewrite *rewrite);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwRewrite, tw_rewrite_free)

/* The graph after step number `step`; -1: as drawn. Kept as what changed, since steps are many and
 * few of them are looked at. Transfer: the caller owns it. */
TwGraph *tw_rewrite_get_graph (const TwRewrite *rewrite, int step);

/* Names of all rules, NULL-terminated. Static. */
const char *const *tw_rewrite_rules (void);

G_END_DECLS
