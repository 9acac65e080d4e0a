/* Words for people: the derivation step by step, why what is fused is right, why every remaining
 * trip through memory is needed. */
#pragma once

#include "cost.h"

G_BEGIN_DECLS

/* The drawn graph as a short list, one node a line with its type. g_free. */
char *tw_explain_graph (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing);
/* Steps with formulas before and after, conditions, savings; refusals. g_free. */
char *tw_explain_derivation (const TwPlan *plan, const TwCatalog *catalog);
/* Kernels, what each reads and writes, edges through memory with reasons. g_free. */
char *tw_explain_plan (const TwPlan *plan, const TwCatalog *catalog, const TwMachine *machine);

G_END_DECLS
