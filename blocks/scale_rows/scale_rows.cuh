/* x times the row's scale to an integer power. The power is a constant where this is called, so
 * that the loop unrolls: degree 1 is one multiplication. */
#pragma once

#include "../tile/math.h"

TW_FN float
tw_scale_rows (float x, float s, int degree)
{
  const int n = degree < 0 ? -degree : degree;
  float power = 1.0f;

  for (int i = 0; i < 8; i++)
    power = i < n ? power * s : power;
  return x * (degree < 0 ? 1.0f / power : power);
}
