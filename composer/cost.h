/* Modelled time: bytes, flops and launches against a machine description (share/gpu/NAME.xml).
 * A model, and labelled so wherever it is shown. */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

typedef struct
{
  char *name;             /* "h200", "cpu" */
  char *label;
  double bandwidth;       /* bytes/s, read + write, sustained */
  double flops;           /* flop/s of the matrix units at the sustained clock, bf16/f16 */
  double flops_f32;       /* flop/s, f32 operands; 0: not offered */
  double launch;          /* seconds a kernel launch costs in a stream */
} TwMachine;

/* Reads share/gpu/NAME.xml. NULL with an error that lists the names there are. */
TwMachine *tw_machine_load (const char *name, GError **error);
void tw_machine_free (TwMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwMachine, tw_machine_free)

/* Seconds of one kernel / of a plan: max of the memory and the arithmetic time, plus the launch. */
double tw_cost_kernel (const TwKernel *kernel, const TwPlan *plan, const TwMachine *machine);
double tw_cost_plan (const TwPlan *plan, const TwMachine *machine);

G_END_DECLS
