/* Column by column. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *b = oracle_input (c, "b");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t i = 0; i < oracle_size (y); i++)
    y->data[i] = x->data[i] + b->data[i % b->dims[0]];
}
