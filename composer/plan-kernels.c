/* Which nodes share a kernel.
 *
 * A contraction begins a kernel. Another node joins the latest kernel among those that compute what
 * it reads, provided that the kernel walks the same matrix, that everything else the node reads can
 * be in memory by then, and that no value is needed before it is complete: what a tile computes of
 * a whole row's statistic is known only to the kernels after. Where no kernel can take it, a kernel
 * without a product streams rows; nodes that read the same stored matrix share it. */
#include "plan-private.h"

#include <string.h>

const TwType *
tw_planning_get_type (const TwPlanning *planning, const TwLink *link)
{
  return tw_typing_get (planning->typing, link->from_node, link->from_port);
}

static TwPlanKernel *
get_kernel (const TwPlanning *planning, int kernel)
{
  return planning->kernels->pdata[kernel];
}

gboolean
tw_planning_is_prologue (const TwPlanning *planning, int node)
{
  return planning->nodes[node].block->kind == TW_KIND_FINISH && planning->nodes[node].kernel < 0;
}

/* ---- the order of kernels ---- */
static void
raise_level (TwPlanning *planning, int kernel, int level)
{
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (int));
  if (get_kernel (planning, kernel)->level >= level)
    return;
  get_kernel (planning, kernel)->level = level;
  g_array_append_val (open, kernel);
  while (open->len > 0)
    {
      const TwPlanKernel *k = get_kernel (planning, g_array_index (open, int, open->len - 1));
      g_array_set_size (open, open->len - 1);
      for (guint i = 0; i < k->users->len; i++)
        {
          int user = g_array_index (k->users, int, i);
          if (get_kernel (planning, user)->level > k->level)
            continue;
          get_kernel (planning, user)->level = k->level + 1;
          g_array_append_val (open, user);
        }
    }
}

static void
add_need (TwPlanning *planning, int kernel, int need)
{
  TwPlanKernel *k = get_kernel (planning, kernel), *n = get_kernel (planning, need);
  if (kernel == need)
    return;
  for (guint i = 0; i < k->needs->len; i++)
    if (g_array_index (k->needs, int, i) == need)
      return;
  g_array_append_val (k->needs, need);
  g_array_append_val (n->users, kernel);
  raise_level (planning, kernel, n->level + 1);
}

/* TRUE if `kernel` needs `other`, directly or through others. */
static gboolean
depends (const TwPlanning *planning, int kernel, int other)
{
  int floor = get_kernel (planning, other)->level;
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (int));
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);
  if (get_kernel (planning, kernel)->level <= floor)
    return FALSE;
  g_array_append_val (open, kernel);
  while (open->len > 0)
    {
      int at = g_array_index (open, int, open->len - 1);
      const TwPlanKernel *k = get_kernel (planning, at);
      g_array_set_size (open, open->len - 1);
      for (guint i = 0; i < k->needs->len; i++)
        {
          int need = g_array_index (k->needs, int, i);
          if (need == other)
            return TRUE;
          if (get_kernel (planning, need)->level > floor
              && g_hash_table_add (seen, GINT_TO_POINTER (need + 1)))
            g_array_append_val (open, need);
        }
    }
  return FALSE;
}

static int
begin (TwPlanning *planning, TwMainloop mainloop, int node)
{
  TwPlanKernel *kernel = g_new0 (TwPlanKernel, 1);
  kernel->mainloop = mainloop;
  kernel->prepare = planning->nodes[node].weight;
  kernel->origin = planning->nodes[node].origin;
  kernel->contraction = mainloop == TW_MAINLOOP_GEMM ? node : -1;
  kernel->nodes = g_array_new (FALSE, FALSE, sizeof (int));
  kernel->needs = g_array_new (FALSE, FALSE, sizeof (int));
  kernel->users = g_array_new (FALSE, FALSE, sizeof (int));
  g_ptr_array_add (planning->kernels, kernel);
  return (int)planning->kernels->len - 1;
}

/* ---- the matrix a node walks ---- */
typedef struct
{
  const TwDim *rows, *width, *half;
  gboolean statistic, whole_row;
} Space;

static const TwType *
get_output_type (const TwPlanning *planning, const TwPlanNode *n)
{
  for (int i = 0; i < n->block->n_ports; i++)
    if (n->block->ports[i].direction == TW_DIRECTION_OUT)
      return tw_typing_get (planning->typing, n->node->id, n->block->ports[i].id);
  return NULL;
}

static gboolean
is_matrix (const TwType *type)
{
  return type != NULL && type->n_dims >= 2 && type->statistic == NULL;
}

static Space
get_space (const TwPlanning *planning, int node)
{
  const TwPlanNode *n = &planning->nodes[node];
  const TwType *out = get_output_type (planning, n);
  Space space = { 0 };
  space.statistic = n->block->kind == TW_KIND_STATISTIC;
  space.whole_row = space.statistic && out != NULL && out->group == 0;
  if (is_matrix (out) && out->partner == TW_PARTNER_NONE)
    {
      space.rows = out->dims[0];
      space.width = out->dims[out->n_dims - 1];
    }
  else if (out != NULL && out->n_dims == 1)
    space.rows = out->dims[0];
  for (guint i = 0; i < n->inputs->len; i++)
    {
      const TwPlanInput *input = &g_array_index (n->inputs, TwPlanInput, i);
      const TwType *type = tw_planning_get_type (planning, input->link);
      if (input->port->role != TW_ROLE_MATRIX || !is_matrix (type))
        continue;
      if (input->port->partner != TW_PARTNER_NONE)
        {
          space.half = space.width;
          space.width = type->dims[type->n_dims - 1];
        }
      else if (space.width == NULL || (out != NULL && out->partner != TW_PARTNER_NONE))
        {
          /* A statistic; or what makes a pair walks one partner. */
          space.rows = type->dims[0];
          space.width = type->dims[type->n_dims - 1];
        }
    }
  return space;
}

static gboolean
same (const TwDim *a, const TwDim *b)
{
  return a != NULL && b != NULL && tw_dim_equal (a, b);
}

/* TRUE if the kernel walks what the node walks. */
static gboolean
holds (const TwPlanning *planning, const TwPlanKernel *kernel, int node, const Space *space)
{
  const TwPlanNode *n = &planning->nodes[node];
  if (kernel->mainloop == TW_MAINLOOP_FINISH || kernel->prepare != n->weight)
    return FALSE;
  if (!planning->options->fuse && strcmp (kernel->origin, n->origin) != 0)
    return FALSE;
  if (!same (kernel->rows, space->rows))
    return FALSE;
  if (kernel->mainloop == TW_MAINLOOP_GEMM && space->whole_row)
    return FALSE;
  /* Elements of other columns are not in a tile. */
  if (kernel->mainloop == TW_MAINLOOP_GEMM && n->block->kind == TW_KIND_ELEMENTWISE
      && n->block->formula != NULL && !tw_formula_is_elementwise (n->block->formula))
    return FALSE;
  if (space->width == NULL)
    return TRUE;
  if (space->half != NULL)
    return same (kernel->width, space->width) && !kernel->statistic
           && (kernel->half == NULL || same (kernel->half, space->half));
  if (kernel->half != NULL && same (kernel->half, space->width))
    return TRUE;
  return same (kernel->width, space->width) && !(kernel->half != NULL && space->statistic);
}

/* ---- what a node needs ---- */
/* Kernel of a computed value; for a finish in a prologue, of its statistic. -1: none. */
static int
get_source_kernel (const TwPlanning *planning, int source, gboolean *through_finish)
{
  *through_finish = tw_planning_is_prologue (planning, source);
  if (!*through_finish)
    return planning->nodes[source].kernel;
  const GArray *inputs = planning->nodes[source].inputs;
  return inputs->len > 0 ? planning->nodes[g_array_index (inputs, TwPlanInput, 0).source].kernel
                         : -1;
}

/* TRUE if the node may be computed in `kernel`, given what else it reads. */
static gboolean
fits (const TwPlanning *planning, int kernel, int node)
{
  const TwPlanNode *n = &planning->nodes[node];
  for (guint i = 0; i < n->inputs->len; i++)
    {
      gboolean through_finish;
      int need = get_source_kernel (planning, g_array_index (n->inputs, TwPlanInput, i).source,
                                    &through_finish);
      if (need < 0)
        continue;
      if (need == kernel && through_finish
          && get_kernel (planning, kernel)->mainloop != TW_MAINLOOP_ROWS)
        return FALSE;
      if (need != kernel && depends (planning, need, kernel))
        return FALSE;
    }
  return TRUE;
}

static int
find_kernel (const TwPlanning *planning, int node, const Space *space)
{
  const TwPlanNode *n = &planning->nodes[node];
  int best = -1;
  for (guint i = 0; i < n->inputs->len; i++)
    {
      gboolean through_finish;
      int kernel = get_source_kernel (planning, g_array_index (n->inputs, TwPlanInput, i).source,
                                      &through_finish);
      if (kernel < 0 || kernel == best)
        continue;
      const TwPlanKernel *k = get_kernel (planning, kernel);
      if (best >= 0 && k->level < get_kernel (planning, best)->level)
        continue;
      if (holds (planning, k, node, space) && fits (planning, kernel, node))
        best = kernel;
    }
  for (guint i = 0; best < 0 && i < n->inputs->len; i++)
    {
      const TwPlanInput *input = &g_array_index (n->inputs, TwPlanInput, i);
      if (!is_matrix (tw_planning_get_type (planning, input->link)))
        continue;
      g_autofree char *key = tw_planning_key (input->link->from_node, input->link->from_port);
      int kernel = GPOINTER_TO_INT (g_hash_table_lookup (planning->sharing, key)) - 1;
      if (kernel >= 0 && holds (planning, get_kernel (planning, kernel), node, space)
          && fits (planning, kernel, node))
        best = kernel;
    }
  return best;
}

static void
join (TwPlanning *planning, int kernel, int node, const Space *space)
{
  TwPlanNode *n = &planning->nodes[node];
  TwPlanKernel *k = get_kernel (planning, kernel);
  n->kernel = kernel;
  g_array_append_val (k->nodes, node);
  k->statistic |= space->statistic;
  if (k->rows == NULL)
    k->rows = space->rows;
  if (k->width == NULL)
    k->width = space->width;
  if (space->half != NULL)
    k->half = space->half;
  for (guint i = 0; i < n->inputs->len; i++)
    {
      const TwPlanInput *input = &g_array_index (n->inputs, TwPlanInput, i);
      gboolean through_finish;
      int need = get_source_kernel (planning, input->source, &through_finish);
      if (need >= 0)
        add_need (planning, kernel, need);
      if (k->mainloop == TW_MAINLOOP_ROWS && need != kernel
          && is_matrix (tw_planning_get_type (planning, input->link)))
        g_hash_table_insert (planning->sharing,
                             tw_planning_key (input->link->from_node, input->link->from_port),
                             GINT_TO_POINTER (kernel + 1));
    }
}

static gboolean
is_stored_for_caller (const TwPlanning *planning, const TwPlanNode *n)
{
  for (guint i = 0; i < n->outputs->len; i++)
    {
      const TwLink *link = n->outputs->pdata[i];
      int to = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->to_node)) - 1;
      if (to >= 0 && planning->nodes[to].block->kind == TW_KIND_SINK)
        return TRUE;
    }
  return FALSE;
}

/* A finish is computed by whoever reads it, unless the caller wants it, or every drawn node is a
 * kernel of its own: then by the kernel that passes over the rows anyway, or by one for it alone.
 */
static void
place_finish (TwPlanning *planning, int node)
{
  TwPlanNode *n = &planning->nodes[node];
  Space space = get_space (planning, node);
  int kernel = find_kernel (planning, node, &space);
  if (kernel >= 0 && get_kernel (planning, kernel)->mainloop != TW_MAINLOOP_ROWS)
    kernel = -1;
  gboolean apart = is_stored_for_caller (planning, n);
  for (guint i = 0; !planning->options->fuse && i < n->outputs->len; i++)
    {
      const TwLink *link = n->outputs->pdata[i];
      int to = GPOINTER_TO_INT (g_hash_table_lookup (planning->index, link->to_node)) - 1;
      apart |= to >= 0 && strcmp (planning->nodes[to].origin, n->origin) != 0;
    }
  if (!apart)
    return;
  join (planning, kernel >= 0 ? kernel : begin (planning, TW_MAINLOOP_FINISH, node), node, &space);
}

static void
place_copy (TwPlanning *planning, int node)
{
  const TwPlanInput *input = &g_array_index (planning->nodes[node].inputs, TwPlanInput, 0);
  const TwPlanNode *source = &planning->nodes[input->source];
  /* What a launch kernel computes is stored to the output where it is computed. */
  if (source->kernel >= 0 && !source->weight)
    return;
  const TwType *type = tw_planning_get_type (planning, input->link);
  planning->nodes[node].weight = FALSE;
  int kernel = begin (planning, TW_MAINLOOP_ROWS, node);
  TwPlanKernel *k = get_kernel (planning, kernel);
  k->rows = type->n_dims > 0 ? type->dims[0] : NULL;
  k->width = type->n_dims > 1 ? type->dims[type->n_dims - 1] : NULL;
  planning->nodes[node].kernel = kernel;
  g_array_append_val (k->nodes, node);
  if (source->kernel >= 0)
    add_need (planning, kernel, source->kernel);
}

void
tw_planning_place_nodes (TwPlanning *planning)
{
  for (int i = 0; i < planning->n_nodes; i++)
    {
      Space space;
      int kernel;
      switch (planning->nodes[i].block->kind)
        {
        case TW_KIND_SOURCE:
        case TW_KIND_COMPOSITE:
          break;
        case TW_KIND_SINK:
          if (planning->nodes[i].inputs->len > 0)
            place_copy (planning, i);
          break;
        case TW_KIND_CONTRACTION:
          space = get_space (planning, i);
          kernel = begin (planning, TW_MAINLOOP_GEMM, i);
          if (space.width != NULL)
            {
              const TwType *out = get_output_type (planning, &planning->nodes[i]);
              space.rows = out->dims[0];
              space.width = out->dims[out->n_dims - 1];
            }
          join (planning, kernel, i, &space);
          break;
        case TW_KIND_FINISH:
          place_finish (planning, i);
          break;
        case TW_KIND_ELEMENTWISE:
        case TW_KIND_STATISTIC:
          space = get_space (planning, i);
          kernel = find_kernel (planning, i, &space);
          if (kernel < 0)
            kernel = begin (planning, TW_MAINLOOP_ROWS, i);
          join (planning, kernel, i, &space);
          break;
        }
    }
}
