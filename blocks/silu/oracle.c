/* x times the logistic function, by a half-angle identity: sigmoid(x) = (1 + tanh(x/2))/2. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *y = oracle_output (c, "y");

  for (int64_t i = 0; i < oracle_size (y); i++)
    {
      const long double v = x->data[i];

      y->data[i] = (double)(v * (0.5L * tanhl (0.5L * v) + 0.5L));
    }
}
