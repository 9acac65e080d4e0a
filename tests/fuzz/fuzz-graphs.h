/* Random graphs that type-check, from whatever blocks the catalog has.
 *
 * Nodes are added through commands, each followed by a check; what does not check is undone. So the
 * generator knows no block but sources and sinks, and a few shapes worth drawing often. */
#pragma once

#include "composer/check.h"
#include "composer/command.h"

G_BEGIN_DECLS

typedef struct
{
  const TwCatalog *catalog;
  GRand *rand;
  int n_nodes;   /* wanted, without sources and sinks */
  gboolean runs; /* nothing that reaches no output */
} GraphFuzz;

/* A graph that checks without errors. */
TwGraph *graph_fuzz_make (const GraphFuzz *fuzz, const char *name);

G_END_DECLS
