/* Two products, each summed in long double, last term first. */
#include "tests/blocks/oracle.h"

static void
multiply (const OracleTensor *a, const OracleTensor *b, const OracleTensor *y)
{
  for (int64_t m = 0; m < y->dims[0]; m++)
    for (int64_t n = 0; n < y->dims[1]; n++)
      {
        long double sum = 0;

        for (int64_t k = a->dims[1] - 1; k >= 0; k--)
          sum += (long double)a->data[m * a->dims[1] + k] * b->data[k * b->dims[1] + n];
        y->data[m * y->dims[1] + n] = (double)sum;
      }
}

void
oracle (const OracleCase *c)
{
  multiply (oracle_input (c, "a"), oracle_input (c, "b0"), oracle_output (c, "y0"));
  multiply (oracle_input (c, "a"), oracle_input (c, "b1"), oracle_output (c, "y1"));
}
