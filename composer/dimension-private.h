/* Arithmetic that reading an expression needs. Not for others: dimension.h is the interface. */
#pragma once

#include "dimension.h"

G_BEGIN_DECLS

/* Each gives a new expression, or NULL where it is too large. */
TwDim *tw_dim_add (const TwDim *a, const TwDim *b, gint64 sign);
TwDim *tw_dim_multiply (const TwDim *a, const TwDim *b);
TwDim *tw_dim_divide (const TwDim *a, gint64 divisor);
TwDim *tw_dim_round_up (const TwDim *a, gint64 divisor);

G_END_DECLS
