/* The report of a check: the keys, all of them, in the documented order, and strings that need
 * escaping. */
#include "composer/report.h"

#include <json-glib/json-glib.h>
#include <string.h>

static JsonObject *
parse (JsonParser *parser, const char *text)
{
  g_autoptr (GError) error = NULL;
  json_parser_load_from_data (parser, text, -1, &error);
  g_assert_no_error (error);
  return json_node_get_object (json_parser_get_root (parser));
}

static void
check_keys (JsonObject *object, const char *wanted)
{
  g_autoptr (GList) members = json_object_get_members (object);
  GString *keys = g_string_new (NULL);
  for (GList *l = members; l != NULL; l = l->next)
    g_string_append_printf (keys, "%s%s", keys->len > 0 ? " " : "", (char *)l->data);
  g_assert_cmpstr (keys->str, ==, wanted);
  g_string_free (keys, TRUE);
}

static void
test_empty (void)
{
  g_autoptr (GPtrArray) none = tw_diagnostics_new ();
  g_autofree char *text = tw_report_check (none);
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *root = parse (parser, text);
  check_keys (root, "ok diagnostics");
  g_assert_true (json_object_get_boolean_member (root, "ok"));
  g_assert_cmpuint (json_array_get_length (json_object_get_array_member (root, "diagnostics")), ==,
                    0);
}

static void
test_full (void)
{
  g_autoptr (GPtrArray) list = tw_diagnostics_new ();
  g_ptr_array_add (list, tw_diagnostic_new ("unused-node", TW_SEVERITY_WARNING, "n", NULL, 3,
                                            "a \"quoted\"\nline", NULL, NULL, NULL));
  g_autofree char *warned = tw_report_check (list);
  TwDiagnostic *error = tw_diagnostic_new ("dtype-mismatch", TW_SEVERITY_ERROR, "h", "b", 12, "m",
                                           "f32", "bf16", "first");
  tw_diagnostic_add_fix (error, "second");
  g_ptr_array_add (list, error);
  g_autofree char *text = tw_report_check (list);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_assert_true (json_object_get_boolean_member (parse (parser, warned), "ok"));
  JsonObject *root = parse (parser, text);
  g_assert_false (json_object_get_boolean_member (root, "ok"));
  JsonArray *array = json_object_get_array_member (root, "diagnostics");
  g_assert_cmpuint (json_array_get_length (array), ==, 2);
  const char *keys = "code severity node port message found expected fixes line";
  JsonObject *first = json_array_get_object_element (array, 0);
  check_keys (first, keys);
  g_assert_cmpstr (json_object_get_string_member (first, "message"), ==, "a \"quoted\"\nline");
  g_assert_cmpstr (json_object_get_string_member (first, "severity"), ==, "warning");
  g_assert_true (json_object_get_null_member (first, "port"));
  g_assert_true (json_object_get_null_member (first, "found"));
  JsonObject *second = json_array_get_object_element (array, 1);
  check_keys (second, keys);
  JsonArray *fixes = json_object_get_array_member (second, "fixes");
  g_assert_cmpuint (json_array_get_length (fixes), ==, 2);
  g_assert_cmpstr (json_array_get_string_element (fixes, 1), ==, "second");
  g_assert_cmpint (json_object_get_int_member (second, "line"), ==, 12);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report/check/empty", test_empty);
  g_test_add_func ("/report/check/full", test_full);
  return g_test_run ();
}
