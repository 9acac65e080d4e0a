/* Drawings for tests, a node a line: "id block param=value ... < port=node.port ...". */
#pragma once

#include "composer/check.h"

G_BEGIN_DECLS

/* The graph "g" with the dynamic dimension T (5 by default, 0 to 100). Aborts on a bad drawing. A
 * link written port!=node.port demands fuse="required". */
TwGraph *drawing_parse (const char *text);
/* examples/NAME/graph.xml */
TwGraph *drawing_load_example (const char *name);
TwCatalog *drawing_open_catalog (void);
/* Aborts unless the graph checks without errors. */
void drawing_assert_good (const TwGraph *graph, const TwCatalog *catalog);

G_END_DECLS
