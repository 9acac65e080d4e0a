/* Values as formulas in the blocks' notation: "((h * rstd) * gamma) @ w_up". */
#pragma once

#include "graph.h"

G_BEGIN_DECLS

/* The value of an output port, expanded through the nodes in `open` (a set of ids; NULL: `node`
 * alone), or, if `stop` is given, through all nodes but those in `stop`. Sources are named. Bounded
 * in depth and length. g_free. */
char *tw_notation_print (const TwGraph *graph, const TwCatalog *catalog, const char *node,
                         const char *port, GHashTable *open, GHashTable *stop);

G_END_DECLS
