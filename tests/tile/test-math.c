/* Functions in f32 against the C library's in double, over bit patterns of all magnitudes. */

#include "blocks/tile/math.h"

#include <glib.h>

#define STEP 1021 /* of bit patterns; a prime, so that mantissas vary */

typedef float Single (float x);
typedef double Double (double x);

typedef struct
{
  const char *name;
  Single *single;
  Double *reference;
  double ulps; /* units in the last place allowed, of normal results */
} Function;

#define WRAP(name)                                                                                 \
  static float single_##name (float x) { return tw_##name (x); }
WRAP (exp)
WRAP (log)
WRAP (tanh)
WRAP (sigmoid)
WRAP (sqrt)
WRAP (rsqrt)
WRAP (erf)
WRAP (floor)
WRAP (abs)
WRAP (square)

static double
rsqrt_double (double x)
{
  return 1.0 / sqrt (x);
}

static double
sigmoid_double (double x)
{
  return 1.0 / (1.0 + exp (-x));
}

static double
square_double (double x)
{
  return x * x;
}

static const Function functions[] = {
  { "exp", single_exp, exp, 3 },        { "log", single_log, log, 3 },
  { "tanh", single_tanh, tanh, 4 },     { "sigmoid", single_sigmoid, sigmoid_double, 4 },
  { "sqrt", single_sqrt, sqrt, 0.501 }, { "rsqrt", single_rsqrt, rsqrt_double, 1.6 },
  { "erf", single_erf, erf, 2 },        { "floor", single_floor, floor, 0 },
  { "abs", single_abs, fabs, 0 },       { "square", single_square, square_double, 0.501 },
};

/* The distance of neighbouring f32 at x. */
static double
unit (double x)
{
  int exponent;

  frexp (x, &exponent);
  return ldexp (1.0, MAX (exponent - 24, -149));
}

static void
check (const Function *f, float x, double *worst)
{
  double exact = f->reference ((double)x);
  float got = f->single (x);

  if (isnan (exact))
    {
      if (!isnan (got))
        g_error ("%s (%a) is %a, not NaN", f->name, (double)x, (double)got);
      return;
    }
  if (isinf (got) || isinf (exact))
    {
      /* Beyond the largest f32 by less than what is allowed may round either way. */
      if ((signbit (got) != 0) != (signbit (exact) != 0) || fabs (exact) < 3.4028e38
          || fabs ((double)got) < 3.4028e38)
        g_error ("%s (%a) is %a, not %a", f->name, (double)x, (double)got, exact);
      return;
    }
  double ulps = fabs ((double)got - exact) / unit (exact);
  *worst = MAX (*worst, ulps);
  if (!(ulps <= f->ulps) && !(ulps == 0))
    g_error ("%s (%a) is %a, not %a: %.1f units", f->name, (double)x, (double)got, exact, ulps);
}

static void
test_function (gconstpointer data)
{
  const Function *f = data;
  static const float edges[]
      = { 0.0f,          -0.0f,          1.0f,     -1.0f,       HUGE_VALF,    -HUGE_VALF,
          3.4028235e38f, -3.4028235e38f, 1e-45f,   -1e-45f,     88.722f,      88.73f,
          -87.33f,       -87.34f,        -103.9f,  -103.98f,    1.17549e-38f, 0.625f,
          0.62499f,      1000.0f,        -1000.0f, 0.70710677f, 0.7071068f };
  double worst = 0;

  for (guint i = 0; i < G_N_ELEMENTS (edges); i++)
    check (f, edges[i], &worst);
  for (guint64 bits = 0; bits <= G_MAXUINT32; bits += STEP)
    check (f, tw_bits_float ((uint32_t)bits), &worst);
  g_test_message ("%s: at most %.2f units in the last place", f->name, worst);
}

static void
test_nan (void)
{
  const float nan = tw_bits_float (0x7fc00000u);

  g_assert_true (isnan (tw_min (nan, 1.0f)) && isnan (tw_min (1.0f, nan)));
  g_assert_true (isnan (tw_max (nan, 1.0f)) && isnan (tw_max (1.0f, nan)));
  g_assert_true (isnan (tw_relu (nan)) && isnan (tw_sign (nan)) && isnan (tw_abs (nan)));
  g_assert_true (isnan (tw_exp (tw_bits_float (0x7fffffffu))));
  g_assert_true (isnan (tw_tanh (tw_bits_float (0xff800001u))));
  g_assert_true (tw_isnan (nan) == 1.0f && tw_isnan (HUGE_VALF) == 0.0f);
}

static void
test_rest (void)
{
  g_assert_true (tw_min (-1.0f, 2.0f) == -1.0f && tw_max (-1.0f, 2.0f) == 2.0f);
  g_assert_true (tw_min (2.0f, -1.0f) == -1.0f && tw_max (2.0f, -1.0f) == 2.0f);
  g_assert_true (tw_relu (-2.0f) == 0.0f && tw_relu (3.0f) == 3.0f && tw_relu (HUGE_VALF) > 1e38f);
  g_assert_true (tw_sign (-3.0f) == -1.0f && tw_sign (0.0f) == 0.0f && tw_sign (1e-45f) == 1.0f);
  g_assert_true (tw_mod (7.0f, 3.0f) == 1.0f && tw_mod (-1.0f, 3.0f) == 2.0f);
  g_assert_true (tw_mod (1.0f, -3.0f) == -2.0f);
  g_assert_true (tw_pow (2.0f, 10.0f) == 1024.0f && tw_pow (3.0f, 0.0f) == 1.0f);
  g_assert_cmpfloat_with_epsilon (tw_sin (1.0f), 0.841470985f, 1e-7f);
  g_assert_cmpfloat_with_epsilon (tw_cos (1.0f), 0.540302306f, 1e-7f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    {
      g_autofree char *path = g_strdup_printf ("/tile/math/%s", functions[i].name);

      g_test_add_data_func (path, &functions[i], test_function);
    }
  g_test_add_func ("/tile/math/nan", test_nan);
  g_test_add_func ("/tile/math/rest", test_rest);
  return g_test_run ();
}
