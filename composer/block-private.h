/* What reading a block shares with the block itself. Not for others: block.h is the interface. */
#pragma once

#include "block.h"

G_BEGIN_DECLS

#define TW_BLOCK_FORMAT 1
#define TW_BLOCK_MAX_BYTES (1 << 20)
#define TW_BLOCK_MAX_DEPTH 16
#define TW_BLOCK_MAX_PORTS 16
#define TW_BLOCK_MAX_PARAMS 32
#define TW_BLOCK_MAX_LAWS 64
#define TW_BLOCK_MAX_OPERANDS 8 /* law-private.h counts them in bits */

/* block-verify.c: what the schema cannot say, after everything has been read: names, references
 * between parts, defaults. Lists operands and outputs and parses the formula. `lines` are those of
 * ports, parameters, laws and of the formula. FALSE with TW_BLOCK_ERROR_SCHEMA. */
typedef struct
{
  const char *name; /* of the file, for messages */
  int block, formula, source;
  int params[TW_BLOCK_MAX_PARAMS], ports[TW_BLOCK_MAX_PORTS], laws[TW_BLOCK_MAX_LAWS];
} TwBlockLines;
gboolean tw_block_complete (TwBlock *block, const TwBlockLines *lines, GError **error);

/* FALSE with an error at `line`, told as "name:line: message". */
gboolean tw_block_fail (const TwBlockLines *lines, int line, GError **error, const char *format,
                        ...) G_GNUC_PRINTF (4, 5);

G_END_DECLS
