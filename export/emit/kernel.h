/* A kernel as every target sees it: values, where operands come from, passes and their slices.
 *
 * A pass streams the columns of a panel once. A statistic of the whole row is known when its pass
 * ends, so what depends on it belongs to the next; values of an earlier pass are computed anew.
 * Contractions have one pass. */
#pragma once

#include "emit-private.h"

G_BEGIN_DECLS

/* What one output port of a node of the kernel gives. */
typedef struct
{
  const TwNode *node;
  const TwBlock *block;
  const TwPortSpec *port;
  const TwType *type;
  char *name;       /* in C */
  gboolean per_row; /* one per row, known before the columns of its pass are streamed */
  int pass; /* the first in which it can be computed; of a statistic: that which gathers it */
} TwEmitValue;

/* Where an operand of a node comes from: a value of the kernel or a buffer. */
typedef struct
{
  const TwPortSpec *port; /* NULL: the port is optional and open */
  const TwType *type;
  TwEmitValue *value; /* NULL: read from `buffer` */
  int buffer;
  TwRole role;        /* MATRIX, PER_ROW, PER_COLUMN or STATISTIC */
  int group, partner; /* packed: columns of each partner in turn (0: not packed), which one */
} TwEmitOperand;

typedef struct
{
  TwEmit *emit;
  const TwGraph *graph;
  const TwTyping *typing;
  const TwKernel *kernel;
  GPtrArray *values; /* TwEmitValue, in order of execution */
  int n_passes;
} TwEmitKernel;

TwEmitKernel *tw_emit_kernel_new (TwEmit *emit, const TwKernel *kernel);
void tw_emit_kernel_free (TwEmitKernel *k);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwEmitKernel, tw_emit_kernel_free)

TwEmitValue *tw_emit_kernel_find (const TwEmitKernel *k, const char *node, const char *port);
/* Operand `operand` of the block's formula; of a contraction, too. */
TwEmitOperand tw_emit_kernel_operand (const TwEmitKernel *k, const TwNode *node,
                                      const TwBlock *block, int operand);
/* The value a store takes: of the kernel, or read from a buffer. */
TwEmitOperand tw_emit_kernel_store (const TwEmitKernel *k, const TwStore *store);
/* Which values pass `pass` computes: an array of gboolean, one a value; g_free. */
gboolean *tw_emit_kernel_slice (const TwEmitKernel *k, int pass);

G_END_DECLS
