/* What the rules share. Not for others: rewrite.h is the interface.
 *
 * A rule looks at the working graph, decides, and only then changes it through commands. Strings
 * that must outlive a command are kept in the rewriting's chunk. Types are those of the expanded
 * graph: a rule never changes the type of a value that was there, and a node it makes is told whose
 * type its output has. */
#pragma once

#include "command.h"
#include "law.h"
#include "notation.h"
#include "rewrite.h"

G_BEGIN_DECLS

/* A port of a node; strings in the chunk. */
typedef struct
{
  const char *node, *port;
} TwEnd;

/* Where a value is computed, as far as rules must know. */
typedef struct
{
  int level;         /* of the kernel: above that of every kernel whose stored values it needs */
  gboolean epilogue; /* in the epilogue of a contraction of that level; else in a pass of its own */
} TwPlace;

typedef struct
{
  TwRewrite *result;
  TwGraph *graph;       /* the working copy */
  const TwGraph *drawn; /* what the user drew */
  const TwCatalog *catalog;
  const TwRewriteOptions *options;
  TwTyping *typing;      /* of the expanded graph */
  GHashTable *likes;     /* id of a node made by a rule -> TwEnd whose type its output has */
  GHashTable *positions; /* id -> double*: a topological order */
  GHashTable *settled;   /* ids of scales that have moved as far as they should */
  GHashTable *places;    /* id -> TwPlace*, or NULL: not computed since the graph changed */
  GStringChunk *chunk;   /* the result's */
  GPtrArray *commands;   /* since the last step */
  gboolean merged;       /* merge-scales has run */
  gboolean failed;       /* a command did not apply: what is in `graph` is not to be used */
} TwRewriting;

/* rewrite.c */
const char *tw_rewriting_keep (TwRewriting *rewriting, const char *text);
gboolean tw_rewriting_apply (TwRewriting *rewriting, const TwCommand *command);
const TwBlock *tw_rewriting_get_block (const TwRewriting *rewriting, const char *node);
/* Type of a node's port, NULL if not known. */
const TwType *tw_rewriting_get_type (const TwRewriting *rewriting, const char *node,
                                     const char *port);
/* A new node; its id is `base` or, if taken, `base` with a number. Its output has the type of
 * `like`. */
const char *tw_rewriting_add (TwRewriting *rewriting, const char *base, const char *block,
                              const char *origin, TwEnd like);
/* To be called when it is wired: its place in the order, between sources and readers. */
void tw_rewriting_order (TwRewriting *rewriting, const char *node);
void tw_rewriting_set_param (TwRewriting *rewriting, const char *node, const char *name,
                             const char *value);
void tw_rewriting_connect (TwRewriting *rewriting, TwEnd from, TwEnd to, gboolean fuse_required);
/* The same, keeping the demand and what is owed of the link that was there. */
void tw_rewriting_reconnect (TwRewriting *rewriting, TwEnd from, TwEnd to);
/* What the value on the link into a port owes. */
void tw_rewriting_owe (TwRewriting *rewriting, TwEnd to, const TwOwed *owed, int n_owed);
void tw_rewriting_remove (TwRewriting *rewriting, const char *node);
/* Readers of an output port: array of TwEnd. g_array_unref. */
GArray *tw_rewriting_get_readers (TwRewriting *rewriting, const char *node, const char *port);
/* What feeds a port; .node NULL if nothing does. */
TwEnd tw_rewriting_get_source (TwRewriting *rewriting, const char *node, const char *port);
double tw_rewriting_get_position (TwRewriting *rewriting, const char *node);
/* Sorts kept ids into topological order. */
void tw_rewriting_sort (TwRewriting *rewriting, GPtrArray *ids);
/* Kept ids of the nodes of a kind, in topological order. g_ptr_array_unref. */
GPtrArray *tw_rewriting_list (TwRewriting *rewriting, gboolean (*wanted) (const TwBlock *block));

/* Records a step; texts are taken over, conditions is a NULL-terminated vector and is taken over.
 * `saves` is made from the numbers where it is NULL. */
void tw_rewriting_step (TwRewriting *rewriting, const char *rule, const char *node, char *before,
                        char *after, const char *proof, GPtrArray *conditions, gint64 bytes,
                        int launches, char *saves);
void tw_rewriting_refuse (TwRewriting *rewriting, const char *rule, const char *node,
                          const char *format, ...) G_GNUC_PRINTF (4, 5);
/* An array for conditions, and one condition more. */
GPtrArray *tw_conditions_new (void);
void tw_conditions_add (GPtrArray *conditions, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Elements of a value at the graph's default dimensions, times the bytes of one; 0 if unknown. */
gint64 tw_rewriting_get_bytes (const TwRewriting *rewriting, const TwType *type);
gint64 tw_rewriting_get_extent (const TwRewriting *rewriting, const TwDim *dim);

/* rewrite-place.c */
TwPlace tw_rewriting_get_place (TwRewriting *rewriting, const char *node);

/* The value of an output port, expanded through the nodes in `open` (a set of ids; NULL: none but
 * `node`). g_free. */
static inline char *
tw_rewriting_print (const TwRewriting *rewriting, const char *node, const char *port,
                    GHashTable *open)
{
  return tw_notation_print (rewriting->graph, rewriting->catalog, node, port, open, NULL);
}

/* The rules, in the order they run. */
void tw_rewrite_merge_scales (TwRewriting *rewriting);   /* rewrite-scale.c */
void tw_rewrite_hoist_scales (TwRewriting *rewriting);   /* rewrite-hoist.c */
void tw_rewrite_fold_columns (TwRewriting *rewriting);   /* rewrite-pack.c */
void tw_rewrite_pack_siblings (TwRewriting *rewriting);  /* rewrite-pack.c */
void tw_rewrite_merge_siblings (TwRewriting *rewriting); /* rewrite-siblings.c */
void tw_rewrite_split_statistics (TwRewriting *rewriting); /* rewrite-statistic.c */
void tw_rewrite_place_finishes (TwRewriting *rewriting);   /* rewrite-statistic.c */

/* rewrite-scale.c */
gboolean tw_rewriting_is_scale (const TwBlock *block);
int tw_rewriting_get_degree (const TwRewriting *rewriting, const char *scale);
void tw_rewriting_set_degree (TwRewriting *rewriting, const char *scale, int degree);
/* TRUE if scale_rows takes the power. */
gboolean tw_rewriting_degree_fits (const TwRewriting *rewriting, int degree);
/* TRUE if the scale that a port gives is known to be > 0; the condition in words either way,
 * g_free. */
gboolean tw_rewriting_is_positive (const TwRewriting *rewriting, TwEnd s, char **words);
/* The link into `to` owes what the link into `like` owed, and s to the power (0: nothing) in place
 * of what was said of s. */
void tw_rewriting_owe_like (TwRewriting *rewriting, TwEnd to, const TwLink *like, TwEnd s,
                            int degree);
/* Folds `second` into what feeds it, another power of the same scale; a step. FALSE with a refusal
 * if it may not be. */
gboolean tw_rewriting_merge_scale (TwRewriting *rewriting, const char *second);

/* rewrite-siblings.c */
/* Two products that read the same left operand. */
typedef struct
{
  const char *first, *second;
  TwEnd a, b0, b1;
  gboolean column_order;
} TwSiblings;
/* TwSiblings of the graph, each product in at most one pair; refusals are recorded under `rule`
 * if `refuse`. g_array_unref. */
GArray *tw_rewriting_find_siblings (TwRewriting *rewriting, const char *rule, gboolean refuse);
/* What feeds a pair, after another pair has been merged. */
void tw_rewriting_refresh_siblings (TwRewriting *rewriting, TwSiblings *pair);
/* The elementwise node where values of both meet, through elementwise nodes; NULL. */
const char *tw_rewriting_find_meeting (TwRewriting *rewriting, const TwSiblings *siblings);

G_END_DECLS
