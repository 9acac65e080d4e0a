/* By cases; NaN is no case. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t i = 0; i < oracle_size (y); i++)
    y->data[i] = isnan (x->data[i]) ? NAN : x->data[i] > 0 ? x->data[i] : 0;
}
