/* The matrix product alone: every storage type, every order of its operands, sizes that divide
 * nothing, one weight, two, or a packed pair; against a product in double.
 *
 * Operands end with their last element, for AddressSanitizer; what lies between rows is NaN. */

#include "blocks/tile/gemm-cpu.h"

#include <glib.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

typedef struct
{
  int dtype, by_columns;
  int64_t rows, columns;
  TwView v;
} Operand;

typedef struct
{
  TwView y[2];
} Results;

static int64_t
offset_of (const Operand *o, int64_t m, int64_t n)
{
  return o->by_columns ? n * o->v.ld + m : m * o->v.ld + n;
}

static void
operand_init (Operand *o, int dtype, int by_columns, int64_t rows, int64_t columns)
{
  int64_t length = by_columns ? rows : columns, lines = by_columns ? columns : rows;
  int64_t count;

  *o = (Operand){ dtype, by_columns, rows, columns, { NULL, length + 3 } };
  count = lines > 0 ? (lines - 1) * o->v.ld + length : 0;
  o->v.data = g_malloc ((gsize)count * (dtype == TW_F32 ? 4 : 2));
  memset (o->v.data, 0xff, (gsize)count * (dtype == TW_F32 ? 4 : 2));
  for (int64_t m = 0; m < rows; m++)
    for (int64_t n = 0; n < columns; n++)
      {
        float x = (float)g_test_rand_double_range (-1, 1);

        if (dtype == TW_F32)
          ((float *)o->v.data)[offset_of (o, m, n)] = x;
        else
          ((uint16_t *)o->v.data)[offset_of (o, m, n)]
              = dtype == TW_BF16 ? tw_f32_to_bf16 (x) : tw_f32_to_f16 (x);
      }
}

static double
operand_get (const Operand *o, int64_t m, int64_t n)
{
  int64_t i = offset_of (o, m, n);

  if (o->dtype == TW_F32)
    return (double)((const float *)o->v.data)[i];
  uint16_t h = ((const uint16_t *)o->v.data)[i];
  return (double)(o->dtype == TW_BF16 ? tw_bf16_to_f32 (h) : tw_f16_to_f32 (h));
}

static void
store_strip (const TwStrip *s, const void *data)
{
  const Results *results = data;

  TW_FOR_PANELS (s, p)
  {
    for (int i = 0; i < 2 && p.acc[i] != NULL; i++)
      {
        TwTile y;

        TW_FOR_ELEMENTS (&p, r, c) { y[r][c] = tw_acc (&p, i, r, c); }
        tw_store_tile_f32 (&p, &results->y[i], y);
      }
  }
}

typedef struct
{
  int dtype, a_columns, b_columns[2], n_b, group;
  int64_t m, n, k;
} Case;

static void
check_case (const Case *c)
{
  Operand a, b[2];
  int n_acc = c->group > 0 ? 2 : c->n_b;
  gsize count = (gsize)(c->m * c->n);
  g_autofree float *first = g_new (float, 2 * count);
  g_autofree float *second = g_new (float, 2 * count);
  TwGemm g = { 0 };

  operand_init (&a, c->dtype, c->a_columns, c->m, c->k);
  for (int i = 0; i < c->n_b; i++)
    operand_init (&b[i], c->dtype, c->b_columns[i], c->k, c->group > 0 ? 2 * c->n : c->n);
  g.rows = c->m;
  g.columns = c->n;
  g.depth = c->k;
  g.dtype = c->dtype;
  g.a = a.v;
  g.a_columns = c->a_columns;
  g.n_b = c->n_b;
  g.group = c->group;
  for (int i = 0; i < c->n_b; i++)
    {
      g.b[i] = b[i].v;
      g.b_columns[i] = c->b_columns[i];
    }
  for (int threads = 1; threads <= 3; threads += 2)
    {
      float *y = threads == 1 ? first : second;
      Results results = { { { y, c->n }, { y + count, c->n } } };

      memset (y, 0xff, 2 * count * sizeof (float));
      g.threads = threads;
      tw_gemm (&g, store_strip, &results);
    }
  g_assert_cmpint (memcmp (first, second, (gsize)n_acc * count * sizeof (float)), ==, 0);
  for (int i = 0; i < n_acc; i++)
    for (int64_t m = 0; m < c->m; m++)
      for (int64_t n = 0; n < c->n; n++)
        {
          const Operand *o = &b[c->group > 0 ? 0 : i];
          int64_t column = c->group > 0 ? tw_pair_column (n, c->group, i) : n;
          double sum = 0, size = 0, got = (double)first[(gsize)i * count + (gsize)(m * c->n + n)];

          for (int64_t k = 0; k < c->k; k++)
            {
              double term = operand_get (&a, m, k) * operand_get (o, k, column);

              sum += term;
              size += fabs (term);
            }
          if (!(fabs (got - sum) <= size * (double)(c->k + 1) * 0x1p-24))
            g_error ("(%d, %d) of accumulator %d is %.9g, not %.9g", (int)m, (int)n, i, got, sum);
        }
  g_free (a.v.data);
  for (int i = 0; i < c->n_b; i++)
    g_free (b[i].v.data);
}

static void
test_dtype (gconstpointer data)
{
  static const int64_t shapes[][3] = {
    { 1, 105, 107 }, { 1, 1, 1 },    { 7, 33, 1 },    { 8, 32, 128 }, { 9, 31, 129 },
    { 130, 10, 40 }, { 3, 257, 20 }, { 16, 264, 24 }, { 129, 65, 8 }, { 2, 129, 260 },
  };
  static const struct
  {
    int n_b, group;
  } forms[] = { { 1, 0 }, { 2, 0 }, { 1, 1 }, { 1, 8 } };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (guint form = 0; form < G_N_ELEMENTS (forms); form++)
      for (int orders = 0; orders < (forms[form].n_b == 2 ? 8 : 4); orders++)
        {
          Case c
              = { GPOINTER_TO_INT (data), orders & 1,        { orders >> 1 & 1, orders >> 2 & 1 },
                  forms[form].n_b,        forms[form].group, shapes[i][0],
                  shapes[i][1],           shapes[i][2] };

          if (c.group > 1)
            c.n = (c.n + c.group - 1) / c.group * c.group;
          check_case (&c);
        }
}

/* Every output of ones times ones is K, and adding stays exact. */
static void
test_ones (void)
{
  static const int depths[] = { 1, 8, 24, 40, 200 };

  for (guint i = 0; i < G_N_ELEMENTS (depths); i++)
    {
      int k = depths[i];
      g_autofree uint16_t *a = g_new (uint16_t, 20 * k), *b = g_new (uint16_t, 70 * k);
      float y[20][70];
      Results results = { { { y, 70 } } };
      TwGemm g = { .rows = 20,
                   .columns = 70,
                   .depth = k,
                   .dtype = TW_BF16,
                   .a = { a, k },
                   .b = { { b, 70 } },
                   .n_b = 1,
                   .threads = 2 };

      for (int j = 0; j < 70 * k; j++)
        b[j] = 0x3f80;
      for (int j = 0; j < 20 * k; j++)
        a[j] = 0x3f80;
      memset (y, 0xff, sizeof y);
      tw_gemm (&g, store_strip, &results);
      for (int m = 0; m < 20; m++)
        for (int n = 0; n < 70; n++)
          g_assert_cmpfloat (y[m][n], ==, (float)k);
    }
}

/* Rows 2^30 elements apart: offsets past 2^31. Only what is touched takes memory. */
static void
test_far_rows (void)
{
  enum
  {
    ROWS = 4
  };
  const int64_t ld = (int64_t)1 << 30;
  gsize bytes = (gsize)ld * (ROWS - 1) * 4 + 4096;
  float *a = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
  float *y = mmap (NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
  float b[2][8];

  if (a == MAP_FAILED || y == MAP_FAILED)
    {
      if (a != MAP_FAILED)
        munmap (a, bytes);
      if (y != MAP_FAILED)
        munmap (y, bytes);
      g_test_skip ("not enough address space");
      return;
    }
  for (int i = 0; i < ROWS; i++)
    for (int k = 0; k < 2; k++)
      a[i * ld + k] = (float)(10 * i + k);
  for (int k = 0; k < 2; k++)
    for (int n = 0; n < 8; n++)
      b[k][n] = (float)(n - 5 * k);
  Results results = { { { y, ld } } };
  TwGemm g = { .rows = ROWS,
               .columns = 8,
               .depth = 2,
               .dtype = TW_F32,
               .a = { a, ld },
               .b = { { b, 8 } },
               .n_b = 1,
               .threads = 1 };
  tw_gemm (&g, store_strip, &results);
  for (int i = 0; i < ROWS; i++)
    for (int n = 0; n < 8; n++)
      g_assert_cmpfloat (y[i * ld + n], ==, (float)(10 * i * n + (10 * i + 1) * (n - 5)));
  munmap (a, bytes);
  munmap (y, bytes);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/tile/product/f32", GINT_TO_POINTER (TW_F32), test_dtype);
  g_test_add_data_func ("/tile/product/bf16", GINT_TO_POINTER (TW_BF16), test_dtype);
  g_test_add_data_func ("/tile/product/f16", GINT_TO_POINTER (TW_F16), test_dtype);
  g_test_add_func ("/tile/product/ones", test_ones);
  g_test_add_func ("/tile/product/far-rows", test_far_rows);
  return g_test_run ();
}
