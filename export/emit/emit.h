/* From a plan to source text: the exported folder, in memory.
 *
 * The text is byte-stable: no dates, paths or versions. What it needs of blocks/ is read as data.
 */
#pragma once

#include "../../composer/plan.h"

G_BEGIN_DECLS

#define TW_EMIT_ERROR (tw_emit_error_quark ())
GQuark tw_emit_error_quark (void);
typedef enum
{
  TW_EMIT_ERROR_TARGET,  /* unknown target, or a block that does not run on it */
  TW_EMIT_ERROR_OPTIONS, /* a bad prefix, ... */
  TW_EMIT_ERROR_READ     /* a block's or the tile layer's source cannot be read */
} TwEmitError;

typedef struct
{
  const char *target;    /* "cpu" */
  const char *prefix;    /* of every public symbol and of the file names; NULL: the graph's name */
  const TwPlan *unfused; /* plan of the same graph with fuse FALSE, for NAME_unfused.c */
} TwEmitOptions;

typedef struct
{
  char *name; /* file name in the folder */
  char *text;
} TwEmitFile;

/* GPtrArray of TwEmitFile (owned): NAME.c, NAME.h, NAME_unfused.c, NAME_main.c, Makefile,
 * plan.json, README. NULL with `error` otherwise. `drawn` is the graph before rewriting, from whose
 * formulas the reference of `make check` is printed. */
GPtrArray *tw_emit (const TwGraph *drawn, const TwTyping *drawn_typing, const TwPlan *plan,
                    const TwCatalog *catalog, const TwEmitOptions *options, GError **error);

/* Targets there are, NULL-terminated. Static. */
const char *const *tw_emit_targets (void);

G_END_DECLS
