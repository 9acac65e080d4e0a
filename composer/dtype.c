/* Rounding in double: a value is scaled so that the last place of the storage type is 1, rounded to
 * an integer in the current mode (nearest, ties to even) and scaled back. Every step but that one
 * is exact. */
#include "dtype.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const char *name;
  gsize size;
  int digits;   /* bits of the significand, the leading one included */
  int least;    /* exponent of the smallest normal number */
  int greatest; /* and of the largest */
} Format;

static const Format formats[] = {
  [TW_DTYPE_F32] = { "f32", 4, 24, -126, 127 },
  [TW_DTYPE_BF16] = { "bf16", 2, 8, -126, 127 },
  [TW_DTYPE_F16] = { "f16", 2, 11, -14, 15 },
};

const char *
tw_dtype_get_name (TwDtype dtype)
{
  return formats[dtype].name;
}

gsize
tw_dtype_get_size (TwDtype dtype)
{
  return formats[dtype].size;
}

gboolean
tw_dtype_from_name (const char *name, TwDtype *dtype)
{
  for (int i = 0; i < TW_DTYPE_LAST; i++)
    if (strcmp (formats[i].name, name) == 0)
      {
        *dtype = (TwDtype)i;
        return TRUE;
      }
  return FALSE;
}

/* Exponent of the last place of `value`, which is finite. */
static int
last_place (const Format *format, double value)
{
  int exponent = value != 0 ? ilogb (value) : format->least;
  return MAX (exponent, format->least) - (format->digits - 1);
}

double
tw_dtype_get_max (TwDtype dtype)
{
  const Format *format = &formats[dtype];
  return ldexp (2 - ldexp (1, 1 - format->digits), format->greatest);
}

double
tw_dtype_round (TwDtype dtype, double value)
{
  if (!isfinite (value) || value == 0)
    return value;
  int place = last_place (&formats[dtype], value);
  double rounded = ldexp (rint (ldexp (value, -place)), place);
  return fabs (rounded) > tw_dtype_get_max (dtype) ? copysign (HUGE_VAL, value) : rounded;
}

double
tw_dtype_ulp (TwDtype dtype, double value)
{
  if (!isfinite (value))
    return value * value; /* infinity, or NaN */
  return ldexp (1, last_place (&formats[dtype], MIN (fabs (value), tw_dtype_get_max (dtype))));
}
