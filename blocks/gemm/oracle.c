/* Dot products, summed over the contracted dimension in long double, last term first. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *a = oracle_input (c, "a"), *b = oracle_input (c, "b");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t m = 0; m < y->dims[0]; m++)
    for (int64_t n = 0; n < y->dims[1]; n++)
      {
        long double sum = 0;

        for (int64_t k = a->dims[1] - 1; k >= 0; k--)
          sum += (long double)a->data[m * a->dims[1] + k] * b->data[k * b->dims[1] + n];
        y->data[m * y->dims[1] + n] = (double)sum;
      }
}
