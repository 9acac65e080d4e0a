/* The pair is written from left to right. */
#include "tests/blocks/oracle.h"

void
oracle (const OracleCase *c)
{
  const OracleTensor *w[2] = { oracle_input (c, "w0"), oracle_input (c, "w1") };
  const OracleTensor *pair = oracle_output (c, "pair");
  const int64_t group = (int64_t)oracle_param (c, "group"), columns = w[0]->dims[1];
  double *to = pair->data;

  for (int64_t k = 0; k < w[0]->dims[0]; k++)
    for (int64_t n = 0; n < columns; n += group)
      for (int which = 0; which < 2; which++)
        for (int64_t i = 0; i < group; i++)
          *to++ = w[which]->data[k * columns + n + i];
}
