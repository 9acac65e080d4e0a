/* Planning: which nodes share a kernel, what goes through memory and why.
 *
 * A plan is what the exporter prints: kernels in launch order, each a main loop and the nodes of
 * its prologue and epilogue in execution order. Values inside a kernel stay in registers; a value
 * read by a later kernel, or wired to an output, lives in a buffer. */
#pragma once

#include "rewrite.h"

G_BEGIN_DECLS

typedef enum
{
  TW_MAINLOOP_GEMM,  /* a contraction and its epilogue */
  TW_MAINLOOP_ROWS,  /* rows streamed: elementwise work and whole-row statistics */
  TW_MAINLOOP_FINISH /* per-row scalars only */
} TwMainloop;

typedef enum
{
  TW_BUFFER_INPUT,    /* caller's, read: an `input` node */
  TW_BUFFER_WEIGHT,   /* caller's, read, given at plan_init: a `weight` node */
  TW_BUFFER_PREPARED, /* computed from weights by prepare, kept in the caller's prepared memory */
  TW_BUFFER_OUTPUT,   /* caller's, written: an `output` node */
  TW_BUFFER_WORKSPACE /* scratch of one launch; slots are shared by liveness */
} TwBufferKind;

typedef struct
{
  TwBufferKind kind;
  char *name;         /* identifier: the input's, weight's or output's node id; else made from
                         the producing node */
  char *node, *port;  /* the output port whose value it holds, in the rewritten graph */
  const TwType *type; /* borrowed from the typing */
  int slot;           /* WORKSPACE and PREPARED: slot number; -1 otherwise */
} TwBuffer;

typedef struct
{
  char *node, *port; /* value in the kernel */
  int buffer;        /* where it is stored */
} TwStore;

typedef struct
{
  char *name; /* "k1_gemm": identifier, unique in the plan */
  TwMainloop mainloop;
  gboolean prepare;  /* runs once at prepare, on weights */
  GPtrArray *nodes;  /* char*: execution order; finish nodes of the prologue first, then the
                        contraction if any, then the epilogue. A finish node may be in several
                        kernels */
  char *contraction; /* GEMM: its node; NULL otherwise */
  GArray *reads;     /* int: buffers read, each once, in order of first use */
  GArray *stores;    /* TwStore */
  const TwDim *rows, *columns, *depth; /* M, N (output columns), K (NULL if none) */
  TwDtype operands;                    /* GEMM: of the contraction's left operand */
  gint64 bytes, flops;                 /* at the graph's default dimensions */
} TwKernel;

typedef struct
{
  char *from, *to;   /* "node.port" */
  const char *where; /* "register", "memory", "argument", "prologue" (folded where read) */
  char *reason;
  gboolean fuse_required;
} TwEdge;

typedef struct
{
  gboolean fuse; /* FALSE: every drawn node is a kernel of its own */
  gboolean pack;
  int max_kernels; /* 0: no limit */
} TwPlanOptions;

typedef struct
{
  TwRewrite *rewrite; /* owns the rewritten graph and its typing */
  GPtrArray *kernels; /* TwKernel in launch order (prepare kernels first) */
  GPtrArray *buffers; /* TwBuffer */
  int n_slots, n_prepared_slots;
  GPtrArray *edges;       /* TwEdge: every link of the rewritten graph */
  GPtrArray *diagnostics; /* demands that cannot be met ("fuse-demand", "too-many-kernels"): errors;
                             warnings of the rewriting */
  gint64 bytes, flops;    /* sums over the launch kernels */
  gint64 unfused_bytes;   /* memory traffic with --fuse none */
} TwPlan;

/* Rewrites and plans. `graph` must have checked without errors. */
TwPlan *tw_plan (const TwGraph *graph, const TwCatalog *catalog, const TwPlanOptions *options);
void tw_plan_free (TwPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwPlan, tw_plan_free)

/* "gemm", "rows", "finish". Static. */
const char *tw_mainloop_get_name (TwMainloop mainloop);

/* The buffer that holds the value of an output port, or -1 (it lives in registers only). A value
 * wired to several outputs is stored to each; this is the one later kernels read. */
int tw_plan_get_buffer (const TwPlan *plan, const char *node, const char *port);
gboolean tw_kernel_has_node (const TwKernel *kernel, const char *node);

G_END_DECLS
