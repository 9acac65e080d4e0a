/* The formula language: values, errors, arbitrary bytes, speed. */
#include "composer/formula.h"

#include <math.h>
#include <string.h>

#include "formula-data.h"

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
  g_test_add_func ("/formula/speed", test_speed);
  return g_test_run ();
}
