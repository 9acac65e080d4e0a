/* By repeated multiplication or division. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x");
  const OracleTensor *s = oracle_input (c, "s");
  const OracleTensor *y = oracle_output (c, "y");
  const int degree = (int)oracle_param (c, "degree");

  for (int64_t i = 0; i < oracle_size (y); i++)
    {
      const double factor = s->data[i / x->dims[1]];
      double power = 1;

      for (int n = 0; n < (degree < 0 ? -degree : degree); n++)
        power *= factor;
      y->data[i] = degree < 0 ? x->data[i] / power : x->data[i] * power;
    }
}
