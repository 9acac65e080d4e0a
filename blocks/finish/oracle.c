/* 1/sqrt of the mean of squares and eps. A total that f32 cannot hold gives NaN: the formula, which
 * has no such limit, would say 0. */
#include "tests/blocks/oracle.h"

#include <float.h>

void
oracle (const OracleCase *c)
{
  const OracleTensor *s = oracle_input (c, "s"), *r = oracle_output (c, "r");
  const double count = oracle_param (c, "count"), eps = oracle_param (c, "eps");

  for (int64_t m = 0; m < r->dims[0]; m++)
    {
      double total = 0;

      for (int64_t p = 0; p < s->dims[1]; p++)
        total += s->data[m * s->dims[1] + p];
      r->data[m] = total > FLT_MAX ? NAN : 1 / sqrt (total / count + eps);
    }
}
