/* The main loop without a product: rows streamed in strips of 16, as wide as the matrix, so that a
 * strip function can pass over a row several times. */
#pragma once

#include "panel.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Hands every strip of `rows` x `columns` to `function`, once, from `threads` threads (<= 0: all
 * there are). */
TW_HOST void
tw_rows (int64_t rows, int64_t columns, int threads, TwStripFn *function, const void *data)
{
  int64_t strips = (rows + TW_ROWS - 1) / TW_ROWS;

#ifdef _OPENMP
  int n = threads > 0 ? threads : omp_get_max_threads ();

#pragma omp parallel for schedule(static) num_threads (n) if (strips > 1)
#else
  (void) threads;
#endif
  for (int64_t i = 0; i < strips; i++)
    {
      TwStrip s;

      s.row = i * TW_ROWS;
      s.column = 0;
      s.columns = columns;
      s.rows = rows - s.row < TW_ROWS ? (int) (rows - s.row) : TW_ROWS;
      s.group = 0;
      s.acc[0] = s.acc[1] = (const float *) 0;
      s.acc_ld = 0;
      function (&s, data);
    }
}
