/* What the parts of the planner share. Not for others: plan.h is the interface.
 *
 * Everything is indices while a plan is made: nodes in topological order, kernels in the order they
 * were begun. */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

typedef struct
{
  int source;       /* node index */
  const TwLink *link;
  const TwPortSpec *port; /* that reads */
} TwPlanInput;

typedef struct
{
  const TwNode *node;
  const TwBlock *block;
  const char *origin; /* the drawn node */
  gboolean weight;    /* known at prepare time */
  int kernel;         /* that computes it; -1: sources, sinks, a finish in its readers' prologue */
  GArray *inputs;     /* TwPlanInput, in order of ports */
  GPtrArray *outputs; /* const TwLink*: links that leave it */
} TwPlanNode;

typedef struct
{
  TwMainloop mainloop;
  gboolean prepare;
  const char *origin;
  int contraction;       /* node index or -1 */
  GArray *nodes;         /* int, as they joined */
  GArray *needs, *users; /* int: kernels whose stored values it reads, and the reverse */
  int level;             /* above every kernel that it needs */
  const TwDim *rows, *width, *half; /* half: what comes out where the columns are read as pairs */
  gboolean statistic;    /* holds one, of full width */
  TwKernel *result;
} TwPlanKernel;

typedef struct
{
  TwPlan *plan;
  const TwCatalog *catalog;
  const TwPlanOptions *options;
  const TwGraph *graph; /* the rewritten one */
  const TwTyping *typing;
  GHashTable *index;    /* node id -> index + 1 */
  TwPlanNode *nodes;
  int n_nodes;
  GPtrArray *kernels; /* TwPlanKernel */
  GHashTable *sharing; /* "node.port" of a stored matrix -> rows kernel + 1 */
  GHashTable *buffers; /* "node.port" -> buffer + 1 */
} TwPlanning;

/* plan-kernels.c: decides which kernel computes each node. */
void tw_planning_place_nodes (TwPlanning *planning);
/* A finish that is computed where it is read. */
gboolean tw_planning_is_prologue (const TwPlanning *planning, int node);
const TwType *tw_planning_get_type (const TwPlanning *planning, const TwLink *link);

/* plan-buffers.c: orders the kernels, says what each reads and stores, shares memory. */
void tw_planning_make_kernels (TwPlanning *planning);

/* plan-edges.c: where each link's value lies and why; demands. */
void tw_planning_explain_edges (TwPlanning *planning);
void tw_planning_check_demands (TwPlanning *planning);

/* "node.port". g_free. */
char *tw_planning_key (const char *node, const char *port);
/* Elements of a value at the graph's default dimensions; 0 where that is not known. */
double tw_planning_count (const TwGraph *graph, const TwType *type);

G_END_DECLS
