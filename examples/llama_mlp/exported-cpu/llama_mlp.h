/* llama_mlp: the interface. SPDX-License-Identifier: MIT-0

   Tensors are the caller's. Rows of a matrix are <name>_ld elements apart (columns, where
   columns are stored); a vector is dense. Everything returns 0 or a code of the enum below;
   nothing allocates, prints or keeps state, and several threads may launch one plan at once,
   each with a workspace of its own. */
#ifndef LLAMA_MLP_H
#define LLAMA_MLP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum
{
  LLAMA_MLP_ERROR_NULL = 1, /* a pointer that is needed is NULL */
  LLAMA_MLP_ERROR_STRUCT_SIZE, /* struct_size is not the size of the struct */
  LLAMA_MLP_ERROR_DIMENSION, /* a dimension is out of its range or no multiple */
  LLAMA_MLP_ERROR_LEADING_DIMENSION, /* a leading dimension is smaller than a row */
  LLAMA_MLP_ERROR_ALIGNMENT, /* a pointer is not aligned to its elements */
  LLAMA_MLP_ERROR_OVERLAP, /* an output overlaps another tensor */
  LLAMA_MLP_ERROR_WORKSPACE, /* the workspace is too small or not aligned to 64 bytes */
  LLAMA_MLP_ERROR_PLAN, /* the plan was not initialised, or its memory is too small */
  LLAMA_MLP_ERROR_PREPARE, /* prepare was not called, or its memory is too small */
  LLAMA_MLP_ERROR_GUARD /* a requirement of a block does not hold for these dimensions */
};

/* Dimensions: the largest there will be (plan_init). */
typedef struct llama_mlp_dims
{
  size_t struct_size; /* sizeof of this struct */
  int64_t T; /* 0 to 1048576 */
} llama_mlp_dims;

/* Weights: read by prepare and by every launch, so they stay in place. */
typedef struct llama_mlp_weights
{
  size_t struct_size; /* sizeof of this struct */
  const void *gamma; /* bf16[1024] */
  const void *w_gate; /* bf16[1024, 2816] */
  int64_t w_gate_ld;
  const void *w_up; /* bf16[1024, 2816] */
  int64_t w_up_ld;
  const void *w_down; /* bf16[2816, 1024] */
  int64_t w_down_ld;
} llama_mlp_weights;

/* Arguments of a launch: the actual dimensions, inputs, outputs. */
typedef struct llama_mlp_args
{
  size_t struct_size; /* sizeof of this struct */
  int64_t T; /* 0 to 1048576 */
  const void *x; /* bf16[T, 1024] */
  int64_t x_ld;
  void *out; /* bf16[T, 1024] */
  int64_t out_ld;
} llama_mlp_args;

/* Bytes of a plan. It holds no pointer to itself and may be copied. */
size_t llama_mlp_plan_size (void);
/* Makes a plan in `plan` (aligned to 8 bytes). threads <= 0: as many as OpenMP has. */
int llama_mlp_plan_init (void *plan, size_t plan_bytes, int threads,
                         const llama_mlp_dims *max_dims, const llama_mlp_weights *weights);
/* Bytes that prepare fills, 0 where nothing is folded or packed; then it need not be called. */
size_t llama_mlp_prepared_size (const void *plan);
/* Computes what depends on weights alone into `prepared` (aligned to 64 bytes), which then
   belongs to the plan. Call again when weights change. */
int llama_mlp_prepare (void *plan, void *prepared, size_t prepared_bytes);
/* Bytes of scratch one launch needs (aligned to 64 bytes). */
size_t llama_mlp_workspace_size (const void *plan);
/* Computes the outputs. Dimensions of 0 are good: nothing is written. */
int llama_mlp_launch (const void *plan, const llama_mlp_args *args, void *workspace,
                      size_t workspace_bytes);
/* What a code means. Static. */
const char *llama_mlp_error_text (int code);

#ifdef __cplusplus
}
#endif

#endif
