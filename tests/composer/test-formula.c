/* The formula language: values, errors, arbitrary bytes, and printed C against the evaluator. */
#include "composer/formula.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static const TwFormulaOperand inputs[] = {
  { "a", 2, { "M", "K" } }, { "b", 2, { "K", "N" } }, { "x", 2, { "M", "N" } },
  { "s", 1, { "M" } },      { "g", 1, { "N" } },      { "q", 3, { "M", "K", "N" } },
  { "z", 0, { NULL } },
};
#define N_INPUTS ((int)G_N_ELEMENTS (inputs))
static const char *const params[] = { "eps", "group", "degree" };
static const TwFormulaOperand outputs[] = { { "y", 2, { "M", "N" } } };
static const TwFormulaOperand two_outputs[] = { { "y", 2, { "M", "N" } }, { "r", 1, { "M" } } };
static const TwFormulaOperand partials[] = { { "p", 2, { "M", "P" } } };
static const TwFormulaOperand scalar[] = { { "t", 0, { NULL } } };

static TwFormula *
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

static const char *const dim_names[] = { "M", "K", "N", "P" };

static gint64
extent (const Data *data, const char *dim)
{
  return *dim == 'M' ? data->m : *dim == 'K' ? data->k : *dim == 'N' ? data->n : data->p;
}

static gint64
size_of (const Data *data, const TwFormulaOperand *operand)
{
  gint64 size = 1;
  for (int i = 0; i < operand->n_dims; i++)
    size *= extent (data, operand->dims[i]);
  return size;
}

static void
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

static void
clear (Data *data)
{
  for (int i = 0; i < N_INPUTS; i++)
    g_free (data->data[i]);
}

/* Output `which` of a formula; g_free. NULL with error. */
static double *
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

static double *
value (const char *text, const Data *data, const TwFormulaOperand *out)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwFormula) formula = parse (text, out, 1, &error);
  g_assert_no_error (error);
  double *y = evaluate (formula, data, out, 1, 0, &error);
  g_assert_no_error (error);
  return y;
}

static void
test_values (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  Data data = { 6, 300, 517, 9, { NULL }, { 0.5, 64, 2 } };
  fill (&data, rand);
  gint64 n = data.n, k = data.k;
  g_autofree double *product = value ("y = sum(K, a*b)", &data, outputs);
  g_autofree double *slow = value ("y = sum(K, b*a + 0)", &data, outputs);
  g_autofree double *affine = value ("y = x*pow(s, degree) - -g/eps", &data, outputs);
  g_autofree double *mean
      = value ("d = x - mean(N, x); v = mean(N, square(d)); y = d*rsqrt(v + eps)", &data, outputs);
  g_autofree double *partial = value ("p = sum(N:group, square(x))", &data, partials);
  g_autofree double *own = value ("y = x/max(N:group, abs(x))", &data, outputs);
  g_autofree double *turned = value ("y = x[N = size(N) - 1 - index(N)]", &data, outputs);
  g_autofree double *all = value ("t = sum(M, sum(N, x))", &data, scalar);
  double total = 0;
  for (gint64 i = 0; i < data.m; i++)
    {
      double sum = 0, square = 0, row = 0;
      for (gint64 j = 0; j < n; j++)
        sum += data.data[2][i * n + j];
      for (gint64 j = 0; j < n; j++)
        square += pow (data.data[2][i * n + j] - sum / (double)n, 2.0);
      for (gint64 j = 0; j < n; j++)
        {
          double dot = 0, x = data.data[2][i * n + j], greatest = 0;
          for (gint64 l = 0; l < k; l++)
            dot += data.data[0][i * k + l] * data.data[1][l * n + j];
          for (gint64 l = j / 64 * 64; l < MIN (n, j / 64 * 64 + 64); l++)
            greatest = fmax (greatest, fabs (data.data[2][i * n + l]));
          g_assert_cmpfloat (product[i * n + j], ==, dot);
          g_assert_cmpfloat (slow[i * n + j], ==, dot);
          g_assert_cmpfloat (affine[i * n + j], ==,
                             x * pow (data.data[3][i], 2.0) - -data.data[4][j] / 0.5);
          g_assert_cmpfloat_with_epsilon (
              mean[i * n + j], (x - sum / (double)n) / sqrt (square / (double)n + 0.5), 1e-12);
          g_assert_cmpfloat (own[i * n + j], ==, x / greatest);
          g_assert_cmpfloat (turned[i * n + j], ==, data.data[2][i * n + n - 1 - j]);
          row += x;
        }
      total += row;
      for (gint64 p = 0; p < data.p; p++)
        {
          double expected = 0;
          for (gint64 j = p * 64; j < MIN (n, p * 64 + 64); j++)
            expected += data.data[2][i * n + j] * data.data[2][i * n + j];
          g_assert_cmpfloat (partial[i * data.p + p], ==, expected);
        }
    }
  g_assert_cmpfloat (all[0], ==, total);
  data.params[1] = 0;
  data.p = 1;
  g_autofree double *whole = value ("p = sum(N:group, square(x))", &data, partials);
  double expected = 0;
  for (gint64 j = 0; j < n; j++)
    expected += data.data[2][j] * data.data[2][j];
  g_assert_cmpfloat (whole[0], ==, expected);
  clear (&data);
}

static void
test_special (void)
{
  static const struct
  {
    const char *text;
    double expected;
  } cases[] = {
    { "t = 1 - 2 - 3", -4 },
    { "t = 2*3 + 4/8", 6.5 },
    { "t = -2*-3", 6 },
    { "t = (1 < 2) + (2 <= 1) + (1 == 1)*10 + (1 != 1) + (3 > 2) + (2 >= 3)", 12 },
    { "t = mod(-1, 4) + mod(7, 4)*10 + mod(5, -3)*100", -97 + 30 },
    { "t = select(0, 1, 2) + select(3, 10, 20)", 12 },
    { "t = relu(-3) + relu(4) + sign(-5)*10 + floor(-1.5)*100", -206 },
    { "t = max(1, 2) + min(1, 2)*10 + isnan(0/0)*100 + isnan(1)", 112 },
    { "t = round_to(1.00390625, 1) + round_to(0.1, 0) - 0.100000001490116119384765625", 1 },
    { "t = square(3) + sqrt(16) + rsqrt(4) + abs(-1)", 14.5 },
    { "u = 3; v = u*u; t = v + u", 12 },
    { "t = sum(N, 1) + size(N)*100 + sum(N, index(N))*1000", 505 + 10000 },
    { "t = max(N, index(N)) - min(N, -index(N)) + mean(N, 3)", 11 },
    { "t = 1e2 + .5 + 2. + 1e-1", 102.6 },
  };
  Data data = { 1, 1, 5, 1, { NULL }, { 0.5, 64, 2 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  fill (&data, rand);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree double *t = value (cases[i].text, &data, scalar);
      if (t[0] != cases[i].expected)
        g_test_message ("%s", cases[i].text);
      g_assert_cmpfloat (t[0], ==, cases[i].expected);
    }
  static const char *const nans[]
      = { "t = relu(0/0)",   "t = max(0/0, 1)",
          "t = max(1, 0/0)", "t = min(0/0, 1)",
          "t = min(1, 0/0)", "t = max(N, select(index(N) == 2, 0/0, 1))",
          "t = sign(0/0)",   "t = min(N, select(index(N) == 0, 0/0, 1))" };
  for (gsize i = 0; i < G_N_ELEMENTS (nans); i++)
    {
      g_autofree double *t = value (nans[i], &data, scalar);
      g_assert_true (isnan (t[0]));
    }
  clear (&data);
}

static void
test_errors (void)
{
  static const struct
  {
    const char *text;
    int code;
    const char *message;
  } cases[] = {
    { "", TW_FORMULA_ERROR_SYNTAX, "offset 0: found the end" },
    { "y", TW_FORMULA_ERROR_SYNTAX, "offset 1: found the end, expected '='" },
    { "y = ", TW_FORMULA_ERROR_SYNTAX, "offset 4: found the end, expected a number" },
    { "y = x +* g", TW_FORMULA_ERROR_SYNTAX, "offset 7: found '*'" },
    { "y = (x", TW_FORMULA_ERROR_SYNTAX, "offset 6: found the end, expected ')'" },
    { "y = x g", TW_FORMULA_ERROR_SYNTAX, "offset 6: found 'g'" },
    { "y = x $", TW_FORMULA_ERROR_SYNTAX, "offset 6: found '$'" },
    { "y = x \xff", TW_FORMULA_ERROR_SYNTAX, "offset 6: found byte 0xff" },
    { "y = 1e999", TW_FORMULA_ERROR_SYNTAX, "found '1e999'" },
    { "y = 1x", TW_FORMULA_ERROR_SYNTAX, "found '1'" },
    { "y = max(x)", TW_FORMULA_ERROR_SYNTAX, "max takes 2 values" },
    { "y = tanh(x, x)", TW_FORMULA_ERROR_SYNTAX, "tanh takes 1 value" },
    { "y = 1 < 2 < 3", TW_FORMULA_ERROR_SYNTAX, "offset 10" },
    { "y = x; ; ", TW_FORMULA_ERROR_SYNTAX, "the name of an output or a local" },
    { "y = degre*x", TW_FORMULA_ERROR_NAME, "did you mean 'degree'?" },
    { "y = sigmod(x)", TW_FORMULA_ERROR_NAME, "did you mean 'sigmoid'?" },
    { "y = sum(Q, a*b)", TW_FORMULA_ERROR_NAME, "expected a dimension" },
    { "y = x; y = x", TW_FORMULA_ERROR_NAME, "offset 7: 'y' has a value already" },
    { "x = 1", TW_FORMULA_ERROR_NAME, "'x' has a value already" },
    { "t = x; y = x", TW_FORMULA_ERROR_NAME, "not used" },
    { "t = x; u = t", TW_FORMULA_ERROR_NAME, "u" },
    { "y = sum(N:s, x)", TW_FORMULA_ERROR_NAME, "expected a parameter" },
    { "y = sum(N:sum(N, 1), x)", TW_FORMULA_ERROR_NAME, "parameters only" },
    { "t = x; y = t[N = 0]", TW_FORMULA_ERROR_NAME, "only an operand" },
    { "y = N", TW_FORMULA_ERROR_NAME, "found 'N'" },
    { "y = a", TW_FORMULA_ERROR_SHAPE, "offset 4: 'a' has dimension K" },
    { "y = sum(K, a) + b", TW_FORMULA_ERROR_SHAPE, "'b' has dimension K" },
    { "t = a*2; y = t", TW_FORMULA_ERROR_SHAPE, "has dimension K" },
    { "y = index(K)", TW_FORMULA_ERROR_SHAPE, "dimension K" },
    { "y = s[N = 0]", TW_FORMULA_ERROR_SHAPE, "'s' has no dimension N" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TwFormula) formula = parse (cases[i].text, outputs, 1, &error);
      g_assert_null (formula);
      if (!g_error_matches (error, TW_FORMULA_ERROR, cases[i].code)
          || !strstr (error->message, cases[i].message))
        g_error ("'%s' gave %d '%s', not %d '%s'", cases[i].text, error->code, error->message,
                 cases[i].code, cases[i].message);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

static void
test_bounds (void)
{
  g_autoptr (GString) text = g_string_new ("y = ");
  g_autoptr (GError) error = NULL;
  for (int i = 0; i < 5000; i++)
    g_string_append_c (text, '(');
  g_assert_null (parse (text->str, outputs, 1, &error));
  g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SYNTAX);
  g_clear_error (&error);
  g_string_assign (text, "y = x");
  for (int i = 0; i < 4000; i++)
    g_string_append (text, "+x");
  g_assert_null (parse (text->str, outputs, 1, &error));
  g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SYNTAX);
  g_clear_error (&error);
  for (int i = 0; i < 20000; i++)
    g_string_append (text, " ");
  g_assert_null (parse (text->str, outputs, 1, &error));
  g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SYNTAX);
  g_clear_error (&error);
  /* Each local stands for two of the one before: doubled in every reduction if copied. */
  g_string_assign (text, "t0 = index(N);");
  for (int i = 1; i <= 11; i++)
    g_string_append_printf (text, "t%d = sum(N, t%d + index(N)) + sum(N, t%d*index(N));", i, i - 1,
                            i - 1);
  g_string_append (text, "y = t11");
  g_autoptr (TwFormula) formula = parse (text->str, outputs, 1, &error);
  g_assert_no_error (error);
  g_assert_nonnull (formula);
  g_clear_error (&error);
  g_string_assign (text, "y = ");
  for (int i = 0; i < 40; i++)
    g_string_append (text, "sum(N:group, x + ");
  g_string_append (text, "x");
  for (int i = 0; i < 40; i++)
    g_string_append (text, ")");
  g_assert_null (parse (text->str, outputs, 1, &error));
  g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE);
  g_clear_error (&error);
  /* Names twice. */
  static const TwFormulaOperand twice[] = { { "x", 1, { "M" } }, { "x", 1, { "N" } } };
  TwFormulaNames names = { twice, 2, outputs, 1, NULL, 0 };
  g_assert_null (tw_formula_parse ("y = x", &names, &error));
  g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_NAME);
}

static void
test_run_errors (void)
{
  Data data = { 2, 3, 4, 1, { NULL }, { 0.5, 1.5, 2 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  fill (&data, rand);
  static const char *const texts[]
      = { "y = x[N = index(N) + 1]", "y = x[N = -1]",       "y = x[N = 0.5]",  "y = x[N = 0/0]",
          "y = x[M = 1e30]",         "y = sum(N:group, x)", "y = sum(N:-1, x)" };
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TwFormula) formula = parse (texts[i], outputs, 1, &error);
      g_assert_no_error (error);
      g_assert_null (evaluate (formula, &data, outputs, 1, 0, &error));
      g_assert_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE);
    }
  clear (&data);
  Data empty = { 2, 0, 4, 1, { NULL }, { 0.5, 64, 2 } };
  fill (&empty, rand);
  g_autofree double *zero = value ("y = sum(K, a*b)", &empty, outputs);
  g_autofree double *least = value ("y = max(K, a*b)", &empty, outputs);
  g_autofree double *none = value ("y = mean(K, a*b)", &empty, outputs);
  g_assert_cmpfloat (zero[7], ==, 0.0);
  g_assert_true (least[7] == -(double)INFINITY);
  g_assert_true (isnan (none[7]));
  clear (&empty);
}

static void
test_questions (void)
{
  g_autoptr (TwFormula) one = parse ("y = x*s + eps", outputs, 1, NULL);
  g_autoptr (TwFormula) two = parse ("y = sum(K, a*b)", outputs, 1, NULL);
  g_autoptr (TwFormula) three = parse ("y = x[N = 0]", outputs, 1, NULL);
  g_assert_true (tw_formula_is_elementwise (one));
  g_assert_false (tw_formula_is_elementwise (two));
  g_assert_false (tw_formula_is_elementwise (three));
  g_assert_true (tw_formula_uses_param (one, 0));
  g_assert_false (tw_formula_uses_param (one, 1));
  g_assert_true (tw_formula_uses_input (one, 3));
  g_assert_false (tw_formula_uses_input (one, 0));
  g_assert_cmpstr (tw_formula_get_text (one), ==, "y = x*s + eps");
  g_autoptr (TwFormula) both = parse ("r = sum(N, x); y = x/r", two_outputs, 2, NULL);
  g_assert_nonnull (both);
}

/* Random bytes, and random tokens, never crash the parser. */
static void
test_bytes (void)
{
  static const char *const tokens[] = {
    "y",  "=",   "x",     "g",       "s",        "(",   ")",     "[",    "]", ",",  ";",     ":",
    "+",  "-",   "*",     "/",       "<",        "==",  "sum(",  "max(", "N", "M",  "K",     "1",
    ".5", "1e3", "tanh(", "select(", "index(N)", "eps", "x[N =", "t",    " ", "\n", "group", "\x80"
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  int good = 0;
  for (int i = 0; i < 100000; i++)
    {
      g_autoptr (GString) text = g_string_new (i % 3 ? "y = " : NULL);
      for (int j = g_rand_int_range (rand, 0, 14); j > 0; j--)
        if (i % 2)
          g_string_append_c (text, (char)g_rand_int_range (rand, 1, 256));
        else
          g_string_append (text, tokens[g_rand_int_range (rand, 0, G_N_ELEMENTS (tokens))]);
      g_autoptr (GError) error = NULL;
      g_autoptr (TwFormula) formula = parse (text->str, outputs, 1, &error);
      g_assert_true ((formula != NULL) == (error == NULL));
      good += formula != NULL;
    }
  g_assert_cmpint (good, >, 50);
}

/* A random expression; `dims` are the indices that are bound. */
static void
random_expr (GRand *rand, GString *out, int depth, const char *dims, int locals)
{
  static const char *const unary[]
      = { "abs", "exp", "log",   "sqrt",   "rsqrt", "tanh", "sigmoid", "erf",
          "sin", "cos", "floor", "square", "relu",  "sign", "isnan",   "-" };
  static const char *const binary[] = { "+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=" };
  static const char *const calls[] = { "min", "max", "pow", "mod" };
  if (depth <= 0)
    {
      const TwFormulaOperand *operand = &inputs[g_rand_int_range (rand, 0, N_INPUTS)];
      gboolean bound = TRUE;
      for (int i = 0; i < operand->n_dims; i++)
        bound = bound && strstr (dims, operand->dims[i]);
      switch (g_rand_int_range (rand, 0, 8))
        {
        case 0:
          g_string_append_printf (out, "%.3g", g_rand_double_range (rand, 0, 10));
          return;
        case 1:
          g_string_append (out, params[g_rand_int_range (rand, 0, 3)]);
          return;
        case 2:
          g_string_append_printf (out, "size(%s)", dim_names[g_rand_int_range (rand, 0, 3)]);
          return;
        case 3:
          g_string_append_printf (out, "index(%c)",
                                  dims[g_rand_int_range (rand, 0, (int)strlen (dims))]);
          return;
        case 4:
          if (locals)
            {
              g_string_append_printf (out, "t%d", g_rand_int_range (rand, 0, locals));
              return;
            }
          break;
        case 5:
          g_string_append (out, "x[N = size(N) - 1 - index(N)]");
          return;
        default:
          break;
        }
      g_string_append (out, bound ? operand->name : "x");
      return;
    }
  int which = g_rand_int_range (rand, 0, 12);
  if (which < 6)
    {
      const char *sign
          = binary[which < 5 ? g_rand_int_range (rand, 0, 4) : g_rand_int_range (rand, 4, 10)];
      g_string_append_c (out, '(');
      random_expr (rand, out, depth - 1 - g_rand_int_range (rand, 0, 2), dims, locals);
      g_string_append (out, ")");
      g_string_append_printf (out, " %s ", sign);
      gboolean enclosed = strchr ("*/<>=!", sign[0]) || g_rand_boolean (rand);
      g_string_append (out, enclosed ? "(" : "");
      random_expr (rand, out, depth - 1 - g_rand_int_range (rand, 0, 2), dims, locals);
      g_string_append (out, enclosed ? ")" : "");
    }
  else if (which < 8)
    {
      g_string_append_printf (out, "%s(", unary[g_rand_int_range (rand, 0, 16)]);
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append_c (out, ')');
    }
  else if (which < 9)
    {
      g_string_append_printf (out, "%s(", calls[g_rand_int_range (rand, 0, 4)]);
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append (out, ", ");
      random_expr (rand, out, depth - 2, dims, locals);
      g_string_append_c (out, ')');
    }
  else if (which < 10)
    {
      g_string_append (out, "select(");
      for (int i = 0; i < 3; i++)
        {
          random_expr (rand, out, depth - 2, dims, locals);
          g_string_append (out, i < 2 ? ", " : ")");
        }
    }
  else if (which < 11)
    {
      g_string_append (out, "round_to(");
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append_printf (out, ", %d)", g_rand_int_range (rand, 0, 3));
    }
  else
    {
      static const char *const reduce[] = { "sum", "mean", "max", "min" };
      const char *dim = dim_names[g_rand_int_range (rand, 0, 3)];
      g_autofree char *inner = g_strconcat (dims, dim, NULL);
      g_string_append_printf (out, "%s(%s%s, ", reduce[g_rand_int_range (rand, 0, 4)], dim,
                              g_rand_int_range (rand, 0, 3) ? "" : ":group");
      random_expr (rand, out, depth - 1, inner, locals);
      g_string_append_c (out, ')');
    }
}

static char *
read_operand (int operand, const char *const *index, gpointer user_data)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "d->data[%d]", operand);
  g_string_append_c (text, '[');
  if (!inputs[operand].n_dims)
    g_string_append_c (text, '0');
  for (int i = 0; i < inputs[operand].n_dims; i++)
    {
      g_string_append_printf (text, "%s(%s)", i ? " + " : "", index[i]);
      for (int j = i + 1; j < inputs[operand].n_dims; j++)
        g_string_append_printf (text, " * d->%c", g_ascii_tolower (*inputs[operand].dims[j]));
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static char *
print_param (int param, gpointer user_data)
{
  /* The group as an integer, the degree as a literal, eps as a real. */
  return param == 1 ? g_strdup ("d->group") : param == 2 ? g_strdup ("-2") : g_strdup ("d->eps");
}

static char *
print_extent (const char *dim, gpointer user_data)
{
  return g_strdup_printf ("d->%c", g_ascii_tolower (*dim));
}

static void
check_columns (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (int i = 0; lines[i]; i++)
    if (strlen (lines[i]) > 100)
      g_error ("a line of %d columns: %s", (int)strlen (lines[i]), lines[i]);
}

typedef struct
{
  gint64 m, k, n, p;
  double *data[N_INPUTS];
  double eps;
  int group;
} CData;

#define N_RANDOM 150

static void
test_c (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (GPtrArray) formulas
      = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_formula_unref);
  g_autofree char *folder = g_dir_make_tmp ("tw-formula-XXXXXX", &error);
  g_assert_no_error (error);
  g_autoptr (GString) source = g_string_new ("#include <math.h>\n#include <stdint.h>\n");
  g_string_append (source, tw_formula_get_helpers ());
  g_string_append_printf (source,
                          "typedef struct { int64_t m, k, n, p; double *data[%d]; double eps; "
                          "int group; } Data;\n",
                          N_INPUTS);
  TwFormulaC spelling = { read_operand, print_param, print_extent, FALSE };
  const char *index[] = { "m", "n" };
  while (formulas->len < N_RANDOM)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      int locals = g_rand_int_range (rand, 0, 3);
      for (int i = 0; i < locals; i++)
        {
          g_string_append_printf (text, "t%d = ", i);
          random_expr (rand, text, 3, "MN", i);
          g_string_append (text, "; ");
        }
      g_string_append (text, "y = ");
      random_expr (rand, text, 5, "MN", locals);
      for (int i = 0; i < locals; i++)
        g_string_append_printf (text, " + t%d", i);
      TwFormula *formula = parse (text->str, outputs, 1, &error);
      if (error)
        g_error ("%s: %s", text->str, error->message);
      g_autofree char *c
          = tw_formula_to_c (formula, 0, index, "y[m * d->n + n]", 6, &spelling, NULL);
      check_columns (c);
      g_string_append_printf (source,
                              "void f%d (const Data *d, double *y)\n{\n"
                              "  for (int64_t m = 0; m < d->m; m++)\n"
                              "    for (int64_t n = 0; n < d->n; n++)\n%s}\n",
                              (int)formulas->len, c);
      g_ptr_array_add (formulas, formula);
    }
  g_autofree char *c_path = g_build_filename (folder, "f.c", NULL);
  g_autofree char *so_path = g_build_filename (folder, "f.so", NULL);
  g_assert_true (g_file_set_contents (c_path, source->str, -1, &error));
  /* The compiler may neither contract nor fold a function that the evaluator calls. */
  const char *argv[] = { "cc",
                         "-std=gnu17",
                         "-O1",
                         "-ffp-contract=off",
                         "-fno-builtin",
                         "-Wall",
                         "-Wno-unused-function",
                         "-Wno-tautological-compare",
                         "-Werror",
                         "-shared",
                         "-fPIC",
                         "-o",
                         so_path,
                         c_path,
                         "-lm",
                         NULL };
  int status = 0;
  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
  void *library = dlopen (so_path, RTLD_NOW);
  g_assert_nonnull (library);
  static const gint64 sizes[][3] = { { 3, 4, 5 }, { 1, 1, 1 }, { 2, 3, 300 } };
  int different = 0, finite = 0;
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      Data data = { sizes[s][0], sizes[s][1], sizes[s][2], 2, { NULL }, { 0.5, 2, -2 } };
      fill (&data, rand);
      CData c_data = { data.m, data.k, data.n, data.p, { NULL }, 0.5, 2 };
      memcpy (c_data.data, data.data, sizeof data.data);
      for (guint i = 0; i < formulas->len; i++)
        {
          if (s == 2 && i % 5)
            continue;
          g_autofree double *y = evaluate (formulas->pdata[i], &data, outputs, 1, 0, &error);
          g_assert_no_error (error);
          g_autofree double *expected = g_new0 (double, data.m *data.n);
          g_autofree char *name = g_strdup_printf ("f%d", (int)i);
          void (*function) (const CData *d, double *out);
          *(void **)&function = dlsym (library, name);
          function (&c_data, expected);
          for (gint64 j = 0; j < data.m * data.n; j++)
            {
              gboolean same = y[j] == expected[j] || (isnan (y[j]) && isnan (expected[j]));
              finite += isfinite (y[j]) && y[j] != 0.0;
              if (!same && !different++)
                g_test_message ("%s at %d: %.17g, C %.17g",
                                tw_formula_get_text (formulas->pdata[i]), (int)j, y[j],
                                expected[j]);
            }
        }
      clear (&data);
    }
  dlclose (library);
  g_remove (c_path);
  g_remove (so_path);
  g_rmdir (folder);
  g_assert_cmpint (different, ==, 0);
  g_assert_cmpint (finite, >, 1000);
}

static void
test_single (void)
{
  TwFormulaC spelling = { read_operand, print_param, print_extent, TRUE };
  const char *index[] = { "m", "n" };
  g_autoptr (TwFormula) formula
      = parse ("u = x*0.1; y = u*sigmoid(u) + select(x < 0, group/2, degree/group) + 16777217",
               outputs, 1, NULL);
  g_autofree char *c = tw_formula_to_c (formula, 0, index, "y", 0, &spelling, NULL);
  g_assert_cmpstr (
      c, ==,
      "{\n"
      "  const float v_u = d->data[2][(m) * d->n + (n)] * 0.1f;\n"
      "  y = v_u * tw_sigmoid (v_u)\n"
      "      + (d->data[2][(m) * d->n + (n)] < 0.0f ? d->group / 2.0f : (float) (-2) / "
      "d->group)\n"
      "      + 16777217.0f;\n"
      "}\n");
}

/* A thousand cubed, and ten thousand small formulas. */
static void
test_speed (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);
  Data data = { 700, 700, 700, 1, { NULL }, { 0.5, 64, 2 } };
  data.data[5] = NULL;
  for (int i = 0; i < N_INPUTS; i++)
    data.data[i] = i == 5 ? NULL : g_new0 (double, size_of (&data, &inputs[i]) + 1);
  gint64 start = g_get_monotonic_time ();
  g_autofree double *y = value ("y = sum(K, a*b)", &data, outputs);
  g_assert_nonnull (y);
  gint64 product = g_get_monotonic_time () - start;
  clear (&data);
  Data small = { 4, 8, 8, 1, { NULL }, { 0.5, 64, 2 } };
  fill (&small, rand);
  start = g_get_monotonic_time ();
  for (int i = 0; i < 10000; i++)
    {
      g_autofree double *z = value ("y = x*sigmoid(x)*g + sum(K, a*b)", &small, outputs);
      g_assert_nonnull (z);
    }
  gint64 many = g_get_monotonic_time () - start;
  clear (&small);
  g_test_message ("700^3: %.2f s; 10,000 small ones: %.2f s", (double)product / 1e6,
                  (double)many / 1e6);
  g_assert_cmpint (product, <, 20 * G_USEC_PER_SEC);
  g_assert_cmpint (many, <, 20 * G_USEC_PER_SEC);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formula/values", test_values);
  g_test_add_func ("/formula/special", test_special);
  g_test_add_func ("/formula/errors", test_errors);
  g_test_add_func ("/formula/bounds", test_bounds);
  g_test_add_func ("/formula/run-errors", test_run_errors);
  g_test_add_func ("/formula/questions", test_questions);
  g_test_add_func ("/formula/bytes", test_bytes);
  g_test_add_func ("/formula/c", test_c);
  g_test_add_func ("/formula/single", test_single);
  g_test_add_func ("/formula/speed", test_speed);
  return g_test_run ();
}
