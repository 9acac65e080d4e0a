/* Scanning folders for blocks.
 *
 * Where the library is: TILEWRIGHT_DATA if set; else beside the program (PREFIX/share/tilewright,
 * wherever the whole was moved to); else where it was configured to be installed; else the source
 * tree it was built from. */
#include "catalog.h"
#include "config.h"

#include <gio/gio.h>
#include <string.h>

struct _TwCatalog
{
  int ref_count;
  GHashTable *index;  /* id -> TwBlock */
  GPtrArray *sorted;  /* TwBlock, owned */
  GPtrArray *diagnostics;
  char *tile;
};

static gboolean
is_library (const char *path)
{
  g_autofree char *tile = g_build_filename (path, "blocks", "tile", NULL);
  return g_file_test (tile, G_FILE_TEST_IS_DIR);
}

/* The folder that holds blocks/ and share/ (or is both share and holds blocks/). */
static char *
find_root (void)
{
  const char *set = g_getenv ("TILEWRIGHT_DATA");
  if (set != NULL && *set != '\0')
    return g_strdup (set);
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);
  if (program != NULL)
    {
      g_autofree char *directory = g_path_get_dirname (program);
      g_autofree char *moved
          = g_build_filename (directory, "..", "share", "tilewright", NULL);
      if (is_library (moved))
        return g_canonicalize_filename (moved, NULL);
    }
  /* A program run from its build folder takes the sources it was built from: an older installation
   * must not shadow them. */
  if (program != NULL && g_str_has_prefix (program, TW_BUILD_ROOT "/")
      && is_library (TW_SOURCE_ROOT))
    return g_strdup (TW_SOURCE_ROOT);
  if (is_library (TW_INSTALLED_DATA))
    return g_strdup (TW_INSTALLED_DATA);
  return g_strdup (TW_SOURCE_ROOT);
}

static const char *
root_directory (void)
{
  static char *root;
  if (g_once_init_enter (&root))
    g_once_init_leave (&root, find_root ());
  return root;
}

const char *
tw_share_directory (void)
{
  static char *share;
  if (g_once_init_enter (&share))
    g_once_init_leave (&share, g_build_filename (root_directory (), "share", NULL));
  return share;
}

static void
note (TwCatalog *catalog, TwSeverity severity, const char *code, const char *message,
      const char *found, const char *fix)
{
  g_ptr_array_add (catalog->diagnostics, tw_diagnostic_new (code, severity, NULL, NULL, 0, message,
                                                            found, NULL, fix));
}

static void
add_block (TwCatalog *catalog, const char *folder)
{
  g_autofree char *path = g_build_filename (folder, "block.xml", NULL);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return;
  g_autoptr (GError) error = NULL;
  g_autoptr (TwBlock) block = tw_block_load (path, &error);
  if (block == NULL)
    {
      note (catalog, TW_SEVERITY_ERROR, "block-unreadable", error->message, path,
            "correct the file, or take the folder away");
      return;
    }
  const TwBlock *first = g_hash_table_lookup (catalog->index, block->id);
  if (first != NULL)
    {
      g_autofree char *message = g_strdup_printf ("block %s stands in two folders; %s is used",
                                                  block->id, first->directory);
      note (catalog, TW_SEVERITY_WARNING, "block-twice", message, path,
            "rename one of them, or take it away");
      return;
    }
  g_hash_table_insert (catalog->index, block->id, block);
  g_ptr_array_add (catalog->sorted, g_steal_pointer (&block));
}

static int
compare_text (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* `directory` is a folder of block folders, or one block's folder. */
static gboolean
scan (TwCatalog *catalog, const char *directory)
{
  g_autoptr (GDir) dir = g_dir_open (directory, 0, NULL);
  if (dir == NULL)
    return FALSE;
  add_block (catalog, directory);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const char *name = g_dir_read_name (dir); name != NULL; name = g_dir_read_name (dir))
    g_ptr_array_add (names, g_build_filename (directory, name, NULL));
  g_ptr_array_sort (names, compare_text);
  for (guint i = 0; i < names->len; i++)
    if (g_file_test (names->pdata[i], G_FILE_TEST_IS_DIR))
      add_block (catalog, names->pdata[i]);
  return TRUE;
}

static void
scan_named (TwCatalog *catalog, const char *directory, const char *origin)
{
  if (scan (catalog, directory))
    return;
  g_autofree char *message = g_strdup_printf ("%s cannot be read as a folder", directory);
  note (catalog, TW_SEVERITY_ERROR, "block-unreadable", message, origin,
        "name a folder that holds folders with a block.xml");
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const TwBlock *const *)a)->id, (*(const TwBlock *const *)b)->id);
}

TwCatalog *
tw_catalog_new (const char *const *directories, GError **error)
{
  const char *root = root_directory ();
  g_autofree char *library = g_build_filename (root, "blocks", NULL);
  if (!is_library (root))
    {
      g_set_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ,
                   "no block library at %s: there is no %s/tile. Install the program, or set "
                   "TILEWRIGHT_DATA to the folder that holds blocks/ and share/",
                   root, library);
      return NULL;
    }
  TwCatalog *catalog = g_new0 (TwCatalog, 1);
  catalog->ref_count = 1;
  catalog->index = g_hash_table_new (g_str_hash, g_str_equal);
  catalog->sorted = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_block_unref);
  catalog->diagnostics = tw_diagnostics_new ();
  catalog->tile = g_build_filename (library, "tile", NULL);

  for (int i = 0; directories != NULL && directories[i] != NULL; i++)
    scan_named (catalog, directories[i], "--blocks");
  const char *path = g_getenv ("TILEWRIGHT_PATH");
  g_auto (GStrv) entries = g_strsplit (path != NULL ? path : "", G_SEARCHPATH_SEPARATOR_S, -1);
  for (int i = 0; entries[i] != NULL; i++)
    if (*entries[i] != '\0')
      scan_named (catalog, entries[i], "TILEWRIGHT_PATH");
  scan (catalog, library);
  g_ptr_array_sort (catalog->sorted, compare_blocks);
  return catalog;
}

TwCatalog *
tw_catalog_ref (TwCatalog *catalog)
{
  g_atomic_int_inc (&catalog->ref_count);
  return catalog;
}

void
tw_catalog_unref (TwCatalog *catalog)
{
  if (!g_atomic_int_dec_and_test (&catalog->ref_count))
    return;
  g_hash_table_unref (catalog->index);
  g_ptr_array_unref (catalog->sorted);
  g_ptr_array_unref (catalog->diagnostics);
  g_free (catalog->tile);
  g_free (catalog);
}

const TwBlock *
tw_catalog_get (const TwCatalog *catalog, const char *id)
{
  return g_hash_table_lookup (catalog->index, id);
}

const TwBlock *const *
tw_catalog_list (const TwCatalog *catalog, int *n)
{
  *n = (int)catalog->sorted->len;
  return (const TwBlock *const *)catalog->sorted->pdata;
}

const GPtrArray *
tw_catalog_get_diagnostics (const TwCatalog *catalog)
{
  return catalog->diagnostics;
}

const char *
tw_catalog_get_tile_directory (const TwCatalog *catalog)
{
  return catalog->tile;
}
