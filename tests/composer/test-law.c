/* Laws: predictions, and the measurement against small blocks with right and wrong laws. */
#include "composer/law.h"

#include <string.h>

/* Descriptors of test blocks: ports and formula in one, laws in another. */
static TwBlock *
make (const char *kind, const char *body, const char *laws)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *xml = g_strdup_printf (
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<block format=\"1\" id=\"sample\" version=\"1\" kind=\"%s\" category=\"test\">\n"
      "<label>Sample</label><notation>sample</notation><doc>A sample.</doc>%s%s"
      "<numerics accumulate=\"f32\" rounds=\"stored outputs only\"/><cost flops=\"1\"/>"
      "<target id=\"cpu\"/></block>\n",
      kind, body, laws);
  TwBlock *block = tw_block_parse (xml, strlen (xml), NULL, &error);
  if (!block)
    g_error ("%s\n%s", error->message, xml);
  return block;
}

#define IN(name, role, dims)                                                                       \
  "<port id=\"" name "\" direction=\"in\" role=\"" role "\" dtype=\"f32\" dims=\"" dims            \
  "\">An input.</port>"
#define OUT(name, role, dims)                                                                      \
  "<port id=\"" name "\" direction=\"out\" role=\"" role "\" dtype=\"f32\" dims=\"" dims           \
  "\">An output.</port>"
#define FORMULA(text) "<formula>" text "</formula>"
#define INTEGER(name)                                                                              \
  "<param id=\"" name "\" type=\"integer\" default=\"1\" min=\"-4\" max=\"4\"><doc>A "             \
  "number.</doc></param>"
#define REAL(name) "<param id=\"" name "\" type=\"real\" min=\"1e-30\"><doc>A number.</doc></param>"
#define LAW(kind, inputs, more) "<law kind=\"" kind "\" inputs=\"" inputs "\"" more "/>"

#define MULTIPLY                                                                                   \
  IN ("a", "matrix", "M, N")                                                                       \
  IN ("b", "matrix", "M, N") OUT ("y", "matrix", "M, N") FORMULA ("y = a*b")
#define MULTIPLY_LAWS                                                                              \
  LAW ("degree", "a", " degree=\"1\"")                                                             \
  LAW ("degree", "b", " degree=\"1\"") LAW ("linear", "a", "") LAW ("linear", "b", "")             \
      LAW ("column", "a", " degree=\"1\"") LAW ("column", "b", " degree=\"1\"")
#define ADD                                                                                        \
  IN ("a", "matrix", "M, N")                                                                       \
  IN ("b", "matrix", "M, N") OUT ("y", "matrix", "M, N") FORMULA ("y = a + b")
#define ADD_LAWS                                                                                   \
  LAW ("degree", "a b", " degree=\"1\"")                                                           \
  LAW ("linear", "a b", "") LAW ("column", "a b", " degree=\"1\"")                                 \
      LAW ("shift", "a", " response=\"carries\"") LAW ("shift", "b", " response=\"carries\"")
#define PRODUCT                                                                                    \
  IN ("a", "matrix", "M, K")                                                                       \
  IN ("b", "matrix", "K, N") OUT ("y", "matrix", "M, N") FORMULA ("y = sum(K, a*b)")
#define PRODUCT_LAWS                                                                               \
  LAW ("degree", "a", " degree=\"1\"")                                                             \
  LAW ("force", "b", "") LAW ("linear", "a", "") LAW ("linear", "b", "")                           \
      LAW ("column", "b", " degree=\"1\"") LAW ("shift", "a", " response=\"carries\"")             \
          LAW ("transfer", "a b", "")
#define BIAS                                                                                       \
  IN ("x", "matrix", "M, N")                                                                       \
  IN ("b", "per-column", "N") OUT ("y", "matrix", "M, N") FORMULA ("y = x + b")
#define POWER                                                                                      \
  INTEGER ("p")                                                                                    \
  IN ("x", "matrix", "M, N") IN ("s", "per-row", "M") OUT ("y", "matrix", "M, N")                  \
      FORMULA ("y = x*pow(s, p)")
#define POWER_LAWS                                                                                 \
  LAW ("degree", "x", " degree=\"1\"")                                                             \
  LAW ("linear", "x", "") LAW ("column", "x", " degree=\"1\"")                                     \
      LAW ("shift", "x", " response=\"carries\"")
#define SQUARE                                                                                     \
  IN ("x", "matrix", "M, N") OUT ("y", "matrix", "M, N") FORMULA ("y = square(relu(x))")
#define CENTRE                                                                                     \
  IN ("x", "matrix", "M, N")                                                                       \
  OUT ("v", "per-row", "M") FORMULA ("d = x - mean(N, x); v = mean(N, square(d))")
#define NORM                                                                                       \
  REAL ("eps")                                                                                     \
  IN ("x", "matrix", "M, N")                                                                       \
  OUT ("y", "matrix", "M, N") FORMULA ("y = x*rsqrt(mean(N, square(x)) + eps)")
#define TWO                                                                                        \
  IN ("a", "matrix", "M, K")                                                                       \
  IN ("b", "matrix", "K, N") IN ("c", "matrix", "K, N") OUT ("y", "matrix", "M, N")                \
      OUT ("z", "matrix", "M, N") FORMULA ("y = sum(K, a*b); z = sum(K, a*c)")
#define TWO_LAWS                                                                                   \
  LAW ("degree", "a", " degree=\"1\"")                                                             \
  LAW ("force", "b", "") LAW ("force", "c", "") LAW ("linear", "a", "") LAW ("linear", "b", "")    \
      LAW ("linear", "c", "") LAW ("column", "b", " degree=\"1\"")                                 \
          LAW ("column", "c", " degree=\"1\"") LAW ("shift", "a", " response=\"carries\"")         \
              LAW ("transfer", "a b c", "")

static const struct
{
  const char *name, *kind, *body, *laws;
  const char *code;    /* NULL: good */
  const char *message; /* part of one */
} cases[] = {
  { "multiply", "elementwise", MULTIPLY, MULTIPLY_LAWS, NULL, NULL },
  { "add", "elementwise", ADD, ADD_LAWS, NULL, NULL },
  { "product", "contraction", PRODUCT, PRODUCT_LAWS, NULL, NULL },
  { "power", "elementwise", POWER, POWER_LAWS LAW ("degree", "s", " degree=\"$p\""), NULL, NULL },
  { "two", "contraction", TWO, TWO_LAWS, NULL, NULL },
  { "square", "elementwise", SQUARE, LAW ("degree", "x", " degree=\"2\""), NULL, NULL },
  { "centre", "elementwise", CENTRE, LAW ("degree", "x", " degree=\"2\""), NULL, NULL },
  { "norm", "elementwise", NORM, LAW ("force", "x", ""), NULL, NULL },
  { "bias", "elementwise", BIAS,
    LAW ("linear", "x b", "") LAW ("column", "x b", " degree=\"1\"")
        LAW ("shift", "x", " response=\"carries\"") LAW ("force", "x", ""),
    NULL, NULL },

  { "no law", "elementwise", MULTIPLY, "", "law-missing", "kind=\"degree\" inputs=\"a\"" },
  { "power as 1", "elementwise", POWER, POWER_LAWS LAW ("degree", "s", " degree=\"1\""),
    "law-false", "measured degree=\"$p\"" },
  { "power without", "elementwise", POWER, POWER_LAWS, "law-missing", "degree=\"$p\"" },
  { "relu2 of 1", "elementwise", SQUARE, LAW ("degree", "x", " degree=\"1\""), "law-false",
    "measured degree=\"2\"" },
  { "norm of 0", "elementwise", NORM, LAW ("degree", "x", " degree=\"0\""), "law-false",
    "measured no degree" },
  { "norm without", "elementwise", NORM, "", "law-missing", "kind=\"force\" inputs=\"x\"" },
  { "add apart", "elementwise", ADD, ADD_LAWS LAW ("degree", "a", " degree=\"1\""), "law-false",
    "'a'" },
  { "add forced", "elementwise", ADD, ADD_LAWS LAW ("force", "a", ""), "law-false",
    "'a b' has degree=\"1\"" },
  { "weight scaled", "contraction", PRODUCT, PRODUCT_LAWS LAW ("degree", "b", " degree=\"1\""),
    "law-false", "row dimension" },
  { "joint", "contraction", PRODUCT, PRODUCT_LAWS LAW ("linear", "a b", ""), "law-false",
    "linear law of 'a b'" },
  { "turned", "contraction", PRODUCT, PRODUCT_LAWS LAW ("transfer", "b a", ""), "law-false",
    "transfer law of 'b a'" },
  { "invariant", "contraction", PRODUCT, PRODUCT_LAWS LAW ("shift", "a", " response=\"invariant\""),
    "law-false", "measured response \"carries\"" },
  { "vector", "elementwise", BIAS,
    LAW ("linear", "x b", "") LAW ("column", "x b", " degree=\"1\"")
        LAW ("shift", "x", " response=\"carries\"") LAW ("force", "x b", ""),
    "law-false", "without rows" },
  { "column of x", "elementwise", BIAS,
    LAW ("linear", "x b", "") LAW ("column", "x", " degree=\"1\"")
        LAW ("shift", "x", " response=\"carries\"") LAW ("force", "x", ""),
    "law-missing", "kind=\"column\" inputs=\"x b\"" },
  { "shift of product", "elementwise", MULTIPLY,
    MULTIPLY_LAWS LAW ("shift", "a", " response=\"carries\""), "law-false",
    "measured response \"neither\"" },
};

static void
test_check (gconstpointer user_data)
{
  gsize i = GPOINTER_TO_SIZE (user_data);
  g_autoptr (TwBlock) block = make (cases[i].kind, cases[i].body, cases[i].laws);
  for (guint32 seed = 1; seed <= 30; seed++)
    {
      g_autoptr (GPtrArray) diagnostics = tw_law_check (block, seed);
      gboolean found = FALSE;
      for (guint j = 0; j < diagnostics->len; j++)
        {
          const TwDiagnostic *diagnostic = diagnostics->pdata[j];
          if (!cases[i].code)
            g_error ("%s, seed %u: %s", cases[i].name, seed, diagnostic->message);
          found = found
                  || (strcmp (diagnostic->code, cases[i].code) == 0
                      && strstr (diagnostic->message, cases[i].message));
        }
      if (cases[i].code && !found)
        g_error ("%s, seed %u: no %s with '%s' among %u%s%s", cases[i].name, seed, cases[i].code,
                 cases[i].message, diagnostics->len, diagnostics->len ? ": " : "",
                 diagnostics->len ? ((TwDiagnostic *)diagnostics->pdata[0])->message : "");
    }
}

/* Nothing of one output is asked of another. */
static void
test_outputs (void)
{
  g_autoptr (TwBlock) block
      = make ("contraction", TWO,
              LAW ("degree", "a", " degree=\"1\"") LAW ("force", "b", "") LAW ("force", "c", "")
                  LAW ("linear", "a", "") LAW ("linear", "b", " output=\"y\""));
  g_autoptr (GPtrArray) diagnostics = tw_law_check (block, 1);
  for (guint i = 0; i < diagnostics->len; i++)
    {
      const TwDiagnostic *diagnostic = diagnostics->pdata[i];
      g_assert_cmpstr (diagnostic->code, ==, "law-missing");
      g_assert_false (strstr (diagnostic->message, "linear\" inputs=\"b\"") != NULL);
    }
  g_assert_cmpuint (diagnostics->len, >=, 5);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
test_predict (void)
{
  g_autoptr (TwBlock) multiply = make ("elementwise", MULTIPLY, MULTIPLY_LAWS);
  g_autoptr (TwBlock) add = make ("elementwise", ADD, ADD_LAWS);
  g_autoptr (TwBlock) product = make ("contraction", PRODUCT, PRODUCT_LAWS);
  g_autoptr (TwBlock) power
      = make ("elementwise", POWER, POWER_LAWS LAW ("degree", "s", " degree=\"$p\""));
  g_assert_cmpint (tw_law_predict_degree (multiply, NULL, LIST ("a"), "y"), ==, 1);
  g_assert_cmpint (tw_law_predict_degree (multiply, NULL, LIST ("b", "a"), "y"), ==, 2);
  g_assert_cmpint (tw_law_predict_degree (add, NULL, LIST ("a"), "y"), ==, TW_LAW_NONE);
  g_assert_cmpint (tw_law_predict_degree (add, NULL, LIST ("a", "b"), "y"), ==, 1);
  g_assert_cmpint (tw_law_predict_degree (add, NULL, LIST ("a", "nothing"), "y"), ==, TW_LAW_NONE);
  g_assert_cmpint (tw_law_predict_degree (product, NULL, LIST ("a"), NULL), ==, 1);
  g_assert_cmpint (tw_law_predict_degree (product, NULL, LIST ("b"), "y"), ==, TW_LAW_NONE);
  g_assert_cmpint (tw_law_predict_degree (power, NULL, LIST ("s", "x"), "y"), ==, 2);
  g_assert_cmpint (tw_law_predict_column (product, NULL, LIST ("b"), "y"), ==, 1);
  g_assert_cmpint (tw_law_predict_column (product, NULL, LIST ("a"), "y"), ==, TW_LAW_NONE);
  g_assert_true (tw_law_is_linear (add, LIST ("b", "a"), "y"));
  g_assert_false (tw_law_is_linear (add, LIST ("a"), "y"));
  g_assert_nonnull (tw_law_get_transfer (product, "a"));
  g_assert_null (tw_law_get_transfer (product, "b"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/law/check/%s", cases[i].name);
      g_test_add_data_func (path, GSIZE_TO_POINTER (i), test_check);
    }
  g_test_add_func ("/law/outputs", test_outputs);
  g_test_add_func ("/law/predict", test_predict);
  return g_test_run ();
}
