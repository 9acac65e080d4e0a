/* What the parts of the exporter share. Not for others: emit.h is the interface.
 *
 * Names in exported C: v_<id> is the value of a node's output or a tensor, d_<name> a dimension,
 * k<i>_<mainloop> a kernel; fields of public structs are plain ids, with a "_" after what C has
 * taken. Nothing else of what users write reaches the text. */
#pragma once

#include "emit.h"
#include "text.h"

G_BEGIN_DECLS

/* A tensor of the caller: a source or a sink of the drawn graph. */
typedef struct
{
  const char *id;     /* node id, borrowed */
  TwBufferKind kind;  /* INPUT, WEIGHT or OUTPUT */
  const TwType *type; /* in the drawn graph, borrowed */
  char *field;        /* its name in the public structs; <field>_ld beside it if it has rows */
  char *rows,
      *columns; /* C expressions over d_ names: extents as a matrix; a vector has one column */
} TwEmitTensor;

/* One program: what NAME.h and NAME.c are printed from. */
typedef struct
{
  const TwGraph *drawn;
  const TwTyping *typing; /* of the drawn graph */
  const TwPlan *plan;
  const TwCatalog *catalog;
  char *prefix, *upper;
  GPtrArray *dims;       /* const TwDimension*: the dynamic ones, drawing order */
  GPtrArray *dim_fields; /* char*: their names in the public structs */
  GPtrArray *tensors;    /* TwEmitTensor: inputs, weights, outputs, each in drawing order */
  GArray *aliases;       /* int pairs of tensors: an output, and the input whose memory it may be */
  GError *error;         /* the first one */
} TwEmit;

TwEmit *tw_emit_new (const TwGraph *drawn, const TwTyping *typing, const TwPlan *plan,
                     const TwCatalog *catalog, const char *prefix);
void tw_emit_free (TwEmit *emit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwEmit, tw_emit_free)

/* Keeps the first error; takes it. */
void tw_emit_fail (TwEmit *emit, GError *error);
/* Index in `tensors` of the tensor of a node, or -1. */
int tw_emit_find_tensor (const TwEmit *emit, const char *id);
/* The tensor as a matrix has a leading dimension. */
gboolean tw_type_has_ld (const TwType *type);
/* Extents as a matrix of any type, as C over prefixed names: rows are all dimensions but the last;
 * a vector is one column. g_free both. */
void tw_type_to_c (const TwType *type, const char *prefix, char **rows, char **columns);
/* "TW_BF16". Static. */
const char *tw_emit_dtype (TwDtype dtype);
/* The block of a node of the plan's graph / the drawn graph; never NULL for a checked graph. */
const TwBlock *tw_emit_block (const TwEmit *emit, const TwGraph *graph, const char *node);
/* "alpha, beta" of a guard or requirement: every name of a dimension gets the prefix d_. g_free. */
char *tw_emit_prefix_names (const TwEmit *emit, const char *expression);

/* The parts of the folder. Each returns text; g_free. NULL with emit->error set. */
char *tw_emit_header (TwEmit *emit);
char *tw_emit_source (TwEmit *emit, gboolean unfused);
char *tw_emit_driver (TwEmit *emit, TwEmit *unfused);
char *tw_emit_makefile (TwEmit *emit);
char *tw_emit_readme (TwEmit *emit);

/* comment.c: the box comment at the top of NAME.c. */
void tw_emit_box (TwEmit *emit, TwText *text, gboolean unfused);
/* The formula of a kernel's `store`-th store, "out = ...", in terms of what it reads. g_free. */
char *tw_emit_store_formula (const TwEmit *emit, const TwKernel *kernel, int store);

/* sources.c: tile and block sources, each pasted once, their includes of each other stripped;
 * system includes are collected. */
typedef struct _TwSources TwSources;
TwSources *tw_sources_new (void);
void tw_sources_free (TwSources *sources);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwSources, tw_sources_free)
/* Reads `path` and what it includes with quotes, those first. FALSE with `error`. */
gboolean tw_sources_add (TwSources *sources, const char *path, GError **error);
/* Names of libc headers they include ("<math.h>"), in order. Borrowed. */
const GPtrArray *tw_sources_get_system (const TwSources *sources);
void tw_sources_print (const TwSources *sources, TwText *text);

/* functions.c: device functions of the blocks in use. */
char *tw_emit_function_name (const TwBlock *block); /* g_free */
/* Adds the sources of those that have one. */
void tw_emit_collect_functions (TwEmit *emit, TwSources *sources);
/* Prints the others from their formulas. */
void tw_emit_functions (TwEmit *emit, TwText *text);
/* A block that only lays out its operands anew (its output is a packed pair). */
gboolean tw_emit_is_copy (const TwBlock *block);

/* kernels-cpu.c, launcher.c, aliases.c */
void tw_emit_kernels (TwEmit *emit, TwText *text);
void tw_emit_launcher (TwEmit *emit, TwText *text);
/* A field of the struct of views for each buffer. */
char *tw_emit_view_name (const TwEmit *emit, int buffer);
/* v-><name> = a view of a buffer's memory. */
void tw_emit_view (TwText *text, const char *name, const char *data, const char *ld);
/* Does a kernel read or store it? */
gboolean tw_emit_uses_buffer (const TwEmit *emit, int buffer);
/* Pairs (output tensor, input tensor) that may be the same memory in this program: int pairs. */
GArray *tw_emit_find_aliases (const TwEmit *emit);

/* Number as a C constant, float or double. g_free. */
char *tw_emit_number (double number, gboolean single);
/* Declares d_<name> from d[i] for those dimensions that `body` names; how many. */
int tw_emit_dim_locals (const TwEmit *emit, TwText *text, const char *body);

/* header.c */
void tw_emit_error_text (TwEmit *emit, TwText *text);
void tw_emit_error_names (TwEmit *emit, TwText *text);

/* What the driver knows of the drawn graph besides its formulas. */
typedef struct
{
  GArray *samples;     /* TwDim* (owned): classes of rows */
  int *sampled;        /* per tensor: index in samples, or -1 */
  char **widths;       /* per tensor: C text, columns a statistic was taken over; or NULL */
  gboolean rows_apart; /* each row of the outputs depends on the same row of the inputs alone */
  int n_values;        /* arrays the reference allocates */
  gboolean f16;        /* some value is stored in f16 */
  GPtrArray *sums;     /* char*: C text of the extents that are summed over */
  GPtrArray *flops;    /* char*: C text, one product a contraction */
} TwEmitFacts;
TwEmitFacts *tw_emit_facts_new (const TwEmit *emit);
void tw_emit_facts_free (TwEmitFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwEmitFacts, tw_emit_facts_free)
/* `graph`: the drawn graph with composites expanded. */
void tw_emit_facts_scan (TwEmit *emit, const TwGraph *graph, const TwTyping *typing,
                         TwEmitFacts *facts);

/* reference.c: the part of NAME_main.c that computes the drawn graph in double. */
void tw_emit_reference (TwEmit *emit, TwText *text, TwEmitFacts *facts);

G_END_DECLS
