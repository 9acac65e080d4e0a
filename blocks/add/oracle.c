/* The sum. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *a = oracle_input (c, "a");
  const OracleTensor *b = oracle_input (c, "b");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t i = 0; i < oracle_size (y); i++)
    y->data[i] = b->data[i] + a->data[i];
}
