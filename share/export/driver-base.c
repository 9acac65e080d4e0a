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
