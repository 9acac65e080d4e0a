/* The norm by its definition: a row over its root mean square. Where f32 cannot hold the sum of
 * squares the row is NaN; the formula, which has no such limit, would give numbers. */
#include "tests/blocks/oracle.h"

#include <float.h>

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x"), *g = oracle_input (c, "g");
  const OracleTensor *y = oracle_output (c, "y");
  const double eps = oracle_param (c, "eps"), offset = oracle_param (c, "gamma");
  const int64_t columns = x->dims[1];

  for (int64_t m = 0; m < x->dims[0]; m++)
    {
      const double *row = x->data + m * columns;
      double squares = 0;

      for (int64_t n = 0; n < columns; n++)
        squares += row[n] * row[n];
      const double rms = squares > FLT_MAX ? NAN : sqrt (squares / (double)columns + eps);
      for (int64_t n = 0; n < columns; n++)
        y->data[m * columns + n] = row[n] / rms * (offset + g->data[n]);
    }
}
