/* Three epilogues as exported programs have them, compiled once with a lane that owns a panel
 * (run_strips_1) and once with the lanes of a warp taking turns (run_strips_32). */
#pragma once

#include "blocks/tile/matrix.h"

typedef struct
{
  int64_t rows, columns, depth; /* columns of what comes out */
  int group, n_b, dtype, threads;
  TwView a, b[2];
  TwView x, gamma, scale; /* f32: a residual, a vector a column, a vector a row */
  TwView y;               /* rows x columns, bf16; of RESIDUAL and ROWS */
  TwView partial;         /* sums of squares per 64 columns; of ROWS: per row */
  TwView out, before;     /* f32: of PAIR, swiglu and what it is given, laid out as the pair */
} StripCase;

enum
{
  STRIP_RESIDUAL,
  STRIP_PAIR,
  STRIP_ROWS,
  N_STRIPS
};

void run_strips_1 (const StripCase *c, int which);
void run_strips_32 (const StripCase *c, int which);
