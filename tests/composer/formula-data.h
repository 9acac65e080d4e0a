/* Names, random data and evaluation that the tests of formulas share. */
#pragma once

#include "composer/formula.h"

#include <math.h>
#include <string.h>

G_GNUC_UNUSED static const TwFormulaOperand inputs[] = {
  { "a", 2, { "M", "K" } }, { "b", 2, { "K", "N" } }, { "x", 2, { "M", "N" } },
  { "s", 1, { "M" } },      { "g", 1, { "N" } },      { "q", 3, { "M", "K", "N" } },
  { "z", 0, { NULL } },
};
#define N_INPUTS ((int)G_N_ELEMENTS (inputs))
G_GNUC_UNUSED static const char *const params[] = { "eps", "group", "degree" };
G_GNUC_UNUSED static const TwFormulaOperand outputs[] = { { "y", 2, { "M", "N" } } };
G_GNUC_UNUSED static const TwFormulaOperand two_outputs[]
    = { { "y", 2, { "M", "N" } }, { "r", 1, { "M" } } };
G_GNUC_UNUSED static const TwFormulaOperand partials[] = { { "p", 2, { "M", "P" } } };
G_GNUC_UNUSED static const TwFormulaOperand scalar[] = { { "t", 0, { NULL } } };

G_GNUC_UNUSED static TwFormula *
parse (const char *text, const TwFormulaOperand *out, int n_out, GError **error)
{
  TwFormulaNames names = { inputs, N_INPUTS, out, n_out, params, G_N_ELEMENTS (params) };
  return tw_formula_parse (text, &names, error);
}

typedef struct
{
  gint64 m, k, n, p;
  double *data[N_INPUTS];
  double params[3];
} Data;

G_GNUC_UNUSED static const char *const dim_names[] = { "M", "K", "N", "P" };

G_GNUC_UNUSED static gint64
extent (const Data *data, const char *dim)
{
  return *dim == 'M' ? data->m : *dim == 'K' ? data->k : *dim == 'N' ? data->n : data->p;
}

G_GNUC_UNUSED static gint64
size_of (const Data *data, const TwFormulaOperand *operand)
{
  gint64 size = 1;
  for (int i = 0; i < operand->n_dims; i++)
    size *= extent (data, operand->dims[i]);
  return size;
}

G_GNUC_UNUSED static void
fill (Data *data, GRand *rand)
{
  for (int i = 0; i < N_INPUTS; i++)
    {
      gint64 size = size_of (data, &inputs[i]);
      data->data[i] = g_new (double, size + 1);
      for (gint64 j = 0; j < size; j++)
        data->data[i][j] = g_rand_double_range (rand, -2.0, 2.0);
    }
}

G_GNUC_UNUSED static void
clear (Data *data)
{
  for (int i = 0; i < N_INPUTS; i++)
    g_free (data->data[i]);
}

/* Output `which` of a formula; g_free. NULL with error. */
G_GNUC_UNUSED static double *
evaluate (const TwFormula *formula, const Data *data, const TwFormulaOperand *out, int n_out,
          int which, GError **error)
{
  TwFormulaTensor in[N_INPUTS], result[2];
  gint64 values[] = { data->m, data->k, data->n, data->p };
  double *kept[2] = { NULL, NULL };
  for (int i = 0; i < N_INPUTS; i++)
    {
      in[i] = (TwFormulaTensor){ .n_dims = inputs[i].n_dims, .data = data->data[i] };
      for (int j = 0; j < inputs[i].n_dims; j++)
        in[i].dims[j] = extent (data, inputs[i].dims[j]);
    }
  for (int i = 0; i < n_out; i++)
    {
      kept[i] = g_new0 (double, size_of (data, &out[i]) + 1);
      result[i] = (TwFormulaTensor){ .n_dims = out[i].n_dims, .data = kept[i] };
      for (int j = 0; j < out[i].n_dims; j++)
        result[i].dims[j] = extent (data, out[i].dims[j]);
    }
  gboolean good
      = tw_formula_evaluate (formula, in, data->params, dim_names, values, 4, result, error);
  g_free (n_out == 2 ? kept[1 - which] : NULL);
  if (!good)
    g_clear_pointer (&kept[which], g_free);
  return kept[which];
}

G_GNUC_UNUSED static double *
value (const char *text, const Data *data, const TwFormulaOperand *out)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwFormula) formula = parse (text, out, 1, &error);
  g_assert_no_error (error);
  double *y = evaluate (formula, data, out, 1, 0, &error);
  g_assert_no_error (error);
  return y;
}
