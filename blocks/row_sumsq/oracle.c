/* Every element is added to the partial its column belongs to. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *x = oracle_input (c, "x"), *s = oracle_output (c, "s");
  const int64_t group = (int64_t)oracle_param (c, "group");

  for (int64_t i = 0; i < oracle_size (s); i++)
    s->data[i] = 0;
  for (int64_t i = 0; i < oracle_size (x); i++)
    {
      const int64_t row = i / x->dims[1], column = i % x->dims[1];

      s->data[row * s->dims[1] + (group > 0 ? column / group : 0)] += x->data[i] * x->data[i];
    }
}
