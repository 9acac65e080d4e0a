/* The pair is taken apart by walking it: so many gate columns, then as many up columns. */
#include "tests/blocks/oracle.h"

static double
gated (double gate, double up)
{
  return (double)((long double)gate / (1 + expl (-(long double)gate)) * up);
}

void
oracle (const OracleCase *c)
{
  const OracleTensor *gate = oracle_input (c, "gate"), *up = oracle_input (c, "up");
  const OracleTensor *pair = oracle_input (c, "pair"), *y = oracle_output (c, "y");
  const int64_t group = (int64_t)oracle_param (c, "partner");

  if (pair == NULL)
    {
      for (int64_t i = 0; i < oracle_size (y); i++)
        y->data[i] = gated (gate->data[i], up->data[i]);
      return;
    }
  for (int64_t m = 0; m < pair->dims[0]; m++)
    {
      const double *row = pair->data + m * pair->dims[1];
      double *to = y->data + m * y->dims[1];

      for (int64_t n = 0; n < pair->dims[1]; n += 2 * group)
        for (int64_t i = 0; i < group; i++)
          *to++ = gated (row[n + i], row[n + group + i]);
    }
}
