/* llama_mlp_main: verifies, times and runs the exported program. SPDX-License-Identifier: MIT-0

   The reference is printed from the formulas of the drawn graph and shares no code with the
   program: it computes in double, once exactly and once rounding what each drawn edge carries. */
#include "llama_mlp.h"
#include "llama_mlp_unfused.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- tensors, conversions, random data ------------------------------------------------------ */

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma ("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

typedef enum
{
  F32,
  BF16,
  F16
} Dtype;

typedef enum
{
  INPUT,
  WEIGHT,
  OUTPUT
} Kind;

/* How a tensor is filled. */
typedef enum
{
  FILL_ROWS,      /* a scale of its own per row, 2^-14 ... 2^14 (f16: 2^-6 ... 2^6) */
  FILL_WEIGHT,    /* of size 1/sqrt(rows) */
  FILL_VECTOR,    /* signed, 0.5 ... 1.5 */
  FILL_POSITIVE,  /* 0.25 ... 4 */
  FILL_STATISTIC, /* sums of squares of such rows */
  FILL_NONE       /* an output */
} Fill;

typedef struct
{
  const char *name;
  Kind kind;
  Dtype dtype;
  int n_dims;
  int column_order; /* element (i, j) lies at j*ld + i */
  int sampled;      /* class of rows it follows (a row can be computed alone), or -1 */
  Fill fill;
} TensorInfo;

typedef struct
{
  const char *name;
  int64_t value, minimum, maximum, multiple;
} DimInfo;

/* A matrix in memory of its own, guard bytes around it; a vector has one column and ld 1. */
typedef struct
{
  int64_t rows, columns, ld;
  unsigned char *block;
  size_t block_bytes;
  unsigned char *data;
} Tensor;

/* One of the two programs under test. */
typedef struct
{
  const char *name;
  int launches;
  size_t (*plan_size) (void);
  int (*plan_init) (void *plan, size_t bytes, int threads, const int64_t *max, const Tensor *t,
                    size_t lie);
  size_t (*prepared_size) (const void *plan);
  int (*prepare) (void *plan, void *prepared, size_t bytes);
  size_t (*workspace_size) (const void *plan);
  int (*launch) (const void *plan, const int64_t *d, const Tensor *t, void *workspace, size_t bytes,
                 size_t lie);
  const char *(*error_text) (int code);
  double (*bytes) (const int64_t *d);
} Program;

/* Rows of one class that are computed and judged. */
typedef struct
{
  int64_t extent, count;
  int64_t *rows; /* ascending */
} Sample;

#define GUARD 256 /* bytes before and after each tensor */
#define POISON 0xff

static int64_t
min64 (int64_t a, int64_t b)
{
  return a < b ? a : b;
}

static int64_t
max64 (int64_t a, int64_t b)
{
  return a > b ? a : b;
}

static void *
allocate (size_t bytes)
{
  void *memory = malloc (bytes > 0 ? bytes : 1);

  if (memory == NULL)
    {
      fprintf (stderr, "out of memory: %zu bytes\n", bytes);
      exit (5);
    }
  return memory;
}

static double *
new_values (int64_t count)
{
  return (double *)allocate (sizeof (double) * (size_t)max64 (count, 1));
}

/* `bytes` bytes of memory at a multiple of 64; free *block. */
static void *
allocate_aligned (size_t bytes, void **block)
{
  *block = allocate (bytes + 64);
  return (void *)(((uintptr_t)*block + 63) / 64 * 64);
}

static int64_t
dtype_size (Dtype dtype)
{
  return dtype == F32 ? 4 : 2;
}

/* Relative distance between neighbours. */
static double
dtype_ulp (Dtype dtype)
{
  return dtype == F32 ? ldexp (1, -23) : dtype == F16 ? ldexp (1, -10) : ldexp (1, -7);
}

static double
dtype_max (Dtype dtype)
{
  return dtype == F16 ? 65504 : dtype == F32 ? (double)FLT_MAX : ldexp (255, 120);
}

/* To the nearest value of the dtype, ties to even. */
static double
round_value (Dtype dtype, double x)
{
  const int digits = dtype == F32 ? 24 : dtype == F16 ? 11 : 8;
  const int smallest = dtype == F16 ? -13 : -125;
  int exponent;
  double y;

  if (x == 0 || !isfinite (x))
    return x;
  frexp (x, &exponent);
  if (exponent < smallest)
    exponent = smallest;
  y = ldexp (nearbyint (ldexp (x, digits - exponent)), exponent - digits);
  return fabs (y) > dtype_max (dtype) ? copysign (INFINITY, x) : y;
}

static void
round_values (double *values, int64_t count, Dtype dtype)
{
  PARALLEL_FOR
  for (int64_t i = 0; i < count; i++)
    values[i] = round_value (dtype, values[i]);
}

/* Bits of a value that the dtype holds exactly. */
static uint32_t
encode (Dtype dtype, double x)
{
  float single = (float)x;
  uint32_t bits;

  memcpy (&bits, &single, sizeof bits);
  if (dtype == F32)
    return bits;
  if (dtype == BF16)
    return bits >> 16;
  const uint32_t sign = bits >> 16 & 0x8000;
  if (isnan (x))
    return sign | 0x7e00;
  if (isinf (x))
    return sign | 0x7c00;
  if (fabs (x) < ldexp (1, -14))
    return sign | (uint32_t)ldexp (fabs (x), 24);
  int exponent;
  const double mantissa = frexp (fabs (x), &exponent);
  return sign | (uint32_t)(exponent + 14) << 10 | ((uint32_t)ldexp (mantissa, 11) & 0x3ff);
}

static double
decode (Dtype dtype, uint32_t bits)
{
  float single;

  if (dtype == F16)
    {
      const double sign = (bits & 0x8000) != 0 ? -1 : 1;
      const int exponent = (int)(bits >> 10 & 0x1f);
      const double fraction = (double)(bits & 0x3ff);

      if (exponent == 31)
        return fraction != 0 ? NAN : sign * INFINITY;
      return sign
             * (exponent == 0 ? ldexp (fraction, -24) : ldexp (1024 + fraction, exponent - 25));
    }
  if (dtype == BF16)
    bits <<= 16;
  memcpy (&single, &bits, sizeof single);
  return single;
}

static unsigned char *
element (const TensorInfo *info, const Tensor *t, int64_t i, int64_t j)
{
  const int64_t at = info->column_order ? j * t->ld + i : i * t->ld + j;

  return t->data + at * dtype_size (info->dtype);
}

static uint32_t
get_bits (const TensorInfo *info, const Tensor *t, int64_t i, int64_t j)
{
  const unsigned char *p = element (info, t, i, j);
  uint32_t word = 0;
  uint16_t half = 0;

  if (info->dtype == F32)
    memcpy (&word, p, sizeof word);
  else
    {
      memcpy (&half, p, sizeof half);
      word = half;
    }
  return word;
}

static void
set_bits (const TensorInfo *info, const Tensor *t, int64_t i, int64_t j, uint32_t bits)
{
  unsigned char *p = element (info, t, i, j);
  const uint16_t half = (uint16_t)bits;

  if (info->dtype == F32)
    memcpy (p, &bits, sizeof bits);
  else
    memcpy (p, &half, sizeof half);
}

/* Never written? Outputs are filled with POISON, a NaN that no arithmetic makes. */
static int
is_poison (const TensorInfo *info, uint32_t bits)
{
  return bits == (info->dtype == F32 ? 0xffffffffu : 0xffffu);
}

/* Elements a row (or a column, where columns are stored) takes, and how many there are. */
static void
storage_shape (const TensorInfo *info, const Tensor *t, int64_t *lines, int64_t *length)
{
  *lines = info->column_order ? t->columns : t->rows;
  *length = info->column_order ? t->rows : t->columns;
}

/* A tensor of the given extents with `pad` elements after each row, all of it poison. */
static Tensor
new_tensor (const TensorInfo *info, int64_t rows, int64_t columns, int64_t pad)
{
  Tensor t = { rows, columns, 1, NULL, 0, NULL };
  int64_t lines, length;

  storage_shape (info, &t, &lines, &length);
  t.ld = info->n_dims < 2 ? 1 : max64 (length, 1) + pad;
  t.block_bytes = (size_t)(lines * t.ld * dtype_size (info->dtype)) + 2 * GUARD + 64;
  t.block = (unsigned char *)allocate (t.block_bytes);
  memset (t.block, POISON, t.block_bytes);
  t.data = t.block + GUARD;
  t.data += (64 - (uintptr_t)t.data % 64) % 64;
  return t;
}

/* Bytes outside the elements of the tensor that are no longer poison. */
static int64_t
count_overwritten (const TensorInfo *info, const Tensor *t)
{
  const int64_t size = dtype_size (info->dtype);
  int64_t lines, length, wrong = 0;

  storage_shape (info, t, &lines, &length);
  for (const unsigned char *p = t->block; p < t->data; p++)
    wrong += *p != POISON;
  for (int64_t i = 0; i < lines; i++)
    for (int64_t b = length * size; b < t->ld * size; b++)
      wrong += t->data[i * t->ld * size + b] != POISON;
  for (const unsigned char *p = t->data + lines * t->ld * size; p < t->block + t->block_bytes; p++)
    wrong += *p != POISON;
  return wrong;
}

/* A random number from a counter: the same for every number of threads. */
static uint64_t
random_bits (uint64_t seed, uint64_t stream, uint64_t index)
{
  uint64_t x = seed + (stream + 1) * UINT64_C (0x9e3779b97f4a7c15);

  for (int round = 0; round < 2; round++)
    {
      x += (index + 1) * UINT64_C (0xd1342543de82ef95);
      x = (x ^ x >> 30) * UINT64_C (0xbf58476d1ce4e5b9);
      x = (x ^ x >> 27) * UINT64_C (0x94d049bb133111eb);
      x ^= x >> 31;
    }
  return x;
}

static double
random_unit (uint64_t seed, uint64_t stream, uint64_t index)
{
  return (double)(random_bits (seed, stream, index) >> 11) * ldexp (1, -53);
}

/* Mean 0, variance 1: the sum of three uniform numbers of 21 bits. */
static double
random_normal (uint64_t seed, uint64_t stream, uint64_t index)
{
  const uint64_t bits = random_bits (seed, stream, index);
  const double sum = (double)(bits & 0x1fffff) + (double)(bits >> 21 & 0x1fffff)
                     + (double)(bits >> 42 & 0x1fffff);

  return sum * ldexp (1, -20) - 3;
}

/* The row of a class that is all zero; none if there is but one. */
static int64_t
zero_row (uint64_t seed, int sampled, int64_t rows)
{
  return rows < 2 ? -1 : (int64_t)(random_bits (seed, 1000, (uint64_t)sampled) % (uint64_t)rows);
}

/* The rows' scales are those of the class, so that what is added to each other is of like size. */
static double
row_scale (uint64_t seed, int sampled, int64_t row, int reach)
{
  const uint64_t bits = random_bits (seed, 2000 + (uint64_t)sampled, (uint64_t)row);

  return ldexp (1, (int)(bits % (uint64_t)(2 * reach + 1)) - reach);
}

/* `width` is what a statistic was taken over; `reach` the largest exponent of a row's scale. */
static void
fill_tensor (const TensorInfo *info, const Tensor *t, uint64_t seed, int stream, int reach,
             double width)
{
  const int64_t zero = zero_row (seed, info->sampled, t->rows);

  PARALLEL_FOR
  for (int64_t i = 0; i < t->rows; i++)
    {
      const double scale = row_scale (seed, info->sampled, i, reach);

      for (int64_t j = 0; j < t->columns; j++)
        {
          const uint64_t index = (uint64_t)(i * t->columns + j);
          const double unit = random_unit (seed, (uint64_t)stream, index);
          double x = 0;

          if (info->fill == FILL_ROWS)
            x = i == zero ? 0 : scale * random_normal (seed, (uint64_t)stream, index);
          else if (info->fill == FILL_WEIGHT)
            x = random_normal (seed, (uint64_t)stream, index) / sqrt ((double)t->rows);
          else if (info->fill == FILL_VECTOR)
            x = unit < 0.5 ? 0.5 + 2 * unit : 0.5 - 2 * unit;
          else if (info->fill == FILL_POSITIVE)
            x = exp2 (4 * unit - 2);
          else if (info->fill == FILL_STATISTIC)
            x = i == zero ? 0 : scale * scale * (0.5 + unit) * width / (double)t->columns;
          set_bits (info, t, i, j, encode (info->dtype, round_value (info->dtype, x)));
        }
    }
}

/* The values of the rows in `sample` (all if NULL), in double. free. */
static double *
get_values (const TensorInfo *info, const Tensor *t, const Sample *sample)
{
  const int64_t count = sample != NULL ? sample->count : t->rows;
  double *values = new_values (count * t->columns);

  PARALLEL_FOR
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; j < t->columns; j++)
      {
        const int64_t row = sample != NULL ? sample->rows[i] : i;

        values[i * t->columns + j] = decode (info->dtype, get_bits (info, t, row, j));
      }
  return values;
}

/* A number of all elements' bits: equal numbers, equal bits. */
static uint64_t
hash_tensor (const TensorInfo *info, const Tensor *t)
{
  uint64_t hash = UINT64_C (0xcbf29ce484222325);

  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t j = 0; j < t->columns; j++)
      hash = (hash ^ get_bits (info, t, i, j)) * UINT64_C (0x100000001b3);
  return hash;
}

static double
now (void)
{
  struct timespec time;

  timespec_get (&time, TIME_UTC);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- this graph ------------------------------------------------------------------------------ */

static const char *const program_name = "llama_mlp";

enum
{
  N_DIMS = 1,
  N_TENSORS = 6,
  N_SAMPLED = 1, /* classes of rows that can be computed alone */
  N_ALIASES = 1, /* outputs that may be an input's memory */
  ROWS_APART = 1, /* rows depend on nothing of other rows */
  REACH = 14 /* row scales 2^-REACH ... 2^REACH */
};

enum
{
  E_NULL = LLAMA_MLP_ERROR_NULL,
  E_STRUCT_SIZE = LLAMA_MLP_ERROR_STRUCT_SIZE,
  E_DIMENSION = LLAMA_MLP_ERROR_DIMENSION,
  E_LEADING_DIMENSION = LLAMA_MLP_ERROR_LEADING_DIMENSION,
  E_ALIGNMENT = LLAMA_MLP_ERROR_ALIGNMENT,
  E_OVERLAP = LLAMA_MLP_ERROR_OVERLAP,
  E_WORKSPACE = LLAMA_MLP_ERROR_WORKSPACE,
  E_PLAN = LLAMA_MLP_ERROR_PLAN,
  E_PREPARE = LLAMA_MLP_ERROR_PREPARE,
  E_GUARD = LLAMA_MLP_ERROR_GUARD
};

static const DimInfo dim_info[] = {
  { "T", 512, 0, 1048576, 1 },
};

static const TensorInfo tensor_info[N_TENSORS] = {
  { "x", INPUT, BF16, 2, 0, 0, FILL_ROWS },
  { "gamma", WEIGHT, BF16, 1, 0, -1, FILL_VECTOR },
  { "w_gate", WEIGHT, BF16, 2, 0, -1, FILL_WEIGHT },
  { "w_up", WEIGHT, BF16, 2, 0, -1, FILL_WEIGHT },
  { "w_down", WEIGHT, BF16, 2, 0, -1, FILL_WEIGHT },
  { "out", OUTPUT, BF16, 2, 0, 0, FILL_NONE },
};

static const int aliases[][2] = {
  { 5, 0 },
};

static void
tensor_shape (int tensor, const int64_t *d, int64_t *rows, int64_t *columns)
{
  const int64_t d_T = d[0];

  *rows = *columns = 0;
  if (tensor == 0) /* x */
    {
      *rows = d_T;
      *columns = 1024;
    }
  if (tensor == 1) /* gamma */
    {
      *rows = 1024;
      *columns = 1;
    }
  if (tensor == 2) /* w_gate */
    {
      *rows = 1024;
      *columns = 2816;
    }
  if (tensor == 3) /* w_up */
    {
      *rows = 1024;
      *columns = 2816;
    }
  if (tensor == 4) /* w_down */
    {
      *rows = 2816;
      *columns = 1024;
    }
  if (tensor == 5) /* out */
    {
      *rows = d_T;
      *columns = 1024;
    }
}

static int64_t
sample_extent (int sampled, const int64_t *d)
{
  const int64_t d_T = d[0];

  if (sampled == 0)
    return d_T;
  return 0;
}

/* Columns that a statistic which comes in was taken over. */
static double
statistic_width (int tensor, const int64_t *d)
{
  (void) d;
  (void) tensor;
  return 1;
}

/* Terms of the longest sum. */
static double
longest_sum (const int64_t *d)
{
  (void) d;
  double longest = 1;

  longest = fmax (longest, (double) (1024));
  longest = fmax (longest, (double) (2816));
  longest = fmax (longest, (double) (1));
  return longest;
}

/* Of the matrix products. */
static double
count_flops (const int64_t *d)
{
  const int64_t d_T = d[0];
  double flops = 0;

  flops += 2.0 * (double) (d_T) * (double) (2816) * (double) (1024);
  flops += 2.0 * (double) (d_T) * (double) (2816) * (double) (1024);
  flops += 2.0 * (double) (d_T) * (double) (1024) * (double) (2816);
  return flops;
}

/* Functions of the formula language. */
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
static inline double
ref_rsqrt (double x)
{
  return 1.0 / sqrt (x);
}

static inline double
ref_sigmoid (double x)
{
  return 1.0 / (1.0 + exp (-x));
}

static inline double
ref_square (double x)
{
  return x * x;
}

static inline double
ref_relu (double x)
{
  return isnan (x) || x > 0.0 ? x : 0.0;
}

static inline double
ref_sign (double x)
{
  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

static inline double
ref_isnan (double x)
{
  return isnan (x) ? 1.0 : 0.0;
}

static inline double
ref_min (double a, double b)
{
  return isnan (a) || a < b ? a : b;
}

static inline double
ref_max (double a, double b)
{
  return isnan (a) || a > b ? a : b;
}

static inline double
ref_mod (double a, double b)
{
  return a - floor (a / b) * b;
}

/* Rounded once to f32 (0), bf16 (1) or f16 (2), ties to even. */
static inline double
ref_round_to (double x, double dtype)
{
  if (!(dtype >= 0.0 && dtype < 3.0))
    return NAN;
  if (x == 0.0 || !isfinite (x))
    return x;
  const int which = (int) dtype;
  const int digits = which == 0 ? 24 : which == 1 ? 8 : 11;
  const int lowest = which == 2 ? -13 : -125, highest = which == 2 ? 16 : 128;
  int exponent;
  frexp (x, &exponent);
  const double unit = ldexp (1.0, (exponent < lowest ? lowest : exponent) - digits);
  const double y = rint (x / unit) * unit;
  return fabs (y) >= ldexp (1.0, highest) ? copysign (HUGE_VAL, x) : y;
}
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

/* Values of the reference, freed together. */
typedef struct
{
  double *values[9];
  int n;
} Pool;

static double *
take (Pool *pool, int64_t count)
{
  return pool->values[pool->n++] = new_values (count);
}

static void
release (Pool *pool)
{
  while (pool->n > 0)
    free (pool->values[--pool->n]);
}

/* The drawn graph in double, on the sampled rows. With `rounding`, what each drawn edge carries
   is rounded to its dtype: what an unfused program computes. */
static void
reference (const int64_t *d, const Sample *s, double *const *in, double **out, int rounding)
{
  Pool pool = { { NULL }, 0 };

  (void) d;
  double *x_x = in[0];
  double *x_gamma = in[1];
  double *x_w_gate = in[2];
  double *x_w_up = in[3];
  double *x_w_down = in[4];

  /* n_ss (row_sumsq): s = sum(N:group, square(x)) */
  double *x_n_ss = take (&pool, s[0].count);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    for (int64_t n = 0; n < 1; n++)
      {
        const int64_t group_N = (int64_t) 0.0;
        const int64_t first_N = n * group_N < 1024 ? n * group_N : 1024;
        const int64_t last_N = group_N > 0 && first_N + group_N < 1024 ? first_N + group_N : 1024;
        double sum_N = 0.0;
        for (int64_t i_N = first_N; i_N < last_N; i_N++)
          sum_N += ref_square (x_x[i * 1024 + i_N]);
        x_n_ss[i * 1 + n] = sum_N;
      }

  /* n_rstd (finish): r = rsqrt(sum(P, s)/count + eps) */
  double *x_n_rstd = take (&pool, s[0].count);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    {
      double sum_P = 0.0;
      for (int64_t i_P = 0; i_P < 1; i_P++)
        sum_P += x_n_ss[i + i_P];
      x_n_rstd[i] = ref_rsqrt (sum_P / ((double) (1024)) + 1e-6);
    }

  /* n_scaled (scale_rows): y = x*pow(s, degree) */
  double *x_n_scaled = take (&pool, s[0].count * 1024);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    for (int64_t n = 0; n < 1024; n++)
      x_n_scaled[i * 1024 + n] = x_x[i * 1024 + n] * pow (x_n_rstd[i], 1.0);

  /* n_weighted (scale_columns): y = x*(offset + g) */
  double *x_n_weighted = take (&pool, s[0].count * 1024);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    for (int64_t n = 0; n < 1024; n++)
      x_n_weighted[i * 1024 + n] = x_n_scaled[i * 1024 + n] * (0.0 + x_gamma[n]);
  if (rounding)
    round_values (x_n_weighted, s[0].count * 1024, BF16);

  /* gate (gemm): y = sum(K, a*b) */
  double *x_gate = take (&pool, s[0].count * 2816);
  PARALLEL_FOR
  for (int64_t n = 0; n < 2816; n++)
    for (int64_t i = 0; i < s[0].count; i++)
      {
        double sum_K = 0.0;
        for (int64_t i_K = 0; i_K < 1024; i_K++)
          sum_K += x_n_weighted[i * 1024 + i_K] * x_w_gate[i_K * 2816 + n];
        x_gate[i * 2816 + n] = sum_K;
      }
  if (rounding)
    round_values (x_gate, s[0].count * 2816, BF16);

  /* up (gemm): y = sum(K, a*b) */
  double *x_up = take (&pool, s[0].count * 2816);
  PARALLEL_FOR
  for (int64_t n = 0; n < 2816; n++)
    for (int64_t i = 0; i < s[0].count; i++)
      {
        double sum_K = 0.0;
        for (int64_t i_K = 0; i_K < 1024; i_K++)
          sum_K += x_n_weighted[i * 1024 + i_K] * x_w_up[i_K * 2816 + n];
        x_up[i * 2816 + n] = sum_K;
      }
  if (rounding)
    round_values (x_up, s[0].count * 2816, BF16);

  /* act (swiglu): y = gate*sigmoid(gate)*up */
  double *x_act = take (&pool, s[0].count * 2816);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    for (int64_t n = 0; n < 2816; n++)
      x_act[i * 2816 + n] = x_gate[i * 2816 + n] * ref_sigmoid (x_gate[i * 2816 + n])
          * x_up[i * 2816 + n];
  if (rounding)
    round_values (x_act, s[0].count * 2816, BF16);

  /* down (gemm): y = sum(K, a*b) */
  double *x_down = take (&pool, s[0].count * 1024);
  PARALLEL_FOR
  for (int64_t n = 0; n < 1024; n++)
    for (int64_t i = 0; i < s[0].count; i++)
      {
        double sum_K = 0.0;
        for (int64_t i_K = 0; i_K < 2816; i_K++)
          sum_K += x_act[i * 2816 + i_K] * x_w_down[i_K * 1024 + n];
        x_down[i * 1024 + n] = sum_K;
      }
  if (rounding)
    round_values (x_down, s[0].count * 1024, BF16);

  /* y (add): y = a + b */
  double *x_y = take (&pool, s[0].count * 1024);
  PARALLEL_FOR
  for (int64_t i = 0; i < s[0].count; i++)
    for (int64_t n = 0; n < 1024; n++)
      x_y[i * 1024 + n] = x_down[i * 1024 + n] + x_x[i * 1024 + n];
  if (rounding)
    round_values (x_y, s[0].count * 1024, BF16);

  /* out: output */
  out[5] = new_values (s[0].count * 1024);
  memcpy (out[5], x_y, sizeof (double) * (size_t) (s[0].count * 1024));
  if (rounding)
    round_values (out[5], s[0].count * 1024, BF16);
  release (&pool);
}

static int
fused_plan_init (void *plan, size_t bytes, int threads, const int64_t *d, const Tensor *t,
                 size_t lie)
{
  llama_mlp_dims dims;
  llama_mlp_weights weights;

  (void) d;
  (void) t;
  dims.struct_size = sizeof dims + lie;
  dims.T = d[0];
  weights.struct_size = sizeof weights;
  weights.gamma = t[1].data;
  weights.w_gate = t[2].data;
  weights.w_gate_ld = t[2].ld;
  weights.w_up = t[3].data;
  weights.w_up_ld = t[3].ld;
  weights.w_down = t[4].data;
  weights.w_down_ld = t[4].ld;
  return llama_mlp_plan_init (plan, bytes, threads, &dims, &weights);
}

static int
fused_launch (const void *plan, const int64_t *d, const Tensor *t, void *workspace, size_t bytes,
              size_t lie)
{
  llama_mlp_args args;

  (void) d;
  args.struct_size = sizeof args + lie;
  args.T = d[0];
  args.x = t[0].data;
  args.x_ld = t[0].ld;
  args.out = t[5].data;
  args.out_ld = t[5].ld;
  return llama_mlp_launch (plan, &args, workspace, bytes);
}

static double
fused_bytes (const int64_t *d)
{
  const int64_t d_T = d[0];
  double bytes = 0;

  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (1024) * (double) (1);
  bytes += 4.0 * (double) (d_T) * (double) (1);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 4.0 * (double) (d_T) * (double) (1);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (1024) * (double) (2816);
  bytes += 2.0 * (double) (1024) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (2816) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  return bytes;
}

static int
unfused_plan_init (void *plan, size_t bytes, int threads, const int64_t *d, const Tensor *t,
                   size_t lie)
{
  llama_mlp_unfused_dims dims;
  llama_mlp_unfused_weights weights;

  (void) d;
  (void) t;
  dims.struct_size = sizeof dims + lie;
  dims.T = d[0];
  weights.struct_size = sizeof weights;
  weights.gamma = t[1].data;
  weights.w_gate = t[2].data;
  weights.w_gate_ld = t[2].ld;
  weights.w_up = t[3].data;
  weights.w_up_ld = t[3].ld;
  weights.w_down = t[4].data;
  weights.w_down_ld = t[4].ld;
  return llama_mlp_unfused_plan_init (plan, bytes, threads, &dims, &weights);
}

static int
unfused_launch (const void *plan, const int64_t *d, const Tensor *t, void *workspace, size_t bytes,
                size_t lie)
{
  llama_mlp_unfused_args args;

  (void) d;
  args.struct_size = sizeof args + lie;
  args.T = d[0];
  args.x = t[0].data;
  args.x_ld = t[0].ld;
  args.out = t[5].data;
  args.out_ld = t[5].ld;
  return llama_mlp_unfused_launch (plan, &args, workspace, bytes);
}

static double
unfused_bytes (const int64_t *d)
{
  const int64_t d_T = d[0];
  double bytes = 0;

  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (1024) * (double) (1);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (1024) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (1024) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (d_T) * (double) (2816);
  bytes += 2.0 * (double) (2816) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  bytes += 2.0 * (double) (d_T) * (double) (1024);
  return bytes;
}

static const Program programs[2] = {
  { "fused", 3, llama_mlp_plan_size, fused_plan_init, llama_mlp_prepared_size, llama_mlp_prepare,
    llama_mlp_workspace_size, fused_launch, llama_mlp_error_text, fused_bytes },
  { "unfused", 6, llama_mlp_unfused_plan_size, unfused_plan_init, llama_mlp_unfused_prepared_size,
    llama_mlp_unfused_prepare, llama_mlp_unfused_workspace_size, unfused_launch,
    llama_mlp_unfused_error_text, unfused_bytes },
};

/* ---- one case: inputs, reference, programs, verdicts ----------------------------------------- */

typedef struct
{
  uint64_t seed;
  int threads; /* 0: as many as there are */
  int json;
  int repeat;
  int64_t d[N_DIMS + 1]; /* the sizes asked for */
  int given[N_DIMS + 1];
  const char *in_files[N_TENSORS], *out_files[N_TENSORS];
  double started;
} Options;

typedef struct
{
  int64_t d[N_DIMS + 1];
  Tensor t[N_TENSORS];
  Sample samples[N_SAMPLED + 1];
  double *exact[N_TENSORS], *rounded[N_TENSORS]; /* outputs, the sampled rows */
} Case;

/* A program set up for a case. */
typedef struct
{
  const Program *program;
  void *plan, *prepared, *workspace; /* aligned */
  size_t workspace_bytes, prepared_bytes;
  void *blocks[3];
} Session;

typedef struct
{
  double rows, columns; /* largest error over tolerance */
  double l2, cosine;    /* over rows brought to one size */
  int64_t row, column;  /* where the error is largest */
  int64_t unwritten, outside;
  int ok;
} Verdict;

static void
progress (const Options *options, const char *what, const int64_t *d)
{
  if (now () - options->started < 1)
    return;
  fprintf (stderr, "%s: %s", program_name, what);
  for (int i = 0; i < N_DIMS; i++)
    fprintf (stderr, " %s=%" PRId64, dim_info[i].name, d[i]);
  fprintf (stderr, "\n");
}

/* All rows of a small problem; of a large one the first, the last, the zero row, tile edges and
   some at random. */
static Sample
new_sample (uint64_t seed, int sampled, int64_t extent)
{
  const int64_t edges[] = { 0, 1, 15, 16, 17, 31, 32, 47, 48, 63, 64, 65, 127, 128 };
  Sample sample = { extent, 0, NULL };
  unsigned char *chosen;

  if (extent <= 64)
    {
      sample.rows = (int64_t *)allocate (sizeof (int64_t) * (size_t)max64 (extent, 1));
      for (int64_t i = 0; i < extent; i++)
        sample.rows[sample.count++] = i;
      return sample;
    }
  chosen = (unsigned char *)allocate ((size_t)extent);
  memset (chosen, 0, (size_t)extent);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    if (edges[i] < extent)
      chosen[edges[i]] = chosen[extent - 1 - edges[i] / 4] = 1;
  chosen[zero_row (seed, sampled, extent)] = 1;
  for (uint64_t i = 0; i < 20; i++)
    chosen[random_bits (seed, 3000 + (uint64_t)sampled, i) % (uint64_t)extent] = 1;
  sample.rows = (int64_t *)allocate (sizeof (int64_t) * (size_t)extent);
  for (int64_t i = 0; i < extent; i++)
    if (chosen[i])
      sample.rows[sample.count++] = i;
  free (chosen);
  return sample;
}

static void
run_reference (Case *c)
{
  double *in[N_TENSORS];

  for (int k = 0; k < N_TENSORS; k++)
    {
      const int sampled = tensor_info[k].sampled;

      in[k] = NULL;
      c->exact[k] = c->rounded[k] = NULL;
      if (tensor_info[k].kind != OUTPUT)
        in[k] = get_values (&tensor_info[k], &c->t[k], sampled < 0 ? NULL : &c->samples[sampled]);
    }
  reference (c->d, c->samples, in, c->exact, 0);
  reference (c->d, c->samples, in, c->rounded, 1);
  for (int k = 0; k < N_TENSORS; k++)
    free (in[k]);
}

/* Outputs all poison, as before a launch. */
static void
poison_outputs (Case *c)
{
  for (int k = 0; k < N_TENSORS; k++)
    if (tensor_info[k].kind == OUTPUT)
      memset (c->t[k].block, POISON, c->t[k].block_bytes);
}

/* Fresh inputs of the given sizes and what the program has to compute from them. */
static Case *
new_case (const int64_t *d, uint64_t seed, int with_reference)
{
  Case *c = (Case *)allocate (sizeof *c);

  memcpy (c->d, d, sizeof c->d);
  for (int s = 0; s < N_SAMPLED; s++)
    c->samples[s] = new_sample (seed, s, sample_extent (s, d));
  for (int k = 0; k < N_TENSORS; k++)
    {
      int64_t rows, columns;

      tensor_shape (k, d, &rows, &columns);
      c->t[k] = new_tensor (&tensor_info[k], rows, columns, k % 3 == 0 ? 0 : 8 * (k % 3) - 5);
      c->exact[k] = c->rounded[k] = NULL;
      if (tensor_info[k].kind != OUTPUT)
        fill_tensor (&tensor_info[k], &c->t[k], seed, k, REACH, statistic_width (k, d));
    }
  if (with_reference)
    run_reference (c);
  return c;
}

static void
free_case (Case *c)
{
  for (int s = 0; s < N_SAMPLED; s++)
    free (c->samples[s].rows);
  for (int k = 0; k < N_TENSORS; k++)
    {
      free (c->t[k].block);
      free (c->exact[k]);
      free (c->rounded[k]);
    }
  free (c);
}

static void
free_session (Session *s)
{
  for (int i = 0; i < 3; i++)
    free (s->blocks[i]);
}

/* Plan, prepared memory and a workspace full of NaN. Returns the program's error code. */
static int
new_session (Session *s, const Program *program, const int64_t *d, const Tensor *t, int threads)
{
  const size_t plan_bytes = program->plan_size ();
  int code;

  memset (s, 0, sizeof *s);
  s->program = program;
  s->plan = allocate_aligned (plan_bytes, &s->blocks[0]);
  code = program->plan_init (s->plan, plan_bytes, threads, d, t, 0);
  if (code != 0)
    return code;
  s->prepared_bytes = program->prepared_size (s->plan);
  s->workspace_bytes = program->workspace_size (s->plan);
  s->prepared = allocate_aligned (s->prepared_bytes, &s->blocks[1]);
  s->workspace = allocate_aligned (s->workspace_bytes, &s->blocks[2]);
  memset (s->prepared, POISON, s->prepared_bytes);
  memset (s->workspace, POISON, s->workspace_bytes);
  if (s->prepared_bytes > 0)
    code = program->prepare (s->plan, s->prepared, s->prepared_bytes);
  return code;
}

static int
launch_session (const Session *s, const int64_t *d, const Tensor *t)
{
  return s->program->launch (s->plan, d, t, s->workspace, s->workspace_bytes, 0);
}

/* The program once, from plan to outputs. */
static int
run_program (const Program *program, Case *c, int threads)
{
  Session session;
  int code;

  poison_outputs (c);
  code = new_session (&session, program, c->d, c->t, threads);
  if (code == 0)
    code = launch_session (&session, c->d, c->t);
  free_session (&session);
  return code;
}

/* Neither finite and within range: compared by kind. Returns 1 if `actual` will do. */
static int
judge_extreme (Dtype dtype, double actual, double exact, double rounded)
{
  if (isnan (exact))
    return isnan (actual);
  if (fabs (exact) <= dtype_max (dtype) || isnan (rounded))
    return 1; /* only the unfused order of rounding overflows */
  return !isfinite (actual) || fabs (actual) > dtype_max (dtype) / 4;
}

static int
is_ordinary (Dtype dtype, double exact, double rounded)
{
  return isfinite (exact) && isfinite (rounded) && fabs (exact) <= dtype_max (dtype);
}

/* Per row and per column: err <= 2*max|rounded - exact| + 2*ulp*max|exact| + 1e-6*max|exact|. The
   column's figures are of rows brought to one size. Where a maximum is over few elements the first
   term is larger, since it is an estimate. */
static Verdict
judge (Dtype dtype, const double *actual, const double *exact, const double *rounded, int64_t count,
       int64_t columns, double longest)
{
  const double smallest = dtype == F16 ? ldexp (1, -24) : ldexp (1, -126);
  const double unit
      = 1e-6
        + (dtype == F32 ? 8 * sqrt (max64 (1, (int64_t)longest) * 1.0) * ldexp (1, -24)
                        : 2 * dtype_ulp (dtype));
  const double row_factor = 2 + 16 / (double)max64 (columns, 1);
  double *largest = new_values (count), *spread = new_values (count);
  double pool = 0, error_sum = 0, exact_sum = 0, actual_sum = 0, product_sum = 0;
  int64_t full = 0;
  Verdict v = { 0, 0, 0, 1, 0, 0, 0, 0, 1 };

  for (int64_t i = 0; i < count; i++)
    {
      largest[i] = spread[i] = 0;
      for (int64_t j = 0; j < columns; j++)
        {
          const double e = exact[i * columns + j], r = rounded[i * columns + j];

          if (!is_ordinary (dtype, e, r))
            continue;
          largest[i] = fmax (largest[i], fabs (e));
          spread[i] = fmax (spread[i], fabs (r - e));
        }
      if (largest[i] > 0)
        {
          pool = fmax (pool, fmin (spread[i] / largest[i], 0.05));
          full++;
        }
    }
  for (int64_t i = 0; i < count; i++)
    {
      const double guess = columns < 16 ? fmax (spread[i], pool * largest[i]) : spread[i];
      const double tolerance = row_factor * guess + unit * largest[i] + smallest;

      for (int64_t j = 0; j < columns; j++)
        {
          const double a = actual[i * columns + j], e = exact[i * columns + j];
          double ratio;

          if (!is_ordinary (dtype, e, rounded[i * columns + j]))
            {
              if (judge_extreme (dtype, a, e, rounded[i * columns + j]))
                continue;
              ratio = INFINITY;
            }
          else
            ratio = isfinite (a) ? fabs (a - e) / tolerance : INFINITY;
          if (ratio > v.rows)
            {
              v.rows = ratio;
              v.row = i;
              v.column = j;
            }
          if (largest[i] > 0 && isfinite (a))
            {
              const double s = 1 / largest[i];

              error_sum += (a - e) * s * (a - e) * s;
              exact_sum += e * s * e * s;
              actual_sum += a * s * a * s;
              product_sum += a * s * e * s;
            }
        }
    }
  for (int64_t j = 0; j < columns && full >= 8; j++)
    {
      double column_largest = 0, column_spread = 0, column_error = 0;

      for (int64_t i = 0; i < count; i++)
        {
          const double a = actual[i * columns + j], e = exact[i * columns + j];
          const double r = rounded[i * columns + j];

          if (largest[i] <= 0 || !is_ordinary (dtype, e, r) || !isfinite (a))
            continue;
          column_largest = fmax (column_largest, fabs (e) / largest[i]);
          column_spread = fmax (column_spread, fabs (r - e) / largest[i]);
          column_error = fmax (column_error, (fabs (a - e) - smallest) / largest[i]);
        }
      v.columns = fmax (
          v.columns,
          column_error / ((2 + 16 / (double)full) * column_spread + unit * column_largest + 1e-6));
    }
  if (exact_sum > 0)
    {
      v.l2 = sqrt (error_sum / exact_sum);
      v.cosine = actual_sum > 0 ? product_sum / sqrt (exact_sum * actual_sum) : 0;
    }
  v.ok = v.rows <= 1 && v.columns <= 1;
  free (largest);
  free (spread);
  return v;
}

/* Output `k` as it lies in memory. */
static Verdict
judge_output (const Case *c, int k)
{
  const TensorInfo *info = &tensor_info[k];
  const Tensor *t = &c->t[k];
  const Sample *sample = info->sampled < 0 ? NULL : &c->samples[info->sampled];
  const int64_t count = sample != NULL ? sample->count : t->rows;
  const double longest = longest_sum (c->d);
  double *actual = get_values (info, t, sample);
  double largest = 0;
  Verdict v = judge (info->dtype, actual, c->exact[k], c->rounded[k], count, t->columns, longest);

  if (sample != NULL && count > 0)
    v.row = sample->rows[v.row];
  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t j = 0; j < t->columns; j++)
      v.unwritten += is_poison (info, get_bits (info, t, i, j));
  v.outside = count_overwritten (info, t);
  v.ok = v.ok && v.unwritten == 0 && v.outside == 0;

  /* A judge that lets zeros pass sees nothing. */
  for (int64_t i = 0; i < count * t->columns; i++)
    {
      actual[i] = 0;
      if (is_ordinary (info->dtype, c->exact[k][i], c->rounded[k][i]))
        largest = fmax (largest, fabs (c->exact[k][i]));
    }
  if (v.ok && largest > ldexp (1, -20)
      && judge (info->dtype, actual, c->exact[k], c->rounded[k], count, t->columns, longest).ok)
    v.ok = 0;
  free (actual);
  return v;
}

/* ---- check ----------------------------------------------------------------------------------- */

typedef struct
{
  int passed, failed;
  const Options *options;
  const Program *program;
  int n_reports;
} Calls;

/* JSON goes out as it is found; `n` counts the members of the list so far. */
static void
json_comma (int *n)
{
  printf ("%s\n    ", (*n)++ > 0 ? "," : "");
}

static void
json_number (const char *key, double value)
{
  if (isfinite (value))
    printf ("\"%s\": %.6g", key, value);
  else
    printf ("\"%s\": null", key);
}

static void
print_dims (const int64_t *d, int json)
{
  for (int i = 0; i < N_DIMS; i++)
    if (json)
      printf ("%s\"%s\": %" PRId64, i > 0 ? ", " : "", dim_info[i].name, d[i]);
    else
      printf ("%s%s=%" PRId64, i > 0 ? " " : "", dim_info[i].name, d[i]);
}

static void
expect (Calls *calls, const char *what, const char *tensor, int found, int wanted)
{
  if (found == wanted)
    {
      calls->passed++;
      return;
    }
  calls->failed++;
  if (!calls->options->json)
    printf ("  %s: %s%s%s: returned %d (%s), not %d\n", calls->program->name, what,
            *tensor != 0 ? " of " : "", tensor, found, calls->program->error_text (found), wanted);
}

/* One launch with the tensors as given; the outputs are not looked at. */
static int
try_launch (const Session *s, const int64_t *d, const Tensor *t)
{
  return launch_session (s, d, t);
}

/* Wrong plans and wrong weights. */
static void
check_plan_calls (Calls *calls, const Case *c)
{
  const Program *p = calls->program;
  const size_t bytes = p->plan_size ();
  void *block, *plan = allocate_aligned (bytes, &block);
  Tensor t[N_TENSORS];
  int64_t d[N_DIMS + 1];
  size_t least;

  memset (plan, 0, bytes);
  memcpy (t, c->t, sizeof t);
  expect (calls, "launch without a plan", "", p->launch (plan, c->d, t, NULL, 0, 0), E_PLAN);
  expect (calls, "plan NULL", "", p->plan_init (NULL, bytes, 1, c->d, t, 0), E_NULL);
  expect (calls, "plan too small", "", p->plan_init (plan, bytes - 1, 1, c->d, t, 0), E_PLAN);
  expect (calls, "struct_size", "", p->plan_init (plan, bytes, 1, c->d, t, 8), E_STRUCT_SIZE);
  for (int i = 0; i < N_DIMS; i++)
    {
      memcpy (d, c->d, sizeof d);
      d[i] = -1;
      expect (calls, "negative", dim_info[i].name, p->plan_init (plan, bytes, 1, d, t, 0),
              E_DIMENSION);
      d[i] = dim_info[i].maximum + dim_info[i].multiple;
      if (dim_info[i].maximum < INT64_MAX / 2)
        expect (calls, "too large a value", dim_info[i].name,
                p->plan_init (plan, bytes, 1, d, t, 0), E_DIMENSION);
    }
  for (int i = 0; i < N_DIMS; i++)
    d[i] = dim_info[i].maximum / dim_info[i].multiple * dim_info[i].multiple;
  expect (calls, "plan_init", "", p->plan_init (plan, bytes, 1, c->d, t, 0), 0);
  least = p->workspace_size (plan);
  expect (calls, "the largest sizes", "", p->plan_init (plan, bytes, 1, d, t, 0), 0);
  expect (calls, "a workspace that shrinks as sizes grow", "", p->workspace_size (plan) < least, 0);
  for (int k = 0; k < N_TENSORS; k++)
    {
      const TensorInfo *info = &tensor_info[k];

      if (info->kind != WEIGHT)
        continue;
      t[k].data = NULL;
      expect (calls, "NULL instead", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0), E_NULL);
      t[k].data = c->t[k].data + 1;
      expect (calls, "misaligned memory", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0),
              E_ALIGNMENT);
      t[k] = c->t[k];
      if (info->n_dims >= 2)
        {
          t[k].ld = (info->column_order ? t[k].rows : t[k].columns) - 1;
          expect (calls, "too small an ld", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0),
                  E_LEADING_DIMENSION);
          t[k] = c->t[k];
        }
    }
  free (block);
}

static int
is_allowed_alias (int output, int input)
{
  for (int i = 0; i < N_ALIASES; i++)
    if (aliases[i][0] == output && aliases[i][1] == input)
      return 1;
  return 0;
}

/* Wrong arguments of launch. Nothing may be written. */
static void
check_launch_calls (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  Tensor t[N_TENSORS];
  int64_t d[N_DIMS + 1];
  Session s;

  poison_outputs (c);
  memcpy (t, c->t, sizeof t);
  expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, 1), 0);
  expect (calls, "struct_size", "", p->launch (s.plan, c->d, t, s.workspace, s.workspace_bytes, 8),
          E_STRUCT_SIZE);
  if (s.workspace_bytes > 0)
    {
      expect (calls, "workspace too small", "",
              p->launch (s.plan, c->d, t, s.workspace, s.workspace_bytes - 1, 0), E_WORKSPACE);
      expect (calls, "workspace NULL", "", p->launch (s.plan, c->d, t, NULL, s.workspace_bytes, 0),
              E_NULL);
    }
  for (int i = 0; i < N_DIMS; i++)
    {
      memcpy (d, c->d, sizeof d);
      d[i] = -1;
      expect (calls, "negative", dim_info[i].name, try_launch (&s, d, t), E_DIMENSION);
      d[i] = c->d[i] + dim_info[i].multiple;
      expect (calls, "more than planned", dim_info[i].name, try_launch (&s, d, t), E_DIMENSION);
    }
  for (int k = 0; k < N_TENSORS; k++)
    {
      const TensorInfo *info = &tensor_info[k];

      if (info->kind == WEIGHT || t[k].rows * t[k].columns == 0)
        continue;
      t[k].data = NULL;
      expect (calls, "NULL instead", info->name, try_launch (&s, c->d, t), E_NULL);
      t[k].data = c->t[k].data + 1;
      expect (calls, "misaligned memory", info->name, try_launch (&s, c->d, t), E_ALIGNMENT);
      t[k] = c->t[k];
      if (info->n_dims >= 2)
        {
          t[k].ld = (info->column_order ? t[k].rows : t[k].columns) - 1;
          expect (calls, "too small an ld", info->name, try_launch (&s, c->d, t),
                  E_LEADING_DIMENSION);
          t[k] = c->t[k];
        }
      if (info->kind != OUTPUT)
        continue;
      for (int other = 0; other < N_TENSORS; other++)
        {
          int64_t lines, length;

          storage_shape (&tensor_info[other], &t[other], &lines, &length);
          if (tensor_info[other].n_dims < 2)
            length *= lines;
          if (other == k || lines * length < 8
              || length * dtype_size (tensor_info[other].dtype) <= 4)
            continue;
          t[k].data = c->t[other].data + 4;
          expect (calls, "overlap", info->name, try_launch (&s, c->d, t), E_OVERLAP);
          if (!is_allowed_alias (k, other) && t[k].ld >= 1)
            {
              t[k].data = c->t[other].data;
              expect (calls, "aliasing", info->name, try_launch (&s, c->d, t), E_OVERLAP);
            }
          t[k] = c->t[k];
        }
    }
  for (int k = 0; k < N_TENSORS; k++)
    if (tensor_info[k].kind == OUTPUT)
      {
        const unsigned char *b = c->t[k].block;
        int written = 0;

        for (size_t i = 0; i < c->t[k].block_bytes; i++)
          written += b[i] != POISON;
        expect (calls, "bytes written by refused calls", tensor_info[k].name, written, 0);
      }
  free_session (&s);
  if (s.prepared_bytes > 0)
    {
      Session bare;

      memset (&bare, 0, sizeof bare);
      bare = s;
      bare.plan = allocate_aligned (p->plan_size (), &bare.blocks[0]);
      bare.prepared = allocate_aligned (s.prepared_bytes, &bare.blocks[1]);
      bare.workspace = allocate_aligned (s.workspace_bytes, &bare.blocks[2]);
      expect (calls, "plan_init", "", p->plan_init (bare.plan, p->plan_size (), 1, c->d, c->t, 0),
              0);
      expect (calls, "launch before prepare", "", try_launch (&bare, c->d, c->t), E_PREPARE);
      expect (calls, "prepared NULL", "", p->prepare (bare.plan, NULL, s.prepared_bytes), E_NULL);
      expect (calls, "prepared memory too small", "",
              p->prepare (bare.plan, bare.prepared, s.prepared_bytes - 1), E_PREPARE);
      free_session (&bare);
    }
}

/* Dimensions of 0: good, and nothing written. */
static void
check_empty (Calls *calls, Case *c)
{
  const Program *p = calls->program;

  for (int i = 0; i < N_DIMS; i++)
    {
      int64_t d[N_DIMS + 1];
      Session s;

      memcpy (d, c->d, sizeof d);
      d[i] = 0;
      poison_outputs (c);
      expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, 2), 0);
      expect (calls, "a launch of 0", dim_info[i].name, launch_session (&s, d, c->t), 0);
      free_session (&s);
      for (int k = 0; k < N_TENSORS; k++)
        {
          int64_t rows, columns, written = 0;

          tensor_shape (k, d, &rows, &columns);
          if (tensor_info[k].kind != OUTPUT || rows * columns > 0)
            continue;
          for (size_t b = 0; b < c->t[k].block_bytes; b++)
            written += c->t[k].block[b] != POISON;
          expect (calls, "bytes written by an empty launch", tensor_info[k].name, written != 0, 0);
        }
    }
}

/* The same bits with other numbers of threads, with a used workspace, and in place where that is
   allowed; prepared memory is only read by a launch. */
static void
check_bits (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  uint64_t hash[N_TENSORS] = { 0 };

  for (int threads = 1; threads <= 3; threads++)
    {
      Session s;

      poison_outputs (c);
      expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, threads), 0);
      for (int again = 0; again < 2; again++)
        {
          unsigned char *before = (unsigned char *)allocate (s.prepared_bytes);

          memcpy (before, s.prepared, s.prepared_bytes);
          expect (calls, "launch", "", launch_session (&s, c->d, c->t), 0);
          expect (calls, "prepared memory changed", "",
                  memcmp (before, s.prepared, s.prepared_bytes) != 0, 0);
          free (before);
          for (int k = 0; k < N_TENSORS; k++)
            if (tensor_info[k].kind == OUTPUT)
              {
                const uint64_t bits = hash_tensor (&tensor_info[k], &c->t[k]);

                if (threads == 1 && again == 0)
                  hash[k] = bits;
                expect (calls, "other bits in another run", tensor_info[k].name, bits != hash[k],
                        0);
              }
        }
      free_session (&s);
    }
  for (int i = 0; i < N_ALIASES; i++)
    {
      const int out = aliases[i][0], in = aliases[i][1];
      const Tensor *from = &c->t[in];
      Tensor t[N_TENSORS];
      Session s;

      memcpy (t, c->t, sizeof t);
      t[in] = new_tensor (&tensor_info[in], from->rows, from->columns, 8);
      for (int64_t r = 0; r < from->rows; r++)
        for (int64_t j = 0; j < from->columns; j++)
          set_bits (&tensor_info[in], &t[in], r, j, get_bits (&tensor_info[in], from, r, j));
      t[out] = t[in];
      expect (calls, "plan_init", "", new_session (&s, p, c->d, t, 2), 0);
      expect (calls, "launch in place", tensor_info[out].name, launch_session (&s, c->d, t), 0);
      expect (calls, "other bits in place", tensor_info[out].name,
              hash_tensor (&tensor_info[out], &t[out]) != hash[out], 0);
      free_session (&s);
      free (t[in].block);
    }
}

/* NaN in one row and Inf in another: every other row keeps its bits. */
static void
check_rows_apart (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  uint64_t *hash[N_TENSORS];

  for (int pass = 0; pass < 2; pass++)
    {
      expect (calls, "launch", "", run_program (p, c, 2), 0);
      for (int k = 0; k < N_TENSORS; k++)
        {
          const TensorInfo *info = &tensor_info[k];
          const Tensor *t = &c->t[k];

          if (info->kind != OUTPUT || info->sampled < 0)
            continue;
          if (pass == 0)
            hash[k] = (uint64_t *)allocate (sizeof (uint64_t) * (size_t)max64 (t->rows, 1));
          for (int64_t i = 0; i < t->rows; i++)
            {
              uint64_t bits = 0;

              for (int64_t j = 0; j < t->columns; j++)
                bits = (bits ^ get_bits (info, t, i, j)) * UINT64_C (0x100000001b3);
              if (pass == 0)
                hash[k][i] = bits;
              else if (i != 1 && i != t->rows - 2)
                expect (calls, "a NaN in another row changes a row", info->name, bits != hash[k][i],
                        0);
            }
          if (pass == 1)
            free (hash[k]);
        }
      for (int k = 0; k < N_TENSORS && pass == 0; k++)
        if (tensor_info[k].kind == INPUT && tensor_info[k].sampled >= 0 && c->t[k].rows > 4)
          {
            const Tensor *t = &c->t[k];
            const Dtype dtype = tensor_info[k].dtype;

            set_bits (&tensor_info[k], t, 1, t->columns / 2, encode (dtype, NAN));
            set_bits (&tensor_info[k], t, t->rows - 2, t->columns / 2, encode (dtype, INFINITY));
          }
    }
}

static void
print_verdict (const Options *options, const Program *p, const Case *c, int k, Verdict v, int *n)
{
  const int sampled = tensor_info[k].sampled;
  const int64_t judged = sampled < 0 ? c->t[k].rows : c->samples[sampled].count;

  if (options->json)
    {
      json_comma (n);
      printf ("{\"program\": \"%s\", \"dims\": {", p->name);
      print_dims (c->d, 1);
      printf ("}, \"output\": \"%s\", \"ok\": %s, \"rows\": %" PRId64 ", \"rows_judged\": %" PRId64,
              tensor_info[k].name, v.ok ? "true" : "false", c->t[k].rows, judged);
      printf (", ");
      json_number ("row_error", v.rows);
      printf (", ");
      json_number ("column_error", v.columns);
      printf (", ");
      json_number ("relative_l2", v.l2);
      printf (", ");
      json_number ("cosine", v.cosine);
      printf (", \"unwritten\": %" PRId64 ", \"outside\": %" PRId64 "}", v.unwritten, v.outside);
      return;
    }
  printf ("  %-8s %-12s %6" PRId64 " of %" PRId64 " rows judged  error/tolerance %.2f by row, ",
          p->name, tensor_info[k].name, judged, c->t[k].rows, v.rows);
  if (v.columns > 0)
    printf ("%.2f by column", v.columns);
  else
    printf ("too few for columns");
  printf ("  L2 %.1e  cosine %.7f  %s\n", v.l2, v.cosine, v.ok ? "good" : "WRONG");
  if (v.unwritten > 0)
    printf ("           %" PRId64 " elements were never written\n", v.unwritten);
  if (v.outside > 0)
    printf ("           %" PRId64 " bytes outside the output were written\n", v.outside);
  if (v.rows > 1)
    printf ("           worst at row %" PRId64 ", column %" PRId64 "\n", v.row, v.column);
}

/* Both programs on one case. Returns the number of wrong outputs. */
static int
verify_case (const Options *options, Case *c, int *n)
{
  int wrong = 0;

  for (int i = 0; i < 2; i++)
    {
      const int code = run_program (&programs[i], c, options->threads);

      if (code != 0)
        {
          wrong++;
          if (options->json)
            {
              json_comma (n);
              printf ("{\"program\": \"%s\", \"dims\": {", programs[i].name);
              print_dims (c->d, 1);
              printf ("}, \"ok\": false, \"error\": \"%s\"}", programs[i].error_text (code));
            }
          else
            printf ("  %s: error %d: %s\n", programs[i].name, code, programs[i].error_text (code));
          continue;
        }
      for (int k = 0; k < N_TENSORS; k++)
        if (tensor_info[k].kind == OUTPUT)
          {
            const Verdict v = judge_output (c, k);

            wrong += !v.ok;
            print_verdict (options, &programs[i], c, k, v, n);
          }
    }
  return wrong;
}

/* `value` brought into the dimension's range and to its multiple. */
static int64_t
legal_value (int dim, int64_t value)
{
  const DimInfo *info = &dim_info[dim];

  value = max64 (info->minimum, min64 (value, info->maximum));
  value = value / info->multiple * info->multiple;
  while (value < info->minimum || value < 1)
    value += info->multiple;
  return min64 (value, info->maximum);
}

static int
command_check (const Options *options)
{
  const int64_t small[] = { 130, 1, 7, 33 };
  const int n_cases = N_DIMS > 0 ? 5 : 1;
  int wrong = 0, n = 0;
  Calls calls[2];

  if (options->json)
    printf ("{\n  \"program\": \"%s\",\n  \"seed\": %" PRIu64 ",\n  \"cases\": [", program_name,
            options->seed);
  else
    printf ("%s: seed %" PRIu64 "\n", program_name, options->seed);
  for (int i = 0; i < n_cases; i++)
    {
      int64_t d[N_DIMS + 1] = { 0 };
      int known = 0;

      for (int j = 0; j < N_DIMS; j++)
        d[j] = i == 0 ? options->d[j] : legal_value (j, small[(i + 2 * j) % 4]);
      for (int j = 0; j < N_DIMS && i > 0; j++)
        known += d[j] == options->d[j];
      if (i > 0 && known == N_DIMS)
        continue;
      progress (options, "reference for", d);
      Case *c = new_case (d, options->seed + (uint64_t)i, 1);
      if (!options->json)
        {
          printf (" ");
          print_dims (d, 0);
          printf ("\n");
        }
      fflush (stdout);
      wrong += verify_case (options, c, &n);
      fflush (stdout);
      free_case (c);
    }
  if (options->json)
    printf ("\n  ],\n  \"calls\": [");
  n = 0;
  for (int i = 0; i < 2; i++)
    {
      int64_t d[N_DIMS + 1] = { 0 };
      Calls *of = &calls[i];

      memset (of, 0, sizeof *of);
      of->options = options;
      of->program = &programs[i];
      for (int j = 0; j < N_DIMS; j++)
        d[j] = legal_value (j, 19 + 4 * j);
      progress (options, "the launcher's checks with", d);
      Case *c = new_case (d, options->seed + 99, 0);
      check_plan_calls (of, c);
      check_launch_calls (of, c);
      check_empty (of, c);
      check_bits (of, c);
      if (ROWS_APART)
        check_rows_apart (of, c);
      free_case (c);
      wrong += of->failed;
      if (options->json)
        {
          json_comma (&n);
          printf ("{\"program\": \"%s\", \"passed\": %d, \"failed\": %d}", programs[i].name,
                  of->passed, of->failed);
        }
      else
        printf ("  %-8s launcher and bits: %d checks passed, %d failed\n", programs[i].name,
                of->passed, of->failed);
    }
  if (options->json)
    printf ("\n  ],\n  \"ok\": %s\n}\n", wrong == 0 ? "true" : "false");
  else
    printf ("%s: %s\n", program_name, wrong == 0 ? "good" : "WRONG");
  return wrong == 0 ? 0 : 6;
}

/* ---- bench, run, main ------------------------------------------------------------------------ */

static int
compare_doubles (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void
bench_failed (const Options *options, const char *why)
{
  if (options->json)
    printf ("\n  ],\n  \"times\": [],\n  \"ok\": false\n}\n");
  else
    printf ("%s: %s\n", program_name, why);
}

/* Times of what was verified in this run, nothing else. */
static int
command_bench (const Options *options)
{
  const int repeat = options->repeat;
  double *times[2], median[2] = { 0, 0 };
  Session sessions[2];
  int n = 0, wrong, code = 0;

  progress (options, "reference for", options->d);
  Case *c = new_case (options->d, options->seed, 1);
  if (options->json)
    printf ("{\n  \"program\": \"%s\",\n  \"seed\": %" PRIu64 ",\n  \"cases\": [", program_name,
            options->seed);
  else
    {
      printf ("%s: seed %" PRIu64 " ", program_name, options->seed);
      print_dims (c->d, 0);
      printf ("\n");
    }
  wrong = verify_case (options, c, &n);
  if (wrong > 0)
    {
      bench_failed (options, "WRONG; nothing was timed");
      free_case (c);
      return 6;
    }
  for (int i = 0; i < 2; i++)
    times[i] = new_values (repeat);
  memset (sessions, 0, sizeof sessions);
  for (int i = 0; i < 2 && code == 0; i++)
    {
      code = new_session (&sessions[i], &programs[i], c->d, c->t, options->threads);
      if (code == 0)
        code = launch_session (&sessions[i], c->d, c->t);
    }
  for (int r = 0; r < repeat && code == 0; r++)
    {
      if (r % 5 == 0)
        progress (options, "timing", c->d);
      for (int i = 0; i < 2 && code == 0; i++)
        {
          const double start = now ();

          code = launch_session (&sessions[i], c->d, c->t);
          times[i][r] = now () - start;
        }
    }
  if (code != 0)
    {
      bench_failed (options, programs[0].error_text (code));
      for (int i = 0; i < 2; i++)
        {
          free (times[i]);
          free_session (&sessions[i]);
        }
      free_case (c);
      return 6;
    }
  if (options->json)
    printf ("\n  ],\n  \"times\": [");
  n = 0;
  for (int i = 0; i < 2; i++)
    {
      const double bytes = programs[i].bytes (c->d), flops = count_flops (c->d);

      qsort (times[i], (size_t)repeat, sizeof (double), compare_doubles);
      median[i] = times[i][repeat / 2];
      if (options->json)
        {
          json_comma (&n);
          printf ("{\"program\": \"%s\", \"kernels\": %d, \"seconds\": %.6e, \"best\": %.6e, "
                  "\"repeat\": %d, \"flops\": %.6e, \"bytes\": %.6e}",
                  programs[i].name, programs[i].launches, median[i], times[i][0], repeat, flops,
                  bytes);
        }
      else
        printf ("  %-8s %d kernels  %.3f ms (best %.3f, median of %d)  %.1f GFLOP/s  %.1f MiB "
                "through memory\n",
                programs[i].name, programs[i].launches, 1e3 * median[i], 1e3 * times[i][0], repeat,
                flops / median[i] * 1e-9, bytes / 1048576.0);
      free (times[i]);
      free_session (&sessions[i]);
    }
  if (options->json)
    printf ("\n  ],\n  \"ratio\": %.4f,\n  \"ok\": true\n}\n", median[0] / median[1]);
  else
    printf ("  fused/unfused %.3f\n", median[0] / median[1]);
  free_case (c);
  return 0;
}

/* Reads or writes the elements of a tensor, rows adjacent (columns, where they are stored). */
static int
transfer_file (const char *path, int k, const Tensor *t, int writing)
{
  const TensorInfo *info = &tensor_info[k];
  const size_t size = (size_t)dtype_size (info->dtype);
  int64_t lines, length, done = 0;
  FILE *file = fopen (path, writing ? "wb" : "rb");

  if (file == NULL)
    {
      fprintf (stderr, "%s: %s: cannot be opened\n", program_name, path);
      return 5;
    }
  storage_shape (info, t, &lines, &length);
  if (info->n_dims < 2)
    {
      length = lines * length;
      lines = 1;
    }
  for (int64_t i = 0; i < lines; i++)
    {
      unsigned char *line = t->data + (size_t)(i * t->ld) * size;

      done += (int64_t)(writing ? fwrite (line, size, (size_t)length, file)
                                : fread (line, size, (size_t)length, file));
    }
  if (!writing && done == lines * length && fgetc (file) != EOF)
    done++;
  if (fclose (file) != 0 || done != lines * length)
    {
      fprintf (stderr, "%s: %s: %s %" PRId64 " elements of %" PRId64 " bytes\n", program_name, path,
               writing ? "could not write" : "does not hold exactly", lines * length,
               (int64_t)size);
      return 5;
    }
  return 0;
}

/* The fused program once, on inputs from files; what no file gives is random. */
static int
command_run (const Options *options)
{
  Case *c = new_case (options->d, options->seed, 0);
  int status = 0, code;

  for (int k = 0; k < N_TENSORS && status == 0; k++)
    if (options->in_files[k] != NULL)
      status = transfer_file (options->in_files[k], k, &c->t[k], 0);
  if (status != 0)
    {
      free_case (c);
      return status;
    }
  code = run_program (&programs[0], c, options->threads);
  if (code != 0)
    {
      fprintf (stderr, "%s: error %d: %s\n", program_name, code, programs[0].error_text (code));
      status = 6;
    }
  for (int k = 0; k < N_TENSORS && status == 0; k++)
    if (options->out_files[k] != NULL)
      status = transfer_file (options->out_files[k], k, &c->t[k], 1);
  if (options->json)
    {
      int n = 0;

      printf ("{\n  \"program\": \"%s\",\n  \"outputs\": [", program_name);
      for (int k = 0; k < N_TENSORS; k++)
        if (tensor_info[k].kind == OUTPUT)
          {
            json_comma (&n);
            printf ("{\"output\": \"%s\", \"rows\": %" PRId64 ", \"columns\": %" PRId64
                    ", \"hash\": \"%016" PRIx64 "\"}",
                    tensor_info[k].name, c->t[k].rows, c->t[k].columns,
                    hash_tensor (&tensor_info[k], &c->t[k]));
          }
      printf ("\n  ],\n  \"ok\": %s\n}\n", status == 0 ? "true" : "false");
    }
  free_case (c);
  return status;
}

static void
print_usage (FILE *file)
{
  static const char *const dtypes[] = { "f32", "bf16", "f16" };

  fprintf (file,
           "usage: %s_main check|bench|run [options] [NAME=size ...]\n"
           "  check            compares both programs with a reference in double\n"
           "  bench            the same, then times them: fused and unfused in turn\n"
           "  run              one launch on files\n"
           "  --seed N         of the random inputs (default: from the clock)\n"
           "  --threads N      0: as many as there are\n"
           "  --repeat N       launches that are timed (bench; default 15)\n"
           "  --in NAME=FILE   raw elements of an input or weight (run)\n"
           "  --out NAME=FILE  where an output goes (run)\n"
           "  --json           a report for programs\n",
           program_name);
  for (int i = 0; i < N_DIMS; i++)
    fprintf (file,
             "  %s=N  %" PRId64 " ... %" PRId64 ", a multiple of %" PRId64 "; %" PRId64
             " if not given\n",
             dim_info[i].name, dim_info[i].minimum, dim_info[i].maximum, dim_info[i].multiple,
             dim_info[i].value);
  for (int k = 0; k < N_TENSORS; k++)
    fprintf (file, "  %s %s: %s, %s order\n",
             tensor_info[k].kind == OUTPUT   ? "output"
             : tensor_info[k].kind == WEIGHT ? "weight"
                                             : "input",
             tensor_info[k].name, dtypes[tensor_info[k].dtype],
             tensor_info[k].column_order ? "column" : "row");
}

static int
usage_error (const char *what, const char *argument)
{
  fprintf (stderr, "%s: %s: %s\n", program_name, argument, what);
  print_usage (stderr);
  return 1;
}

/* "NAME=VALUE": where VALUE starts if the name is `name`; else NULL. */
static const char *
value_of (const char *argument, const char *name)
{
  const size_t length = strlen (name);

  return strncmp (argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                          : NULL;
}

static int
parse_integer (const char *text, int64_t least, int64_t *value)
{
  char *end;
  long long number;

  errno = 0;
  number = strtoll (text, &end, 10);
  *value = number;
  return errno == 0 && end != text && *end == 0 && number >= least;
}

/* 0, or the exit status of a usage error. */
static int
parse_options (int argc, char **argv, Options *options)
{
  for (int i = 2; i < argc; i++)
    {
      const char *argument = argv[i];
      const int more = i + 1 < argc;
      int64_t value = 0;
      int found = 0;

      if (strcmp (argument, "--json") == 0)
        {
          options->json = 1;
          continue;
        }
      if (strcmp (argument, "--in") == 0 || strcmp (argument, "--out") == 0)
        {
          const int in = argument[2] == 'i';

          if (!more)
            return usage_error ("needs NAME=FILE", argument);
          i++;
          for (int k = 0; k < N_TENSORS; k++)
            {
              const char *path = value_of (argv[i], tensor_info[k].name);

              if (path == NULL || in != (tensor_info[k].kind != OUTPUT))
                continue;
              *(in ? &options->in_files[k] : &options->out_files[k]) = path;
              found = 1;
            }
          if (!found)
            return usage_error ("no tensor of that name", argv[i]);
          continue;
        }
      if (strcmp (argument, "--seed") == 0 || strcmp (argument, "--threads") == 0
          || strcmp (argument, "--repeat") == 0)
        {
          if (!more || !parse_integer (argv[i + 1], argument[2] == 'r', &value)
              || (argument[2] != 's' && value > 1000000))
            return usage_error ("needs a number", argument);
          i++;
          if (argument[2] == 's')
            options->seed = (uint64_t)value;
          else if (argument[2] == 't')
            options->threads = (int)value;
          else
            options->repeat = (int)value;
          continue;
        }
      for (int d = 0; d < N_DIMS; d++)
        {
          const char *text = value_of (argument, dim_info[d].name);

          if (text == NULL)
            continue;
          found = 1;
          if (!parse_integer (text, 1, &value) || value < dim_info[d].minimum
              || value > dim_info[d].maximum || value % dim_info[d].multiple != 0)
            return usage_error ("out of range", argument);
          options->d[d] = value;
        }
      if (!found)
        return usage_error ("not understood", argument);
    }
  return 0;
}

int
main (int argc, char **argv)
{
  Options options;
  int status;

  memset (&options, 0, sizeof options);
  options.started = now ();
  options.seed = (uint64_t)(options.started * 1000) % 1000000000;
  options.repeat = 15;
  for (int i = 0; i < N_DIMS; i++)
    options.d[i] = dim_info[i].value;
  if (argc < 2)
    {
      print_usage (stderr);
      return 1;
    }
  if (strcmp (argv[1], "--help") == 0)
    {
      print_usage (stdout);
      return 0;
    }
  status = parse_options (argc, argv, &options);
  if (status != 0)
    return status;
  if (strcmp (argv[1], "check") == 0)
    return command_check (&options);
  if (strcmp (argv[1], "bench") == 0)
    return command_bench (&options);
  if (strcmp (argv[1], "run") == 0)
    return command_run (&options);
  return usage_error ("not a command", argv[1]);
}
