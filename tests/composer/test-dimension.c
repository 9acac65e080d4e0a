#include "composer/dimension.h"

#include <string.h>

static TwDim *
parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  TwDim *dim = tw_dim_parse (text, &error);
  g_assert_no_error (error);
  return dim;
}

/* N = 100, M = 7, Z = 0. */
static gboolean
lookup (const char *name, gint64 *value, gpointer user_data)
{
  static const char names[] = "NMZB";
  static const gint64 values[] = { 100, 7, 0, G_MAXINT64 };
  const char *at = strlen (name) == 1 ? strchr (names, name[0]) : NULL;
  if (at == NULL)
    return FALSE;
  *value = values[at - names];
  return TRUE;
}

static void
test_canonical (void)
{
  static const char *const equal[][2] = { { "2*H", "H + H" },
                                          { "H*D", "D*H" },
                                          { "(N + 1)*(N - 1)", "N*N - 1" },
                                          { "N/2*2", "N" },
                                          { "ceil(128/64)", "2" },
                                          { "ceil(129/64)", "3" },
                                          { "ceil(64*K/64)", "K" },
                                          { "ceil((N + N)/64)", "ceil(2*N/64)" },
                                          { " N ", "N" },
                                          { "N - N", "0" },
                                          { "3*(N + 2) - 6", "3*N" } };
  for (guint i = 0; i < G_N_ELEMENTS (equal); i++)
    {
      g_autoptr (TwDim) a = parse (equal[i][0]), b = parse (equal[i][1]);
      g_autoptr (TwDim) again = parse (tw_dim_get_text (a));
      g_assert_cmpstr (tw_dim_get_text (a), ==, tw_dim_get_text (b));
      g_assert_true (tw_dim_equal (a, b));
      g_assert_true (tw_dim_equal (a, again));
    }
  static const char *const differ[][2] = {
    { "N", "M" }, { "N/2", "N" }, { "ceil(N/64)", "ceil(N/32)" }, { "N*N", "N" }, { "0", "1" }
  };
  for (guint i = 0; i < G_N_ELEMENTS (differ); i++)
    {
      g_autoptr (TwDim) a = parse (differ[i][0]), b = parse (differ[i][1]);
      g_assert_false (tw_dim_equal (a, b));
    }
  g_autoptr (TwDim) two = parse ("2*H"), partials = parse ("ceil(N/64)");
  g_assert_cmpstr (tw_dim_get_text (two), ==, "2*H");
  g_assert_cmpstr (tw_dim_get_text (partials), ==, "ceil(N/64)");
}

static void
test_syntax (void)
{
  static const char *const wrong[]
      = { "",
          "  ",
          "2H",
          "N +",
          "* N",
          "(N",
          "N)",
          "N/0",
          "N/M",
          "ceil(N)",
          "ceil(N/0)",
          "ceil(N + 1/64)",
          "9223372036854775808",
          "N$",
          "-N",
          "N/",
          "1.5",
          "ceil(N/64",
          "a23456789012345678901234567890123456789012345678901234567890abcd" };
  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (tw_dim_parse (wrong[i], &error));
      g_assert_error (error, TW_DIM_ERROR, TW_DIM_ERROR_SYNTAX);
      g_assert_nonnull (strstr (error->message, "at character"));
    }
  /* Deep and large ones are refused, not followed. */
  g_autoptr (GString) deep = g_string_new (NULL), large = g_string_new ("(a+b)");
  for (int i = 0; i < 100000; i++)
    g_string_append_c (deep, '(');
  for (int i = 0; i < 60; i++)
    g_string_append (large, "*(a+b+c+d)");
  g_assert_null (tw_dim_parse (deep->str, NULL));
  g_assert_null (tw_dim_parse (large->str, NULL));
}

static void
assert_value (const char *text, gint64 wanted)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwDim) dim = parse (text);
  gint64 value = -1;
  g_assert_true (tw_dim_evaluate (dim, lookup, NULL, &value, &error));
  g_assert_no_error (error);
  g_assert_cmpint (value, ==, wanted);
}

static void
assert_no_value (const char *text, TwDimError code)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwDim) dim = parse (text);
  gint64 value;
  g_assert_false (tw_dim_evaluate (dim, lookup, NULL, &value, &error));
  g_assert_error (error, TW_DIM_ERROR, (int)code);
}

static void
test_values (void)
{
  assert_value ("2*N + 3*M", 221);
  assert_value ("ceil(N/64)", 2);
  assert_value ("ceil(Z/64)", 0);
  assert_value ("N/4", 25);
  assert_value ("N/2 + N/2", 100);
  assert_value ("N*M*ceil(M/4)", 1400);
  assert_value ("0", 0);
  assert_no_value ("N/3", TW_DIM_ERROR_REMAINDER);
  assert_no_value ("M - N", TW_DIM_ERROR_RANGE);
  assert_no_value ("B*N", TW_DIM_ERROR_RANGE);
  assert_no_value ("Q", TW_DIM_ERROR_UNBOUND);
  gint64 value = 0;
  g_autoptr (TwDim) five = parse ("2*2 + 1"), n = parse ("N");
  g_assert_true (tw_dim_is_constant (five, &value));
  g_assert_cmpint (value, ==, 5);
  g_assert_false (tw_dim_is_constant (n, &value));
}

static void
test_c (void)
{
  static const char *const texts[][2] = { { "N", "d_N" }, { "64", "64" } };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (TwDim) dim = parse (texts[i][0]);
      g_autofree char *c = tw_dim_to_c (dim, "d_");
      g_assert_cmpstr (c, ==, texts[i][1]);
    }
  g_autoptr (TwDim) half = parse ("(N + M)/2"), partials = parse ("ceil(N/64)*2");
  g_autofree char *a = tw_dim_to_c (half, ""), *b = tw_dim_to_c (partials, "");
  g_assert_cmpstr (a, ==, "((M + N) / 2)");
  g_assert_cmpstr (b, ==, "(2 * ((N + 63) / 64))");
}

static TwDim *
replace (const char *name, gpointer user_data)
{
  return strcmp (name, "N") == 0 ? user_data : NULL;
}

static void
test_substitute (void)
{
  g_autoptr (TwDim) dim = parse ("2*N + ceil(N/64) + M"), value = parse ("64*K");
  g_autoptr (TwDim) result = tw_dim_substitute (dim, replace, value);
  g_autoptr (TwDim) wanted = parse ("129*K + M");
  g_assert_true (tw_dim_equal (result, wanted));
  g_autoptr (TwDim) same = tw_dim_substitute (wanted, replace, value);
  g_assert_true (tw_dim_equal (same, wanted));
}

static void
assert_solved (const char *pattern, const char *dim, const char *wanted)
{
  g_autoptr (TwDim) p = parse (pattern), d = parse (dim);
  g_autoptr (TwDim) v = tw_dim_solve (p, "N", d);
  if (wanted == NULL)
    {
      g_assert_null (v);
      return;
    }
  g_autoptr (TwDim) w = parse (wanted);
  g_assert_nonnull (v);
  g_assert_true (tw_dim_equal (v, w));
}

static void
test_solve (void)
{
  assert_solved ("N", "H + 1", "H + 1");
  assert_solved ("2*N", "4*H", "2*H");
  assert_solved ("2*N", "5632", "2816");
  assert_solved ("2*N + 3", "2*H + 5", "H + 1");
  assert_solved ("2*N", "7", NULL);
  assert_solved ("2*N", "H", NULL);
  assert_solved ("ceil(N/64)", "2", NULL);
  assert_solved ("N*N", "4", NULL);
}

static void
append (const char *name, gpointer user_data)
{
  g_string_append_printf (user_data, "%s ", name);
}

static void
test_names (void)
{
  g_autoptr (TwDim) dim = parse ("N*M + ceil(K/4) + N");
  g_autoptr (GString) names = g_string_new (NULL);
  tw_dim_foreach_name (dim, append, names);
  g_assert_cmpstr (names->str, ==, "K M N ");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/dimension/canonical", test_canonical);
  g_test_add_func ("/dimension/syntax", test_syntax);
  g_test_add_func ("/dimension/values", test_values);
  g_test_add_func ("/dimension/c", test_c);
  g_test_add_func ("/dimension/substitute", test_substitute);
  g_test_add_func ("/dimension/solve", test_solve);
  g_test_add_func ("/dimension/names", test_names);
  return g_test_run ();
}
