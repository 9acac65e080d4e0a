/* What device code stands on: how a function is declared, the bits of a float.
 *
 * Functions of blocks are written once, in the common subset of C17 and CUDA C++: scalars by value,
 * no memory, no thread index. They are inlined everywhere, so that loops over them vectorise on a
 * CPU and stay in registers on a GPU. */
#pragma once

#include <stdint.h>

#ifndef TW_LANES
#define TW_LANES 1 /* 1: one lane owns a panel. 32: the lanes of a warp in turn, for tests */
#endif

#ifdef __CUDACC__
#define TW_FN static __device__ __forceinline__
#else
#define TW_FN static inline __attribute__ ((always_inline, unused))
#endif

/* The tile layer's own functions, where the compiler may choose. */
#define TW_HOST static inline __attribute__ ((unused))

TW_FN uint32_t
tw_float_bits (float x)
{
#ifdef __CUDACC__
  return __float_as_uint (x);
#else
  uint32_t bits;

  __builtin_memcpy (&bits, &x, sizeof bits);
  return bits;
#endif
}

TW_FN float
tw_bits_float (uint32_t bits)
{
#ifdef __CUDACC__
  return __uint_as_float (bits);
#else
  float x;

  __builtin_memcpy (&x, &bits, sizeof x);
  return x;
#endif
}
