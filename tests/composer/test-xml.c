/* What the reader of XML refuses before and while it parses, and what it hands out. */
#include "composer/xml.h"

#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum
{
  CODE_READ,
  CODE_SCHEMA
};

static TwXmlKind
make_kind (void)
{
  return (TwXmlKind){ .domain = g_quark_from_static_string ("test-xml"),
                      .read = CODE_READ,
                      .schema = CODE_SCHEMA,
                      .what = "graph",
                      .schema_file = "graph.xsd",
                      .max_bytes = 1 << 20,
                      .max_depth = 8 };
}

static void
check_refused (const char *text, gsize length, int line, const char *words)
{
  const TwXmlKind kind = make_kind ();
  g_autoptr (GError) error = NULL;
  g_autofree char *place = g_strdup_printf ("file:%d: ", line);
  g_assert_null (tw_xml_parse (text, length, "file", &kind, &error));
  g_assert_error (error, kind.domain, CODE_READ);
  if (!g_str_has_prefix (error->message, place) || strstr (error->message, words) == NULL)
    g_error ("\"%s\" should be at %s with \"%s\"", error->message, place, words);
}

static void
test_refused (void)
{
  static const struct
  {
    const char *text;
    int line;
    const char *words;
  } cases[] = {
    { "<a>\n<b></a>", 2, "" },
    { "<a>\n\xff</a>", 2, "byte 0xff is not UTF-8; save" },
    { "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<a b=\"\xe9\"/>", 2, "byte 0xe9" },
    { "\n<!DOCTYPE a>\n<a/>", 2, "DOCTYPE" },
    { "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>", 1, "DOCTYPE" },
    { "<a>\n&nbsp;</a>", 2, "nbsp" },
    { "<a>\n<p:b/></a>", 2, "p" },
    { "<a b=\"1\" b=\"2\"/>", 1, "b" },
    { "<a><a><a><a><a><a><a><a>\n<a/></a></a></a></a></a></a></a></a>", 2, "deeper than 8" },
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    check_refused (cases[i].text, strlen (cases[i].text), cases[i].line, cases[i].words);
  /* Behind the root a parser of strings would not see it. */
  check_refused ("<a/>\n\0junk", 10, 2, "NUL");
  check_refused ("<\0a\0/\0>\0", 8, 1, "NUL");
}

/* Pairwise comparison of a million attributes would take hours. */
static void
test_floods (void)
{
  static const char *const forms[] = { " a%d=''", " a%d =\n \"\"", " xmlns:a%d='u'" };
  const TwXmlKind kind = make_kind ();
  for (guint f = 0; f < G_N_ELEMENTS (forms); f++)
    for (int n = 256; n <= 50000; n += 49744)
      {
        g_autoptr (GString) text = g_string_new ("<a");
        for (int i = 0; i < n; i++)
          {
            g_autofree char *number = g_strdup_printf ("%d", i);
            g_autoptr (GString) form = g_string_new (forms[f]);
            g_string_replace (form, "%d", number, 1);
            g_string_append (text, form->str);
          }
        g_string_append (text, "/>");
        g_autoptr (GError) error = NULL;
        xmlDoc *doc = tw_xml_parse (text->str, text->len, "file", &kind, &error);
        g_assert_true ((doc != NULL) == (n == 256));
        g_assert_true (doc != NULL || strstr (error->message, "256") != NULL);
        g_clear_pointer (&doc, xmlFreeDoc);
      }
  /* Text may have as many signs as it likes. */
  g_autofree char *signs = g_strnfill (5000, '=');
  g_autofree char *comment = g_strconcat ("<a><!-- ", signs, " --></a>", NULL);
  xmlDoc *doc = tw_xml_parse (comment, strlen (comment), "file", &kind, NULL);
  g_assert_nonnull (doc);
  xmlFreeDoc (doc);
  /* In one tag each, but all in force in the innermost. */
  g_autoptr (GString) nested = g_string_new (NULL);
  for (int i = 0; i < 7; i++)
    {
      g_string_append (nested, "<a");
      for (int k = 0; k < 100; k++)
        g_string_append_printf (nested, " xmlns:n%d_%d='u'", i, k);
      g_string_append (nested, ">");
    }
  check_refused (nested->str, nested->len, 1, "namespaces");
}

static void
test_tree (void)
{
  static const char text[] = "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-16\"?>\n"
                             "<a xmlns:e=\"u\" e:k=\"foreign\" k=\"&lt;&amp;&#233;\xc3\xa9\">\n"
                             "  one <![CDATA[<two>]]>&gt;\n<e:a/></a>";
  const TwXmlKind kind = make_kind ();
  g_autoptr (GError) error = NULL;
  xmlDoc *doc = tw_xml_parse (text, strlen (text), "file", &kind, &error);
  g_assert_no_error (error);
  const xmlNode *root = xmlDocGetRootElement (doc);
  g_autofree char *k = tw_xml_get (root, "k"), *content = tw_xml_get_text (root);
  g_assert_true (tw_xml_is (root, "a"));
  g_assert_false (tw_xml_is (root, "b"));
  g_assert_false (tw_xml_is (root->last, "a"));
  g_assert_cmpstr (k, ==, "<&\xc3\xa9\xc3\xa9");
  g_assert_cmpstr (content, ==, "one <two>>");
  g_assert_null (tw_xml_get (root, "none"));
  xmlFreeDoc (doc);
}

static void
test_escaped (void)
{
  g_autoptr (GString) attribute = g_string_new (NULL);
  g_autoptr (GString) content = g_string_new (NULL);
  tw_xml_append_escaped (attribute, "<>&\"'\n\t\r", TRUE);
  tw_xml_append_escaped (content, "<>&\"'\n\t\r", FALSE);
  g_assert_cmpstr (attribute->str, ==, "&lt;&gt;&amp;&quot;'&#10;&#9;&#13;");
  g_assert_cmpstr (content->str, ==, "&lt;&gt;&amp;\"'\n\t&#13;");
}

static gpointer
validate (gpointer data)
{
  static const char good[] = "<graph format=\"1\" name=\"g\"/>";
  static const char wrong[] = "<graph format=\"1\"\nname=\"g\">\n<node id=\"a\"/></graph>";
  const TwXmlKind kind = make_kind ();
  for (int i = 0; i < 50; i++)
    {
      g_autoptr (GError) error = NULL;
      xmlDoc *doc = tw_xml_parse (good, strlen (good), "file", &kind, NULL);
      g_assert_true (tw_xml_validate (doc, "file", &kind, &error));
      g_assert_no_error (error);
      xmlFreeDoc (doc);
      doc = tw_xml_parse (wrong, strlen (wrong), "file", &kind, NULL);
      g_assert_false (tw_xml_validate (doc, "file", &kind, &error));
      g_assert_error (error, kind.domain, CODE_SCHEMA);
      g_assert_true (g_str_has_prefix (error->message, "file:3: "));
      xmlFreeDoc (doc);
    }
  return NULL;
}

/* The schema is compiled by whoever comes first. */
static void
test_threads (void)
{
  GThread *threads[4];
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    threads[i] = g_thread_new ("validate", validate, NULL);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
}

static void
check_no_file (const char *path, const char *words)
{
  const TwXmlKind kind = make_kind ();
  gsize length = 0;
  g_autoptr (GError) error = NULL;
  g_assert_null (tw_xml_read_file (path, &kind, &length, &error));
  g_assert_error (error, kind.domain, CODE_READ);
  g_assert_true (g_str_has_prefix (error->message, path));
  g_assert_nonnull (strstr (error->message, words));
}

static void
test_files (void)
{
  const TwXmlKind kind = make_kind ();
  gsize length = 0;
  g_autofree char *folder = g_dir_make_tmp ("tw-xml-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "f.xml", NULL);
  g_autofree char *pipe = g_build_filename (folder, "pipe", NULL);
  g_autofree char *most = g_strnfill (kind.max_bytes + 1, ' ');
  check_no_file (path, "cannot be opened");
  check_no_file (folder, "folder");
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  check_no_file (pipe, "no regular file");
  g_assert_true (g_file_set_contents (path, most, (gssize)kind.max_bytes + 1, NULL));
  check_no_file (path, "larger");
  g_assert_true (g_file_set_contents (path, most, (gssize)kind.max_bytes, NULL));
  g_autofree char *text = tw_xml_read_file (path, &kind, &length, NULL);
  g_assert_nonnull (text);
  g_assert_cmpuint (length, ==, kind.max_bytes);
  g_remove (path);
  g_remove (pipe);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/xml/refused", test_refused);
  g_test_add_func ("/xml/floods", test_floods);
  g_test_add_func ("/xml/tree", test_tree);
  g_test_add_func ("/xml/escaped", test_escaped);
  g_test_add_func ("/xml/threads", test_threads);
  g_test_add_func ("/xml/files", test_files);
  return g_test_run ();
}
