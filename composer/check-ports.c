/* One input port of a node against the value that arrives: its kind, its layout in memory, its
 * dtype. */
#include "check-private.h"

#include <string.h>

/* Reports */

const TwNodeTyping *
tw_check_source (const TwNodeCheck *context, int port)
{
  return &context->check->typing->nodes[context->node->sources[port]];
}

const TwType *
tw_check_source_type (const TwNodeCheck *context, int port)
{
  return &tw_check_source (context, port)->types[context->node->source_ports[port]];
}

TwDiagnostic *
tw_check_report (const TwNodeCheck *context, const char *code, int port, const char *expected,
                 const char *fix, const char *message)
{
  const TwLink *link = context->node->links[port];
  g_autofree char *found = tw_type_to_text (tw_check_source_type (context, port));
  g_autofree char *whole
      = g_strdup_printf ("%s.%s (from %s.%s) %s", context->node->id, context->block->ports[port].id,
                         link->from_node, link->from_port, message);
  return tw_check_add (context->check, TW_SEVERITY_ERROR, code, context->index,
                       context->block->ports[port].id, link->line, found, expected, fix, "%s",
                       whole);
}

/* "[512, N]": what is bound is written as bound. */
char *
tw_check_expected (const TwNodeCheck *context, int port)
{
  const TwPortSpec *spec = &context->block->ports[port];
  GString *text = g_string_new ("[");
  for (int d = 0; d < spec->n_dims; d++)
    {
      const TwPattern *pattern = &context->node->facts->patterns[port][d];
      const TwDim *bound = pattern->n_names == 1 && pattern->dim != NULL
                                   && strcmp (tw_dim_get_text (pattern->dim),
                                              context->node->facts->names[pattern->names[0]])
                                          == 0
                               ? context->node->bindings[pattern->names[0]]
                               : NULL;
      g_string_append_printf (text, "%s%s", d > 0 ? ", " : "",
                              bound != NULL ? tw_dim_get_text (bound) : spec->dims[d]);
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

const char *
tw_check_role_name (TwRole role)
{
  switch (role)
    {
    case TW_ROLE_MATRIX:
      return "a matrix";
    case TW_ROLE_PER_ROW:
      return "one value per row";
    case TW_ROLE_PER_COLUMN:
      return "one value per column";
    case TW_ROLE_STATISTIC:
      return "a statistic";
    case TW_ROLE_ANY:
    default:
      return "any value";
    }
}

/* Kind, order and layout of what arrives */

gboolean
tw_check_kind (const TwNodeCheck *context, int port, const TwType *type)
{
  const TwPortSpec *spec = &context->block->ports[port];
  if (spec->role == TW_ROLE_ANY)
    return TRUE;
  g_autofree char *dims = tw_check_expected (context, port);
  if (spec->role == TW_ROLE_STATISTIC)
    {
      if (type->statistic != NULL
          && (spec->statistic == NULL || strcmp (type->statistic, spec->statistic) == 0))
        return TRUE;
      g_autofree char *expected
          = g_strdup_printf ("f32%s %s", dims, spec->statistic ? spec->statistic : "statistic");
      g_autofree char *fix
          = g_strdup_printf ("take the %s of the value first, with a block of category statistic",
                             spec->statistic ? spec->statistic : "statistic");
      tw_check_report (context, "statistic-mismatch", port, expected, fix,
                       type->statistic == NULL ? "is no statistic"
                                               : "is a statistic of another operation");
      return FALSE;
    }
  if (type->statistic != NULL)
    {
      g_autofree char *expected = g_strdup_printf ("%s %s", tw_check_role_name (spec->role), dims);
      tw_check_report (context, "statistic-mismatch", port, expected,
                       "put finish between: it turns the statistic into one value per row",
                       "is a statistic, not a value of the rows");
      return FALSE;
    }
  gboolean wrong_vector = (spec->role == TW_ROLE_PER_ROW && type->role == TW_ROLE_PER_COLUMN)
                          || (spec->role == TW_ROLE_PER_COLUMN && type->role == TW_ROLE_PER_ROW);
  if (type->n_dims == spec->n_dims && !wrong_vector)
    return TRUE;
  g_autofree char *expected = g_strdup_printf ("%s, %s", dims, tw_check_role_name (spec->role));
  g_autofree char *message
      = wrong_vector ? g_strdup_printf ("is %s, but %s is needed", tw_check_role_name (type->role),
                                        tw_check_role_name (spec->role))
                     : g_strdup_printf ("has %d dimension%s, but %d needed", type->n_dims,
                                        type->n_dims == 1 ? "" : "s", spec->n_dims);
  const char *fix = "wire a value of that shape";
  if (type->role == TW_ROLE_PER_ROW || (type->n_dims == 1 && spec->role == TW_ROLE_MATRIX))
    fix = "a per-row vector multiplies in scale_rows (x, s)";
  if (type->role == TW_ROLE_PER_COLUMN)
    fix = "a per-column vector multiplies in scale_columns (x, g) and adds in bias (x, b)";
  tw_check_report (context, "shape-mismatch", port, expected, fix, message);
  return FALSE;
}

void
tw_check_interleave (const TwNodeCheck *context, const TwPortSpec *spec, TwType *type)
{
  double group = spec->partner_group;
  if (spec->partner_param != NULL)
    tw_node_get_number (context->node->node, context->block, spec->partner_param, &group);
  type->partner = spec->partner;
  type->partner_group = (int)group;
}

char *
tw_check_layout_name (TwPartner partner, int group)
{
  if (partner == TW_PARTNER_INTERLEAVED)
    return g_strdup_printf ("interleaved(%d)", group);
  return g_strdup (partner == TW_PARTNER_HALVES ? "halves: all columns of the first partner, then "
                                                  "all of the second"
                                                : "plain columns");
}

gboolean
tw_check_layout (const TwNodeCheck *context, int port, const TwType *type, gboolean plain)
{
  const TwPortSpec *spec = &context->block->ports[port];
  const TwLink *link = context->node->links[port];
  if (type->column_order && !spec->column_order_allowed)
    {
      g_autofree char *fix = g_strdup_printf ("store %s by rows and set order=row on it, or read "
                                              "it with a matrix product only",
                                              link->from_node);
      tw_check_report (context, "layout-mismatch", port, "row order", fix,
                       "is stored by columns, which only matrix products read");
      return FALSE;
    }
  if (spec->partner == TW_PARTNER_NONE)
    {
      /* An operand that the block also takes packed: here it must come alone. */
      const TwPortSpec *packed = NULL;
      for (int p = 0; p < context->block->n_ports; p++)
        for (int o = 0; context->block->ports[p].partner != TW_PARTNER_NONE && o < 2; o++)
          if (g_strcmp0 (context->block->ports[p].operands[o], spec->id) == 0)
            packed = &context->block->ports[p];
      if (packed == NULL || type->partner == TW_PARTNER_NONE)
        return TRUE;
      g_autofree char *fix = g_strdup_printf (
          "wire it to %s.%s and set %s=interleaved-%d", context->node->id, packed->id,
          packed->when_param ? packed->when_param : "partner", type->partner_group);
      tw_check_report (
          context, "layout-mismatch", port, "plain columns",
          type->partner == TW_PARTNER_HALVES ? "wire each half from a weight of its own" : fix,
          "holds both partners");
      return FALSE;
    }
  TwType want = { 0 };
  tw_check_interleave (context, spec, &want);
  if (type->partner == want.partner && type->partner_group == want.partner_group)
    return TRUE;
  if (type->partner == TW_PARTNER_NONE && !plain)
    return TRUE;
  g_autofree char *expected = tw_check_layout_name (want.partner, want.partner_group);
  g_autofree char *message = tw_check_layout_name (type->partner, type->partner_group);
  g_autofree char *say = g_strdup_printf ("lies as %s", message);
  g_autofree char *fix = g_strdup_printf ("set %s=interleaved-%d on %s",
                                          spec->partner_param ? spec->partner_param : "partner",
                                          type->partner_group, context->node->id);
  g_autofree char *pack = g_strdup_printf (
      "pack the two weights with interleave(group=%d), or draw the partners as two tensors",
      want.partner_group);
  TwDiagnostic *diagnostic
      = tw_check_report (context, "layout-mismatch", port, expected,
                         type->partner == TW_PARTNER_INTERLEAVED ? fix : pack, say);
  if (type->partner == TW_PARTNER_INTERLEAVED)
    tw_diagnostic_add_fix (diagnostic, pack);
  return FALSE;
}

/* Dtypes */

TwVariable *
tw_check_variable (TwNodeCheck *context, const char *name)
{
  for (int v = 0; v < context->n_variables; v++)
    if (strcmp (context->variables[v].name, name) == 0)
      return &context->variables[v];
  return NULL;
}

gboolean
tw_check_literal (const TwNodeCheck *context, const TwPortSpec *spec, TwDtype *dtype)
{
  if (spec->dtype == NULL)
    return FALSE;
  if (spec->dtype[0] != '$')
    return tw_dtype_from_name (spec->dtype, dtype);
  const char *text = tw_node_get_param (context->node->node, context->block, spec->dtype + 1);
  return text != NULL && tw_dtype_from_name (text, dtype);
}

static void
report_dtype (const TwNodeCheck *context, int port, const char *expected, TwDtype cast,
              const char *message)
{
  const TwLink *link = context->node->links[port];
  const TwNodeTyping *source = tw_check_source (context, port);
  g_autofree char *fix
      = g_strdup_printf ("insert cast(dtype=%s) between %s.%s and %s.%s", tw_dtype_get_name (cast),
                         link->from_node, link->from_port, link->to_node, link->to_port);
  TwDiagnostic *diagnostic
      = tw_check_report (context, "dtype-mismatch", port, expected, fix, message);
  if (source->facts->block->kind != TW_KIND_SOURCE)
    return;
  g_autofree char *declare = g_strdup_printf ("set dtype=%s on %s if that is how it is stored",
                                              tw_dtype_get_name (cast), source->id);
  tw_diagnostic_add_fix (diagnostic, declare);
}

gboolean
tw_check_port_dtype (TwNodeCheck *context, int port, const TwType *type)
{
  const TwPortSpec *spec = &context->block->ports[port];
  if (spec->dtype == NULL || spec->role == TW_ROLE_ANY)
    return TRUE;
  TwDtype dtype = type->dtype;
  if (tw_check_literal (context, spec, &dtype))
    {
      if (dtype == type->dtype)
        return TRUE;
      report_dtype (context, port, tw_dtype_get_name (dtype), dtype, "has another dtype");
      return FALSE;
    }
  if (spec->dtype[0] == '$' || spec->n_dtypes == 0)
    return TRUE; /* the parameter's own diagnostic */
  gboolean allowed = FALSE;
  for (int i = 0; i < spec->n_dtypes; i++)
    allowed |= spec->dtypes[i] == type->dtype;
  TwVariable *variable = tw_check_variable (context, spec->dtype);
  if (!allowed)
    {
      GString *names = g_string_new (NULL);
      for (int i = 0; i < spec->n_dtypes; i++)
        g_string_append_printf (names, "%s%s", i > 0 ? " or " : "",
                                tw_dtype_get_name (spec->dtypes[i]));
      report_dtype (context, port, names->str, variable != NULL ? variable->dtype : spec->dtypes[0],
                    "has a dtype that the port does not take");
      g_string_free (names, TRUE);
      return FALSE;
    }
  if (variable == NULL)
    {
      if (context->n_variables < TW_MAX_VARIABLES)
        context->variables[context->n_variables++] = (TwVariable){ spec->dtype, type->dtype, port };
      return TRUE;
    }
  if (variable->dtype == type->dtype)
    return TRUE;
  const char *other = context->block->ports[variable->port].id;
  g_autofree char *expected
      = g_strdup_printf ("%s, as on %s", tw_dtype_get_name (variable->dtype), other);
  g_autofree char *message = g_strdup_printf ("is %s, but %s is %s and both must be the same",
                                              tw_dtype_get_name (type->dtype), other,
                                              tw_dtype_get_name (variable->dtype));
  report_dtype (context, port, expected, variable->dtype, message);
  return FALSE;
}
