/* Conversions of bf16 and f16: every 16-bit value, and every boundary between two of them. */

#include "blocks/tile/convert.h"

#include <glib.h>
#include <math.h>

typedef struct
{
  const char *name;
  int mantissa; /* bits */
  guint16 infinity;
  float (*widen) (uint16_t h);
  uint16_t (*narrow) (float x);
} Format;

static float
widen_bf16 (uint16_t h)
{
  return tw_bf16_to_f32 (h);
}

static uint16_t
narrow_bf16 (float x)
{
  return tw_f32_to_bf16 (x);
}

static float
widen_f16 (uint16_t h)
{
  return tw_f16_to_f32 (h);
}

static uint16_t
narrow_f16 (float x)
{
  return tw_f32_to_f16 (x);
}

static const Format formats[] = {
  { "bf16", 7, 0x7f80, widen_bf16, narrow_bf16 },
  { "f16", 10, 0x7c00, widen_f16, narrow_f16 },
};

/* From the definition of the format; infinity as the next power of two. */
static double
magnitude (const Format *f, int h)
{
  int exponent = h >> f->mantissa, mantissa = h & ((1 << f->mantissa) - 1);
  int bias = (1 << (14 - f->mantissa)) - 1;

  if (exponent == 0)
    return ldexp (mantissa, 1 - bias - f->mantissa);
  return ldexp ((1 << f->mantissa) + mantissa, exponent - bias - f->mantissa);
}

static void
test_values (gconstpointer data)
{
  const Format *f = data;

  for (int h = 0; h <= 0xffff; h++)
    {
      int rest = h & 0x7fff;
      float x = f->widen ((uint16_t)h);

      g_assert_cmpint (signbit (x) != 0, ==, h >> 15);
      if (rest > f->infinity)
        {
          g_assert_true (isnan (x));
          g_assert_cmpint (f->narrow (x), ==, h | 1 << (f->mantissa - 1));
          continue;
        }
      if (rest == f->infinity)
        g_assert_true (isinf (x));
      else
        g_assert_true (fabs ((double)x) == magnitude (f, rest));
      g_assert_cmpint (f->narrow (x), ==, h);
    }
}

/* Rounding is monotone, so the two sides of each midpoint say it all. */
static void
test_rounding (gconstpointer data)
{
  const Format *f = data;

  for (int h = 0; h < f->infinity; h++)
    for (int sign = 0; sign < 2; sign++)
      {
        double middle = (magnitude (f, h) + magnitude (f, h + 1)) / 2;
        float tie = (float)(sign ? -middle : middle);
        int bit = sign << 15;

        g_assert_true (fabs ((double)tie) == middle);
        g_assert_cmpint (f->narrow (tie), ==, bit | (h + h % 2));
        g_assert_cmpint (f->narrow (nextafterf (tie, 0.0f)), ==, bit | h);
        g_assert_cmpint (f->narrow (nextafterf (tie, tie * 2)), ==, bit | (h + 1));
      }
  g_assert_cmpint (f->narrow (3.4e38f), ==, f->infinity);
  g_assert_cmpint (f->narrow (-HUGE_VALF), ==, f->infinity | 0x8000);
  g_assert_cmpint (f->narrow (1e-45f), ==, 0);
  g_assert_cmpint (f->narrow (-0.0f), ==, 0x8000);
  /* A NaN whose payload lies below what is kept must not become infinite. */
  g_assert_true (isnan (f->widen (f->narrow (tw_bits_float (0x7f800001u)))));
}

static void
test_round_to (void)
{
  g_assert_true (tw_round_to (1.00390625f, 0) == 1.00390625f);
  g_assert_true (tw_round_to (1.00390625f, 1) == 1.0f);
  g_assert_true (tw_round_to (1.01171875f, 1) == 1.015625f);
  g_assert_true (tw_round_to (65520.0f, 2) == HUGE_VALF);
  g_assert_true (tw_round_to (65519.0f, 2) == 65504.0f);
  g_assert_true (tw_round_to (-5.0f, 1) < tw_round_to (-2.0f, 1));
  g_assert_true (tw_round_to (2.5f, 1) + tw_round_to (2.0f, 1) == 4.5f);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    {
      g_autofree char *values = g_strdup_printf ("/tile/convert/%s/values", formats[i].name);
      g_autofree char *rounding = g_strdup_printf ("/tile/convert/%s/rounding", formats[i].name);

      g_test_add_data_func (values, &formats[i], test_values);
      g_test_add_data_func (rounding, &formats[i], test_rounding);
    }
  g_test_add_func ("/tile/convert/round-to", test_round_to);
  return g_test_run ();
}
