/* silu(gate) * up. */
#pragma once

#include "../tile/math.h"

TW_FN float
tw_swiglu (float gate, float up)
{
  return gate * tw_sigmoid (gate) * up;
}
