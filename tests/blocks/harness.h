/* What make-case writes about an exported one-block program, for the harness that runs it. */
#pragma once

#include <stdint.h>

typedef enum
{
  HARNESS_F32,
  HARNESS_BF16,
  HARNESS_F16
} HarnessDtype;

typedef struct
{
  const char *port; /* of the block */
  HarnessDtype dtype;
  int column_order; /* element (i, j) lies at j*ld + i */
} HarnessTensor;

/* The block under one choice of dtypes and parameters: one node of the graph. */
typedef struct
{
  const char *label;                                  /* "T=bf16 degree=2" */
  int first_input, n_inputs, first_output, n_outputs; /* among the tensors */
  const char *const *param_names;
  const char *const *param_values; /* numbers, or names of dimensions */
  int n_params;
} HarnessSetting;

extern const HarnessTensor harness_tensors[];
extern const HarnessSetting harness_settings[];
extern const char *const harness_dims[];
extern const int harness_n_tensors, harness_n_settings, harness_n_dims;

/* Plans, prepares and launches. `step` says where it stopped, the result is the program's code. */
int harness_launch (const int64_t *dims, void *const *data, const int64_t *ld, int threads,
                    const char **step);
