/* Do the blocks' device functions, called with scalars by name, cost anything over a Hopper
 * accumulator? Each kernel fills 192 accumulator registers a thread by wgmma, then runs an epilogue
 * over them in place and stores bf16. run-probe.py reads what ptxas and the SASS say. The numbers
 * computed mean nothing: descriptors are arguments.
 *
 * A thread holds rows lane/4 and lane/4 + 8 of its warp's 16, and of every 8 columns two. */
#include "wgmma.cuh"

#include "../../blocks/finish/finish.cuh"
#include "../../blocks/row_sumsq/row_sumsq.cuh"
#include "../../blocks/scale_rows/scale_rows.cuh"
#include "../../blocks/swiglu/swiglu.cuh"

#include <cuda_bf16.h>

typedef struct
{
  uint64_t a, b;          /* operand descriptors */
  int depth;              /* k16 steps */
  const float *partials;  /* of the row statistic; 8 a row */
  const __nv_bfloat16 *x; /* residual */
  __nv_bfloat16 *y;
  float *sums;
  int64_t ld;
} Probe;

#ifndef REGISTERS
#define REGISTERS 232
#endif
#define PROBE extern "C" __global__ void __maxnreg__ (REGISTERS)

static __device__ __forceinline__ void
multiply (const Probe &p, float (&d)[2][96])
{
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int e = 0; e < 96; e++)
      d[half][e] = 0.0f;
  for (int k = 0; k < p.depth; k++)
    {
      wgmma_begin ();
      wgmma_m64n192k16 (d[0], p.a + 2 * k, p.b + 2 * k);
      wgmma_m64n192k16 (d[1], p.a + 2 * k, p.b + 2 * k + 512);
      wgmma_end ();
    }
}

static __device__ __forceinline__ int
my_row (void)
{
  return (int)(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4);
}

static __device__ __forceinline__ int
my_column (void)
{
  return (int)(threadIdx.x % 4 * 2);
}

/* The finish in the prologue: partials folded in order, for the thread's two rows. */
static __device__ __forceinline__ void
finish_rows (const Probe &p, float (&s)[2])
{
#pragma unroll
  for (int i = 0; i < 2; i++)
    {
      float total = 0.0f;
#pragma unroll
      for (int k = 0; k < 8; k++)
        total += p.partials[(my_row () + 8 * i) * 8 + k];
      s[i] = tw_finish (total, 512.0f, 1e-6f);
    }
}

static __device__ __forceinline__ void
store_pair (const Probe &p, int row, int column, float first, float second)
{
  *(__nv_bfloat162 *)(p.y + row * p.ld + column) = __floats2bfloat162_rn (first, second);
}

/* The product and its store: what everything else is compared with. */
PROBE
probe_bare (Probe p)
{
  float d[2][96];

  multiply (p, d);
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int e = 0; e < 96; e += 2)
      store_pair (p, my_row () + e / 2 % 2 * 8, half * 192 + e / 4 * 8 + my_column (), d[half][e],
                  d[half][e + 1]);
}

/* Gate and up are products of two weights: two accumulators of 96. */
PROBE
probe_swiglu_two (Probe p)
{
  float d[2][96], s[2];

  multiply (p, d);
  finish_rows (p, s);
#pragma unroll
  for (int e = 0; e < 96; e += 2)
    {
      float y[2];
      int i = e / 2 % 2;
#pragma unroll
      for (int c = 0; c < 2; c++)
        {
          const float gate = tw_scale_rows (d[0][e + c], s[i], 1);
          const float up = tw_scale_rows (d[1][e + c], s[i], 1);

          y[c] = tw_swiglu (gate, up);
        }
      store_pair (p, my_row () + 8 * i, e / 4 * 8 + my_column (), y[0], y[1]);
    }
}

/* One packed weight, eight columns of gate and then of up: partners 4 registers apart. */
PROBE
probe_swiglu_interleaved_8 (Probe p)
{
  float d[2][96], s[2];

  multiply (p, d);
  finish_rows (p, s);
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int e = 0; e < 96; e += 8)
#pragma unroll
      for (int i = 0; i < 2; i++)
        {
          float y[2];
#pragma unroll
          for (int c = 0; c < 2; c++)
            {
              const float gate = tw_scale_rows (d[half][e + 2 * i + c], s[i], 1);
              const float up = tw_scale_rows (d[half][e + 4 + 2 * i + c], s[i], 1);

              y[c] = tw_swiglu (gate, up);
            }
          store_pair (p, my_row () + 8 * i, half * 96 + e / 8 * 8 + my_column (), y[0], y[1]);
        }
}

/* One packed weight, columns in turn: partners are neighbours; two column groups make a store. */
PROBE
probe_swiglu_interleaved_1 (Probe p)
{
  float d[2][96], s[2];

  multiply (p, d);
  finish_rows (p, s);
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int e = 0; e < 96; e += 4)
#pragma unroll
      for (int i = 0; i < 2; i++)
        {
          const float gate = tw_scale_rows (d[half][e + 2 * i], s[i], 1);
          const float up = tw_scale_rows (d[half][e + 2 * i + 1], s[i], 1);

          p.y[(my_row () + 8 * i) * p.ld + half * 96 + e + my_column () / 2]
              = __float2bfloat16 (tw_swiglu (gate, up));
        }
}

/* Residual added, the sum stored, its row statistic gathered as one partial per 64 columns. */
PROBE
probe_residual_statistic (Probe p)
{
  float d[2][96];

  multiply (p, d);
#pragma unroll
  for (int half = 0; half < 2; half++)
#pragma unroll
    for (int group = 0; group < 3; group++)
      {
        tw_row_sumsq_state q[2] = { tw_row_sumsq_init (), tw_row_sumsq_init () };
#pragma unroll
        for (int e = group * 32; e < group * 32 + 32; e += 2)
          {
            int i = e / 2 % 2;
            int row = my_row () + 8 * i, column = half * 192 + e / 4 * 8 + my_column ();
            __nv_bfloat162 x = *(const __nv_bfloat162 *)(p.x + row * p.ld + column);
            const float h0 = d[half][e] + __bfloat162float (x.x);
            const float h1 = d[half][e + 1] + __bfloat162float (x.y);

            q[i] = tw_row_sumsq_gather (q[i], h0);
            q[i] = tw_row_sumsq_gather (q[i], h1);
            store_pair (p, row, column, h0, h1);
          }
#pragma unroll
        for (int i = 0; i < 2; i++)
          {
#pragma unroll
            for (int step = 1; step < 4; step *= 2)
              {
                tw_row_sumsq_state other;

                other.sum = __shfl_xor_sync (0xffffffffu, q[i].sum, step);
                q[i] = tw_row_sumsq_merge (q[i], other);
              }
            if (my_column () == 0)
              p.sums[(my_row () + 8 * i) * 6 + half * 3 + group] = tw_row_sumsq_value (q[i]);
          }
      }
}
