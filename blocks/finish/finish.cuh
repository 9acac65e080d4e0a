/* From a row's folded sum of squares to its scale. */
#pragma once

#include "../tile/math.h"

/* rsqrt (total/count + eps). A sum that overflowed gives NaN: 0 would be silently wrong. */
TW_FN float
tw_finish (float total, float count, float eps)
{
  const float r = tw_rsqrt (total / count + eps);

  return total <= 3.402823466e+38f ? r : tw_bits_float (0x7fc00000u);
}
