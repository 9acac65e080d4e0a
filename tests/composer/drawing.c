/* Drawings as text, examples from the tree. */
#include "drawing.h"
#include "config.h"

#include <string.h>

static void
add_line (GString *nodes, GString *links, const char *line)
{
  g_auto (GStrv) words = g_strsplit_set (line, " ", -1);
  gboolean wiring = FALSE;
  if (words[0] == NULL || *words[0] == '\0')
    return;
  g_string_append_printf (nodes, "<node id=\"%s\" block=\"%s\">", words[0], words[1]);
  for (int i = 2; words[i] != NULL; i++)
    {
      char *equals = strchr (words[i], '=');
      if (strcmp (words[i], "<") == 0)
        wiring = TRUE;
      if (equals == NULL)
        continue;
      gboolean demand = wiring && equals > words[i] && equals[-1] == '!';
      equals[demand ? -1 : 0] = '\0';
      if (wiring)
        g_string_append_printf (links, "<link from=\"%s\" to=\"%s.%s\"%s/>", equals + 1, words[0],
                                words[i], demand ? " fuse=\"required\"" : "");
      else
        g_string_append_printf (nodes, "<param name=\"%s\" value=\"%s\"/>", words[i], equals + 1);
    }
  g_string_append (nodes, "</node>\n");
}

TwGraph *
drawing_parse (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) nodes = g_string_new (NULL);
  g_autoptr (GString) links = g_string_new (NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (int i = 0; lines[i] != NULL; i++)
    add_line (nodes, links, lines[i]);
  g_autofree char *xml = g_strdup_printf (
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph format=\"1\" name=\"g\">\n"
      "<dimension name=\"T\" kind=\"dynamic\" value=\"5\" min=\"0\" max=\"100\"/>\n%s%s</graph>\n",
      nodes->str, links->str);
  TwGraph *graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  return graph;
}

TwGraph *
drawing_load_example (const char *name)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (TW_SOURCE_ROOT, "examples", name, "graph.xml", NULL);
  TwGraph *graph = tw_graph_load (path, &error);
  g_assert_no_error (error);
  return graph;
}

TwCatalog *
drawing_open_catalog (void)
{
  g_autoptr (GError) error = NULL;
  TwCatalog *catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  return catalog;
}

void
drawing_assert_good (const TwGraph *graph, const TwCatalog *catalog)
{
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  const GPtrArray *found = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < found->len; i++)
    {
      g_autofree char *text = tw_diagnostic_to_text (found->pdata[i], "drawing");
      g_test_message ("%s", text);
    }
  g_assert_true (tw_typing_is_good (typing));
}
