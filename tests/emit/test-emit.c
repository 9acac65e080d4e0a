/* The exporter as a whole: what is refused, what may reach the text, what is stable. Compiling and
 * running what is exported is tests/emit/run-exports.py. */

#include "export/emit/emit.h"

#include <string.h>

static TwCatalog *catalog;

/* Files of an exported graph, or NULL with `error`. */
static GPtrArray *
export_text (const char *xml, const char *target, const char *prefix, GError **error)
{
  g_autoptr (TwGraph) graph = tw_graph_parse (xml, strlen (xml), error);
  const TwCheckOptions check = { NULL };
  const TwPlanOptions fused = { TRUE, FALSE, 0 };
  const TwEmitOptions options = { target, prefix, NULL };

  if (graph == NULL)
    return NULL;
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, &check);
  const GPtrArray *diagnostics = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < diagnostics->len; i++)
    {
      const TwDiagnostic *diagnostic = g_ptr_array_index (diagnostics, i);
      g_test_message ("%s: %s", diagnostic->code, diagnostic->message);
    }
  g_assert_true (tw_typing_is_good (typing));
  g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &fused);
  return tw_emit (graph, typing, plan, catalog, &options, error);
}

static const char *
find_file (GPtrArray *files, const char *name)
{
  for (guint i = 0; i < files->len; i++)
    {
      const TwEmitFile *file = g_ptr_array_index (files, i);

      if (strcmp (file->name, name) == 0)
        return file->text;
    }
  return NULL;
}

#define SMALL                                                                                      \
  "<graph format=\"1\" name=\"small\">"                                                            \
  "<doc>words &lt;of&gt; the user */ #error doc</doc>"                                             \
  "<dimension name=\"T\" kind=\"dynamic\" value=\"8\" min=\"0\" max=\"100\"/>"                     \
  "<node id=\"x\" block=\"input\" label=\"label */ #error label\">"                                \
  "<param name=\"dtype\" value=\"f32\"/><param name=\"shape\" value=\"T, 5\"/></node>"             \
  "<node id=\"y\" block=\"relu\" label=\"&quot;); #error\"/>"                                      \
  "<node id=\"out\" block=\"output\"/>"                                                            \
  "<link from=\"x.y\" to=\"y.x\"/><link from=\"y.y\" to=\"out.x\"/></graph>"

static void
test_files (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) files = export_text (SMALL, "cpu", NULL, &error);

  g_assert_no_error (error);
  const char *const names[] = { "small.c",      "small.h",  "small_unfused.c", "small_unfused.h",
                                "small_main.c", "Makefile", "plan.json",       "README" };
  g_assert_cmpuint (files->len, ==, G_N_ELEMENTS (names));
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_nonnull (find_file (files, names[i]));
  g_assert_nonnull (strstr (find_file (files, "small.c"), "SPDX-License-Identifier: MIT-0"));
  g_assert_nonnull (strstr (find_file (files, "small.h"), "int small_launch ("));
}

static void
test_prefix (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) files = export_text (SMALL, NULL, "my_mlp", &error);

  g_assert_no_error (error);
  g_assert_nonnull (strstr (find_file (files, "my_mlp.h"), "int my_mlp_launch ("));
  g_assert_nonnull (strstr (find_file (files, "my_mlp.h"), "MY_MLP_ERROR_NULL"));
  const char *const bad[] = { "", "9a", "a-b", "a b", "a\"", "../x" };
  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (GError) refused = NULL;

      g_assert_null (export_text (SMALL, NULL, bad[i], &refused));
      g_assert_error (refused, TW_EMIT_ERROR, TW_EMIT_ERROR_OPTIONS);
    }
}

static void
test_unknown_target (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (export_text (SMALL, "sm60", NULL, &error));
  g_assert_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_TARGET);
}

/* Labels and documentation never reach source code. */
static void
test_words_of_users (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) files = export_text (SMALL, "cpu", NULL, &error);

  g_assert_no_error (error);
  for (guint i = 0; i < files->len; i++)
    {
      const TwEmitFile *file = g_ptr_array_index (files, i);

      g_assert_null (strstr (file->text, "#error"));
      g_assert_null (strstr (file->text, "of the user"));
    }
}

static void
test_same_bytes (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GPtrArray) a = export_text (SMALL, "cpu", NULL, &error);
  g_autoptr (GPtrArray) b = export_text (SMALL, "cpu", NULL, &error);

  for (guint i = 0; i < a->len; i++)
    g_assert_cmpstr (((TwEmitFile *)g_ptr_array_index (a, i))->text, ==,
                     ((TwEmitFile *)g_ptr_array_index (b, i))->text);
}

/* A long chain takes no longer than a chain should. */
static void
test_long_chain (void)
{
  g_autoptr (GString) xml
      = g_string_new ("<graph format=\"1\" name=\"chain\">"
                      "<dimension name=\"T\" kind=\"dynamic\" value=\"8\" min=\"0\" max=\"100\"/>"
                      "<node id=\"n0\" block=\"input\"><param name=\"dtype\" value=\"f32\"/>"
                      "<param name=\"shape\" value=\"T, 5\"/></node>");
  const int n = 300;

  for (int i = 1; i <= n; i++)
    g_string_append_printf (xml, "<node id=\"n%d\" block=\"relu\"/>", i);
  g_string_append (xml, "<node id=\"out\" block=\"output\"/>");
  for (int i = 1; i <= n; i++)
    g_string_append_printf (xml, "<link from=\"n%d.y\" to=\"n%d.x\"/>", i - 1, i);
  g_string_append_printf (xml, "<link from=\"n%d.y\" to=\"out.x\"/></graph>", n);
  g_autoptr (GError) error = NULL;
  gint64 start = g_get_monotonic_time ();
  g_autoptr (GPtrArray) files = export_text (xml->str, "cpu", NULL, &error);
  gint64 time = g_get_monotonic_time () - start;

  g_assert_no_error (error);
  g_assert_nonnull (strstr (find_file (files, "chain.c"), "v_n300 = "));
  g_test_message ("%d nodes: %.1f ms", n, 1e-3 * (double)time);
  g_assert_cmpint (time, <, 20 * G_USEC_PER_SEC);
}

int
main (int argc, char **argv)
{
  g_autoptr (GError) error = NULL;

  g_test_init (&argc, &argv, NULL);
  catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  g_test_add_func ("/emit/files", test_files);
  g_test_add_func ("/emit/prefix", test_prefix);
  g_test_add_func ("/emit/unknown-target", test_unknown_target);
  g_test_add_func ("/emit/words-of-users", test_words_of_users);
  g_test_add_func ("/emit/same-bytes", test_same_bytes);
  g_test_add_func ("/emit/long-chain", test_long_chain);
  int status = g_test_run ();
  tw_catalog_unref (catalog);
  return status;
}
