/* Reading, keeping, writing and looking things up. */
#include "composer/graph.h"
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

static TwGraph *
parse (const char *xml)
{
  g_autoptr (GError) error = NULL;
  TwGraph *graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  return graph;
}

/* A canonical file with everything we do not know in it. */
static const char canonical[]
    = HEAD "<!-- before -->\n"
           "<graph format=\"1\" name=\"g\" xmlns:e=\"urn:e\" e:zoom=\"2\">\n"
           "  <doc>a &lt; b &amp; \"c\"</doc>\n"
           "  <!-- tokens -->\n"
           "  <!-- of two\n    lines -->\n"
           "  <dimension name=\"T\" kind=\"dynamic\" value=\"8\" min=\"0\" max=\"64\" "
           "multiple=\"4\" e:unit=\"token\"/>\n"
           "  <dimension name=\"D\" kind=\"fixed\" value=\"16\"/>\n"
           "  <e:group colour=\"red\"><e:inner/></e:group>\n"
           "  <node id=\"x\" block=\"input\" label=\"the &quot;input&quot;\" tint=\"3\">\n"
           "    <!-- why bf16 -->\n"
           "    <param name=\"dtype\" value=\"bf16\" note=\"n\"/>\n"
           "    <param name=\"shape\" value=\"T, D\"/>\n"
           "    <e:more/>\n"
           "  </node>\n"
           "  <node id=\"u\" block=\"unknown_block\" origin=\"x\"/>\n"
           "  <link from=\"x.y\" to=\"u.no_port\" fuse=\"required\">\n"
           "    <!-- why -->\n"
           "    <owed node=\"x\" port=\"y\" degree=\"2\" by=\"rule\"/>\n"
           "    <owed node=\"u\" port=\"y\" degree=\"-1\" first=\"8\" columns=\"8\"/>\n"
           "    <shift mu=\"x.y\" v=\"u.y\" by=\"rule\"/>\n"
           "  </link>\n"
           "  <link from=\"nobody.y\" to=\"x.z\"/>\n"
           "  <layout e:grid=\"8\">\n"
           "    <place node=\"x\" x=\"1.5\" y=\"-20\"/>\n"
           "    <!-- where it was -->\n"
           "    <place node=\"gone\" x=\"1e-300\" y=\"1e+15\" e:pinned=\"1\"/>\n"
           "  </layout>\n"
           "  <!-- last -->\n"
           "</graph>\n"
           "<!-- after -->\n";

static void
test_round_trip (void)
{
  g_autoptr (TwGraph) graph = parse (canonical);
  g_autofree char *xml = tw_graph_to_xml (graph);
  g_assert_cmpstr (xml, ==, canonical);
  g_autoptr (TwGraph) copy = tw_graph_copy (graph);
  g_autofree char *again = tw_graph_to_xml (copy);
  g_assert_cmpstr (again, ==, canonical);
}

static void
test_examples (void)
{
  g_autoptr (GDir) dir = g_dir_open (TW_SOURCE_ROOT "/examples", 0, NULL);
  int n = 0;
  for (const char *name; (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *path
          = g_build_filename (TW_SOURCE_ROOT "/examples", name, "graph.xml", NULL);
      g_autofree char *text = NULL;
      if (!g_file_get_contents (path, &text, NULL, NULL))
        continue;
      g_autoptr (TwGraph) graph = tw_graph_load (path, NULL);
      g_autofree char *xml = tw_graph_to_xml (graph);
      g_assert_cmpstr (xml, ==, text);
      n++;
    }
  g_assert_cmpint (n, >=, 6);
}

/* What was written is read, and written again it is the same. */
static void
test_fixed_points (void)
{
  static const char *const texts[] = {
    /* No encoding named, other than ASCII in what we do not know. */
    "<graph format=\"1\" name=\"g\" xmlns:e=\"u\"><e:a b=\"\xc3\xa9\">\xc3\xa9</e:a></graph>",
    "<graph format=\"1\" name=\"g\"><doc>a<!-- in the doc -->b</doc></graph>",
    "<graph format=\"1\" name=\"g\"><doc/></graph>",
    "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\" "
    "label=\"&#10;&#9;&#13;&lt;\"/></graph>",
    "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"/><layout>"
    "<place node=\"a\" x=\".00000000000000001e-99\" y=\"-0.1e-200\"/></layout></graph>",
    "<graph format=\"1\" name=\"g\"><link from=\"a.y\" to=\"b.x\">"
    "<owed node=\"a\" port=\"y\" degree=\"1\" first=\"3\"/></link></graph>",
  };
  static const char *const kept[]
      = { "\xc3\xa9</e:a>", "in the doc", "<doc></doc>", "&#13;", "1e-116", "first=\"3\"" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (TwGraph) graph = parse (texts[i]);
      g_autofree char *once = tw_graph_to_xml (graph);
      g_autoptr (TwGraph) again = parse (once);
      g_autofree char *twice = tw_graph_to_xml (again);
      g_assert_cmpstr (twice, ==, once);
      g_assert_nonnull (strstr (once, kept[i]));
    }
}

/* A hand-written file is put into the canonical form once, with nothing lost. */
static void
test_hand_written (void)
{
  g_autoptr (TwGraph) graph
      = parse ("<graph name='g' format='1'><link to='b.x' from='a.y'/>"
               "<node block='relu' id='b'/><layout><place y='2' x='1e1' node='b'/></layout>"
               "<!-- a --><node id='a' block='relu'/><dimension value='3' kind='dynamic' name='T'/>"
               "</graph>");
  g_autofree char *once = tw_graph_to_xml (graph);
  g_assert_cmpstr (once, ==,
                   HEAD "<graph format=\"1\" name=\"g\">\n"
                        "  <dimension name=\"T\" kind=\"dynamic\" value=\"3\" min=\"0\" "
                        "max=\"1099511627776\"/>\n"
                        "  <node id=\"b\" block=\"relu\"/>\n"
                        "  <!-- a -->\n"
                        "  <node id=\"a\" block=\"relu\"/>\n"
                        "  <link from=\"a.y\" to=\"b.x\"/>\n"
                        "  <layout>\n"
                        "    <place node=\"b\" x=\"10\" y=\"2\"/>\n"
                        "  </layout>\n"
                        "</graph>\n");
  g_autoptr (TwGraph) second = parse (once);
  g_autofree char *twice = tw_graph_to_xml (second);
  g_assert_cmpstr (twice, ==, once);
}

static void
test_wrong (void)
{
  static const struct
  {
    const char *xml;
    int code, line;
    const char *words;
  } cases[] = {
    { "", TW_GRAPH_ERROR_READ, 1, "" },
    { "<graph", TW_GRAPH_ERROR_READ, 1, "" },
    { "<!DOCTYPE graph [<!ENTITY a \"b\">]>\n<graph/>", TW_GRAPH_ERROR_READ, 1, "DOCTYPE" },
    { "<!DOCTYPE graph SYSTEM \"file:///etc/passwd\">\n<graph/>", TW_GRAPH_ERROR_READ, 1,
      "DOCTYPE" },
    { "<graph format=\"1\" name=\"g\">&who;</graph>", TW_GRAPH_ERROR_READ, 1, "" },
    { "<other/>", TW_GRAPH_ERROR_SCHEMA, 1, "" },
    { "<graph format=\"1\" name=\"g g\"/>", TW_GRAPH_ERROR_SCHEMA, 1, "name" },
    { "<graph format=\"0\" name=\"g\"/>", TW_GRAPH_ERROR_SCHEMA, 1, "format" },
    { "<graph format=\"1\" name=\"g\">\n<node id=\"a\"/></graph>", TW_GRAPH_ERROR_SCHEMA, 2,
      "block" },
    { "<graph format=\"1\" name=\"g\">\n<node id=\"a\" block=\"b\"/>\n<node id=\"a\" "
      "block=\"b\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 3, "second node a" },
    { "<graph format=\"1\" name=\"g\">\n<link from=\"a.y\" to=\"b.x\"/>\n<link from=\"c.y\" "
      "to=\"b.x\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 3, "second link into b.x" },
    { "<graph format=\"1\" name=\"g\">\n<link from=\"a\" to=\"b.x\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "from" },
    { "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"><param name=\"p\" value=\"1\"/>\n"
      "<param name=\"p\" value=\"2\"/></node></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "twice" },
    { "<graph format=\"1\" name=\"g\"><dimension name=\"T\" kind=\"fixed\" value=\"1\"/>\n"
      "<dimension name=\"T\" kind=\"fixed\" value=\"1\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "second dimension T" },
    { "<graph format=\"1\" name=\"g\"><doc>a</doc>\n<doc>b</doc></graph>", TW_GRAPH_ERROR_SCHEMA, 2,
      "second <doc>" },
    { "<graph format=\"1\" name=\"g\">\n<nod id=\"a\" block=\"b\"/></graph>", TW_GRAPH_ERROR_SCHEMA,
      2, "nod" },
    { "<graph format=\"1\" name=\"g\">\n<dimension name=\"T\" kind=\"fixed\" "
      "value=\"-1\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "value" },
    { "<graph format=\"1\" name=\"g\">\n<dimension name=\"T\" kind=\"fixed\" value=\"1\" "
      "max=\"2\"/></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "has max" },
    { "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"/><layout>\n"
      "<place node=\"a\" x=\"1e999\" y=\"0\"/></layout></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "1e15" },
    { "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"/><layout>\n"
      "<place node=\"a\" x=\"2e15\" y=\"0\"/></layout></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "1e15" },
    { "<graph format=\"1\" name=\"g\"><layout><place node=\"a\" x=\"0\" y=\"0\"/>\n"
      "<place node=\"a\" x=\"0\" y=\"0\"/></layout></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "second place" },
    { "<graph format=\"1\" name=\"g\"><link from=\"a.y\" to=\"b.x\"><shift mu=\"a.y\" v=\"b.y\"/>\n"
      "<shift mu=\"a.y\" v=\"b.y\"/></link></graph>",
      TW_GRAPH_ERROR_SCHEMA, 2, "second <shift>" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *place = g_strdup_printf ("graph:%d:", cases[i].line);
      g_assert_null (tw_graph_parse (cases[i].xml, strlen (cases[i].xml), &error));
      if (!g_error_matches (error, TW_GRAPH_ERROR, cases[i].code)
          || !g_str_has_prefix (error->message, place) || !strstr (error->message, cases[i].words))
        g_error ("case %u: %d \"%s\" should be %d at %s with \"%s\"", i, error->code,
                 error->message, cases[i].code, place, cases[i].words);
    }
}

static void
test_bounds (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) deep = g_string_new ("<graph format=\"1\" name=\"g\" xmlns:e=\"urn:e\">");
  for (int i = 0; i < 100000; i++)
    g_string_append (deep, "<e:a>");
  g_assert_null (tw_graph_parse (deep->str, deep->len, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_READ);
  g_assert_nonnull (strstr (error->message, "deeper"));
  g_clear_error (&error);
  gsize size = TW_GRAPH_MAX_BYTES + 1;
  g_autofree char *large = g_malloc (size);
  memset (large, ' ', size);
  g_assert_null (tw_graph_parse (large, size, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_READ);
  g_clear_error (&error);
  g_assert_null (tw_graph_parse ("<graph>\0</graph>", 16, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_READ);
  g_clear_error (&error);
  g_autoptr (GString) many
      = g_string_new ("<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\">");
  for (int i = 0; i < 100000; i++)
    g_string_append_printf (many, "<param name=\"p%d\" value=\"\"/>", i);
  g_string_append (many, "</node></graph>");
  g_assert_null (tw_graph_parse (many->str, many->len, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_SCHEMA);
  g_assert_nonnull (strstr (error->message, "more than 256 parameters"));
  g_clear_error (&error);
  g_assert_null (tw_graph_load ("/dev/zero", &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_READ);
  g_clear_error (&error);
  g_assert_null (tw_graph_load ("/", &error));
  g_assert_nonnull (strstr (error->message, "folder"));
}

static void
test_newer (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwGraph) graph
      = parse ("<graph format=\"9\" name=\"g\"><node id=\"a\" block=\"b\"/><novelty/></graph>");
  g_assert_true (tw_graph_is_read_only (graph));
  g_assert_nonnull (tw_graph_get_node (graph, "a"));
  g_assert_false (tw_graph_save (graph, "never.xml", NULL, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_NEWER);
  g_assert_false (g_file_test ("never.xml", G_FILE_TEST_EXISTS));
  /* No schema has looked at it: names that are none, and numbers out of range, do not come in. */
  g_autoptr (TwGraph) odd
      = parse ("<graph format=\"9\" name=\"g;\"><node id=\"a;b()\" block=\"b\"/>"
               "<node id=\"c\" block=\"b\" origin=\"d e\"><param name=\"p q\" value=\"1\"/></node>"
               "<node id=\"d\" block=\"../b\"/><link from=\"c.y()\" to=\"c.x\"/>"
               "<link from=\"c.y\" to=\"c.x\"><owed node=\"c\" port=\"y\" degree=\"99999\"/>"
               "<owed node=\"c;\" port=\"y\"/><shift mu=\"c.y\" v=\";\"/></link>"
               "<dimension name=\"T;\" value=\"1\"/>"
               "<dimension name=\"D\" kind=\"fixed\" value=\"-3\"/></graph>");
  g_assert_cmpstr (tw_graph_get_name (odd), ==, "graph");
  g_assert_cmpint (tw_graph_get_n_nodes (odd), ==, 1);
  g_assert_null (tw_graph_get_node (odd, "c")->origin);
  g_assert_cmpint (tw_graph_get_node (odd, "c")->n_params, ==, 0);
  g_assert_cmpint (tw_graph_get_n_links (odd), ==, 1);
  const TwLink *link = tw_graph_get_link_to (odd, "c", "x");
  g_assert_cmpint (link->n_owed, ==, 1);
  g_assert_cmpint (link->owed[0].degree, ==, 64);
  g_assert_null (link->shift_mu_node);
  g_assert_cmpint (tw_graph_get_n_dimensions (odd), ==, 1);
  g_assert_cmpint (tw_graph_get_dimension (odd, "D")->value, ==, 0);
}

static void
test_save (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tw-graph-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "g.xml", NULL);
  g_autofree char *link = g_build_filename (folder, "link.xml", NULL);
  g_autofree char *text = NULL;
  gboolean canonicalised = FALSE;
  g_assert_true (g_file_set_contents (path, "<graph name='g' format='1'/>", -1, NULL));
  g_assert_cmpint (symlink (path, link), ==, 0);
  g_autoptr (TwGraph) graph = tw_graph_load (link, &error);
  g_assert_no_error (error);
  g_assert_true (tw_graph_save (graph, link, &canonicalised, &error));
  g_assert_true (canonicalised);
  g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, HEAD "<graph format=\"1\" name=\"g\"/>\n");
  g_assert_true (tw_graph_save (graph, path, &canonicalised, NULL));
  g_assert_false (canonicalised);
  /* The mode stays, whatever the umask. */
  struct stat status;
  g_assert_cmpint (chmod (path, 0664), ==, 0);
  g_assert_true (tw_graph_save (graph, path, NULL, NULL));
  g_assert_cmpint (stat (path, &status), ==, 0);
  g_assert_cmpint (status.st_mode & 0777, ==, 0664);
  /* A link to a file that is not there yet makes that file. */
  g_remove (path);
  g_assert_true (tw_graph_save (graph, link, NULL, NULL));
  g_assert_true (g_file_test (link, G_FILE_TEST_IS_SYMLINK));
  g_assert_true (g_file_test (path, G_FILE_TEST_IS_REGULAR));
  g_assert_false (tw_graph_save (graph, "/no/such/folder/g.xml", NULL, &error));
  g_assert_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_WRITE);
  g_remove (link);
  g_remove (path);
  g_rmdir (folder);
}

static void
test_lookups (void)
{
  g_autoptr (TwGraph) graph = parse (
      "<graph format=\"1\" name=\"g\"><node id=\"c\" block=\"b\"/><node id=\"a\" block=\"b\"/>"
      "<node id=\"b\" block=\"b\"/><link from=\"a.y\" to=\"b.x\"/><link from=\"a.y\" to=\"c.x\"/>"
      "<link from=\"a.z\" to=\"c.z\"/></graph>");
  g_autoptr (GPtrArray) order = tw_graph_sort (graph, NULL);
  g_autoptr (GPtrArray) all = tw_graph_get_links_from (graph, "a", NULL);
  g_autoptr (GPtrArray) some = tw_graph_get_links_from (graph, "a", "y");
  g_assert_cmpuint (order->len, ==, 3);
  g_assert_cmpstr (order->pdata[0], ==, "a");
  g_assert_cmpstr (order->pdata[1], ==, "c");
  g_assert_cmpuint (all->len, ==, 3);
  g_assert_cmpuint (some->len, ==, 2);
  g_assert_cmpstr (tw_graph_get_link_to (graph, "c", "z")->from_port, ==, "z");
  g_assert_null (tw_graph_get_link_to (graph, "a", "x"));
  g_assert_null (tw_graph_get_node (graph, "d"));
  g_autoptr (TwGraph) loop = parse (
      "<graph format=\"1\" name=\"g\"><node id=\"a\" block=\"b\"/><node id=\"b\" block=\"b\"/>"
      "<node id=\"c\" block=\"b\"/><link from=\"b.y\" to=\"c.x\"/><link from=\"c.y\" "
      "to=\"b.x\"/></graph>");
  const char *cyclic = NULL;
  g_autoptr (GPtrArray) rest = tw_graph_sort (loop, &cyclic);
  g_assert_cmpuint (rest->len, ==, 1);
  g_assert_cmpstr (cyclic, ==, "b");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/graph/round-trip", test_round_trip);
  g_test_add_func ("/graph/examples", test_examples);
  g_test_add_func ("/graph/fixed-points", test_fixed_points);
  g_test_add_func ("/graph/hand-written", test_hand_written);
  g_test_add_func ("/graph/wrong", test_wrong);
  g_test_add_func ("/graph/bounds", test_bounds);
  g_test_add_func ("/graph/newer", test_newer);
  g_test_add_func ("/graph/save", test_save);
  g_test_add_func ("/graph/lookups", test_lookups);
  return g_test_run ();
}
