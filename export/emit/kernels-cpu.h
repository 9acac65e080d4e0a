/* What the parts of the CPU target share: kernels-cpu.c, operands-cpu.c, strip-cpu.c. */
#pragma once

#include "kernel.h"

G_BEGIN_DECLS

/* Something an epilogue fetches before its elements: a tile, a vector along the row or the column.
 */
typedef struct
{
  int buffer;
  TwRole role;
  int group, partner; /* packed: columns of each partner in turn, which one; else 0 */
  char *name;
} TwLoad;

typedef struct
{
  TwEmitKernel *k;
  GPtrArray *loads; /* TwLoad, grows as operands are printed */
  gboolean *paired; /* per value: printed once a partner */
  int group;        /* of the pairs in this kernel; 0: none */
} TwPrinter;

TwPrinter *tw_printer_new (TwEmitKernel *k); /* borrows `k` */
void tw_printer_free (TwPrinter *printer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwPrinter, tw_printer_free)

gboolean tw_printer_is_paired (const TwPrinter *printer, const TwEmitValue *value);
/* "bf16". Static. */
const char *tw_printer_get_dtype (const TwPrinter *printer, int buffer);
/* The name of what a load fetches; it is remembered. */
const char *tw_printer_get_load (TwPrinter *printer, int buffer, TwRole role, int group,
                                 int partner);
/* The C expression of an operand at element (r, c) of the panel; `partner` of a paired reader, or
 * -1. g_free. */
char *tw_printer_operand (TwPrinter *printer, const TwEmitOperand *operand, int partner);
/* ", 1, 1e-6f": the parameters that the block's formula names. */
void tw_printer_append_params (TwPrinter *printer, GString *out, const TwEmitValue *value);
/* "tw_swiglu (v_gate, v_up": a call without its end. */
GString *tw_printer_call (TwPrinter *printer, const TwEmitValue *value, int partner);

/* Prints the function of a strip: everything but the main loop. */
void tw_printer_strip (TwPrinter *printer, TwText *text);

G_END_DECLS
