/* The report of a plan: the keys, all of them, in the documented order, and what they hold. */
#include "composer/report.h"
#include "drawing.h"

#include <json-glib/json-glib.h>
#include <string.h>

static const char *const examples[]
    = { "first_steps", "norm_between", "attn_out_to_mlp", "llama_mlp", "biased_mlp", "relu2_mlp" };

static TwPlan *
make_plan (const char *example)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_load_example (example);
  return tw_plan (graph, catalog, &(TwPlanOptions){ .fuse = TRUE });
}

static JsonObject *
parse (JsonParser *parser, const char *text)
{
  g_autoptr (GError) error = NULL;
  json_parser_load_from_data (parser, text, -1, &error);
  g_assert_no_error (error);
  return json_node_get_object (json_parser_get_root (parser));
}

static void
assert_keys (JsonObject *object, const char *wanted)
{
  g_autoptr (GList) members = json_object_get_members (object);
  g_autoptr (GString) keys = g_string_new (NULL);
  for (GList *l = members; l != NULL; l = l->next)
    g_string_append_printf (keys, "%s%s", keys->len > 0 ? " " : "", (char *)l->data);
  g_assert_cmpstr (keys->str, ==, wanted);
}

static void
assert_list_keys (JsonObject *root, const char *list, guint length, const char *wanted)
{
  JsonArray *array = json_object_get_array_member (root, list);
  g_assert_cmpuint (json_array_get_length (array), ==, length);
  for (guint i = 0; i < length; i++)
    assert_keys (json_array_get_object_element (array, i), wanted);
}

static void
test_keys (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_autoptr (TwPlan) plan = make_plan (examples[i]);
      g_autofree char *text = tw_report_plan (plan);
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonObject *root = parse (parser, text);
      assert_keys (root, "kernels edges steps refusals");
      assert_list_keys (root, "kernels", plan->kernels->len,
                        "name mainloop nodes reads writes bytes flops prepare");
      assert_list_keys (root, "edges", plan->edges->len, "from to where reason");
      assert_list_keys (root, "steps", plan->rewrite->steps->len,
                        "rule before after conditions saves");
      assert_list_keys (root, "refusals", plan->rewrite->refusals->len, "rule node reason");
    }
}

/* Two products and nothing else; the finish sits in the second. */
static void
test_values (void)
{
  static const char *const names[] = { "norm_between", "attn_out_to_mlp" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (TwPlan) plan = make_plan (names[i]);
      g_autofree char *text = tw_report_plan (plan);
      g_autoptr (JsonParser) parser = json_parser_new ();
      JsonArray *kernels = json_object_get_array_member (parse (parser, text), "kernels");
      g_assert_cmpuint (json_array_get_length (kernels), ==, 2);
      for (guint k = 0; k < 2; k++)
        {
          JsonObject *object = json_array_get_object_element (kernels, k);
          const TwKernel *kernel = plan->kernels->pdata[k];
          g_assert_cmpstr (json_object_get_string_member (object, "name"), ==, kernel->name);
          g_assert_cmpstr (json_object_get_string_member (object, "mainloop"), ==, "gemm");
          g_assert_false (json_object_get_boolean_member (object, "prepare"));
          g_assert_cmpint (json_object_get_int_member (object, "bytes"), ==, kernel->bytes);
          g_assert_cmpint (json_object_get_int_member (object, "flops"), ==, kernel->flops);
        }
      JsonArray *nodes
          = json_object_get_array_member (json_array_get_object_element (kernels, 1), "nodes");
      g_assert_cmpstr (json_array_get_string_element (nodes, 0), ==, "n_rstd");
      JsonArray *writes
          = json_object_get_array_member (json_array_get_object_element (kernels, 0), "writes");
      g_assert_cmpuint (json_array_get_length (writes), ==, i == 0 ? 2 : 3);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/report-plan/keys", test_keys);
  g_test_add_func ("/report-plan/values", test_values);
  return g_test_run ();
}
