#include "composer/notation.h"

#include <string.h>

static TwGraph *
parse (const char *body)
{
  g_autofree char *xml = g_strdup_printf ("<graph format=\"1\" name=\"g\">%s</graph>", body);
  g_autoptr (GError) error = NULL;
  TwGraph *graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  return graph;
}

#define NORM                                                                                       \
  "<node id=\"x\" block=\"input\"/><node id=\"g\" block=\"weight\"/><node id=\"w\" "               \
  "block=\"weight\"/>"                                                                             \
  "<node id=\"s\" block=\"scale_columns\"/><node id=\"h\" block=\"gemm\"/>"                        \
  "<link from=\"x.y\" to=\"s.x\"/><link from=\"g.y\" to=\"s.g\"/>"                                 \
  "<link from=\"s.y\" to=\"h.a\"/><link from=\"w.y\" to=\"h.b\"/>"

static void
assert_text (const TwGraph *graph, const TwCatalog *catalog, GHashTable *open, GHashTable *stop,
             const char *wanted)
{
  g_autofree char *text = tw_notation_print (graph, catalog, "h", "y", open, stop);
  g_assert_cmpstr (text, ==, wanted);
}

static void
test_depth (void)
{
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, NULL);
  g_autoptr (TwGraph) graph = parse (NORM);
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) stop = g_hash_table_new (g_str_hash, g_str_equal);
  assert_text (graph, catalog, NULL, NULL, "s @ w");
  assert_text (graph, catalog, open, NULL, "s @ w");
  assert_text (graph, catalog, NULL, stop, "(x * g) @ w");
  g_hash_table_add (open, (char *)"s");
  g_hash_table_add (stop, (char *)"s");
  assert_text (graph, catalog, open, NULL, "(x * g) @ w");
  assert_text (graph, catalog, NULL, stop, "s @ w");
}

/* Fan-out doubles a text at each node, a cycle never ends: both are cut. */
static void
test_bounds (void)
{
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, NULL);
  g_autoptr (GHashTable) stop = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GString) body = g_string_new ("<node id=\"a0\" block=\"input\"/>");
  for (int i = 1; i <= 200; i++)
    g_string_append_printf (body,
                            "<node id=\"a%d\" block=\"add\"/><link from=\"a%d.y\" to=\"a%d.a\"/>"
                            "<link from=\"a%d.y\" to=\"a%d.b\"/>",
                            i, i - 1, i, i - 1, i);
  g_autoptr (TwGraph) graph = parse (body->str);
  g_autofree char *text = tw_notation_print (graph, catalog, "a200", "y", NULL, stop);
  g_assert_cmpuint (strlen (text), <=, 2010);
  g_autoptr (TwGraph) loop
      = parse ("<node id=\"h\" block=\"relu\"/><link from=\"h.y\" to=\"h.x\"/>");
  g_autofree char *cut = tw_notation_print (loop, catalog, "h", "y", NULL, stop);
  g_assert_cmpuint (strlen (cut), <=, 2010);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/notation/depth", test_depth);
  g_test_add_func ("/notation/bounds", test_bounds);
  return g_test_run ();
}
