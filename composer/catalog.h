/* The blocks there are: every folder with a block.xml under the search path.
 *
 * Discovery happens here, at run time: adding a block is dropping in a folder. */
#pragma once

#include "block.h"

G_BEGIN_DECLS

typedef struct _TwCatalog TwCatalog;

/* Scans, in order: `directories` (NULL-terminated, may be NULL), the entries of the environment
 * variable TILEWRIGHT_PATH, the installed or source-tree library. The first block of an id wins;
 * a later folder with the same id is a warning. A block that cannot be read is left out with an
 * error diagnostic (code "block-unreadable"), so one bad folder does not hide the rest. NULL with
 * `error` only if no library at all is found. */
TwCatalog *tw_catalog_new (const char *const *directories, GError **error);
TwCatalog *tw_catalog_ref (TwCatalog *catalog);
void tw_catalog_unref (TwCatalog *catalog);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwCatalog, tw_catalog_unref)

/* Borrowed; NULL if unknown. */
const TwBlock *tw_catalog_get (const TwCatalog *catalog, const char *id);
/* Sorted by id. Borrowed. */
const TwBlock *const *tw_catalog_list (const TwCatalog *catalog, int *n);
/* GPtrArray of TwDiagnostic. Borrowed. */
const GPtrArray *tw_catalog_get_diagnostics (const TwCatalog *catalog);
/* The folder that holds tile/ (blocks/tile). Borrowed. */
const char *tw_catalog_get_tile_directory (const TwCatalog *catalog);
/* The folder that holds the schemas and GPU descriptions (share/). Borrowed, static. */
const char *tw_share_directory (void);

G_END_DECLS
