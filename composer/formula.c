/* Formulas as values: reference counting and questions about them. */
#include "formula-private.h"

G_DEFINE_QUARK (tw - formula - error, tw_formula_error)

TwFormula *
tw_formula_ref (TwFormula *formula)
{
  g_atomic_int_inc (&formula->ref_count);
  return formula;
}

static void
clear_program (Program *program)
{
  if (program->scopes)
    for (guint i = 0; i < program->scopes->len; i++)
      g_array_unref (SCOPE (program, i)->nodes);
  g_clear_pointer (&program->scopes, g_array_unref);
  g_clear_pointer (&program->nodes, g_array_unref);
}

void
tw_formula_unref (TwFormula *formula)
{
  if (!formula || !g_atomic_int_dec_and_test (&formula->ref_count))
    return;
  for (int i = 0; i < formula->n_outputs && formula->programs; i++)
    clear_program (&formula->programs[i]);
  g_free (formula->programs);
  for (int i = 0; i < formula->n_inputs; i++)
    g_free (formula->inputs[i].name);
  for (int i = 0; i < formula->n_outputs; i++)
    g_free (formula->outputs[i].name);
  g_free (formula->inputs);
  g_free (formula->outputs);
  g_strfreev (formula->params);
  g_strfreev (formula->dims);
  for (guint i = 0; i < formula->statements->len; i++)
    g_free (STATEMENT (formula, i)->name);
  g_array_unref (formula->statements);
  g_array_unref (formula->terms);
  g_free (formula->text);
  g_free (formula);
}

const char *
tw_formula_get_text (const TwFormula *formula)
{
  return formula->text;
}

gboolean
tw_formula_is_elementwise (const TwFormula *formula)
{
  for (guint i = 0; i < formula->terms->len; i++)
    {
      const Term *term = TERM (formula, i);
      if (term->op == OP_REDUCE || term->op == OP_SIZE || term->op == OP_INDEX
          || (term->op == OP_READ && term->dim >= 0))
        return FALSE;
    }
  return TRUE;
}

static gboolean
uses (const TwFormula *formula, Op op, int item)
{
  for (guint i = 0; i < formula->terms->len; i++)
    if (TERM (formula, i)->op == op && TERM (formula, i)->item == item)
      return TRUE;
  return FALSE;
}

gboolean
tw_formula_uses_param (const TwFormula *formula, int param)
{
  return uses (formula, OP_PARAM, param);
}

gboolean
tw_formula_uses_input (const TwFormula *formula, int input)
{
  return uses (formula, OP_READ, input);
}

gboolean
tw_formula_output_uses_input (const TwFormula *formula, int output, int input)
{
  const Program *program = &formula->programs[output];
  for (guint i = 0; i < program->nodes->len; i++)
    if (NODE (program, i)->op == OP_READ && NODE (program, i)->item == input)
      return TRUE;
  return FALSE;
}
