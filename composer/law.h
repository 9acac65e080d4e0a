/* The laws of a block: what a positive row scale, a column scale, a row shift on its inputs does to
 * its outputs. The rewriter asks predictions; a test measures the exact formula and compares. */
#pragma once

#include "graph.h"

G_BEGIN_DECLS

#define TW_LAW_NONE G_MININT

/* Degree with which `output` scales if every operand in `inputs` (NULL-terminated operand names) is
 * multiplied by the same s[m] > 0, by the declared laws and their disjoint unions; TW_LAW_NONE if
 * no declared law covers exactly these. `node` (may be NULL) supplies degree parameters. */
int tw_law_predict_degree (const TwBlock *block, const TwNode *node, const char *const *inputs,
                           const char *output);
/* The same for a column scale along the output's last dimension. */
int tw_law_predict_column (const TwBlock *block, const TwNode *node, const char *const *inputs,
                           const char *output);
/* TRUE if the output is declared linear in `inputs` taken jointly. */
gboolean tw_law_is_linear (const TwBlock *block, const char *const *inputs, const char *output);
/* The law that lets a column scale on operand `from` move to another operand; NULL. */
const TwLaw *tw_law_get_transfer (const TwBlock *block, const char *from);

/* Measures the laws on the exact formula with random data and compares with what is declared, both
 * ways: a declared law that does not hold, and one that holds and is not declared. One error
 * diagnostic each (codes "law-false", "law-missing"). `seed` picks the data. */
GPtrArray *tw_law_check (const TwBlock *block, guint32 seed);

G_END_DECLS
