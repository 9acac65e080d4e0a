/* Composites replaced by their bodies. */
#include "composer/expand.h"

#include <string.h>

static const char graph_xml[]
    = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graph format=\"1\" name=\"g\">\n"
      "  <dimension name=\"T\" kind=\"dynamic\" value=\"4\" min=\"0\" max=\"64\"/>\n"
      "  <dimension name=\"H\" kind=\"fixed\" value=\"8\"/>\n"
      "  <node id=\"x\" block=\"input\">\n"
      "    <param name=\"dtype\" value=\"f32\"/>\n"
      "    <param name=\"shape\" value=\"T, H\"/>\n"
      "  </node>\n"
      "  <node id=\"g\" block=\"input\">\n"
      "    <param name=\"dtype\" value=\"f32\"/>\n"
      "    <param name=\"shape\" value=\"H\"/>\n"
      "  </node>\n"
      "  <node id=\"n_ss\" block=\"relu\"/>\n"
      "  <node id=\"n\" block=\"rms_norm\">\n"
      "    <param name=\"gamma\" value=\"one-plus\"/>\n"
      "    <param name=\"eps\" value=\"1e-6\"/>\n"
      "  </node>\n"
      "  <node id=\"out\" block=\"output\"/>\n"
      "  <node id=\"again\" block=\"output\"/>\n"
      "  <link from=\"x.y\" to=\"n_ss.x\"/>\n"
      "  <link from=\"n_ss.y\" to=\"n.x\"/>\n"
      "  <link from=\"g.y\" to=\"n.g\"/>\n"
      "  <link from=\"n.y\" to=\"out.x\" fuse=\"required\"/>\n"
      "  <link from=\"n.y\" to=\"again.x\"/>\n"
      "</graph>\n";

static TwCatalog *
load_catalog (void)
{
  g_autoptr (GError) error = NULL;
  TwCatalog *catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  return catalog;
}

static TwGraph *
parse (const char *xml)
{
  g_autoptr (GError) error = NULL;
  TwGraph *graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  return graph;
}

static void
assert_param (const TwGraph *graph, const TwCatalog *catalog, const char *id, const char *name,
              const char *value)
{
  const TwNode *node = tw_graph_get_node (graph, id);
  g_assert_nonnull (node);
  g_assert_cmpstr (tw_node_get_param (node, tw_catalog_get (catalog, node->block), name), ==,
                   value);
}

static void
assert_link (const TwGraph *graph, const char *to, const char *to_port, const char *from,
             const char *from_port)
{
  const TwLink *link = tw_graph_get_link_to (graph, to, to_port);
  g_assert_nonnull (link);
  g_assert_cmpstr (link->from_node, ==, from);
  g_assert_cmpstr (link->from_port, ==, from_port);
}

static void
test_norm (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = load_catalog ();
  g_autoptr (TwGraph) graph = parse (graph_xml);
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  g_assert_true (tw_typing_is_good (typing));
  g_autofree char *before = tw_graph_to_xml (graph);
  g_autoptr (GHashTable) outputs = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr (TwGraph) expanded = tw_expand_with_outputs (graph, catalog, typing, outputs, &error);
  g_assert_no_error (error);
  g_autofree char *after = tw_graph_to_xml (graph);
  g_assert_cmpstr (before, ==, after);
  g_assert_null (tw_graph_get_node (expanded, "n"));
  /* The name n_ss was taken. */
  g_assert_cmpstr (tw_graph_get_node (expanded, "n_ss")->block, ==, "relu");
  const TwNode *statistic = tw_graph_get_node (expanded, "n_ss_2");
  g_assert_nonnull (statistic);
  g_assert_cmpstr (statistic->block, ==, "row_sumsq");
  g_assert_cmpstr (statistic->origin, ==, "n");
  assert_param (expanded, catalog, "n_rstd", "eps", "1e-6");
  assert_param (expanded, catalog, "n_rstd", "count", "8");
  assert_param (expanded, catalog, "n_weighted", "offset", "1");
  assert_link (expanded, "n_ss_2", "x", "n_ss", "y");
  assert_link (expanded, "n_scaled", "x", "n_ss", "y");
  assert_link (expanded, "n_weighted", "g", "g", "y");
  assert_link (expanded, "out", "x", "n_weighted", "y");
  assert_link (expanded, "again", "x", "n_weighted", "y");
  g_assert_true (tw_graph_get_link_to (expanded, "out", "x")->fuse_required);
  g_assert_false (tw_graph_get_link_to (expanded, "again", "x")->fuse_required);
  g_assert_cmpstr (g_hash_table_lookup (outputs, "n.y"), ==, "n_weighted.y");
  g_autoptr (TwTyping) again = tw_check (expanded, catalog, NULL);
  for (guint i = 0; i < tw_typing_get_diagnostics (again)->len; i++)
    {
      const TwDiagnostic *diagnostic = tw_typing_get_diagnostics (again)->pdata[i];
      g_test_message ("%s", diagnostic->message);
    }
  g_assert_true (tw_typing_is_good (again));
}

static void
test_refused (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = load_catalog ();
  g_autoptr (TwGraph) graph = parse (graph_xml);
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  g_autofree char *before = tw_graph_to_xml (graph);
  g_assert_false (tw_expand_node (graph, catalog, typing, "nothing", &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND);
  g_clear_error (&error);
  g_assert_false (tw_expand_node (graph, catalog, typing, "x", &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND);
  g_clear_error (&error);
  /* Nothing is known of N without the link to x: refused in the middle, undone. */
  g_autoptr (GString) text = g_string_new (graph_xml);
  g_string_replace (text, "  <link from=\"n_ss.y\" to=\"n.x\"/>\n", "", 1);
  g_string_replace (text, "  <link from=\"g.y\" to=\"n.g\"/>\n", "", 1);
  g_autoptr (TwGraph) loose = parse (text->str);
  g_autoptr (TwTyping) loose_typing = tw_check (loose, catalog, NULL);
  g_autofree char *loose_before = tw_graph_to_xml (loose);
  g_assert_false (tw_expand_node (loose, catalog, loose_typing, "n", &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND);
  g_autofree char *loose_after = tw_graph_to_xml (loose);
  g_assert_cmpstr (loose_before, ==, loose_after);
  g_clear_error (&error);
  g_assert_null (tw_expand (loose, catalog, loose_typing, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND);
  g_clear_error (&error);
  g_autofree char *after = tw_graph_to_xml (graph);
  g_assert_cmpstr (before, ==, after);
  g_assert_true (tw_expand_node (graph, catalog, typing, "n", &error));
  g_assert_no_error (error);
}

/* Long ids are cut, and stay unique. */
static void
test_long_id (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = load_catalog ();
  g_autoptr (GString) text = g_string_new (graph_xml);
  g_autofree char *id = g_strnfill (63, 'n');
  g_autofree char *quoted = g_strdup_printf ("\"%s\"", id);
  g_autofree char *in = g_strdup_printf ("\"%s.", id);
  g_string_replace (text, "\"n\"", quoted, 0);
  g_string_replace (text, "\"n.", in, 0);
  g_autoptr (TwGraph) graph = parse (text->str);
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  g_autoptr (TwGraph) expanded = tw_expand (graph, catalog, typing, &error);
  g_assert_no_error (error);
  g_assert_cmpint (tw_graph_get_n_nodes (expanded), ==, tw_graph_get_n_nodes (graph) + 3);
  for (int i = 0; i < tw_graph_get_n_nodes (expanded); i++)
    g_assert_cmpuint (strlen (tw_graph_get_nth_node (expanded, i)->id), <=, TW_ID_MAX);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/expand/norm", test_norm);
  g_test_add_func ("/expand/refused", test_refused);
  g_test_add_func ("/expand/long-id", test_long_id);
  return g_test_run ();
}
