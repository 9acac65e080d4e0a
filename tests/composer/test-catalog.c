#include "composer/catalog.h"
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

static char *folder;

static void
put (const char *name, const char *id)
{
  g_autofree char *directory = g_build_filename (folder, name, NULL);
  g_autofree char *path = g_build_filename (directory, "block.xml", NULL);
  g_autofree char *text = g_strdup_printf (
      "<block format=\"1\" id=\"%s\" version=\"1\" kind=\"elementwise\" category=\"c\">"
      "<dtype id=\"T\" any=\"f32\"/>"
      "<port id=\"x\" direction=\"in\" role=\"matrix\" dtype=\"T\" dims=\"M, N\"/>"
      "<port id=\"y\" direction=\"out\" role=\"matrix\" dtype=\"T\" dims=\"M, N\"/>"
      "<formula>y = x</formula><cost flops=\"0\"/><target id=\"cpu\"/></block>",
      id);
  g_assert_cmpint (g_mkdir_with_parents (directory, 0700), ==, 0);
  g_assert_true (g_file_set_contents (path, text, -1, NULL));
}

static const TwDiagnostic *
find (const TwCatalog *catalog, const char *code)
{
  const GPtrArray *list = tw_catalog_get_diagnostics (catalog);
  for (guint i = 0; i < list->len; i++)
    if (strcmp (((const TwDiagnostic *)list->pdata[i])->code, code) == 0)
      return list->pdata[i];
  return NULL;
}

static void
test_discovery (void)
{
  const char *const directories[] = { folder, NULL };
  put ("mine", "mine");
  put ("bad one", "Bad");
  put ("relu", "relu");
  g_autoptr (TwCatalog) catalog = tw_catalog_new (directories, NULL);
  g_assert_nonnull (tw_catalog_get (catalog, "mine"));
  g_assert_nonnull (tw_catalog_get (catalog, "gemm"));
  g_assert_null (tw_catalog_get (catalog, "Bad"));
  /* One bad folder hides nothing else; the first of two wins. */
  g_assert_cmpint (find (catalog, "block-unreadable")->severity, ==, TW_SEVERITY_ERROR);
  g_assert_cmpint (find (catalog, "block-twice")->severity, ==, TW_SEVERITY_WARNING);
  g_assert_true (g_str_has_prefix (tw_catalog_get (catalog, "relu")->directory, folder));
  int n;
  const TwBlock *const *list = tw_catalog_list (catalog, &n);
  for (int i = 1; i < n; i++)
    g_assert_cmpstr (list[i - 1]->id, <, list[i]->id);
}

static void
test_path (void)
{
  g_setenv ("TILEWRIGHT_PATH", folder, TRUE);
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, NULL);
  g_unsetenv ("TILEWRIGHT_PATH");
  g_assert_nonnull (tw_catalog_get (catalog, "mine"));
  const char *const missing[] = { "no such folder", NULL };
  g_autoptr (TwCatalog) other = tw_catalog_new (missing, NULL);
  g_assert_nonnull (find (other, "block-unreadable"));
  g_assert_nonnull (tw_catalog_get (other, "gemm"));
}

static void
test_folders (void)
{
  g_autoptr (TwCatalog) catalog = tw_catalog_new (NULL, NULL);
  g_autofree char *panel
      = g_build_filename (tw_catalog_get_tile_directory (catalog), "panel.h", NULL);
  g_autofree char *schema = g_build_filename (tw_share_directory (), "graph.xsd", NULL);
  g_assert_true (g_file_test (panel, G_FILE_TEST_EXISTS));
  g_assert_true (g_file_test (schema, G_FILE_TEST_EXISTS));
}

static void
remove_all (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *child = g_build_filename (path, name, NULL);
      remove_all (child);
    }
  g_remove (path);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("tw-catalog-XXXXXX", NULL);
  g_test_add_func ("/catalog/discovery", test_discovery);
  g_test_add_func ("/catalog/path", test_path);
  g_test_add_func ("/catalog/folders", test_folders);
  int status = g_test_run ();
  remove_all (folder);
  g_free (folder);
  return status;
}
