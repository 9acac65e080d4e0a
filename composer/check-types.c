/* Types of a node's ports. Values flow from sources to sinks and every type variable of an output
 * is bound by an input or a parameter, so that unification is one pass in topological order: at
 * each node dtype variables and dimension names are bound by the ports in the block's order, and
 * what a later port says must agree. What is unknown stays unknown, silently: its cause has been
 * reported. */
#include "check-private.h"

#include <string.h>

static void
clear_type (TwType *type)
{
  for (int d = 0; d < 3; d++)
    g_clear_pointer (&type->dims[d], tw_dim_unref);
}

static void
copy_type (TwType *type, const TwType *from)
{
  clear_type (type);
  *type = *from;
  for (int d = 0; d < from->n_dims; d++)
    tw_dim_ref (type->dims[d]);
}

/* ceil(dim/group) */
static TwDim *
count_groups (const TwDim *dim, gint64 group)
{
  g_autofree char *text
      = g_strdup_printf ("ceil((%s)/%" G_GINT64_FORMAT ")", tw_dim_get_text (dim), group);
  return tw_dim_parse (text, NULL);
}

/* Sources */

static void
type_source (TwNodeCheck *context, int port)
{
  const TwNodeTyping *node = context->node;
  const TwPortSpec *spec = &context->block->ports[port];
  TwCheck *check = context->check;
  int line = node->node->line;
  TwType type = { .role = TW_ROLE_ANY };
  const char *shape = tw_node_get_param (context->node->node, context->block, "shape");
  TwDim *dims[3] = { NULL };
  if (shape == NULL)
    return;
  type.n_dims = tw_check_shape (check, context->index, "shape", shape, dims);
  if (type.n_dims < 0 || !tw_check_literal (context, spec, &type.dtype))
    return;
  for (int d = 0; d < type.n_dims; d++)
    {
      gint64 value = 0;
      type.dims[d] = dims[d];
      if (node->facts->weight && !tw_dim_is_constant (dims[d], &value))
        {
          g_autofree char *fix
              = g_strdup_printf ("make %s an input, or the dimensions it names fixed", node->id);
          tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", context->index, NULL, line,
                        shape, "fixed dimensions", fix,
                        "weight %s has the dynamic extent %s, but weights are given before any "
                        "launch",
                        node->id, tw_dim_get_text (dims[d]));
          return;
        }
    }
  if (type.n_dims == 2)
    type.role = TW_ROLE_MATRIX;
  const char *text = tw_node_get_param (context->node->node, context->block, "order");
  type.column_order = text != NULL && strcmp (text, "column") == 0;
  if (type.column_order && type.n_dims != 2)
    {
      tw_check_add (check, TW_SEVERITY_ERROR, "bad-param", context->index, NULL, line, "column",
                    "row", "remove order", "%s is no matrix, so that it has no column order",
                    node->id);
      type.column_order = FALSE;
    }
  text = tw_node_get_param (context->node->node, context->block, "positive");
  type.positive = text != NULL && strcmp (text, "true") == 0;
  type.weight = node->facts->weight;
  text = tw_node_get_param (context->node->node, context->block, "partner");
  double number = 0;
  if (text != NULL && strcmp (text, "halves") == 0)
    type.partner = TW_PARTNER_HALVES;
  else if (text != NULL && tw_node_get_number (node->node, context->block, "partner", &number)
           && number >= 1)
    {
      type.partner = TW_PARTNER_INTERLEAVED;
      type.partner_group = (int)number;
    }
  gint64 columns = 0;
  if (type.partner != TW_PARTNER_NONE && type.n_dims > 0
      && tw_dim_is_constant (type.dims[type.n_dims - 1], &columns)
      && columns % (2 * MAX (type.partner_group, 1)) != 0)
    {
      g_autofree char *found = g_strdup_printf ("%" G_GINT64_FORMAT " columns", columns);
      g_autofree char *expected
          = g_strdup_printf ("a multiple of %d", 2 * MAX (type.partner_group, 1));
      tw_check_add (check, TW_SEVERITY_ERROR, "layout-mismatch", context->index, NULL, line, found,
                    expected, "correct the shape or the partner layout",
                    "the columns of %s do not come in whole pairs", node->id);
    }
  text = tw_node_get_param (context->node->node, context->block, "statistic");
  if (text != NULL && strcmp (text, "none") != 0)
    {
      type.role = TW_ROLE_STATISTIC;
      type.statistic = g_intern_string (text);
      if (tw_node_get_number (node->node, context->block, "group", &number) && number >= 0)
        type.group = (gint64)number;
      g_autofree char *found = tw_type_to_text (&type);
      if (type.n_dims != 2 || type.dtype != TW_DTYPE_F32)
        {
          tw_check_add (check, TW_SEVERITY_ERROR, "statistic-mismatch", context->index, NULL, line,
                        found, "f32[rows, partials]", "set dtype=f32 and a shape of two dimensions",
                        "statistic %s must be f32 with two dimensions", node->id);
          return;
        }
      if (type.group == 0 && !(tw_dim_is_constant (type.dims[1], &columns) && columns == 1))
        {
          tw_check_add (check, TW_SEVERITY_ERROR, "statistic-mismatch", context->index, NULL, line,
                        found, "one column, as group is 0",
                        "set group to the columns of a partial, or the shape to one column",
                        "statistic %s is final (group 0) but has more than one column", node->id);
          return;
        }
    }
  copy_type (&context->node->types[port], &type);
  context->node->known[port] = 1;
  context->node->plain[port]
      = type.partner == TW_PARTNER_NONE && tw_block_get_param (context->block, "partner") != NULL;
}

/* Outputs */

/* Where the columns of the output are the columns of inputs, it inherits their layout. */
static void
inherit_layout (TwNodeCheck *context, int port, TwType *type)
{
  TwNodeTyping *node = context->node;
  const TwBlock *block = context->block;
  const TwPortSpec *spec = &block->ports[port];
  if (spec->partner != TW_PARTNER_NONE)
    {
      tw_check_interleave (context, spec, type);
      return;
    }
  int from = -1;
  for (int p = 0; p < block->n_ports && spec->n_dims == 2; p++)
    {
      const TwPortSpec *input = &block->ports[p];
      if (input->direction != TW_DIRECTION_IN || !node->known[p] || input->n_dims != 2
          || strcmp (input->dims[1], spec->dims[1]) != 0)
        continue;
      const TwType *in = &node->types[p];
      if (from >= 0 && (in->partner != type->partner || in->partner_group != type->partner_group)
          && (in->partner != TW_PARTNER_NONE || node->plain[p])
          && (type->partner != TW_PARTNER_NONE || node->plain[port]))
        {
          g_autofree char *expected = tw_check_layout_name (type->partner, type->partner_group);
          g_autofree char *found = tw_check_layout_name (in->partner, in->partner_group);
          g_autofree char *message = g_strdup_printf ("lies as %s, but %s as %s", found,
                                                      block->ports[from].id, expected);
          tw_check_report (context, "layout-mismatch", p, expected, "use one layout for both",
                           message);
          continue;
        }
      if (from < 0 || type->partner == TW_PARTNER_NONE)
        {
          from = p;
          type->partner = in->partner;
          type->partner_group = in->partner_group;
        }
      node->plain[port] |= node->plain[p];
    }
  if (type->partner != TW_PARTNER_NONE)
    node->plain[port] = 0;
}

static void
type_output (TwNodeCheck *context, int port, gboolean weight)
{
  TwNodeTyping *node = context->node;
  const TwBlock *block = context->block;
  const TwPortSpec *spec = &block->ports[port];
  TwType type = { .role = spec->role, .weight = weight, .positive = spec->positive };
  if (!tw_check_literal (context, spec, &type.dtype))
    {
      TwVariable *variable = spec->dtype != NULL ? tw_check_variable (context, spec->dtype) : NULL;
      if (variable == NULL)
        return;
      type.dtype = variable->dtype;
    }
  if (spec->role == TW_ROLE_STATISTIC)
    {
      double group = 0;
      type.statistic = spec->statistic != NULL ? g_intern_string (spec->statistic) : NULL;
      if (spec->group_param != NULL)
        tw_node_get_number (node->node, block, spec->group_param, &group);
      type.group = group >= 1 ? (gint64)group : 0;
      for (int p = 0; p < block->n_ports && node->width == NULL; p++)
        if (block->ports[p].direction == TW_DIRECTION_IN && node->known[p]
            && block->ports[p].role == TW_ROLE_MATRIX && node->types[p].n_dims > 0)
          node->width = tw_dim_ref (node->types[p].dims[node->types[p].n_dims - 1]);
    }
  for (int d = 0; d < spec->n_dims; d++)
    {
      int free_name = -1;
      g_autoptr (TwDim) dim = tw_check_fill (node, &node->facts->patterns[port][d], &free_name);
      if (free_name >= 0)
        g_clear_pointer (&dim, tw_dim_unref);
      if (free_name >= 0 && spec->role == TW_ROLE_STATISTIC && d == spec->n_dims - 1
          && node->width != NULL)
        {
          dim = type.group > 0 ? count_groups (node->width, type.group) : tw_dim_new_integer (1);
          if (dim != NULL)
            node->bindings[free_name] = tw_dim_ref (dim);
        }
      if (dim == NULL)
        {
          clear_type (&type);
          return;
        }
      type.dims[d] = g_steal_pointer (&dim);
    }
  type.n_dims = MAX (spec->n_dims, 0);
  inherit_layout (context, port, &type);
  node->types[port] = type;
  node->known[port] = 1;
}

/* A finish divides by a count: the true width of what its statistic was taken over. */
static void
check_count (TwNodeCheck *context, int port)
{
  const TwNodeTyping *node = context->node;
  const TwType *type = &node->types[port];
  if (tw_block_get_param (context->block, "count") == NULL)
    return;
  const TwDim *count = tw_typing_get_dim (context->check->typing, node->id, "count");
  if (count == NULL)
    return;
  const TwNodeTyping *source = tw_check_source (context, port);
  if (source->width != NULL && !tw_dim_equal (source->width, count))
    {
      g_autofree char *expected = g_strdup_printf ("count=%s", tw_dim_get_text (source->width));
      g_autofree char *fix = g_strdup_printf ("set %s on %s", expected, node->id);
      g_autofree char *message
          = g_strdup_printf ("was taken over %s columns, but count is %s",
                             tw_dim_get_text (source->width), tw_dim_get_text (count));
      tw_check_report (context, "statistic-mismatch", port, expected, fix, message);
      return;
    }
  g_autoptr (TwDim) groups
      = type->group > 0 ? count_groups (count, type->group) : tw_dim_new_integer (1);
  if (groups == NULL || tw_dim_equal (groups, type->dims[1]))
    return;
  g_autofree char *expected
      = g_strdup_printf ("f32[%s, %s]", tw_dim_get_text (type->dims[0]), tw_dim_get_text (groups));
  g_autofree char *message = g_strdup_printf (
      "holds %s partials, but %s columns in groups of %" G_GINT64_FORMAT " give %s",
      tw_dim_get_text (type->dims[1]), tw_dim_get_text (count), type->group,
      tw_dim_get_text (groups));
  tw_check_report (context, "statistic-mismatch", port, expected,
                   "correct count, the statistic's group or its shape", message);
}

static void
report_unwired (TwNodeCheck *context, int port)
{
  const TwNodeTyping *node = context->node;
  const TwPortSpec *spec = &context->block->ports[port];
  g_autofree char *dims = tw_check_expected (context, port);
  g_autofree char *expected
      = g_strdup_printf ("%s %s", tw_check_role_name (spec->role), spec->n_dims >= 0 ? dims : "");
  g_autofree char *fix
      = g_strdup_printf ("wire %s to %s.%s", g_strchomp (expected), node->id, spec->id);
  tw_check_add (context->check, TW_SEVERITY_ERROR, "missing-input", context->index, spec->id,
                node->node->line, "nothing", expected, fix, "nothing is wired to %s.%s", node->id,
                spec->id);
}

/* A vector that is declared by its shape alone is what its reader takes it for. */
static void
settle_role (TwNodeCheck *context, int port)
{
  const TwPortSpec *spec = &context->block->ports[port];
  TwNodeTyping *source = &context->check->typing->nodes[context->node->sources[port]];
  TwType *type = &source->types[context->node->source_ports[port]];
  if (type->role == TW_ROLE_ANY && type->n_dims == 1
      && (spec->role == TW_ROLE_PER_ROW || spec->role == TW_ROLE_PER_COLUMN))
    type->role = spec->role;
}

/* A block that moves columns about is computed once, on weights: no kernel holds all columns of a
 * value that passes. */
static void
check_moves (const TwNodeCheck *context)
{
  const TwBlock *block = context->block;
  if (block->kind != TW_KIND_ELEMENTWISE || block->formula == NULL
      || tw_formula_is_elementwise (block->formula))
    return;
  for (int p = 0; p < block->n_ports; p++)
    if (block->ports[p].direction == TW_DIRECTION_IN && context->node->known[p]
        && !context->node->types[p].weight)
      tw_check_report (context, "layout-mismatch", p, "a weight",
                       "feed it from weights alone; values of a launch are paired by drawing them "
                       "as two tensors",
                       "is computed at launch, and this block moves columns about");
}

void
tw_check_node_types (TwCheck *check, int index)
{
  TwNodeTyping *node = &check->typing->nodes[index];
  const TwBlock *block = node->facts->block;
  TwNodeCheck context = { .check = check, .index = index, .node = node, .block = block };
  g_autofree int *binder = g_new (int, (gsize)node->facts->n_names + 1);
  for (int i = 0; i < node->facts->n_names; i++)
    binder[i] = -1;
  context.binder = binder;
  int n_inputs = 0;
  gboolean weight = TRUE;
  for (int p = 0; p < block->n_ports; p++)
    {
      const TwPortSpec *spec = &block->ports[p];
      if (spec->direction != TW_DIRECTION_IN || node->links[p] == NULL)
        continue;
      n_inputs++;
      int from = node->sources[p], from_port = node->source_ports[p];
      weight &= from >= 0 && from_port >= 0 && check->typing->nodes[from].known[from_port]
                && check->typing->nodes[from].types[from_port].weight;
      if (from < 0 || from_port < 0 || !check->typing->nodes[from].known[from_port])
        continue;
      const TwType *type = tw_check_source_type (&context, p);
      node->plain[p] = check->typing->nodes[from].plain[from_port];
      gboolean good = tw_check_kind (&context, p, type);
      good = good && tw_check_layout (&context, p, type, node->plain[p]);
      /* A wrong dtype says nothing about the dimensions, and the other way round. */
      gboolean shaped = good;
      good = tw_check_port_dtype (&context, p, type) && good;
      if (!shaped)
        continue;
      copy_type (&node->types[p], type);
      if (spec->role != TW_ROLE_ANY)
        node->types[p].role = spec->role;
      node->known[p] = 1;
      if (good)
        settle_role (&context, p);
    }
  tw_check_unify (&context);
  for (int p = 0; p < block->n_ports; p++)
    {
      const TwPortSpec *spec = &block->ports[p];
      if (spec->direction == TW_DIRECTION_IN)
        {
          if (node->links[p] == NULL && node->present[p] && !spec->optional && !node->bad_link)
            report_unwired (&context, p);
          if (spec->role == TW_ROLE_STATISTIC && node->known[p])
            check_count (&context, p);
        }
      else if (block->kind == TW_KIND_SOURCE)
        type_source (&context, p);
      else
        type_output (&context, p, weight && n_inputs > 0);
    }
  check_moves (&context);
  const char *target = check->options != NULL ? check->options->target : NULL;
  if (target != NULL && strcmp (target, "cpu") != 0 && block->kind == TW_KIND_CONTRACTION)
    for (int p = 0; p < block->n_ports; p++)
      if (block->ports[p].direction == TW_DIRECTION_IN && node->known[p]
          && node->types[p].dtype == TW_DTYPE_F32)
        {
          g_autofree char *message
              = g_strdup_printf ("is f32, which the matrix units of %s do not multiply", target);
          g_autofree char *fix = g_strdup_printf ("insert cast(dtype=bf16) before %s.%s", node->id,
                                                  block->ports[p].id);
          tw_check_report (&context, "target-unsupported", p, "bf16 or f16", fix, message);
        }
}
