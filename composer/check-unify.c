/* Dimension names of a node: bound by the input ports in the block's order, compared where they are
 * bound already. */
#include "check-private.h"

#include <string.h>

/* Dimensions */

typedef struct
{
  const TwNodeTyping *node;
} Bound;

static TwDim *
replace_bound (const char *name, gpointer user_data)
{
  const TwNodeTyping *node = ((Bound *)user_data)->node;
  for (int i = 0; i < node->facts->n_names; i++)
    if (strcmp (node->facts->names[i], name) == 0)
      return node->bindings[i];
  return NULL;
}

/* The pattern with what is bound put in; *free_name is the one unbound name, -1 for none, -2 for
 * several. NULL where it cannot be. */
TwDim *
tw_check_fill (const TwNodeTyping *node, const TwPattern *pattern, int *free_name)
{
  *free_name = -1;
  if (pattern->dim == NULL)
    return NULL;
  for (int i = 0; i < pattern->n_names; i++)
    if (node->bindings[pattern->names[i]] == NULL)
      *free_name = *free_name == -1 ? pattern->names[i] : -2;
  if (*free_name == -2)
    return NULL;
  if (pattern->n_names == 1 && *free_name == -1
      && strcmp (tw_dim_get_text (pattern->dim), node->facts->names[pattern->names[0]]) == 0)
    return tw_dim_ref (node->bindings[pattern->names[0]]);
  if (pattern->n_names == 0 || (pattern->n_names == 1 && *free_name >= 0))
    return tw_dim_ref (pattern->dim);
  Bound bound = { node };
  return tw_dim_substitute (pattern->dim, replace_bound, &bound);
}

/* The parts of "D, 2*H" the other way round. */
static char *
swapped_shape (const char *shape)
{
  g_auto (GStrv) parts = g_strsplit (shape != NULL ? shape : "", ",", 3);
  if (g_strv_length (parts) != 2)
    return NULL;
  return g_strdup_printf ("%s, %s", g_strstrip (parts[1]), g_strstrip (parts[0]));
}

static void
report_dim (const TwNodeCheck *context, int port, int d, const TwDim *needed)
{
  const TwPortSpec *spec = &context->block->ports[port];
  const TwPattern *pattern = &context->node->facts->patterns[port][d];
  const TwType *type = tw_check_source_type (context, port);
  const TwNodeTyping *source = tw_check_source (context, port);
  g_autofree char *expected = tw_check_expected (context, port);
  const char *what = spec->n_dims == 2 ? (d == 0 ? "rows" : "columns") : "elements";
  g_autofree char *message = NULL;
  int binder = pattern->n_names > 0 ? context->binder[pattern->names[0]] : -1;
  if (needed == NULL)
    message = g_strdup_printf ("has %s %s, which is not of the form %s",
                               tw_dim_get_text (type->dims[d]), what, spec->dims[d]);
  else if (binder >= 0)
    message = g_strdup_printf ("has %s %s, but %s must be %s: %s is wired to %s",
                               tw_dim_get_text (type->dims[d]), what, spec->dims[d],
                               tw_dim_get_text (needed), context->block->ports[binder].id,
                               context->node->links[binder]->from_node);
  else
    message = g_strdup_printf ("has %s %s, but %s must be %s", tw_dim_get_text (type->dims[d]),
                               what, spec->dims[d], tw_dim_get_text (needed));
  g_autofree char *fix = NULL;
  gboolean is_source = source->facts->block->kind == TW_KIND_SOURCE;
  if (is_source && needed != NULL && type->n_dims == 2 && spec->n_dims == 2
      && tw_dim_equal (type->dims[1 - d], needed))
    {
      g_autofree char *shape
          = swapped_shape (tw_node_get_param (source->node, source->facts->block, "shape"));
      if (shape != NULL)
        fix = g_strdup_printf ("%s looks transposed: give it the shape \"%s\" (order=column if its "
                               "columns are what lies together in memory)",
                               source->id, shape);
    }
  if (fix == NULL && is_source)
    fix = g_strdup_printf ("give %s a shape of the form %s", source->id, expected);
  if (fix == NULL)
    fix = g_strdup_printf ("wire a value of shape %s to %s.%s, or change what %s is computed from",
                           expected, context->node->id, spec->id, source->id);
  tw_check_report (context, "dimension-mismatch", port, expected, fix, message);
}

/* Binds and compares dimensions of all input ports until nothing changes. At least one dimension is
 * settled in each round. */
void
tw_check_unify (TwNodeCheck *context)
{
  TwNodeTyping *node = context->node;
  const TwBlock *block = context->block;
  g_autofree guint8 *settled = g_new0 (guint8, 3 * (gsize)block->n_ports + 1);
  gboolean changed = TRUE;
  while (changed)
    {
      changed = FALSE;
      for (int p = 0; p < block->n_ports; p++)
        for (int d = 0; d < block->ports[p].n_dims && node->known[p] == 1; d++)
          {
            if (settled[3 * p + d] || block->ports[p].direction != TW_DIRECTION_IN)
              continue;
            int free_name = -1;
            g_autoptr (TwDim) filled
                = tw_check_fill (node, &node->facts->patterns[p][d], &free_name);
            if (filled == NULL)
              continue;
            settled[3 * p + d] = 1;
            changed = TRUE;
            if (free_name >= 0)
              {
                TwDim *solved
                    = tw_dim_solve (filled, node->facts->names[free_name], node->types[p].dims[d]);
                node->bindings[free_name] = solved;
                context->binder[free_name] = p;
                if (solved == NULL)
                  report_dim (context, p, d, NULL);
              }
            else if (!tw_dim_equal (filled, node->types[p].dims[d]))
              report_dim (context, p, d, filled);
            else
              continue;
            if (free_name < 0 || node->bindings[free_name] == NULL)
              node->known[p] = 2; /* settled as wrong */
          }
    }
  for (int p = 0; p < block->n_ports; p++)
    if (node->known[p] == 2)
      node->known[p] = 0;
}
