#include "composer/block.h"
#include "composer/catalog.h"
#include "composer/graph.h"
#include "config.h"

#include <string.h>

#define HEAD                                                                                       \
  "<?xml version=\"1.0\"?>\n<block format=\"1\" id=\"b\" version=\"1\" kind=\"elementwise\" "      \
  "category=\"c\">\n<dtype id=\"T\" any=\"bf16 f32\"/>\n"
#define X "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, N\">d</port>\n"
#define Y "<port id=\"y\" direction=\"out\" role=\"matrix\" dtype=\"T\" dims=\"M, N\">d</port>\n"
#define F "<formula>y = 2*x</formula>\n"
#define TAIL "<cost flops=\"1\"/>\n<target id=\"cpu\"/>\n</block>\n"

static TwBlock *
parse (const char *xml, GError **error)
{
  return tw_block_parse (xml, strlen (xml), NULL, error);
}

static void
test_good (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwBlock) block = parse (
      HEAD "<param id=\"k\" type=\"enum\" default=\"two\"><value id=\"one\" number=\"1\"/>"
           "<value id=\"two\" number=\"8\"/></param>\n" X
           "<port id=\"pair\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, 2*N\" "
           "index=\"M, N2\" when=\"k = one\" operands=\"x u\" interleave=\"k\">d</port>\n" Y
           "<formula>y = x*u*k</formula><law kind=\"degree\" inputs=\"x u\" degree=\"2\"/>"
           "<require test=\"size(N) > 0\">N is {N}</require>" TAIL,
      &error);
  g_assert_no_error (error);
  g_assert_cmpint (block->n_operands, ==, 2);
  g_assert_cmpstr (block->operands[1].name, ==, "u");
  g_assert_cmpstr (block->operands[1].dims[1], ==, "N");
  g_assert_cmpint (tw_block_get_operand (block, "u"), ==, 1);
  g_assert_cmpint (tw_block_get_operand (block, "pair"), ==, -1);
  g_assert_cmpfloat (tw_block_get_param (block, "k")->numbers[1], ==, 8);
  const TwPortSpec *pair = tw_block_get_port (block, "pair");
  g_assert_cmpint (pair->partner, ==, TW_PARTNER_INTERLEAVED);
  g_assert_true (tw_port_spec_present (pair, "one"));
  g_assert_false (tw_port_spec_present (pair, "two"));
  g_assert_false (tw_port_spec_present (pair, NULL));
  g_assert_cmpstr (block->function, ==, "tw_b");
  g_assert_cmpstr (block->requirements[0].expression, ==, "size(N) > 0");
  g_assert_cmpint (block->laws[0].degree, ==, 2);
}

/* Each is refused at the line given, and the message holds the words. */
static void
test_wrong (void)
{
  static const struct
  {
    const char *xml;
    int line;
    const char *words;
  } cases[] = {
    { HEAD X Y TAIL, 2, "<formula> is missing" },
    { HEAD X Y "<formula>y = 2*z</formula>\n" TAIL, 6, "formula: " },
    { HEAD X X Y F TAIL, 5, "second port x" },
    { HEAD X Y F F TAIL, 7, "second <formula>" },
    { HEAD Y F TAIL, 2, "0 inputs" },
    { HEAD X Y F "<law kind=\"degree\" inputs=\"z\" degree=\"1\"/>\n" TAIL, 7, "no operand" },
    { HEAD X Y F "<law kind=\"degree\" inputs=\"x\" degree=\"$p\"/>\n" TAIL, 7,
      "no integer parameter" },
    { HEAD X Y F "<law kind=\"degree\" inputs=\"x\" degree=\"9\"/>\n" TAIL, 7, "-8 to 8" },
    { HEAD X Y F "<law kind=\"shift\" inputs=\"x\"/>\n" TAIL, 7, "response" },
    { HEAD X Y F "<law kind=\"transfer\" inputs=\"x\"/>\n" TAIL, 7, "two operands" },
    { HEAD "<param id=\"p\" type=\"integer\" default=\"1.5\"/>\n" X Y F TAIL, 4, "default" },
    { HEAD "<param id=\"p\" type=\"enum\"/>\n" X Y F TAIL, 4, "needs <value>" },
    { HEAD "<param id=\"x\" type=\"real\"/>\n" X Y F TAIL, 5, "is taken" },
    { HEAD X Y F "<source file=\"../b.cuh\" function=\"tw_b\"/>\n" TAIL, 7, "" },
    { HEAD X Y F "<cost flops=\"1\"/></block>", 2, "no <target>" },
    { HEAD X Y F "<colour/>" TAIL, 7, "" },
    { HEAD "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"Q\" dims=\"M, N\"/>\n" Y F TAIL,
      4, "neither a dtype" },
    { HEAD
      "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, 2*N\"/>\n" Y F TAIL,
      4, "index attribute" },
    { HEAD
      "<port id=\"x\" direction=\"in\" role=\"per-row\" dtype=\"T\" dims=\"M, N\"/>\n" Y F TAIL,
      4, "role needs 1" },
    { HEAD
      "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, N+\"/>\n" Y F TAIL,
      4, "at character" },
    { HEAD "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, N\" when=\"k = "
           "a\"/>\n" Y F TAIL,
      4, "which is none" },
    { HEAD
      "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, N\" alias=\"y\"/>\n" Y
          F TAIL,
      4, "alias" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *place = g_strdup_printf ("block.xml:%d:", cases[i].line);
      g_assert_null (parse (cases[i].xml, &error));
      g_assert_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_SCHEMA);
      if (!g_str_has_prefix (error->message, place) || !strstr (error->message, cases[i].words))
        g_error ("case %u: \"%s\" should start with %s and hold \"%s\"", i, error->message, place,
                 cases[i].words);
    }
}

static void
test_unreadable (void)
{
  static const char *const texts[]
      = { "", "<block", "<!DOCTYPE block [<!ENTITY a \"b\">]><block/>", "no XML", "<a>&b;</a>" };
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (GError) error = NULL;
      g_assert_null (parse (texts[i], &error));
      g_assert_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ);
    }
  g_autoptr (GError) error = NULL;
  g_assert_null (tw_block_load (TW_SOURCE_ROOT "/blocks", &error));
  g_assert_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ);
  g_clear_error (&error);
  g_assert_null (parse ("<block format=\"2\"/>", &error));
  g_assert_nonnull (strstr (error->message, "newer"));
}

/* The library's blocks all load; a composite's body is a graph. */
static void
test_library (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (tw_catalog_get_diagnostics (catalog)->len, ==, 0);
  const TwBlock *norm = tw_catalog_get (catalog, "rms_norm");
  g_assert_nonnull (norm);
  g_assert_cmpint (tw_graph_get_n_nodes (norm->body), ==, 7);
  g_assert_null (tw_block_get_param (norm, "gamma")->fallback);
  g_assert_null (tw_block_get_param (norm, "eps")->fallback);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/block/good", test_good);
  g_test_add_func ("/block/wrong", test_wrong);
  g_test_add_func ("/block/unreadable", test_unreadable);
  g_test_add_func ("/block/library", test_library);
  return g_test_run ();
}
