#include "composer/diagnostic.h"

static void
test_text (void)
{
  TwDiagnostic *d = tw_diagnostic_new ("dtype-mismatch", TW_SEVERITY_ERROR, "h", "b", 21,
                                       "h.b is f32", "f32", "bf16", "insert a cast");
  tw_diagnostic_add_fix (d, "change w");
  g_autofree char *text = tw_diagnostic_to_text (d, "g.xml");
  g_assert_cmpstr (text, ==,
                   "g.xml:21: error: h.b is f32 (found f32; needed bf16). insert a cast; or "
                   "change w [dtype-mismatch]");
  g_autofree char *bare = tw_diagnostic_to_text (d, NULL);
  g_assert_true (g_str_has_prefix (bare, "error: h.b is f32"));
  tw_diagnostic_free (d);
  d = tw_diagnostic_new ("cycle", TW_SEVERITY_ERROR, "h", NULL, 0, "hands go round", NULL, NULL,
                         NULL);
  g_autofree char *named = tw_diagnostic_to_text (d, NULL);
  g_assert_cmpstr (named, ==, "error: h: hands go round [cycle]");
  tw_diagnostic_free (d);
  d = tw_diagnostic_new ("no-output", TW_SEVERITY_WARNING, NULL, NULL, 0, "nothing leaves", NULL,
                         NULL, NULL);
  g_autofree char *plain = tw_diagnostic_to_text (d, "g.xml");
  g_assert_cmpstr (plain, ==, "g.xml: warning: nothing leaves [no-output]");
  tw_diagnostic_free (d);
}

static void
test_list (void)
{
  g_autoptr (GPtrArray) list = tw_diagnostics_new ();
  g_assert_false (tw_diagnostics_have_error (list));
  g_ptr_array_add (
      list, tw_diagnostic_new ("a", TW_SEVERITY_WARNING, NULL, NULL, 0, "m", NULL, NULL, NULL));
  g_assert_false (tw_diagnostics_have_error (list));
  g_ptr_array_add (
      list, tw_diagnostic_new ("a", TW_SEVERITY_ERROR, NULL, NULL, 0, "m", NULL, NULL, NULL));
  g_assert_true (tw_diagnostics_have_error (list));
}

static void
test_nearest (void)
{
  static const char *const blocks[] = { "gemm", "dual_gemm", "rms_norm", "swiglu", "silu", NULL };
  g_assert_cmpstr (tw_nearest_name ("gem", blocks), ==, "gemm");
  g_assert_cmpstr (tw_nearest_name ("rmsnorm", blocks), ==, "rms_norm");
  g_assert_cmpstr (tw_nearest_name ("SwiGLU", blocks), ==, "swiglu");
  g_assert_cmpstr (tw_nearest_name ("slilu", blocks), ==, "silu");
  g_assert_null (tw_nearest_name ("convolution", blocks));
  g_assert_null (tw_nearest_name ("", blocks));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/diagnostic/text", test_text);
  g_test_add_func ("/diagnostic/list", test_list);
  g_test_add_func ("/diagnostic/nearest", test_nearest);
  return g_test_run ();
}
