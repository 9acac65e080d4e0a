/* What an oracle.c gets: the ports of one node with their values in double, and its parameters.
 *
 * blocks/<id>/oracle.c defines `oracle`. It computes what the block means a second time, by its own
 * arithmetic: not by the formula's text and not by the device function. Values are what is stored
 * (a bf16 input is already rounded); outputs are not rounded. Tensors are dense, row by row. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct
{
  const char *port;
  int n_dims;
  int64_t dims[3];
  double *data;
} OracleTensor;

typedef struct
{
  const OracleTensor *inputs;
  const OracleTensor *outputs;
  int n_inputs, n_outputs;
  const char *const *param_names;
  const double *param_values; /* an enum's is the number of its value, a dimension's its extent */
  int n_params;
} OracleCase;

void oracle (const OracleCase *c);

/* NULL if the node has no such input. */
static inline const OracleTensor *
oracle_input (const OracleCase *c, const char *port)
{
  for (int i = 0; i < c->n_inputs; i++)
    if (strcmp (c->inputs[i].port, port) == 0)
      return &c->inputs[i];
  return NULL;
}

static inline const OracleTensor *
oracle_output (const OracleCase *c, const char *port)
{
  for (int i = 0; i < c->n_outputs; i++)
    if (strcmp (c->outputs[i].port, port) == 0)
      return &c->outputs[i];
  return NULL;
}

/* NaN if there is no such parameter, so that a misspelt name shows. */
static inline double
oracle_param (const OracleCase *c, const char *name)
{
  for (int i = 0; i < c->n_params; i++)
    if (strcmp (c->param_names[i], name) == 0)
      return c->param_values[i];
  return NAN;
}

static inline int64_t
oracle_size (const OracleTensor *t)
{
  int64_t size = 1;

  for (int i = 0; i < t->n_dims; i++)
    size *= t->dims[i];
  return size;
}
