/* A matrix in memory, row-major: element (m, n) lies at data[m*ld + n]. Offsets are 64 bits wide.
 *
 * A vector is a matrix of one row. Who reads or writes knows the storage type by name; values are
 * f32 in registers whatever it is. */
#pragma once

#include "convert.h"

typedef struct
{
  void *data;
  int64_t ld; /* elements from one row to the next */
} TwView;

TW_FN float
tw_load_f32 (const TwView *v, int64_t m, int64_t n)
{
  return ((const float *) v->data)[m * v->ld + n];
}

TW_FN float
tw_load_bf16 (const TwView *v, int64_t m, int64_t n)
{
  return tw_bf16_to_f32 (((const uint16_t *) v->data)[m * v->ld + n]);
}

TW_FN float
tw_load_f16 (const TwView *v, int64_t m, int64_t n)
{
  return tw_f16_to_f32 (((const uint16_t *) v->data)[m * v->ld + n]);
}

TW_FN void
tw_store_f32 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((float *) v->data)[m * v->ld + n] = x;
}

TW_FN void
tw_store_bf16 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((uint16_t *) v->data)[m * v->ld + n] = tw_f32_to_bf16 (x);
}

TW_FN void
tw_store_f16 (const TwView *v, int64_t m, int64_t n, float x)
{
  ((uint16_t *) v->data)[m * v->ld + n] = tw_f32_to_f16 (x);
}

/* Column of the pair's tensor where element n of partner 0 or 1 lies: `group` columns of each in
 * turn. */
TW_FN int64_t
tw_pair_column (int64_t n, int group, int partner)
{
  return n / group * 2 * group + partner * group + n % group;
}

/* The partials of row m folded in index order. */
TW_FN float
tw_fold_f32 (const TwView *v, int64_t m, int64_t count)
{
  float total = 0.0f;

  for (int64_t i = 0; i < count; i++)
    total += tw_load_f32 (v, m, i);
  return total;
}
