/* What the lines of an epilogue read: operands, parameters, calls.
 *
 * Values are printed element by element, named after their nodes. A value that is read as a pair of
 * partners ("packed") is printed twice, once a partner, in the index space of the columns that come
 * out: v_h_0, v_h_1. */

#include "kernels-cpu.h"

static void
load_free (gpointer data)
{
  TwLoad *load = data;

  g_free (load->name);
  g_free (load);
}

static int
value_index (const TwEmitKernel *k, const TwEmitValue *value)
{
  for (guint i = 0; i < k->values->len; i++)
    if (g_ptr_array_index (k->values, i) == value)
      return (int)i;
  return -1;
}

gboolean
tw_printer_is_paired (const TwPrinter *printer, const TwEmitValue *value)
{
  int index = value_index (printer->k, value);

  return index >= 0 && printer->paired[index];
}

/* Values read as pairs, what they are computed from, and what is computed from them. */
static void
find_pairs (TwPrinter *printer)
{
  const TwEmitKernel *k = printer->k;
  gboolean changed = TRUE;

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      for (int j = 0; j < value->block->n_operands; j++)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);

          if (operand.port == NULL || operand.group == 0)
            continue;
          printer->group = operand.group;
          if (operand.value != NULL)
            printer->paired[value_index (k, operand.value)] = TRUE;
        }
      if (tw_emit_is_copy (value->block))
        {
          printer->paired[i] = TRUE;
          printer->group = value->type->partner_group;
        }
    }
  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < k->values->len; i++)
        {
          const TwEmitValue *value = g_ptr_array_index (k->values, i);

          if (value->block->kind != TW_KIND_ELEMENTWISE || value->per_row
              || tw_emit_is_copy (value->block))
            continue;
          for (int j = 0; j < value->block->n_operands; j++)
            {
              TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);
              int from = operand.value != NULL ? value_index (k, operand.value) : -1;

              if (from < 0 || operand.group != 0 || operand.role != TW_ROLE_MATRIX
                  || printer->paired[i] == printer->paired[from])
                continue;
              printer->paired[i] = printer->paired[from] = TRUE;
              changed = TRUE;
            }
        }
    }
}

TwPrinter *
tw_printer_new (TwEmitKernel *k)
{
  TwPrinter *printer = g_new0 (TwPrinter, 1);

  printer->k = k;
  printer->loads = g_ptr_array_new_with_free_func (load_free);
  printer->paired = g_new0 (gboolean, k->values->len + 1);
  find_pairs (printer);
  return printer;
}

void
tw_printer_free (TwPrinter *printer)
{
  if (printer == NULL)
    return;
  g_ptr_array_unref (printer->loads);
  g_free (printer->paired);
  g_free (printer);
}

const char *
tw_printer_get_dtype (const TwPrinter *printer, int buffer)
{
  const TwBuffer *b = g_ptr_array_index (printer->k->emit->plan->buffers, buffer);

  return tw_dtype_get_name (b->type->dtype);
}

/* The name of what a load fetches; it is remembered. */
const char *
tw_printer_get_load (TwPrinter *printer, int buffer, TwRole role, int group, int partner)
{
  static const char letters[] = { 'm', 'r', 'c', 'q', 'm' };
  const TwBuffer *b = g_ptr_array_index (printer->k->emit->plan->buffers, buffer);

  for (guint i = 0; i < printer->loads->len; i++)
    {
      const TwLoad *load = g_ptr_array_index (printer->loads, i);

      if (load->buffer == buffer && load->role == role && load->group == group
          && load->partner == partner)
        return load->name;
    }
  TwLoad *load = g_new0 (TwLoad, 1);
  load->buffer = buffer;
  load->role = role;
  load->group = group;
  load->partner = partner;
  load->name = group > 0 ? g_strdup_printf ("%c%d_%s", letters[role], partner, b->name)
                         : g_strdup_printf ("%c_%s", letters[role], b->name);
  g_ptr_array_add (printer->loads, load);
  return load->name;
}

/* The C expression of an operand at element (r, c) of the panel; `partner` of a paired reader, or
 * -1. */
char *
tw_printer_operand (TwPrinter *printer, const TwEmitOperand *operand, int partner)
{
  int which = operand->group > 0 ? operand->partner : partner;
  int group = operand->group > 0 ? operand->group : partner >= 0 ? printer->group : 0;

  if (operand->value != NULL)
    {
      if (operand->value->per_row)
        return g_strdup_printf ("%s[r]", operand->value->name);
      if (tw_printer_is_paired (printer, operand->value))
        return g_strdup_printf ("%s_%d", operand->value->name, MAX (which, 0));
      return g_strdup (operand->value->name);
    }
  if (operand->buffer < 0)
    return g_strdup ("0.0f");
  if (operand->role == TW_ROLE_PER_ROW)
    return g_strdup_printf ("%s[r]",
                            tw_printer_get_load (printer, operand->buffer, operand->role, 0, 0));
  const char *name = tw_printer_get_load (printer, operand->buffer, operand->role, group,
                                          group > 0 ? MAX (which, 0) : 0);
  return g_strdup_printf (operand->role == TW_ROLE_PER_COLUMN ? "%s[c]" : "%s[r][c]", name);
}

/* ", 1, 1e-6f": the parameters that the block's formula names. */
void
tw_printer_append_params (TwPrinter *printer, GString *out, const TwEmitValue *value)
{
  const TwBlock *block = value->block;

  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *spec = &block->params[i];
      double number = 0;

      if (block->formula == NULL || !tw_formula_uses_param (block->formula, i))
        continue;
      if (out->str[out->len - 1] != '(')
        g_string_append (out, ", ");
      const TwDim *dim = spec->type == TW_PARAM_DIMENSION
                             ? tw_typing_get_dim (printer->k->typing, value->node->id, spec->id)
                             : NULL;
      gint64 constant;
      if (dim != NULL && !tw_dim_is_constant (dim, &constant))
        {
          g_autofree char *text = tw_dim_to_c (dim, "v->d_");
          g_string_append_printf (out, "(float) (%s)", text);
          continue;
        }
      if (dim != NULL)
        number = (double)constant;
      else
        tw_node_get_number (value->node, block, spec->id, &number);
      gboolean real = spec->type == TW_PARAM_REAL || spec->type == TW_PARAM_DIMENSION;
      g_autofree char *text
          = real ? tw_emit_number (number, TRUE) : g_strdup_printf ("%d", (int)number);
      g_string_append (out, text);
    }
}

/* "tw_swiglu (v_gate, v_up": a call without its end. */
GString *
tw_printer_call (TwPrinter *printer, const TwEmitValue *value, int partner)
{
  g_autofree char *function = tw_emit_function_name (value->block);
  GString *out = g_string_new (NULL);

  g_string_printf (out, "%s (", function);
  for (int i = 0; i < value->block->n_operands; i++)
    {
      TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, value->block, i);
      g_autofree char *text = tw_printer_operand (printer, &operand, partner);

      g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", text);
    }
  tw_printer_append_params (printer, out, value);
  return out;
}
