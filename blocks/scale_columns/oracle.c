/* Each column by its weight and what is added to it. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *y = oracle_output (c, "y");
  const OracleTensor *w = oracle_input (c, "g");
  const long double offset = oracle_param (c, "offset");

  for (int64_t i = 0; i < oracle_size (y); i++)
    {
      const long double g = w->data[i % w->dims[0]], v = x->data[i];

      y->data[i] = (double)(v * (g + offset));
    }
}
