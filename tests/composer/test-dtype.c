#include "composer/dtype.h"

#include <math.h>

static double
decode (guint32 bits, int exponent_bits, int fraction_bits)
{
  int bias = (1 << (exponent_bits - 1)) - 1;
  guint32 fraction = bits & ((1u << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  double sign = bits >> (fraction_bits + exponent_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction != 0 ? NAN : sign * HUGE_VAL;
  double value = exponent == 0 ? ldexp (fraction, 1 - bias - fraction_bits)
                               : ldexp (fraction + (1u << fraction_bits),
                                        exponent - bias - fraction_bits);
  return sign * value;
}

/* Every 16-bit value is itself; between neighbours the nearer one wins, the even one in the
 * middle. */
static void
test_all_values (gconstpointer data)
{
  TwDtype dtype = (TwDtype)GPOINTER_TO_INT (data);
  int exponent = dtype == TW_DTYPE_BF16 ? 8 : 5, fraction = dtype == TW_DTYPE_BF16 ? 7 : 10;
  guint32 infinity = ((1u << exponent) - 1) << fraction;
  for (guint32 bits = 0; bits < infinity; bits++)
    {
      double value = decode (bits, exponent, fraction);
      double next = bits + 1 < infinity ? decode (bits + 1, exponent, fraction)
                                        : 2 * value - decode (bits - 1, exponent, fraction);
      double above = bits + 1 < infinity ? next : HUGE_VAL;
      double middle = (value + next) / 2;
      for (int sign = -1; sign <= 1; sign += 2)
        {
          g_assert_cmpfloat (tw_dtype_round (dtype, sign * value), ==, sign * value);
          g_assert_cmpfloat (tw_dtype_round (dtype, sign * middle), ==,
                             sign * (bits % 2 == 0 ? value : above));
          g_assert_cmpfloat (tw_dtype_round (dtype, sign * nextafter (middle, 0)), ==,
                             sign * value);
          g_assert_cmpfloat (tw_dtype_round (dtype, sign * nextafter (middle, HUGE_VAL)), ==,
                             sign * above);
        }
      if (bits + 1 < infinity)
        g_assert_cmpfloat (tw_dtype_ulp (dtype, value), ==, next - value);
    }
  g_assert_cmpfloat (tw_dtype_get_max (dtype), ==, decode (infinity - 1, exponent, fraction));
  g_assert_true (isnan (tw_dtype_round (dtype, NAN)));
  g_assert_cmpfloat (tw_dtype_round (dtype, -HUGE_VAL), ==, -HUGE_VAL);
  g_assert_true (signbit (tw_dtype_round (dtype, -0.0)));
}

static void
test_f32 (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  for (int i = 0; i < 200000; i++)
    {
      double value = ldexp (g_rand_double_range (rand, -1, 1), g_rand_int_range (rand, -160, 130));
      g_assert_cmpfloat (tw_dtype_round (TW_DTYPE_F32, value), ==, (double)(float)value);
    }
  g_assert_cmpfloat (tw_dtype_get_max (TW_DTYPE_F32), ==, (double)3.402823466e+38f);
}

static void
test_names (void)
{
  for (int i = 0; i < TW_DTYPE_LAST; i++)
    {
      TwDtype dtype = TW_DTYPE_LAST;
      g_assert_true (tw_dtype_from_name (tw_dtype_get_name ((TwDtype)i), &dtype));
      g_assert_cmpint (dtype, ==, i);
      g_assert_cmpuint (tw_dtype_get_size (dtype), ==, i == TW_DTYPE_F32 ? 4 : 2);
    }
  TwDtype dtype = TW_DTYPE_F16;
  g_assert_false (tw_dtype_from_name ("F16", &dtype));
  g_assert_false (tw_dtype_from_name ("", &dtype));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/dtype/bf16", GINT_TO_POINTER (TW_DTYPE_BF16), test_all_values);
  g_test_add_data_func ("/dtype/f16", GINT_TO_POINTER (TW_DTYPE_F16), test_all_values);
  g_test_add_func ("/dtype/f32", test_f32);
  g_test_add_func ("/dtype/names", test_names);
  return g_test_run ();
}
