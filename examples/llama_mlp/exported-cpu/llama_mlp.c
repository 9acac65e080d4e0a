/* llama_mlp: a fused program. SPDX-License-Identifier: MIT-0

   Graph
     x = input: bf16[T, 1024]
     gamma = weight: bf16[1024]
     n = rms_norm (x, gamma): bf16[T, 1024]
     w_gate = weight: bf16[1024, 2816]
     w_up = weight: bf16[1024, 2816]
     gate = gemm (n, w_gate): bf16[T, 2816]
     up = gemm (n, w_up): bf16[T, 2816]
     act = swiglu (gate, up): bf16[T, 2816]
     w_down = weight: bf16[2816, 1024]
     down = gemm (act, w_down): bf16[T, 1024]
     y = add (down, x): bf16[T, 1024]
     out = output (y): bf16[T, 1024]

   Derivation
     1. expand-composite at n
        before: rms_norm(x)
        after: (rsqrt(sumsq(x)/1024 + 1e-6) * x) * gamma
     2. hoist-scale-linear at n_weighted
        before: (n_rstd * x) * gamma
        after: n_rstd * (x * gamma)
     3. hoist-scale-linear at gate
        before: (n_rstd * (x * gamma)) @ w_gate
        after: n_rstd * ((x * gamma) @ w_gate)
     4. hoist-scale-linear at up
        before: (n_rstd * (x * gamma)) @ w_up
        after: n_rstd * ((x * gamma) @ w_up)
     5. merge-siblings at gate_up
        before: n_weighted @ w_gate; n_weighted @ w_up
        after: (n_weighted @ [w_gate | w_up]).y0; (n_weighted @ [w_gate | w_up]).y1
     6. finish-in-consumer at n_rstd
        before: n_rstd * gate_up.y1
        after: rsqrt(n_ss/1024 + 1e-6) * gate_up.y1

   Not done
     statistic-partials at n_ss: x is not made in a product's epilogue (it is given): its rows are
         read once, whole

   Kernels
     k1_rows: n_ss, n_weighted
        n_ss = sumsq(x)
        n_weighted = x * gamma
     k2_gemm: n_rstd, gate_up, n_scaled, n_scaled_gate, act
        act = swiglu(rsqrt(n_ss/1024 + 1e-6) * (n_weighted @ [w_gate | w_up]).y0, rsqrt(n_ss/1024 +
            1e-6) * (n_weighted @ [w_gate | w_up]).y1)
     k3_gemm: down, y
        out = (act @ w_down) + x

   Through memory
     n_ss.s to n_rstd.s: n_ss is one number per row, complete when k1_rows has passed over the row,
         and read by k2_gemm
     n_weighted.y to gate_up.a: the product gate_up reads each row of n_weighted once for every tile
         of its columns; k1_rows makes the rows once, before
     act.y to down.a: the product down sums over whole rows of act, and the tiles of k2_gemm that
         make a row end at different times
     y.y to out.x: the caller wants out

   Needs
     Tensors are aligned to their elements; workspace and prepared memory to 64 bytes. Sizes are
         free within their ranges, rows may be 0.
     out may be the very memory of x. */

#include "llama_mlp.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- blocks/tile/target.h -------------------------------------------------------------------- */

/* What device code stands on: how a function is declared, the bits of a float.
 *
 * Functions of blocks are written once, in the common subset of C17 and CUDA C++: scalars by value,
 * no memory, no thread index. They are inlined everywhere, so that loops over them vectorise on a
 * CPU and stay in registers on a GPU. */

#ifndef TW_LANES
#define TW_LANES 1 /* 1: one lane owns a panel. 32: the lanes of a warp in turn, for tests */
#endif

#ifdef __CUDACC__
#define TW_FN static __device__ __forceinline__
#else
#define TW_FN static inline __attribute__ ((always_inline, unused))
#endif

/* The tile layer's own functions, where the compiler may choose. */
#define TW_HOST static inline __attribute__ ((unused))

TW_FN uint32_t
tw_float_bits (float x)
{
#ifdef __CUDACC__
  return __float_as_uint (x);
#else
  uint32_t bits;

  __builtin_memcpy (&bits, &x, sizeof bits);
  return bits;
#endif
}

TW_FN float
tw_bits_float (uint32_t bits)
{
#ifdef __CUDACC__
  return __uint_as_float (bits);
#else
  float x;

  __builtin_memcpy (&x, &bits, sizeof x);
  return x;
#endif
}

/* ---- blocks/tile/convert.h ------------------------------------------------------------------- */

/* bf16 and f16 to and from f32 by integer code: exact, round to nearest even, on every target.
 *
 * NaN stays NaN and becomes quiet; infinities, subnormals and signed zeros are kept; what is beyond
 * the largest f16 rounds to infinity. Branch-free, so that loops over it vectorise. */

TW_FN float
tw_bf16_to_f32 (uint16_t h)
{
  return tw_bits_float ((uint32_t) h << 16);
}

TW_FN uint16_t
tw_f32_to_bf16 (float x)
{
  uint32_t bits = tw_float_bits (x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;

  return (uint16_t) ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

TW_FN float
tw_f16_to_f32 (uint16_t h)
{
  uint32_t sign = (uint32_t) (h & 0x8000u) << 16;
  uint32_t rest = (uint32_t) (h & 0x7fffu) << 13;
  uint32_t exponent = rest & 0x0f800000u;
  /* A subnormal is its mantissa times 2^-24: put it behind a 1 and take the 1 away again. */
  float tiny = tw_bits_float (rest + 0x38800000u) - tw_bits_float (0x38800000u);
  uint32_t normal = rest + 0x38000000u;
  uint32_t special = rest | 0x7f800000u;
  uint32_t quiet = rest > 0x0f800000u ? 0x00400000u : 0u;
  uint32_t bits = exponent == 0 ? tw_float_bits (tiny)
                  : exponent == 0x0f800000u ? (special | quiet) : normal;

  return tw_bits_float (sign | bits);
}

TW_FN uint16_t
tw_f32_to_f16 (float x)
{
  uint32_t bits = tw_float_bits (x);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t rest = bits & 0x7fffffffu;
  uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  /* Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded by the adder. */
  uint32_t tiny = tw_float_bits (tw_bits_float (rest) + 0.5f) - 0x3f000000u;
  uint32_t quiet = 0x7e00u | ((rest >> 13) & 0x3ffu);
  uint32_t finite = rest < 0x38800000u ? tiny : rest >= 0x477ff000u ? 0x7c00u : normal;

  return (uint16_t) (sign | (rest > 0x7f800000u ? quiet : finite));
}

/* x as a value of storage type `dtype` (0 f32, 1 bf16, 2 f16) would hold it. */
TW_FN float
tw_round_to (float x, int dtype)
{
  float bf16 = tw_bf16_to_f32 (tw_f32_to_bf16 (x));
  float f16 = tw_f16_to_f32 (tw_f32_to_f16 (x));

  return dtype == 1 ? bf16 : dtype == 2 ? f16 : x;
}

/* ---- blocks/tile/math.h ---------------------------------------------------------------------- */

/* Functions of the formula language in f32: float in, float out.
 *
 * On a CPU exp, log, tanh and sigmoid have no branch and call nothing, so that loops over them
 * vectorise; they are within a few units in the last place of the exact value over the whole range,
 * subnormals included. On a GPU exp, sigmoid and what stands on them use its approximations:
 * relative error below 2^-21 + |x| 2^-24, far below a 16-bit store's. Rarer functions are the C
 * library's. NaN in gives NaN out, from min, max and relu too. */

TW_FN float
tw_abs (float x)
{
  return tw_bits_float (tw_float_bits (x) & 0x7fffffffu);
}

TW_FN float
tw_min (float a, float b)
{
  return a < b || a != a ? a : b;
}

TW_FN float
tw_max (float a, float b)
{
  return a > b || a != a ? a : b;
}

TW_FN float
tw_square (float x)
{
  return x * x;
}

TW_FN float
tw_relu (float x)
{
  return x < 0.0f ? 0.0f : x;
}

TW_FN float
tw_sign (float x)
{
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

TW_FN float
tw_isnan (float x)
{
  return x != x ? 1.0f : 0.0f;
}

TW_FN float
tw_sqrt (float x)
{
  return sqrtf (x);
}

TW_FN float
tw_rsqrt (float x)
{
#ifdef __CUDACC__
  return rsqrtf (x);
#else
  return 1.0f / sqrtf (x);
#endif
}

/* 2^n for -126 <= n <= 127. */
TW_FN float
tw_power_of_two (int32_t n)
{
  return tw_bits_float ((uint32_t) (n + 127) << 23);
}

/* x = n ln 2 + r, |r| <= ln 2 / 2; e^r by its Taylor polynomial; 2^n in two factors, since one
 * alone cannot be subnormal or beyond 2^127. */
TW_FN float
tw_exp (float x)
{
#ifdef __CUDACC__
  return __expf (x);
#else
  const float low = x < -104.0f ? -104.0f : x;
  const float y = low > 89.0f ? 89.0f : low;
  const float shifted = y * 1.44269504f + 12582912.0f; /* 1.5 2^23: the sum rounds to an integer */
  const int32_t n = (int32_t) (tw_float_bits (shifted) & 0x007fffffu) - 0x00400000;
  const float k = shifted - 12582912.0f;
  const float r = (y - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.98412698e-4f;

  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r;
  return (p + 1.0f) * tw_power_of_two (n / 2) * tw_power_of_two (n - n / 2);
#endif
}

/* x = 2^e m, sqrt(1/2) <= m < sqrt(2); log m by the series of atanh in (m - 1)/(m + 1). */
TW_FN float
tw_log (float x)
{
  const int tiny = x < 1.17549435e-38f;
  const uint32_t bits = tw_float_bits (tiny ? x * 16777216.0f : x);
  const int32_t above = (int32_t) (bits - 0x3f3504f3u) >> 23; /* the bits of sqrt(1/2) */
  const float m = tw_bits_float (bits - ((uint32_t) above << 23));
  const float e = (float) (tiny ? above - 24 : above);
  const float s = (m - 1.0f) / (m + 1.0f);
  const float z = s * s;
  float p = 1.53846154e-1f;
  float y;

  p = p * z + 1.81818182e-1f;
  p = p * z + 2.22222222e-1f;
  p = p * z + 2.85714286e-1f;
  p = p * z + 4.00000000e-1f;
  p = p * z + 6.66666667e-1f;
  y = e * 0.693359375f + (2.0f * s + (s * z * p - e * 2.12194440e-4f));
  y = x == 0.0f ? -HUGE_VALF : y;
  y = x < 0.0f ? tw_bits_float (0x7fc00000u) : y;
  return x == x && x <= 3.402823466e+38f ? y : x + x;
}

TW_FN float
tw_sigmoid (float x)
{
#ifdef __CUDACC__
  return __fdividef (1.0f, 1.0f + tw_exp (-x));
#else
  /* e^-|x| cannot overflow, so that small results are not lost. */
  const float t = tw_exp (-tw_abs (x));

  return (x < 0.0f ? t : 1.0f) / (1.0f + t);
#endif
}

/* Small: an odd polynomial (minimax, Cephes). Else from e^(-2|x|), which cannot overflow. */
TW_FN float
tw_tanh (float x)
{
  const float a = tw_abs (x);
  const float z = x * x;
  const float t = tw_exp (-2.0f * a);
  const float large = (1.0f - t) / (1.0f + t);
  float p = -5.70498872745e-3f;

  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  p = x + x * z * p;
  return a < 0.625f ? p : x < 0.0f ? -large : large;
}

TW_FN float
tw_erf (float x)
{
  return erff (x);
}

TW_FN float
tw_sin (float x)
{
  return sinf (x);
}

TW_FN float
tw_cos (float x)
{
  return cosf (x);
}

TW_FN float
tw_floor (float x)
{
  return floorf (x);
}

TW_FN float
tw_pow (float x, float y)
{
  return powf (x, y);
}

/* The remainder with the sign of the divisor. */
TW_FN float
tw_mod (float a, float b)
{
  return a - floorf (a / b) * b;
}

/* ---- blocks/tile/matrix.h -------------------------------------------------------------------- */

/* A matrix in memory, row-major: element (m, n) lies at data[m*ld + n]. Offsets are 64 bits wide.
 *
 * A vector is a matrix of one row. Who reads or writes knows the storage type by name; values are
 * f32 in registers whatever it is. */

typedef struct
{
  void *data;
  int64_t ld; /* elements from one row to the next */
} TwView;

TW_FN float
tw_load_f32 (const TwView *v, int64_t m, int64_t n)
{
  return ((const float *) v->data)[m * v->ld + n];
}

TW_FN float
tw_load_bf16 (const TwView *v, int64_t m, int64_t n)
{
  return tw_bf16_to_f32 (((const uint16_t *) v->data)[m * v->ld + n]);
}

TW_FN float
tw_load_f16 (const TwView *v, int64_t m, int64_t n)
{
  return tw_f16_to_f32 (((const uint16_t *) v->data)[m * v->ld + n]);
}

TW_FN void
tw_store_f32 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((float *) v->data)[m * v->ld + n] = x;
}

TW_FN void
tw_store_bf16 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((uint16_t *) v->data)[m * v->ld + n] = tw_f32_to_bf16 (x);
}

TW_FN void
tw_store_f16 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((uint16_t *) v->data)[m * v->ld + n] = tw_f32_to_f16 (x);
}

/* Column of the pair's tensor where element n of partner 0 or 1 lies: `group` columns of each in
 * turn. */
TW_FN int64_t
tw_pair_column (int64_t n, int group, int partner)
{
  return n / group * 2 * group + partner * group + n % group;
}

/* The partials of row m folded in index order. */
TW_FN float
tw_fold_f32 (const TwView *v, int64_t m, int64_t count)
{
  float total = 0.0f;

  for (int64_t i = 0; i < count; i++)
    total += tw_load_f32 (v, m, i);
  return total;
}

/* ---- blocks/tile/panel.h --------------------------------------------------------------------- */

/* Panels: what an epilogue sees of a result.
 *
 * A strip is up to 16 rows of an output and a range of its columns; a main loop calls a kernel's
 * function once a strip. It walks the strip in panels of 64 columns. One text serves two builds:
 *
 *   TW_LANES 1    one lane owns the panel; the loop over a row's columns vectorises.
 *   TW_LANES 32   (tests) the lanes of a warp take turns, each with the elements that the
 *                 accumulator fragments of wgmma and mma.sync give it: v[4j+2i+c] of a lane is row
 *                 lane/4 + 8i, column 8j + 2(lane%4) + c. Asking for another lane's gives NaN.
 *
 * Elements past the last column are computed and dropped: they are never loaded, stored or
 * gathered. Statistics are gathered into TW_STATES states a row, merged in one fixed order.
 *
 *   static void
 *   k1 (const TwStrip *s, const void *data)
 *   {
 *     const K1 *k = data;
 *
 *     TW_FOR_PANELS (s, p)
 *       {
 *         TwTile m_x, o_y;
 *         TW_STATE_TABLE (tw_row_sumsq, q);
 *
 *         TW_INIT (tw_row_sumsq, q);
 *         tw_load_tile_bf16 (&p, &k->x, m_x);
 *         TW_FOR_ELEMENTS (&p, r, c)
 *           {
 *             const float y = tw_add (tw_acc (&p, 0, r, c), m_x[r][c]);
 *
 *             o_y[r][c] = y;
 *             TW_GATHER (tw_row_sumsq, q, &p, r, c, y);
 *           }
 *         tw_store_tile_bf16 (&p, &k->y, o_y);
 *         TW_FOR_ROWS (&p, r)
 *           tw_store_f32 (&k->q, p.row + r, p.column / 64, TW_VALUE (tw_row_sumsq, q, r));
 *       }
 *   }
 */

#define TW_ROWS 16
#define TW_COLUMNS 64
#if TW_LANES == 32
#define TW_STATES 4
#else
#define TW_STATES 16
#endif

typedef float TwTile[TW_ROWS][TW_COLUMNS];
typedef float TwRowValues[TW_ROWS];       /* one a row */
typedef float TwColumnValues[TW_COLUMNS]; /* one a column */

typedef struct
{
  int64_t row, column;  /* of its first element, in the output */
  int64_t columns;      /* of the range */
  int rows;             /* 1 ... 16 */
  int group;            /* the accumulators are a packed pair with so many columns of each in turn;
                           0: they are not */
  const float *acc[2];  /* first element of each accumulator; NULL without a contraction */
  int64_t acc_ld;
} TwStrip;

typedef struct
{
  int64_t row, column;
  int rows, columns;    /* that exist: 1 ... 16, 1 ... 64 */
  int group;
  const float *acc[2];
  int64_t acc_ld;
#if TW_LANES == 32
  float fragment[2][32][32]; /* by accumulator (or half of the packed pair), lane, element */
#endif
} TwPanel;

/* What a main loop calls. */
typedef void TwStripFn (const TwStrip *strip, const void *data);

#if TW_LANES == 32

/* The fragment element of a lane that is (row, column) of a 64-column accumulator, or -1. */
TW_HOST int
tw_fragment_index (int lane, int row, int column)
{
  if (row % 8 != lane / 4 || column % 8 / 2 != lane % 4)
    return -1;
  return column / 8 * 4 + row / 8 * 2 + column % 2;
}

/* The j-th column of a lane, in output columns: of an adjacent pair a lane holds both partners. */
TW_HOST int
tw_lane_column (int group, int lane, int j)
{
  return group == 1 ? 4 * j + lane % 4 : 8 * (j / 2) + 2 * (lane % 4) + j % 2;
}

/* Deals the accumulators to the lanes; what does not exist is NaN. */
TW_HOST void
tw_deal_fragments (TwPanel *p)
{
  for (int a = 0; a < 2; a++)
    for (int lane = 0; lane < 32; lane++)
      for (int e = 0; e < 32; e++)
        p->fragment[a][lane][e] = tw_bits_float (0x7fc00000u);
  for (int a = 0; a < 2; a++)
    for (int r = 0; r < p->rows && p->acc[a] != (const float *) 0; r++)
      for (int c = 0; c < p->columns; c++)
        {
          int at = p->group > 0 ? (int) tw_pair_column (c, p->group, a) : 64 * a + c;
          int lane = r % 8 * 4 + at % 8 / 2;

          p->fragment[at / 64][lane][tw_fragment_index (lane, r, at % 64)]
              = p->acc[a][r * p->acc_ld + c];
        }
}

TW_HOST float
tw_lane_acc (const TwPanel *p, int which, int lane, int r, int c)
{
  int at = p->group > 0 ? (int) tw_pair_column (c, p->group, which) : 64 * which + c;
  int index = tw_fragment_index (lane, r, at % 64);

  return index < 0 ? tw_bits_float (0x7fc00000u) : p->fragment[at / 64][lane][index];
}

#define TW_FOR_ELEMENTS(p, r, c)                                                                   \
  for (int tw_lane = 0; tw_lane < 32; tw_lane++)                                                   \
    for (int r = tw_lane / 4, tw_state __attribute__ ((unused)) = tw_lane % 4; r < (p)->rows;      \
         r += 8)                                                                                   \
      for (int tw_j = 0, c = tw_lane_column ((p)->group, tw_lane, 0); tw_j < 16;                   \
           c = tw_lane_column ((p)->group, tw_lane, ++tw_j))

/* Accumulator `which` (of two: products of two weights, or partners of a packed pair). */
#define tw_acc(p, which, r, c) tw_lane_acc (p, which, tw_lane, r, c)

#else

#define TW_FOR_ELEMENTS(p, r, c)                                                                   \
  for (int r = 0; r < (p)->rows; r++)                                                              \
    for (int tw_first = 0; tw_first < TW_COLUMNS; tw_first += TW_STATES)                           \
      for (int tw_state = 0, c = tw_first; tw_state < TW_STATES; tw_state++, c++)

#define tw_acc(p, which, r, c) ((p)->acc[which][(r) * (p)->acc_ld + (c)])

#endif

TW_HOST TwPanel
tw_panel_at (const TwStrip *s, int64_t offset)
{
  TwPanel p;
  int64_t left = s->columns - offset;

  p.row = s->row;
  p.column = s->column + offset;
  p.rows = s->rows;
  p.columns = (int) (left < TW_COLUMNS ? left : TW_COLUMNS);
  p.group = s->group;
  p.acc_ld = s->acc_ld;
  for (int i = 0; i < 2; i++)
    p.acc[i] = s->acc[i] && left > 0 ? s->acc[i] + offset : (const float *) 0;
#if TW_LANES == 32
  tw_deal_fragments (&p);
#endif
  return p;
}

/* TwPanel p: the strip's panels, from the first column. */
#define TW_FOR_PANELS(strip, p)                                                                    \
  for (TwPanel p = tw_panel_at (strip, 0); p.columns > 0;                                          \
       p = tw_panel_at (strip, p.column - (strip)->column + TW_COLUMNS))

/* The rows of a strip or panel. */
#define TW_FOR_ROWS(p, r) for (int r = 0; r < (p)->rows; r++)

/* Statistic states of a panel's rows, of the block whose functions start with `block`. */
#define TW_STATE_TABLE(block, table) block##_state table[TW_ROWS][TW_STATES]

#define TW_INIT(block, table)                                                                      \
  for (int tw_r = 0; tw_r < TW_ROWS; tw_r++)                                                       \
    for (int tw_s = 0; tw_s < TW_STATES; tw_s++)                                                   \
      table[tw_r][tw_s] = block##_init ()

/* Inside TW_FOR_ELEMENTS. */
#define TW_GATHER(block, table, p, r, c, x)                                                        \
  table[r][tw_state] = (c) < (p)->columns ? block##_gather (table[r][tw_state], x)                 \
                                          : table[r][tw_state]

/* Merges a row's states into its first. */
#define TW_MERGE(block, table, r)                                                                  \
  for (int tw_n = TW_STATES / 2; tw_n > 0; tw_n /= 2)                                              \
    for (int tw_s = 0; tw_s < tw_n; tw_s++)                                                        \
      table[r][tw_s] = block##_merge (table[r][tw_s], table[r][tw_s + tw_n])

/* Of a merged row. */
#define TW_VALUE(block, table, r) block##_value (table[r][0])

/* ---- tiles and vectors from and to memory, one set a storage type ---- */

#define TW_TILE_FUNCTIONS(dtype, element, from, to)                                                \
  /* The panel's elements of a matrix; 0 past its edges. */                                        \
  TW_HOST void tw_load_tile_##dtype (const TwPanel *p, const TwView *v, TwTile tile)               \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        const element *row = (const element *) v->data + (p->row + r) * v->ld + p->column;         \
                                                                                                   \
        if (p->columns == TW_COLUMNS)                                                              \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            tile[r][c] = from (row[c]);                                                            \
        else                                                                                       \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            tile[r][c] = c < p->columns ? from (row[c]) : 0.0f;                                    \
      }                                                                                            \
  }                                                                                                \
  TW_HOST void tw_store_tile_##dtype (const TwPanel *p, const TwView *v, TwTile tile)              \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        element *row = (element *) v->data + (p->row + r) * v->ld + p->column;                     \
                                                                                                   \
        if (p->columns == TW_COLUMNS)                                                              \
          for (int c = 0; c < TW_COLUMNS; c++)                                                     \
            row[c] = to (tile[r][c]);                                                              \
        else                                                                                       \
          for (int c = 0; c < p->columns; c++)                                                     \
            row[c] = to (tile[r][c]);                                                              \
      }                                                                                            \
  }                                                                                                \
  /* Partner `partner` of a packed pair: the view is the pair's tensor. */                         \
  TW_HOST void tw_load_partner_##dtype (const TwPanel *p, const TwView *v, int group, int partner, \
                                        TwTile tile)                                               \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        const element *row = (const element *) v->data + (p->row + r) * v->ld;                     \
                                                                                                   \
        for (int c = 0; c < TW_COLUMNS; c++)                                                       \
          tile[r][c] = c < p->columns ? from (row[tw_pair_column (p->column + c, group, partner)]) \
                                      : 0.0f;                                                      \
      }                                                                                            \
  }                                                                                                \
  TW_HOST void tw_store_partner_##dtype (const TwPanel *p, const TwView *v, int group,             \
                                         int partner, TwTile tile)                                 \
  {                                                                                                \
    for (int r = 0; r < p->rows; r++)                                                              \
      {                                                                                            \
        element *row = (element *) v->data + (p->row + r) * v->ld;                                 \
                                                                                                   \
        for (int c = 0; c < p->columns; c++)                                                       \
          row[tw_pair_column (p->column + c, group, partner)] = to (tile[r][c]);                   \
      }                                                                                            \
  }                                                                                                \
  /* The panel's columns of a vector along the columns. */                                         \
  TW_HOST void tw_load_columns_##dtype (const TwPanel *p, const void *vector,                      \
                                        TwColumnValues values)                                     \
  {                                                                                                \
    const element *first = (const element *) vector + p->column;                                   \
                                                                                                   \
    for (int c = 0; c < TW_COLUMNS; c++)                                                           \
      values[c] = c < p->columns ? from (first[c]) : 0.0f;                                         \
  }                                                                                                \
  TW_HOST void tw_load_partner_columns_##dtype (const TwPanel *p, const void *vector, int group,   \
                                                int partner, TwColumnValues values)                \
  {                                                                                                \
    const element *first = (const element *) vector;                                               \
                                                                                                   \
    for (int c = 0; c < TW_COLUMNS; c++)                                                           \
      values[c]                                                                                    \
          = c < p->columns ? from (first[tw_pair_column (p->column + c, group, partner)]) : 0.0f;  \
  }                                                                                                \
  /* The strip's rows of a vector along the rows. */                                               \
  TW_HOST void tw_load_rows_##dtype (const TwStrip *s, const void *vector, TwRowValues values)     \
  {                                                                                                \
    const element *first = (const element *) vector + s->row;                                      \
                                                                                                   \
    for (int r = 0; r < TW_ROWS; r++)                                                              \
      values[r] = r < s->rows ? from (first[r]) : 0.0f;                                            \
  }                                                                                                \
  TW_HOST void tw_store_rows_##dtype (const TwStrip *s, void *vector, const TwRowValues values)    \
  {                                                                                                \
    element *first = (element *) vector + s->row;                                                  \
                                                                                                   \
    for (int r = 0; r < s->rows; r++)                                                              \
      first[r] = to (values[r]);                                                                   \
  }

#define TW_SAME_F32(x) (x)
TW_TILE_FUNCTIONS (f32, float, TW_SAME_F32, TW_SAME_F32)
TW_TILE_FUNCTIONS (bf16, uint16_t, tw_bf16_to_f32, tw_f32_to_bf16)
TW_TILE_FUNCTIONS (f16, uint16_t, tw_f16_to_f32, tw_f32_to_f16)

/* ---- blocks/tile/rows-cpu.h ------------------------------------------------------------------ */

/* The main loop without a product: rows streamed in strips of 16, as wide as the matrix, so that a
 * strip function can pass over a row several times. */

#ifdef _OPENMP
#include <omp.h>
#endif

/* Hands every strip of `rows` x `columns` to `function`, once, from `threads` threads (<= 0: all
 * there are). */
TW_HOST void
tw_rows (int64_t rows, int64_t columns, int threads, TwStripFn *function, const void *data)
{
  int64_t strips = (rows + TW_ROWS - 1) / TW_ROWS;

#ifdef _OPENMP
  int n = threads > 0 ? threads : omp_get_max_threads ();

#pragma omp parallel for schedule(static) num_threads (n) if (strips > 1)
#else
  (void) threads;
#endif
  for (int64_t i = 0; i < strips; i++)
    {
      TwStrip s;

      s.row = i * TW_ROWS;
      s.column = 0;
      s.columns = columns;
      s.rows = rows - s.row < TW_ROWS ? (int) (rows - s.row) : TW_ROWS;
      s.group = 0;
      s.acc[0] = s.acc[1] = (const float *) 0;
      s.acc_ld = 0;
      function (&s, data);
    }
}

/* ---- blocks/tile/gemm-cpu.h ------------------------------------------------------------------ */

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

/* ---- blocks/row_sumsq/row_sumsq.cuh ---------------------------------------------------------- */

/* The sum of squares of a row's elements, as one lane gathers them. */

typedef struct
{
  float sum;
} tw_row_sumsq_state;

TW_FN tw_row_sumsq_state
tw_row_sumsq_init (void)
{
  tw_row_sumsq_state state;

  state.sum = 0.0f;
  return state;
}

TW_FN tw_row_sumsq_state
tw_row_sumsq_gather (tw_row_sumsq_state state, float x)
{
  state.sum += x * x;
  return state;
}

TW_FN tw_row_sumsq_state
tw_row_sumsq_merge (tw_row_sumsq_state a, tw_row_sumsq_state b)
{
  a.sum += b.sum;
  return a;
}

TW_FN float
tw_row_sumsq_value (tw_row_sumsq_state state)
{
  return state.sum;
}

/* ---- blocks/finish/finish.cuh ---------------------------------------------------------------- */

/* From a row's folded sum of squares to its scale. */

/* rsqrt (total/count + eps). A sum that overflowed gives NaN: 0 would be silently wrong. */
TW_FN float
tw_finish (float total, float count, float eps)
{
  const float r = tw_rsqrt (total / count + eps);

  return total <= 3.402823466e+38f ? r : tw_bits_float (0x7fc00000u);
}

/* ---- blocks/scale_rows/scale_rows.cuh -------------------------------------------------------- */

/* x times the row's scale to an integer power. The power is a constant where this is called, so
 * that the loop unrolls: degree 1 is one multiplication. */

TW_FN float
tw_scale_rows (float x, float s, int degree)
{
  const int n = degree < 0 ? -degree : degree;
  float power = 1.0f;

  for (int i = 0; i < 8; i++)
    power = i < n ? power * s : power;
  return x * (degree < 0 ? 1.0f / power : power);
}

/* ---- blocks/swiglu/swiglu.cuh ---------------------------------------------------------------- */

/* silu(gate) * up. */

TW_FN float
tw_swiglu (float gate, float up)
{
  return gate * tw_sigmoid (gate) * up;
}

/* ---- formulas -------------------------------------------------------------------------------- */

/* Block scale_columns: y = x*(offset + g) */
TW_FN float
block_scale_columns (float x_, float g_, float offset_)
{
  return x_ * (offset_ + g_);
}

/* Block add: y = a + b */
TW_FN float
block_add (float a_, float b_)
{
  return a_ + b_;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* All that kernels read and write. */
typedef struct
{
  int threads;
  int64_t d_T;
  TwView v_x; /* bf16[T, 1024] */
  TwView v_gamma; /* bf16[1024] */
  TwView v_w_gate; /* bf16[1024, 2816] */
  TwView v_w_up; /* bf16[1024, 2816] */
  TwView v_w_down; /* bf16[2816, 1024] */
  TwView b_n_ss; /* f32[T, 1] sum-of-squares of the row */
  TwView b_n_weighted; /* bf16[T, 1024] */
  TwView b_act; /* bf16[T, 2816] */
  TwView v_out; /* bf16[T, 1024] */
} Values;

/* k1_rows
     n_ss = sumsq(x)
     n_weighted = x * gamma */
static void
k1_rows_strip (const TwStrip *s, const void *data)
{
  const Values *v = (const Values *) data;
  TW_STATE_TABLE (tw_row_sumsq, v_n_ss);

  TW_INIT (tw_row_sumsq, v_n_ss);
  TW_FOR_PANELS (s, p)
    {
      TwTile m_x;
      TwColumnValues c_gamma;
      TwTile o_n_weighted;

      tw_load_tile_bf16 (&p, &v->v_x, m_x);
      tw_load_columns_bf16 (&p, v->v_gamma.data, c_gamma);
      TW_FOR_ELEMENTS (&p, r, c)
        {
          TW_GATHER (tw_row_sumsq, v_n_ss, &p, r, c, m_x[r][c]);
          const float v_n_weighted = block_scale_columns (m_x[r][c], c_gamma[c], 0.0f);
          o_n_weighted[r][c] = v_n_weighted;
        }
      tw_store_tile_bf16 (&p, &v->b_n_weighted, o_n_weighted);
    }
  TW_FOR_ROWS (s, r)
    {
      TW_MERGE (tw_row_sumsq, v_n_ss, r);
      tw_store_f32 (&v->b_n_ss, s->row + r, 0, TW_VALUE (tw_row_sumsq, v_n_ss, r));
    }
}

static void
k1_rows (const Values *v)
{
  tw_rows (v->d_T, 1024, v->threads, k1_rows_strip, v);
}

/* k2_gemm: act = swiglu(rsqrt(n_ss/1024 + 1e-6) * (n_weighted @ [w_gate | w_up]).y0,
   rsqrt(n_ss/1024 + 1e-6) * (n_weighted @ [w_gate | w_up]).y1) */
static void
k2_gemm_strip (const TwStrip *s, const void *data)
{
  const Values *v = (const Values *) data;
  TwRowValues v_n_rstd;

  TW_FOR_ROWS (s, r)
    v_n_rstd[r] = tw_finish (tw_fold_f32 (&v->b_n_ss, s->row + r, 1), 1024.0f, 1e-6f);
  TW_FOR_PANELS (s, p)
    {
      TwTile o_act;

      TW_FOR_ELEMENTS (&p, r, c)
        {
          const float v0_gate_up = tw_acc (&p, 0, r, c);
          const float v1_gate_up = tw_acc (&p, 1, r, c);
          const float v_n_scaled = tw_scale_rows (v1_gate_up, v_n_rstd[r], 1);
          const float v_n_scaled_gate = tw_scale_rows (v0_gate_up, v_n_rstd[r], 1);
          const float v_act = tw_swiglu (v_n_scaled_gate, v_n_scaled);
          o_act[r][c] = v_act;
        }
      tw_store_tile_bf16 (&p, &v->b_act, o_act);
    }
}

static void
k2_gemm (const Values *v)
{
  TwGemm g = { 0 };

  g.rows = v->d_T;
  g.columns = 2816;
  g.depth = 1024;
  g.dtype = TW_BF16;
  g.a = v->b_n_weighted;
  g.n_b = 2;
  g.group = 0;
  g.a_columns = 0;
  g.b[0] = v->v_w_gate;
  g.b_columns[0] = 0;
  g.b[1] = v->v_w_up;
  g.b_columns[1] = 0;
  g.threads = v->threads;
  tw_gemm (&g, k2_gemm_strip, v);
}

/* k3_gemm: out = (act @ w_down) + x */
static void
k3_gemm_strip (const TwStrip *s, const void *data)
{
  const Values *v = (const Values *) data;

  TW_FOR_PANELS (s, p)
    {
      TwTile m_x;
      TwTile o_out;

      tw_load_tile_bf16 (&p, &v->v_x, m_x);
      TW_FOR_ELEMENTS (&p, r, c)
        {
          const float v_down = tw_acc (&p, 0, r, c);
          const float v_y = block_add (v_down, m_x[r][c]);
          o_out[r][c] = v_y;
        }
      tw_store_tile_bf16 (&p, &v->v_out, o_out);
    }
}

static void
k3_gemm (const Values *v)
{
  TwGemm g = { 0 };

  g.rows = v->d_T;
  g.columns = 1024;
  g.depth = 2816;
  g.dtype = TW_BF16;
  g.a = v->b_act;
  g.n_b = 1;
  g.group = 0;
  g.a_columns = 0;
  g.b[0] = v->v_w_down;
  g.b_columns[0] = 0;
  g.threads = v->threads;
  tw_gemm (&g, k3_gemm_strip, v);
}

/* ---- launcher -------------------------------------------------------------------------------- */

/* What plan_init leaves in the caller's memory. */
typedef struct
{
  uint64_t magic;
  int threads;
  unsigned char *prepared;
  int64_t d_T;
  const void *v_gamma;
  const void *v_w_gate;
  int64_t ld_w_gate;
  const void *v_w_up;
  int64_t ld_w_up;
  const void *v_w_down;
  int64_t ld_w_down;
} Plan;

static const uint64_t plan_magic = UINT64_C (0xf59056506c0b869e);

/* The bytes of a tensor: `width` bytes every `stride`. */
typedef struct
{
  uintptr_t first, last;
  size_t stride, width;
} Span;

/* `lines` runs of `length` elements, `ld` elements apart. */
static int
check_tensor (const void *data, int64_t ld, int64_t lines, int64_t length, int64_t size,
              Span *span)
{
  span->first = span->last = (uintptr_t) data;
  span->stride = span->width = 0;
  if (lines <= 0 || length <= 0)
    return 0;
  if (data == NULL)
    return LLAMA_MLP_ERROR_NULL;
  if (ld < length || ld > INT64_MAX / 8 / lines)
    return LLAMA_MLP_ERROR_LEADING_DIMENSION;
  if ((uintptr_t) data % (uintptr_t) size != 0)
    return LLAMA_MLP_ERROR_ALIGNMENT;
  span->stride = (size_t) (ld * size);
  span->width = (size_t) (length * size);
  span->last = span->first + (size_t) (lines - 1) * span->stride + span->width;
  return 0;
}

/* Column ranges of one matrix share no element though their spans cross. */
static int
spans_overlap (const Span *a, const Span *b)
{
  if (a->first == a->last || b->first == b->last || a->last <= b->first
      || b->last <= a->first)
    return 0;
  if (a->stride == b->stride)
    {
      const Span *low = a->first <= b->first ? a : b, *high = low == a ? b : a;
      const size_t offset = (high->first - low->first) % low->stride;

      if (offset >= low->width && offset + high->width <= low->stride)
        return 0;
    }
  return 1;
}

/* A matrix from `from` on, rounded up to 64 bytes; *end grows to hold it. What no memory
   can hold stays more than there is. */
static void
reserve (size_t *end, size_t from, int64_t rows, int64_t ld, int64_t size)
{
  const size_t most = SIZE_MAX / 8 * 4, line = (size_t) (ld * size);
  const int fits = line == 0 || (size_t) rows <= (most - 63) / line;
  const size_t bytes = fits ? ((size_t) rows * line + 63) / 64 * 64 : most;
  const size_t last = from < most - bytes ? from + bytes : most;

  if (last > *end)
    *end = last;
}

static void
place_workspace (const Plan *p, size_t *place)
{
  const int64_t d_T = p->d_T;

  (void) p;
  place[0] = 0;
  place[1] = place[0];
  reserve (&place[1], place[0], d_T, 16, 4); /* n_ss */
  place[2] = place[1];
  reserve (&place[2], place[1], d_T, 1024, 2); /* n_weighted */
  place[3] = place[2];
  reserve (&place[3], place[2], d_T, 2816, 2); /* act */
}

size_t
llama_mlp_plan_size (void)
{
  return sizeof (Plan);
}

int
llama_mlp_plan_init (void *plan, size_t plan_bytes, int threads, const llama_mlp_dims *max_dims,
                     const llama_mlp_weights *weights)
{
  Plan *p = (Plan *) plan;
  Span spans[6];
  int code;

  if (plan == NULL || max_dims == NULL || weights == NULL)
    return LLAMA_MLP_ERROR_NULL;
  if (plan_bytes < sizeof *p || (uintptr_t) plan % sizeof (uint64_t) != 0)
    return LLAMA_MLP_ERROR_PLAN;
  memset (p, 0, sizeof *p);
  if (max_dims->struct_size != sizeof *max_dims || weights->struct_size != sizeof *weights)
    return LLAMA_MLP_ERROR_STRUCT_SIZE;
  if (max_dims->T < 0 || max_dims->T > 1048576)
    return LLAMA_MLP_ERROR_DIMENSION;
  code = check_tensor (weights->gamma, 1024, 1, 1024, 2, &spans[1]);
  if (code != 0)
    return code;
  code = check_tensor (weights->w_gate, weights->w_gate_ld, 1024, 2816, 2, &spans[2]);
  if (code != 0)
    return code;
  code = check_tensor (weights->w_up, weights->w_up_ld, 1024, 2816, 2, &spans[3]);
  if (code != 0)
    return code;
  code = check_tensor (weights->w_down, weights->w_down_ld, 2816, 1024, 2, &spans[4]);
  if (code != 0)
    return code;
  p->threads = threads;
  p->d_T = max_dims->T;
  p->v_gamma = weights->gamma;
  p->v_w_gate = weights->w_gate;
  p->ld_w_gate = weights->w_gate_ld;
  p->v_w_up = weights->w_up;
  p->ld_w_up = weights->w_up_ld;
  p->v_w_down = weights->w_down;
  p->ld_w_down = weights->w_down_ld;
  p->magic = plan_magic;
  return 0;
}

static int
is_plan (const void *plan)
{
  const Plan *p = (const Plan *) plan;

  return p != NULL && (uintptr_t) plan % sizeof (uint64_t) == 0 && p->magic == plan_magic;
}

/* Views of what does not change from launch to launch. */
static void
set_weights (Values *v, const Plan *p)
{
  memset (v, 0, sizeof *v);
  v->threads = p->threads;
  v->v_gamma.data = (void *) (p->v_gamma);
  v->v_gamma.ld = 1;
  v->v_w_gate.data = (void *) (p->v_w_gate);
  v->v_w_gate.ld = p->ld_w_gate;
  v->v_w_up.data = (void *) (p->v_w_up);
  v->v_w_up.ld = p->ld_w_up;
  v->v_w_down.data = (void *) (p->v_w_down);
  v->v_w_down.ld = p->ld_w_down;
}

size_t
llama_mlp_prepared_size (const void *plan)
{
  (void) plan;
  return 0;
}

int
llama_mlp_prepare (void *plan, void *prepared, size_t prepared_bytes)
{
  if (!is_plan (plan))
    return LLAMA_MLP_ERROR_PLAN;
  (void) prepared;
  (void) prepared_bytes;
  return 0;
}

size_t
llama_mlp_workspace_size (const void *plan)
{
  size_t place[4];

  if (!is_plan (plan))
    return 0;
  place_workspace ((const Plan *) plan, place);
  return place[3];
}

int
llama_mlp_launch (const void *plan, const llama_mlp_args *args, void *workspace,
                  size_t workspace_bytes)
{
  enum { N_TENSORS = 6, N_SLOTS = 3 };
  const Plan *p = (const Plan *) plan;
  Values values, *v = &values;
  Span spans[N_TENSORS + 1];
  size_t place[N_SLOTS + 1];
  int code;

  if (plan == NULL || args == NULL)
    return LLAMA_MLP_ERROR_NULL;
  if (!is_plan (plan))
    return LLAMA_MLP_ERROR_PLAN;
  if (args->struct_size != sizeof *args)
    return LLAMA_MLP_ERROR_STRUCT_SIZE;
  if (args->T < 0 || args->T > p->d_T)
    return LLAMA_MLP_ERROR_DIMENSION;
  const int64_t d_T = args->T;
  place_workspace (p, place);
  code = check_tensor (args->x, args->x_ld, d_T, 1024, 2, &spans[0]);
  if (code != 0)
    return code;
  check_tensor (p->v_gamma, 1024, 1, 1024, 2, &spans[1]);
  check_tensor (p->v_w_gate, p->ld_w_gate, 1024, 2816, 2, &spans[2]);
  check_tensor (p->v_w_up, p->ld_w_up, 1024, 2816, 2, &spans[3]);
  check_tensor (p->v_w_down, p->ld_w_down, 2816, 1024, 2, &spans[4]);
  code = check_tensor (args->out, args->out_ld, d_T, 1024, 2, &spans[5]);
  if (code != 0)
    return code;
  if (workspace == NULL && place[N_SLOTS] > 0)
    return LLAMA_MLP_ERROR_NULL;
  if (workspace_bytes < place[N_SLOTS] || (uintptr_t) workspace % 64 != 0)
    return LLAMA_MLP_ERROR_WORKSPACE;
  check_tensor (workspace, (int64_t) place[N_SLOTS], 1, (int64_t) place[N_SLOTS], 1,
                &spans[N_TENSORS]);
  for (int i = 0; i < N_TENSORS + 1; i++) /* out */
    if (i != 5 && spans_overlap (&spans[5], &spans[i])
        && !(i == 0 && args->out == args->x && args->out_ld == args->x_ld))
      return LLAMA_MLP_ERROR_OVERLAP;

  set_weights (v, p);
  v->d_T = d_T;
  v->v_x.data = (void *) (args->x);
  v->v_x.ld = args->x_ld;
  v->b_n_ss.data = (void *) ((unsigned char *) workspace + place[0]);
  v->b_n_ss.ld = 16;
  v->b_n_weighted.data = (void *) ((unsigned char *) workspace + place[1]);
  v->b_n_weighted.ld = 1024;
  v->b_act.data = (void *) ((unsigned char *) workspace + place[2]);
  v->b_act.ld = 2816;
  v->v_out.data = (void *) (args->out);
  v->v_out.ld = args->out_ld;

  k1_rows (v);
  k2_gemm (v);
  k3_gemm (v);
  return 0;
}

const char *
llama_mlp_error_text (int code)
{
  switch (code)
    {
      case 0:
        return "good";
      case LLAMA_MLP_ERROR_NULL:
        return "a pointer that is needed is NULL";
      case LLAMA_MLP_ERROR_STRUCT_SIZE:
        return "struct_size is not the size of the struct";
      case LLAMA_MLP_ERROR_DIMENSION:
        return "a dimension is out of its range or no multiple";
      case LLAMA_MLP_ERROR_LEADING_DIMENSION:
        return "a leading dimension is smaller than a row";
      case LLAMA_MLP_ERROR_ALIGNMENT:
        return "a pointer is not aligned to its elements";
      case LLAMA_MLP_ERROR_OVERLAP:
        return "an output overlaps another tensor";
      case LLAMA_MLP_ERROR_WORKSPACE:
        return "the workspace is too small or not aligned to 64 bytes";
      case LLAMA_MLP_ERROR_PLAN:
        return "the plan was not initialised, or its memory is too small";
      case LLAMA_MLP_ERROR_PREPARE:
        return "prepare was not called, or its memory is too small";
      case LLAMA_MLP_ERROR_GUARD:
        return "a requirement of a block does not hold for these dimensions";
      default:
        return "unknown code";
    }
}
