/* The main loops around every edge of their tiles: each element of an output is handed out once,
 * nothing outside an operand is read, and statistics are added in the order that is documented.
 *
 * Operands hold small integers, so products are exact and compared exactly. Each lies between
 * pages that cannot be read, once at the first and once at the last address that fits. */

#include "blocks/tile/gemm-cpu.h"
#include "blocks/tile/rows-cpu.h"
#include "strips.h"

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct
{
  TwView v;
  int dtype, by_columns;
  void *map;
  gsize map_bytes;
} Guarded;

typedef struct
{
  const TwGemm *g;
  const Guarded *a, *b;
  guint8 *seen; /* times, by element */
  gint wrong;   /* atomic */
} Watch;

static const int64_t edges[] = { 0, 1, 15, 16, 17, 31, 33, 63, 64, 65, 127, 128, 129, 255, 257 };

/* `length` elements a line, `gap` more between lines. */
static void
guarded_init (Guarded *o, int dtype, int by_columns, int64_t rows, int64_t columns, int64_t gap,
              gboolean at_end)
{
  const gsize page = (gsize)sysconf (_SC_PAGESIZE), size = dtype == TW_F32 ? 4 : 2;
  const int64_t lines = by_columns ? columns : rows, length = by_columns ? rows : columns;
  const gsize bytes
      = lines > 0 && length > 0 ? (gsize)((lines - 1) * (length + gap) + length) * size : 0;
  const gsize inner = (bytes + page - 1) / page * page;
  guint8 *first;

  o->dtype = dtype;
  o->by_columns = by_columns;
  o->map_bytes = inner + 2 * page;
  o->map = mmap (NULL, o->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  g_assert_true (o->map != MAP_FAILED);
  first = (guint8 *)o->map + page;
  if (inner > 0)
    g_assert_cmpint (mprotect (first, inner, PROT_READ | PROT_WRITE), ==, 0);
  o->v.data = at_end ? first + inner - bytes : first;
  o->v.ld = length + gap;
  memset (first, 0xff, inner); /* NaN */
  for (int64_t i = 0; i < lines; i++)
    for (int64_t j = 0; j < length; j++)
      {
        float x = (float)g_test_rand_int_range (-3, 4);
        int64_t at = i * o->v.ld + j;

        if (dtype == TW_F32)
          ((float *)o->v.data)[at] = x;
        else
          ((uint16_t *)o->v.data)[at] = dtype == TW_BF16 ? tw_f32_to_bf16 (x) : tw_f32_to_f16 (x);
      }
}

static void
guarded_clear (Guarded *o)
{
  munmap (o->map, o->map_bytes);
}

static float
guarded_get (const Guarded *o, int64_t m, int64_t n)
{
  int64_t row = o->by_columns ? n : m, column = o->by_columns ? m : n;

  return o->dtype == TW_F32    ? tw_load_f32 (&o->v, row, column)
         : o->dtype == TW_BF16 ? tw_load_bf16 (&o->v, row, column)
                               : tw_load_f16 (&o->v, row, column);
}

static float
exact_product (const Watch *w, int which, int64_t m, int64_t n)
{
  const TwGemm *g = w->g;
  const Guarded *b = &w->b[g->group > 0 ? 0 : which];
  int64_t column = g->group > 0 ? tw_pair_column (n, g->group, which) : n;
  float sum = 0;

  for (int64_t k = 0; k < g->depth; k++)
    sum += guarded_get (w->a, m, k) * guarded_get (b, k, column);
  return sum;
}

/* Strips overlap nowhere if nothing is seen twice, so threads touch different counts. */
static void
watch_strip (const TwStrip *s, const void *data)
{
  Watch *w = (Watch *)data;
  const TwGemm *g = w->g;
  const int n_acc = g->group > 0 ? 2 : g->n_b;

  if (s->rows < 1 || s->rows > TW_ROWS || s->row % TW_ROWS != 0 || s->column % TW_COLUMNS != 0
      || s->row + s->rows > g->rows || s->columns < 1 || s->column + s->columns > g->columns
      || s->group != g->group || s->acc[0] == NULL || (s->acc[1] != NULL) != (n_acc == 2))
    {
      g_atomic_int_inc (&w->wrong);
      return;
    }
  for (int r = 0; r < s->rows; r++)
    for (int64_t c = 0; c < s->columns; c++)
      {
        w->seen[(s->row + r) * g->columns + s->column + c]++;
        for (int i = 0; i < n_acc; i++)
          if (!(s->acc[i][r * s->acc_ld + c] == exact_product (w, i, s->row + r, s->column + c)))
            g_atomic_int_inc (&w->wrong);
      }
}

static void
check_product (int dtype, int form, int orders, int64_t rows, int64_t columns, int64_t depth,
               int threads, gboolean at_end)
{
  const int group = form == 2 ? 1 : form == 3 ? 8 : 0, n_b = form == 1 ? 2 : 1;
  const int64_t whole = group > 1 ? (columns + group - 1) / group * group : columns;
  const int64_t gap = orders == 3 ? 5 : 0;
  Guarded a, b[2];
  TwGemm g = { .rows = rows,
               .columns = whole,
               .depth = depth,
               .dtype = dtype,
               .n_b = n_b,
               .group = group,
               .a_columns = orders & 1,
               .b_columns = { orders >> 1 & 1, orders & 1 },
               .threads = threads };
  g_autofree guint8 *seen = g_malloc0 ((gsize)(rows * whole + 1));
  Watch w = { &g, &a, b, seen, 0 };

  guarded_init (&a, dtype, g.a_columns, rows, depth, gap, at_end);
  g.a = a.v;
  for (int i = 0; i < n_b; i++)
    {
      guarded_init (&b[i], dtype, g.b_columns[i], depth, group > 0 ? 2 * whole : whole, gap,
                    at_end);
      g.b[i] = b[i].v;
    }
  tw_gemm (&g, watch_strip, &w);
  if (w.wrong > 0)
    g_error ("%d wrong: dtype %d, form %d, orders %d, %d x %d x %d, %d threads", w.wrong, dtype,
             form, orders, (int)rows, (int)whole, (int)depth, threads);
  for (int64_t i = 0; i < rows * whole; i++)
    g_assert_cmpint (seen[i], ==, 1);
  guarded_clear (&a);
  for (int i = 0; i < n_b; i++)
    guarded_clear (&b[i]);
}

/* All pairs of edges; the rest goes round, with periods that do not divide each other. */
static void
test_product_edges (void)
{
  static const int64_t depths[] = { 1, 2, 15, 16, 17, 0, 33, 3, 64, 65, 127, 128, 129 };
  guint i = 0;

  for (guint m = 0; m < G_N_ELEMENTS (edges) - 2; m++)
    for (guint n = 0; n < G_N_ELEMENTS (edges); n++, i++)
      check_product ((int)(i % 3), (int)(i / 3 % 4), (int)(i / 2 % 4), edges[m], edges[n],
                     depths[i % G_N_ELEMENTS (depths)], (int)(i % 3) + 1, i % 2);
}

/* Every storage type, form and order at sizes one past a tile's. */
static void
test_product_forms (void)
{
  for (int i = 0; i < 3 * 4 * 4; i++)
    for (int at_end = 0; at_end < 2; at_end++)
      check_product (i % 3, i / 3 % 4, i / 12, 17, 129, 7, 2, at_end);
}

typedef struct
{
  int64_t rows, columns;
  guint8 *seen;
} RowsWatch;

static void
watch_rows (const TwStrip *s, const void *data)
{
  const RowsWatch *w = data;

  if (s->column == 0 && s->columns == w->columns && s->acc[0] == NULL && s->acc[1] == NULL
      && s->rows >= 1 && s->rows <= TW_ROWS && s->row % TW_ROWS == 0)
    for (int r = 0; r < s->rows; r++)
      w->seen[s->row + r]++;
}

static void
test_rows_edges (void)
{
  for (guint m = 0; m < G_N_ELEMENTS (edges); m++)
    for (guint n = 0; n < G_N_ELEMENTS (edges); n++)
      for (int threads = 0; threads <= 3; threads++)
        {
          guint8 seen[260] = { 0 };
          RowsWatch w = { edges[m], edges[n], seen };

          tw_rows (w.rows, w.columns, threads, watch_rows, &w);
          for (int64_t i = 0; i < 260; i++)
            g_assert_cmpint (seen[i], ==, i < w.rows ? 1 : 0);
        }
}

/* A lane that owns a panel adds column c to state c % 16, then merges halves. Squares are exact,
 * so that contraction to fma changes nothing, and their sums are not, so that order shows. */
static void
test_statistic_order (void)
{
  enum
  {
    ROWS = 18,
    COLUMNS = 201
  };
  g_autofree float *x = g_new (float, ROWS *COLUMNS);
  float partial[ROWS], gamma[COLUMNS] = { 0 };
  uint16_t y[ROWS * COLUMNS];
  StripCase c = { .rows = ROWS, .columns = COLUMNS, .threads = 2 };
  gboolean order_shows = FALSE;

  for (int i = 0; i < ROWS * COLUMNS; i++)
    x[i] = (float)g_test_rand_int_range (-4095, 4096);
  c.x = (TwView){ x, COLUMNS };
  c.gamma = (TwView){ gamma, COLUMNS };
  c.y = (TwView){ y, COLUMNS };
  c.partial = (TwView){ partial, 1 };
  run_strips_1 (&c, STRIP_ROWS);
  for (int r = 0; r < ROWS; r++)
    {
      float state[16] = { 0 }, in_turn = 0;

      for (int n = 0; n < COLUMNS; n++)
        {
          float square = x[r * COLUMNS + n] * x[r * COLUMNS + n];

          state[n % 16] += square;
          in_turn += square;
        }
      for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
          state[i] += state[i + half];
      g_assert_true (tw_float_bits (partial[r]) == tw_float_bits (state[0]));
      order_shows |= in_turn != state[0];
    }
  g_assert_true (order_shows);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tile/main-loops/product-edges", test_product_edges);
  g_test_add_func ("/tile/main-loops/product-forms", test_product_forms);
  g_test_add_func ("/tile/main-loops/rows-edges", test_rows_edges);
  g_test_add_func ("/tile/main-loops/statistic-order", test_statistic_order);
  return g_test_run ();
}
