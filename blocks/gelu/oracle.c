/* By the tanh itself; where that ends in 1 - 1, long double has digits to spare. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t i = 0; i < oracle_size (y); i++)
    {
      const long double v = x->data[i];
      const long double u = sqrtl (2 / acosl (-1)) * v * (1 + 0.044715L * v * v);

      y->data[i] = (double)(v * (1 + tanhl (u)) / 2);
    }
}
