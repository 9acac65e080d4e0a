/* bf16 and f16 to and from f32 by integer code: exact, round to nearest even, on every target.
 *
 * NaN stays NaN and becomes quiet; infinities, subnormals and signed zeros are kept; what is beyond
 * the largest f16 rounds to infinity. Branch-free, so that loops over it vectorise. */
#pragma once

#include "target.h"

TW_FN float
tw_bf16_to_f32 (uint16_t h)
{
  return tw_bits_float ((uint32_t) h << 16);
}

TW_FN uint16_t
tw_f32_to_bf16 (float x)
{
  uint32_t bits = tw_float_bits (x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  uint32_t quiet = (bits >> 16) | 0x40u;

  return (uint16_t) ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

TW_FN float
tw_f16_to_f32 (uint16_t h)
{
  uint32_t sign = (uint32_t) (h & 0x8000u) << 16;
  uint32_t rest = (uint32_t) (h & 0x7fffu) << 13;
  uint32_t exponent = rest & 0x0f800000u;
  /* A subnormal is its mantissa times 2^-24: put it behind a 1 and take the 1 away again. */
  float tiny = tw_bits_float (rest + 0x38800000u) - tw_bits_float (0x38800000u);
  uint32_t normal = rest + 0x38000000u;
  uint32_t special = rest | 0x7f800000u;
  uint32_t quiet = rest > 0x0f800000u ? 0x00400000u : 0u;
  uint32_t bits = exponent == 0 ? tw_float_bits (tiny)
                  : exponent == 0x0f800000u ? (special | quiet) : normal;

  return tw_bits_float (sign | bits);
}

TW_FN uint16_t
tw_f32_to_f16 (float x)
{
  uint32_t bits = tw_float_bits (x);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t rest = bits & 0x7fffffffu;
  uint32_t normal = (rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  /* Adding 0.5 leaves the multiple of 2^-24 in the low bits, rounded by the adder. */
  uint32_t tiny = tw_float_bits (tw_bits_float (rest) + 0.5f) - 0x3f000000u;
  uint32_t quiet = 0x7e00u | ((rest >> 13) & 0x3ffu);
  uint32_t finite = rest < 0x38800000u ? tiny : rest >= 0x477ff000u ? 0x7c00u : normal;

  return (uint16_t) (sign | (rest > 0x7f800000u ? quiet : finite));
}

/* x as a value of storage type `dtype` (0 f32, 1 bf16, 2 f16) would hold it. */
TW_FN float
tw_round_to (float x, int dtype)
{
  float bf16 = tw_bf16_to_f32 (tw_f32_to_bf16 (x));
  float f16 = tw_f16_to_f32 (tw_f32_to_f16 (x));

  return dtype == 1 ? bf16 : dtype == 2 ? f16 : x;
}
