/* The main loop of a matrix product on a CPU.
 *
 * Output tiles of 128 rows go to threads as they come. For each, 128 of K at a time, rows of `a`
 * are converted to f32 into the thread's stack, small enough for the second level cache, then one
 * panel of the weights at a time, small enough for the first, and multiplied into accumulators
 * there; after the whole of K the epilogue sees the tile in strips of 16 rows. The order in which
 * an element's products are added is that of K, whatever the sizes, the threads and what is fused,
 * so its bits are too.
 *
 * Two weights, or the two partners of a packed one, give two accumulators with half the columns
 * each; partners are sorted apart while they are packed. */
#pragma once

#include "panel.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum
{
  TW_F32,
  TW_BF16,
  TW_F16
};

typedef struct
{
  int64_t rows, columns, depth; /* of the output; of a packed pair, one partner's columns */
  int dtype;                    /* of a and b */
  TwView a, b[2];
  int n_b;                      /* weights: 1 or 2 */
  int group;                    /* b[0] is a packed pair, so many columns of each partner in turn */
  int a_columns, b_columns[2];  /* stored by columns: ld is the distance of columns */
  int threads;                  /* <= 0: all there are */
} TwGemm;

#if defined(__AVX512F__)
#define TW_VECTOR 16
#define TW_MR 8
#elif defined(__AVX__)
#define TW_VECTOR 8
#define TW_MR 4
#else
#define TW_VECTOR 4
#define TW_MR 4
#endif
#define TW_NR (2 * TW_VECTOR) /* columns of a panel of b */
#define TW_MC 128             /* rows, */
#define TW_NC 256             /* columns of all accumulators, */
#define TW_KC 128             /* depth at a time */
#define TW_A_LD (TW_KC + 16)  /* not a power of two: rows must not share cache sets */

typedef float TwVector __attribute__ ((vector_size (4 * TW_VECTOR), aligned (4)));

/* Everything a thread needs; on its stack. */
typedef struct
{
  float a[TW_MC * TW_A_LD];
  float b[TW_NR * TW_KC];
  float acc[TW_MC * TW_NC];
} TwGemmBlock;

TW_HOST int
tw_gemm_threads (int threads)
{
#ifdef _OPENMP
  return threads > 0 ? threads : omp_get_max_threads ();
#else
  (void) threads;
  return 1;
#endif
}

/* `n` elements of a vector in memory, `step` apart, as f32, `to_step` apart; zeros up to `all`. */
#define TW_CONVERT(dtype, element, from)                                                           \
  TW_HOST void tw_convert_##dtype (const void *source, int64_t step, int n, int all, float *to,    \
                                   int to_step)                                                    \
  {                                                                                                \
    const element *e = (const element *) source;                                                   \
                                                                                                   \
    if (step == 1 && to_step == 1)                                                                 \
      for (int i = 0; i < n; i++)                                                                  \
        to[i] = from (e[i]);                                                                       \
    else                                                                                           \
      for (int i = 0; i < n; i++)                                                                  \
        to[i * to_step] = from (e[i * step]);                                                      \
    for (int i = n; i < all; i++)                                                                  \
      to[i * to_step] = 0.0f;                                                                      \
  }
TW_CONVERT (f32, float, TW_SAME_F32)
TW_CONVERT (bf16, uint16_t, tw_bf16_to_f32)
TW_CONVERT (f16, uint16_t, tw_f16_to_f32)

TW_HOST void
tw_convert (int dtype, const TwView *v, int64_t offset, int64_t step, int n, int all, float *to,
            int to_step)
{
  if (dtype == TW_F32)
    tw_convert_f32 ((const float *) v->data + offset, step, n, all, to, to_step);
  else if (dtype == TW_BF16)
    tw_convert_bf16 ((const uint16_t *) v->data + offset, step, n, all, to, to_step);
  else
    tw_convert_f16 ((const uint16_t *) v->data + offset, step, n, all, to, to_step);
}

/* `rows` rows of a from (m, k) on; missing ones up to a multiple of TW_MR are zero. */
TW_HOST void
tw_pack_a (const TwGemm *g, int64_t m, int rows, int64_t k, int depth, float *a)
{
  int all = (rows + TW_MR - 1) / TW_MR * TW_MR;

  for (int r = 0; r < all; r++)
    {
      int64_t offset = g->a_columns ? k * g->a.ld + m + r : (m + r) * g->a.ld + k;

      tw_convert (g->dtype, &g->a, r < rows ? offset : 0, g->a_columns ? g->a.ld : 1,
                  r < rows ? depth : 0, depth, a + r * TW_A_LD, 1);
    }
}

/* Panels of TW_NR columns, element (k, j) of one at k*TW_NR + j: columns n ... of accumulator
 * `which`. */
TW_HOST void
tw_pack_b (const TwGemm *g, int which, int64_t n, int columns, int64_t k, int depth, float *b)
{
  const int from = g->group > 0 ? 0 : which, by_columns = g->b_columns[from];
  const TwView *v = &g->b[from];

  for (int j = 0; j < columns; j += TW_NR, b += (int64_t) TW_NR * TW_KC)
    {
      int width = columns - j < TW_NR ? columns - j : TW_NR;

      if (g->group == 0 && !by_columns)
        for (int i = 0; i < depth; i++)
          tw_convert (g->dtype, v, (k + i) * v->ld + n + j, 1, width, TW_NR, b + i * TW_NR, 1);
      else
        for (int c = 0; c < TW_NR; c++)
          {
            int64_t column
                = g->group > 0 ? tw_pair_column (n + j + c, g->group, which) : n + j + c;
            int64_t offset = by_columns ? column * v->ld + k : k * v->ld + column;

            tw_convert (g->dtype, v, c < width ? offset : 0, by_columns ? 1 : v->ld,
                        c < width ? depth : 0, depth, b + c, TW_NR);
          }
    }
}

/* TW_MR rows by TW_NR columns: acc += a b. */
TW_HOST void
tw_micro_kernel (const float *a, const float *b, int depth, float *acc, int acc_ld)
{
  TwVector sum[TW_MR][2];

  for (int r = 0; r < TW_MR; r++)
    for (int h = 0; h < 2; h++)
      sum[r][h] = *(const TwVector *) (acc + r * acc_ld + h * TW_VECTOR);
  for (int k = 0; k < depth; k++)
    {
      const TwVector b0 = *(const TwVector *) (b + k * TW_NR);
      const TwVector b1 = *(const TwVector *) (b + k * TW_NR + TW_VECTOR);

      for (int r = 0; r < TW_MR; r++)
        {
          sum[r][0] += a[r * TW_A_LD + k] * b0;
          sum[r][1] += a[r * TW_A_LD + k] * b1;
        }
    }
  for (int r = 0; r < TW_MR; r++)
    for (int h = 0; h < 2; h++)
      *(TwVector *) (acc + r * acc_ld + h * TW_VECTOR) = sum[r][h];
}

/* One tile: all of K, then the epilogue. */
TW_HOST void
tw_gemm_tile (const TwGemm *g, int64_t m, int64_t n, TwStripFn *epilogue, const void *data,
              TwGemmBlock *block)
{
  int n_acc = g->group > 0 ? 2 : g->n_b;
  int width = TW_NC / n_acc;
  int rows = g->rows - m < TW_MC ? (int) (g->rows - m) : TW_MC;
  int columns = g->columns - n < width ? (int) (g->columns - n) : width;

  __builtin_memset (block->acc, 0, sizeof block->acc);
  for (int64_t k = 0; k < g->depth; k += TW_KC)
    {
      int depth = g->depth - k < TW_KC ? (int) (g->depth - k) : TW_KC;

      tw_pack_a (g, m, rows, k, depth, block->a);
      for (int which = 0; which < n_acc; which++)
        {
          float *acc = block->acc + which * width;

          for (int j = 0; j < columns; j += TW_NR)
            {
              tw_pack_b (g, which, n + j, columns - j < TW_NR ? columns - j : TW_NR, k, depth,
                         block->b);
              for (int i = 0; i < rows; i += TW_MR)
                tw_micro_kernel (block->a + i * TW_A_LD, block->b, depth, acc + i * TW_NC + j,
                                 TW_NC);
            }
        }
    }
  for (int i = 0; i < rows; i += TW_ROWS)
    {
      TwStrip s;

      s.row = m + i;
      s.column = n;
      s.columns = columns;
      s.rows = rows - i < TW_ROWS ? rows - i : TW_ROWS;
      s.group = g->group;
      s.acc[0] = block->acc + i * TW_NC;
      s.acc[1] = n_acc == 2 ? s.acc[0] + width : (const float *) 0;
      s.acc_ld = TW_NC;
      epilogue (&s, data);
    }
}

/* Runs the product and hands every strip of the output to `epilogue`, once, from several
 * threads. */
TW_HOST void
tw_gemm (const TwGemm *g, TwStripFn *epilogue, const void *data)
{
  int64_t width = TW_NC / (g->group > 0 ? 2 : g->n_b);
  int64_t down = (g->rows + TW_MC - 1) / TW_MC;
  int64_t tiles = down * ((g->columns + width - 1) / width);

#ifdef _OPENMP
#pragma omp parallel num_threads (tw_gemm_threads (g->threads)) if (tiles > 1)
#endif
  {
    TwGemmBlock block __attribute__ ((aligned (64)));

#ifdef _OPENMP
#pragma omp for schedule(dynamic)
#endif
    for (int64_t t = 0; t < tiles; t++)
      tw_gemm_tile (g, t % down * TW_MC, t / down * width, epilogue, data, &block);
  }
}
