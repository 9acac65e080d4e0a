/* Storage types of tensor elements, and their exact conversions.
 *
 * What this is not: arithmetic. The composer computes in double; a dtype says only what a value
 * becomes when it is stored. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  TW_DTYPE_F32,
  TW_DTYPE_BF16,
  TW_DTYPE_F16,
  TW_DTYPE_LAST
} TwDtype;

/* The name used in graph and block files: "f32", "bf16", "f16". Static. */
const char *tw_dtype_get_name (TwDtype dtype);

/* Bytes of one element. */
gsize tw_dtype_get_size (TwDtype dtype);

/* TRUE and *dtype if `name` is a dtype's name. */
gboolean tw_dtype_from_name (const char *name, TwDtype *dtype);

/* `value` rounded once to the nearest value of `dtype`, ties to even (IEEE 754); values beyond the
 * largest finite one become infinite, NaN stays NaN, subnormals are kept. */
double tw_dtype_round (TwDtype dtype, double value);

/* Distance from |value| to the next larger value of `dtype` (unit in the last place). */
double tw_dtype_ulp (TwDtype dtype, double value);

/* The largest finite value. */
double tw_dtype_get_max (TwDtype dtype);

G_END_DECLS
