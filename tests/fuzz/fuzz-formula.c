/* Mutated formulas and dimension expressions: refused with a message, or evaluated on tiny tensors
 * and printed as C in both spellings. */
#include "composer/dimension.h"
#include "composer/formula.h"
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const TwFormulaOperand inputs[] = {
  { "a", 2, { "M", "K" } },  { "b", 2, { "K", "N" } },     { "x", 2, { "M", "N" } },
  { "g", 1, { "N" } },       { "r", 1, { "M" } },          { "gate", 2, { "M", "N" } },
  { "up", 2, { "M", "N" } }, { "pair", 2, { "M", "N2" } }, { "s", 2, { "M", "P" } },
};
static const TwFormulaOperand outputs[] = { { "y", 2, { "M", "N" } } };
static const TwFormulaOperand statistic[] = { { "y", 2, { "M", "P" } } };
static const char *const params[] = { "degree", "offset", "eps", "group", "count" };
static const char *const dims[] = { "M", "N", "K", "P", "N2" };
static const gint64 sizes[] = { 2, 3, 2, 2, 6 };
static const char *const seeds[] = {
  "y = sum(K, a*b)",
  "y = gate*sigmoid(gate)*up",
  "y = x*pow(r, degree)",
  "y = x*(offset + g)",
  "y = sum(N:group, square(x))",
  "y = rsqrt(sum(P, s)/count + eps)",
  "t = 0.7978845608028654*(x + 0.044715*x*x*x); y = 0.5*x*(1 + tanh(t))",
  "y = select(x > 0, x, exp(x) - 1)",
  "y = x[N = size(N) - 1 - index(N)] + min(x, max(g, -r))",
  "y = mean(N, x) + mod(index(N), 2) - floor(x/2)*abs(x)",
  "y = round_to(relu(x), 1) + isnan(log(x)) + sign(x)*erf(x)*sin(x)*cos(x)",
  "u = x - max(N, x); y = exp(u)/sum(N, exp(u))",
};
static const char *const expressions[]
    = { "2*H", "ceil(N/64)", "H*D + D*H - 3", "(T + 1)*(T - 1)/1", "ceil((2*N + 3)/8)*8", "512" };

static void
require (gboolean holds, const char *what, const GString *text)
{
  if (holds)
    return;
  fprintf (stderr, "%s:\n%s\n", what, text->str);
  abort ();
}

static gint64
size_of (const char *name)
{
  for (gsize i = 0; i < G_N_ELEMENTS (dims); i++)
    if (strcmp (dims[i], name) == 0)
      return sizes[i];
  return 1;
}

static char *
spell_read (int operand, const char *const *index, gpointer user_data)
{
  return g_strdup_printf ("%s[%s]", inputs[operand].name, index[0]);
}

static char *
spell_param (int param, gpointer user_data)
{
  return g_strdup (params[param]);
}

static char *
spell_extent (const char *dim, gpointer user_data)
{
  return g_strdup (dim);
}

static void
run_formula (Fuzz *fuzz, const TwFormula *formula, const TwFormulaOperand *output,
             const GString *text)
{
  static double data[G_N_ELEMENTS (inputs)][16], result[16];
  TwFormulaTensor tensors[G_N_ELEMENTS (inputs)] = { { 0 } };
  TwFormulaTensor out = { .n_dims = output->n_dims, .data = result };
  double values[G_N_ELEMENTS (params)] = { 2, 1, 1e-6, fuzz_below (fuzz, 3), 3 };
  for (gsize i = 0; i < G_N_ELEMENTS (inputs); i++)
    {
      tensors[i].n_dims = inputs[i].n_dims;
      tensors[i].data = data[i];
      for (int d = 0; d < inputs[i].n_dims; d++)
        tensors[i].dims[d] = size_of (inputs[i].dims[d]);
      for (int e = 0; e < 16; e++)
        data[i][e] = g_rand_double_range (fuzz->random, -4, 4);
    }
  for (int d = 0; d < output->n_dims; d++)
    out.dims[d] = size_of (output->dims[d]);
  g_autoptr (GError) error = NULL;
  gboolean done = tw_formula_evaluate (formula, tensors, values, dims, sizes, G_N_ELEMENTS (dims),
                                       &out, &error);
  require (done == (error == NULL), "evaluated and error", text);
  static const char *const index[] = { "m", "n" };
  for (int single = 0; single < 2; single++)
    {
      TwFormulaC spelling = { spell_read, spell_param, spell_extent, single };
      g_autofree char *c = tw_formula_to_c (formula, 0, index, "out", 2, &spelling, NULL);
      require (c != NULL && strstr (c, "out") != NULL, "C text", text);
    }
}

static gboolean
lookup (const char *name, gint64 *value, gpointer user_data)
{
  *value = (gint64)strlen (name) * 7;
  return TRUE;
}

/* Returns TRUE if the expression is one. */
static gboolean
try_dimension (const GString *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwDim) dim = tw_dim_parse (text->str, &error);
  require ((dim != NULL) == (error == NULL), "dimension and error", text);
  if (dim == NULL)
    return FALSE;
  g_autoptr (TwDim) again = tw_dim_parse (tw_dim_get_text (dim), NULL);
  require (again != NULL && tw_dim_equal (dim, again), "canonical text differs", text);
  g_autofree char *c = tw_dim_to_c (dim, "p_");
  require (c != NULL, "C text", text);
  gint64 value = 0, canonical = 0;
  gboolean good = tw_dim_evaluate (dim, lookup, NULL, &value, NULL);
  gboolean same = tw_dim_evaluate (again, lookup, NULL, &canonical, NULL);
  require (good == same && value == canonical, "value differs", text);
  return TRUE;
}

int
main (int argc, char **argv)
{
  Fuzz fuzz;
  if (!fuzz_init (&fuzz, &argc, &argv))
    return 1;
  for (gsize i = 0; i < G_N_ELEMENTS (seeds); i++)
    fuzz_add_text (&fuzz, seeds[i]);
  for (gsize i = 0; i < G_N_ELEMENTS (expressions); i++)
    fuzz_add_text (&fuzz, expressions[i]);
  gint64 refused = 0, good = 0, good_dims = 0;
  for (gint64 i = 0; i < fuzz.count; i++)
    {
      GString *text = fuzz_next (&fuzz, FALSE);
      /* Long texts are for the XML fuzzers; here the time goes to what parses. */
      g_string_truncate (text, MIN (text->len, 400));
      const TwFormulaOperand *output = fuzz_below (&fuzz, 3) == 0 ? statistic : outputs;
      TwFormulaNames names
          = { inputs, G_N_ELEMENTS (inputs), output, 1, params, G_N_ELEMENTS (params) };
      g_autoptr (GError) error = NULL;
      g_autoptr (TwFormula) formula = tw_formula_parse (text->str, &names, &error);
      require ((formula != NULL) == (error == NULL), "formula and error", text);
      if (formula != NULL)
        run_formula (&fuzz, formula, output, text);
      good += formula != NULL;
      refused += formula == NULL;
      good_dims += try_dimension (text);
      g_string_free (text, TRUE);
    }
  printf ("formula: seed %u, %" G_GINT64_FORMAT " cases: %" G_GINT64_FORMAT
          " refused, %" G_GINT64_FORMAT " formulas, %" G_GINT64_FORMAT " dimension expressions\n",
          fuzz.seed, fuzz.count, refused, good, good_dims);
  gboolean useful = fuzz.count < 500 || (good > 0 && refused > 0 && good_dims > 0);
  fuzz_clear (&fuzz);
  return useful ? 0 : 1;
}
