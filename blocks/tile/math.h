/* Functions of the formula language in f32: float in, float out.
 *
 * On a CPU exp, log, tanh and sigmoid have no branch and call nothing, so that loops over them
 * vectorise; they are within a few units in the last place of the exact value over the whole range,
 * subnormals included. On a GPU exp, sigmoid and what stands on them use its approximations:
 * relative error below 2^-21 + |x| 2^-24, far below a 16-bit store's. Rarer functions are the C
 * library's. NaN in gives NaN out, from min, max and relu too. */
#pragma once

#include "convert.h" /* tw_round_to */

#include <math.h>

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
