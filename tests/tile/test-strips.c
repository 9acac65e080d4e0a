/* Epilogues over panels: right in double, the same for every number of threads and wherever a row
 * lies, and the same with the emulated lanes of a warp.
 *
 * Matrices end with their last element and have room between rows, so that AddressSanitizer and
 * the poison see what is touched beyond. */

#include "strips.h"

#include <glib.h>
#include <math.h>
#include <string.h>

#define GAP 3 /* elements between rows */
#define POISON 0x7fc0dead

typedef struct
{
  StripCase c;
  GPtrArray *memory;
} Fixture;

static TwView
make (Fixture *f, int64_t rows, int64_t columns, gboolean random)
{
  TwView v = { NULL, columns + GAP };
  gsize n = rows > 0 ? (gsize)((rows - 1) * v.ld + columns) : 0;
  guint32 *bits = g_new (guint32, n);

  for (gsize i = 0; i < n; i++)
    bits[i] = POISON;
  for (int64_t i = 0; i < rows * columns && random; i++)
    ((float *)bits)[i / columns * v.ld + i % columns] = (float)g_test_rand_double_range (-1, 1);
  g_ptr_array_add (f->memory, bits);
  v.data = bits;
  return v;
}

static void
fixture_init (Fixture *f, int which, int64_t rows, int64_t columns, int64_t depth, int group,
              int n_b)
{
  StripCase *c = &f->c;
  int64_t width = group > 0 ? 2 * columns : columns;

  memset (f, 0, sizeof *f);
  f->memory = g_ptr_array_new_with_free_func (g_free);
  c->rows = rows;
  c->columns = columns;
  c->depth = depth;
  c->group = group;
  c->n_b = n_b;
  c->threads = 1;
  if (which != STRIP_ROWS)
    {
      c->a = make (f, rows, depth, TRUE);
      for (int i = 0; i < n_b; i++)
        c->b[i] = make (f, depth, width, TRUE);
    }
  c->x = make (f, rows, columns, TRUE);
  c->gamma = make (f, 1, columns, TRUE);
  c->scale = make (f, 1, rows, TRUE);
}

static void
fixture_clear (Fixture *f)
{
  g_ptr_array_unref (f->memory);
}

/* Fresh poisoned outputs, then a run; the case with its outputs. */
static StripCase
run (Fixture *f, int which, int lanes, int threads)
{
  StripCase c = f->c;

  c.threads = threads;
  c.y = make (f, c.rows, (c.columns + 1) / 2 + GAP, FALSE);
  c.y.ld *= 2;
  c.partial = make (f, c.rows, (c.columns + 63) / 64, FALSE);
  c.out = make (f, c.rows, c.columns, FALSE);
  c.before = make (f, c.rows, 2 * c.columns, FALSE);
  (lanes == 32 ? run_strips_32 : run_strips_1) (&c, which);
  return c;
}

static float
at (const TwView *v, int64_t m, int64_t n)
{
  return tw_load_f32 (v, m, n);
}

static guint32
bits_at (const TwView *v, int64_t m, int64_t n)
{
  return tw_float_bits (at (v, m, n));
}

/* Product of row m and column n of accumulator `which`, in double. */
static double
product (const StripCase *c, int which, int64_t m, int64_t n)
{
  const TwView *b = &c->b[c->group > 0 ? 0 : which];
  int64_t column = c->group > 0 ? tw_pair_column (n, c->group, which) : n;
  double sum = 0;

  for (int64_t k = 0; k < c->depth; k++)
    sum += (double)at (&c->a, m, k) * (double)at (b, k, column);
  return sum;
}

static void
assert_near (double got, double exact, double scale)
{
  if (!(fabs (got - exact) <= scale))
    g_error ("%.9g, not %.9g", got, exact);
}

static void
check_row_output (const StripCase *c, int which, int64_t m)
{
  double total = 0;

  for (int64_t n = 0; n < c->columns; n++)
    total += pow ((double)at (&c->x, m, n), 2);
  for (int64_t panel = 0; panel * 64 < c->columns; panel++)
    {
      double partial = 0;

      for (int64_t n = panel * 64; n < MIN (c->columns, panel * 64 + 64); n++)
        {
          double y = (double)at (&c->x, m, n), scale = 1 / sqrt (total / (double)c->columns + 1e-6);

          if (which == STRIP_RESIDUAL)
            {
              y += product (c, 0, m, n);
              scale = (double)at (&c->scale, 0, m);
            }
          partial += y * y;
          y *= scale * (double)at (&c->gamma, 0, n);
          assert_near ((double)tw_load_bf16 (&c->y, m, n), y, 0x1p-8 * fabs (y) + 1e-5);
        }
      if (which == STRIP_RESIDUAL)
        assert_near ((double)at (&c->partial, m, panel), partial, 1e-5 * (partial + 1));
    }
  if (which == STRIP_ROWS)
    assert_near ((double)at (&c->partial, m, 0), total, 1e-6 * total);
}

static void
check_pair_output (const StripCase *c, int64_t m)
{
  for (int64_t n = 0; n < c->columns; n++)
    {
      double gate = product (c, 0, m, n), up = product (c, 1, m, n);

      assert_near ((double)at (&c->out, m, n), gate / (1 + exp (-gate)) * up,
                   2e-5 * (1 + fabs (gate) + fabs (up) + fabs (gate * up)));
      if (c->group == 0)
        continue;
      assert_near ((double)at (&c->before, m, tw_pair_column (n, c->group, 0)), gate, 1e-4);
      assert_near ((double)at (&c->before, m, tw_pair_column (n, c->group, 1)), up, 1e-4);
    }
}

/* What lies between rows is as it was. */
static void
check_gaps (const StripCase *c)
{
  for (int64_t m = 0; m + 1 < c->rows; m++)
    for (int64_t n = 0; n < GAP; n++)
      {
        g_assert_cmphex (bits_at (&c->out, m, c->columns + n), ==, POISON);
        g_assert_cmphex (bits_at (&c->before, m, 2 * c->columns + n), ==, POISON);
        g_assert_cmphex (bits_at (&c->partial, m, (c->columns + 63) / 64 + n), ==, POISON);
        int64_t half = c->columns + n;
        guint16 poison = half % 2 == 0 ? POISON & 0xffff : POISON >> 16;
        g_assert_cmphex (((const guint16 *)c->y.data)[m * c->y.ld + half], ==, poison);
      }
}

/* Equal bits, statistics apart where `exact` is not set: lanes gather in another order. */
static void
check_same (const StripCase *c, const StripCase *d, int which, gboolean exact)
{
  for (int64_t m = 0; m < c->rows; m++)
    {
      for (int64_t n = 0; n < c->columns; n++)
        if (which == STRIP_PAIR)
          {
            g_assert_cmphex (bits_at (&c->out, m, n), ==, bits_at (&d->out, m, n));
            g_assert_cmphex (bits_at (&c->before, m, 2 * n), ==, bits_at (&d->before, m, 2 * n));
          }
        else if (exact || which == STRIP_RESIDUAL)
          g_assert_true (tw_load_bf16 (&c->y, m, n) == tw_load_bf16 (&d->y, m, n));
      for (int64_t panel = 0; which != STRIP_PAIR && panel * 64 < c->columns; panel++)
        if (which == STRIP_RESIDUAL || panel == 0)
          {
            float one = at (&c->partial, m, panel), other = at (&d->partial, m, panel);

            assert_near ((double)other, (double)one, exact ? 0 : 1e-6 * (double)one);
          }
    }
}

static void
check_case (int which, int64_t rows, int64_t columns, int64_t depth, int group, int n_b)
{
  Fixture f;

  fixture_init (&f, which, rows, columns, depth, group, n_b);
  StripCase plain = run (&f, which, 1, 1);
  for (int64_t m = 0; m < rows; m++)
    {
      if (which == STRIP_PAIR)
        check_pair_output (&plain, m);
      else
        check_row_output (&plain, which, m);
    }
  check_gaps (&plain);
  StripCase threads = run (&f, which, 1, 3);
  check_same (&plain, &threads, which, TRUE);
  StripCase lanes = run (&f, which, 32, 2);
  check_same (&plain, &lanes, which, FALSE);
  check_gaps (&lanes);
  fixture_clear (&f);
}

static void
test_shapes (gconstpointer data)
{
  static const int shapes[][3] = {
    { 1, 1, 1 },     { 1, 105, 107 }, { 17, 64, 1 },   { 16, 63, 40 }, { 33, 65, 24 },
    { 8, 128, 200 }, { 129, 8, 130 }, { 3, 264, 128 }, { 2, 520, 9 },  { 5, 72, 257 },
  };
  int which = GPOINTER_TO_INT (data);

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      const int *s = shapes[i];

      if (which != STRIP_PAIR)
        check_case (which, s[0], s[1], s[2], 0, 1);
      else
        {
          check_case (which, s[0], s[1], s[2], 0, 2);
          check_case (which, s[0], s[1], s[2], 1, 1);
          check_case (which, s[0], (s[1] + 7) / 8 * 8, s[2], 8, 1);
        }
    }
}

/* A row's bits depend neither on the rows around it nor on where it lies. */
static void
test_row_alone (void)
{
  for (int which = 0; which < N_STRIPS; which++)
    {
      Fixture f;

      fixture_init (&f, which, 257, 200, 150, 0, which == STRIP_PAIR ? 2 : 1);
      StripCase all = run (&f, which, 1, 2);
      for (int64_t m = 0; m < 257; m += 64)
        {
          Fixture alone = f;

          alone.c.rows = 1;
          if (which != STRIP_ROWS)
            alone.c.a.data = (float *)f.c.a.data + m * f.c.a.ld;
          alone.c.x.data = (float *)f.c.x.data + m * f.c.x.ld;
          alone.c.scale.data = (float *)f.c.scale.data + m;
          StripCase one = run (&alone, which, 1, 1), row = all;
          row.rows = 1;
          row.y.data = (guint16 *)all.y.data + m * all.y.ld;
          row.partial.data = (float *)all.partial.data + m * all.partial.ld;
          row.out.data = (float *)all.out.data + m * all.out.ld;
          row.before.data = (float *)all.before.data + m * all.before.ld;
          check_same (&row, &one, which, TRUE);
        }
      fixture_clear (&f);
    }
}

/* NaN in a row, an infinity in another, zeros in a third: the rest is equal to a clean run. */
static void
test_bad_rows (void)
{
  Fixture f;

  fixture_init (&f, STRIP_ROWS, 40, 100, 1, 0, 1);
  StripCase clean = run (&f, STRIP_ROWS, 1, 1);
  float *x = f.c.x.data;
  x[3 * f.c.x.ld + 5] = NAN;
  x[4 * f.c.x.ld + 99] = INFINITY;
  x[6 * f.c.x.ld] = 1e30f;
  for (int64_t n = 0; n < 100; n++)
    x[7 * f.c.x.ld + n] = 0;
  StripCase bad = run (&f, STRIP_ROWS, 1, 2);
  for (int64_t m = 0; m < 40; m++)
    for (int64_t n = 0; n < 100; n++)
      {
        float y = tw_load_bf16 (&bad.y, m, n);

        if (m == 3 || m == 4 || m == 6)
          g_assert_true (isnan (y));
        else if (m == 7)
          g_assert_true (y == 0);
        else
          g_assert_true (y == tw_load_bf16 (&clean.y, m, n));
      }
  fixture_clear (&f);
}

/* No rows, no columns: nothing is called. No depth: the accumulators are zero. */
static void
test_empty (void)
{
  Fixture f;

  fixture_init (&f, STRIP_RESIDUAL, 0, 64, 8, 0, 1);
  run (&f, STRIP_RESIDUAL, 1, 2);
  fixture_clear (&f);
  check_case (STRIP_RESIDUAL, 5, 70, 0, 0, 1);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/tile/strips/residual", GINT_TO_POINTER (STRIP_RESIDUAL), test_shapes);
  g_test_add_data_func ("/tile/strips/pair", GINT_TO_POINTER (STRIP_PAIR), test_shapes);
  g_test_add_data_func ("/tile/strips/rows", GINT_TO_POINTER (STRIP_ROWS), test_shapes);
  g_test_add_func ("/tile/strips/row-alone", test_row_alone);
  g_test_add_func ("/tile/strips/bad-rows", test_bad_rows);
  g_test_add_func ("/tile/strips/empty", test_empty);
  return g_test_run ();
}
