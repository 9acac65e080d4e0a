/* The sum of squares of a row's elements, as one lane gathers them. */
#pragma once

#include "../tile/math.h"

typedef struct
{
  float sum;
} tw_row_sumsq_state;

TW_FN tw_row_sumsq_state
tw_row_sumsq_init (void)
{
  tw_row_sumsq_state state;

  state.sum = 0.0f;
  return state;
}

TW_FN tw_row_sumsq_state
tw_row_sumsq_gather (tw_row_sumsq_state state, float x)
{
  state.sum += x * x;
  return state;
}

TW_FN tw_row_sumsq_state
tw_row_sumsq_merge (tw_row_sumsq_state a, tw_row_sumsq_state b)
{
  a.sum += b.sum;
  return a;
}

TW_FN float
tw_row_sumsq_value (tw_row_sumsq_state state)
{
  return state.sum;
}
