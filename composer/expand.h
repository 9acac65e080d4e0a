/* Composites replaced by their bodies: the first rewriting step, and how evaluation and the printed
 * reference see a composite. */
#pragma once

#include "check.h"

G_BEGIN_DECLS

/* Replaces the composite node `id` of `graph` by its block's body, through commands. New nodes are
 * named <id>_<inner>, made unique, with origin = the drawn node; the composite's "$p" are replaced
 * by parameter values, or by dimension expressions bound at the node in `typing`. The node whose
 * value leaves the body keeps nothing of the old id. FALSE with TW_GRAPH_ERROR_COMMAND otherwise.
 */
gboolean tw_expand_node (TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing,
                         const char *id, GError **error);

/* A copy of `graph` with every composite expanded, nested ones too. NULL with `error` otherwise. */
TwGraph *tw_expand (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing,
                    GError **error);
/* The same; `outputs` (may be NULL: owned strings) receives, for every output "node.port" of a
 * composite, the "node.port" of the result that carries its value. */
TwGraph *tw_expand_with_outputs (const TwGraph *graph, const TwCatalog *catalog,
                                 const TwTyping *typing, GHashTable *outputs, GError **error);

G_END_DECLS
