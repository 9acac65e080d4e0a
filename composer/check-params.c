/* Dimensions of the graph and parameters of its nodes. */
#include "check-private.h"

#include <math.h>
#include <string.h>

/* Dimensions */

void
tw_check_dimensions (TwCheck *check)
{
  int n = tw_graph_get_n_dimensions (check->graph);
  for (int i = 0; i < n; i++)
    {
      const TwDimension *dim = tw_graph_get_nth_dimension (check->graph, i);
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, dim->value);
      if (g_hash_table_contains (check->dims, dim->name))
        tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", -1, NULL, dim->line, dim->name,
                      "one dimension of a name", "remove one of the two",
                      "dimension %s is there twice", dim->name);
      g_hash_table_insert (check->dims, (gpointer)dim->name, (gpointer)dim);
      if (!dim->dynamic)
        {
          g_hash_table_insert (check->fixed, (gpointer)dim->name,
                               tw_dim_new_integer (MAX (dim->value, 0)));
          if (dim->value < 1)
            tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", -1, NULL, dim->line, value,
                          "1 or more", "give it its size", "fixed dimension %s is %s", dim->name,
                          value);
          continue;
        }
      if (dim->minimum < 0 || dim->maximum < dim->minimum || dim->multiple < 1)
        {
          g_autofree char *found = g_strdup_printf (
              "min %" G_GINT64_FORMAT ", max %" G_GINT64_FORMAT ", multiple %" G_GINT64_FORMAT,
              dim->minimum, dim->maximum, dim->multiple);
          tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", -1, NULL, dim->line, found,
                        "0 <= min <= max, multiple >= 1", "correct the range",
                        "dimension %s has a range that holds no value", dim->name);
        }
      else if (dim->value < dim->minimum || dim->value > dim->maximum
               || dim->value % dim->multiple != 0)
        {
          g_autofree char *expected = g_strdup_printf ("%" G_GINT64_FORMAT " ... %" G_GINT64_FORMAT
                                                       ", a multiple of %" G_GINT64_FORMAT,
                                                       dim->minimum, dim->maximum, dim->multiple);
          gint64 near = CLAMP (dim->value, dim->minimum, dim->maximum);
          near -= near % dim->multiple;
          if (near < dim->minimum && near <= G_MAXINT64 - dim->multiple)
            near += dim->multiple;
          g_autofree char *fix
              = near >= dim->minimum && near <= dim->maximum
                    ? g_strdup_printf ("set the value of %s to %" G_GINT64_FORMAT, dim->name, near)
                    : g_strdup_printf ("widen the range of %s: it holds no multiple of "
                                       "%" G_GINT64_FORMAT,
                                       dim->name, dim->multiple);
          tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", -1, NULL, dim->line, value,
                        expected, fix, "the default of dimension %s is outside its own range",
                        dim->name);
        }
    }
}

typedef struct
{
  TwCheck *check;
  const char *unknown;     /* first name without a dimension; interned */
  const TwDimension *step; /* evaluated one multiple later */
} Lookup;

static void
find_unknown (const char *name, gpointer user_data)
{
  Lookup *lookup = user_data;
  if (lookup->unknown == NULL && !g_hash_table_contains (lookup->check->dims, name))
    lookup->unknown = g_intern_string (name);
}

static TwDim *
replace_fixed (const char *name, gpointer user_data)
{
  Lookup *lookup = user_data;
  return g_hash_table_lookup (lookup->check->fixed, name);
}

static gboolean
get_value (const char *name, gint64 *value, gpointer user_data)
{
  Lookup *lookup = user_data;
  const TwDimension *dim = g_hash_table_lookup (lookup->check->dims, name);
  if (dim == NULL)
    return FALSE;
  *value = dim->value;
  if (dim->dynamic && dim == lookup->step)
    *value += dim->value <= G_MAXINT64 - dim->multiple ? dim->multiple : 0;
  return TRUE;
}

/* Tries the expression at the default sizes and, for each dynamic dimension, one step further: an
 * exact division that leaves a remainder for some size shows there. */
static gboolean
try_values (TwCheck *check, int node, const char *param, const char *text, const TwDim *dim)
{
  Lookup lookup = { .check = check };
  int n = tw_graph_get_n_dimensions (check->graph);
  int line = check->typing->nodes[node].node->line;
  gint64 value = 0;
  for (int i = -1; i < n; i++)
    {
      lookup.step = i < 0 ? NULL : tw_graph_get_nth_dimension (check->graph, i);
      if (lookup.step != NULL && !lookup.step->dynamic)
        continue;
      g_autoptr (GError) error = NULL;
      if (tw_dim_evaluate (dim, get_value, &lookup, &value, &error))
        continue;
      g_autofree char *fix
          = lookup.step != NULL && error->code == TW_DIM_ERROR_REMAINDER
                ? g_strdup_printf ("give dimension %s a multiple that divides", lookup.step->name)
                : g_strdup ("correct the expression or the dimensions it names");
      tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", node, NULL, line, text,
                    "a whole number of 1 or more", fix, "%s of %s cannot be evaluated: %s", param,
                    check->typing->nodes[node].id, error->message);
      return FALSE;
    }
  if (tw_dim_is_constant (dim, &value) && value < 1)
    {
      g_autofree char *found = g_strdup_printf ("%s = %" G_GINT64_FORMAT, text, value);
      tw_check_add (check, TW_SEVERITY_ERROR, "bad-dimension", node, NULL, line, found, "1 or more",
                    "correct the expression or the dimensions it names", "%s of %s is empty", param,
                    check->typing->nodes[node].id);
      return FALSE;
    }
  return TRUE;
}

TwDim *
tw_check_dim (TwCheck *check, int node, const char *param, const char *text)
{
  TwDim *known = g_hash_table_lookup (check->texts, text);
  if (known != NULL)
    return known;
  const TwNodeTyping *n = &check->typing->nodes[node];
  g_autoptr (GError) error = NULL;
  g_autoptr (TwDim) dim = tw_dim_parse (text, &error);
  if (dim == NULL)
    {
      tw_check_add (check, TW_SEVERITY_ERROR, "bad-param", node, NULL, n->node->line, text,
                    "a dimension expression such as 2*H or ceil(N/64)", "correct the expression",
                    "%s of %s is no dimension expression: %s", param, n->id, error->message);
      return NULL;
    }
  Lookup lookup = { .check = check };
  tw_dim_foreach_name (dim, find_unknown, &lookup);
  if (lookup.unknown != NULL)
    {
      const char *near = tw_nearest_name (lookup.unknown, (const char *const *)check->dim_names);
      g_autofree char *names = g_strjoinv (", ", check->dim_names);
      g_autofree char *expected = check->dim_names[0] != NULL
                                      ? g_strdup_printf ("one of %s", names)
                                      : g_strdup ("a number: the graph has no dimensions");
      g_autofree char *fix = near != NULL ? g_strdup_printf ("did you mean %s?", near) : NULL;
      g_autofree char *declare = g_strdup_printf ("declare dimension %s", lookup.unknown);
      TwDiagnostic *diagnostic
          = tw_check_add (check, TW_SEVERITY_ERROR, "unknown-dimension", node, NULL, n->node->line,
                          lookup.unknown, expected, fix != NULL ? fix : declare,
                          "%s of %s names dimension %s, which the graph does not have", param,
                          n->id, lookup.unknown);
      if (fix != NULL)
        tw_diagnostic_add_fix (diagnostic, declare);
      return NULL;
    }
  TwDim *over = tw_dim_substitute (dim, replace_fixed, &lookup);
  if (over == NULL || !try_values (check, node, param, text, over))
    {
      g_clear_pointer (&over, tw_dim_unref);
      return NULL;
    }
  g_hash_table_insert (check->texts, g_strdup (text), over);
  return over;
}

int
tw_check_shape (TwCheck *check, int node, const char *param, const char *text, TwDim *dims[3])
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  g_auto (GStrv) parts = g_strsplit (text, ",", 5);
  int n_parts = (int)g_strv_length (parts);
  if (n_parts == 1 && g_strstrip (parts[0])[0] == '\0')
    return 0;
  if (n_parts > 3)
    {
      tw_check_add (check, TW_SEVERITY_ERROR, "bad-param", node, NULL, n->node->line, text,
                    "up to three dimensions", "merge the outer dimensions into one",
                    "%s of %s has more than three dimensions", param, n->id);
      return -1;
    }
  for (int i = 0; i < n_parts; i++)
    if ((dims[i] = tw_check_dim (check, node, param, g_strstrip (parts[i]))) == NULL)
      return -1;
  return n_parts;
}

/* Parameters */

static char *
range_text (const TwParamSpec *spec)
{
  GString *text = g_string_new (spec->type == TW_PARAM_INTEGER ? "an integer" : "a number");
  if (isfinite (spec->minimum))
    g_string_append_printf (text, " %s %.15g", spec->exclusive_minimum ? ">" : ">=", spec->minimum);
  if (isfinite (spec->maximum))
    g_string_append_printf (text, "%s <= %.15g", isfinite (spec->minimum) ? "," : "",
                            spec->maximum);
  if (spec->type == TW_PARAM_INTEGER && spec->multiple > 1)
    g_string_append_printf (text, ", a multiple of %" G_GINT64_FORMAT, spec->multiple);
  return g_string_free (text, FALSE);
}

static gboolean
parse_number (const TwParamSpec *spec, const char *text, double *value)
{
  if (spec->type == TW_PARAM_INTEGER)
    {
      gint64 integer = 0;
      if (!g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &integer, NULL)
          || (spec->multiple > 1 && integer % spec->multiple != 0))
        return FALSE;
      *value = (double)integer;
      return TRUE;
    }
  char *end = NULL;
  *value = g_ascii_strtod (text, &end);
  return end != text && *end == '\0' && isfinite (*value) && !g_ascii_isspace (text[0]);
}

static void
check_number (TwCheck *check, int node, const TwParamSpec *spec, const char *text)
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  double value = 0;
  gboolean number = parse_number (spec, text, &value);
  if (number && strcmp (spec->id, "eps") == 0 && value == 0 && spec->minimum > 0)
    {
      tw_check_add (check, TW_SEVERITY_ERROR, "eps-zero", node, NULL, n->node->line, text,
                    "eps >= 1.2e-38", "set eps=1e-6 (or what the model was trained with)",
                    "eps of %s is 0: a zero row has no finite scale, and 0 times infinity "
                    "is NaN",
                    n->id);
      return;
    }
  if (number && value <= spec->maximum
      && (spec->exclusive_minimum ? value > spec->minimum : value >= spec->minimum))
    return;
  g_autofree char *expected = range_text (spec);
  g_autofree char *fix = g_strdup_printf ("set %s of %s to %s", spec->id, n->id, expected);
  tw_check_add (check, TW_SEVERITY_ERROR, "bad-param", node, NULL, n->node->line, text, expected,
                fix, "%s of %s is %s", spec->id, n->id, text);
}

static void
check_choice (TwCheck *check, int node, const TwParamSpec *spec, const char *text,
              const char *const *values)
{
  if (g_strv_contains (values, text))
    return;
  const TwNodeTyping *n = &check->typing->nodes[node];
  const char *near = tw_nearest_name (text, values);
  g_autofree char *all = g_strjoinv (", ", (char **)values);
  g_autofree char *fix = near != NULL ? g_strdup_printf ("did you mean %s?", near)
                                      : g_strdup_printf ("set %s to one of %s", spec->id, all);
  tw_check_add (check, TW_SEVERITY_ERROR, "bad-param", node, NULL, n->node->line, text, all, fix,
                "%s of %s is %s", spec->id, n->id, text);
}

static void
check_value (TwCheck *check, int node, int param, const char *text)
{
  static const char *const booleans[] = { "true", "false", NULL };
  TwNodeTyping *n = &check->typing->nodes[node];
  const TwParamSpec *spec = &n->facts->block->params[param];
  const char *dtypes[TW_DTYPE_LAST + 1] = { NULL };
  TwDim *dims[3] = { NULL };
  switch (spec->type)
    {
    case TW_PARAM_INTEGER:
    case TW_PARAM_REAL:
      check_number (check, node, spec, text);
      break;
    case TW_PARAM_BOOLEAN:
      check_choice (check, node, spec, text, booleans);
      break;
    case TW_PARAM_ENUM:
      check_choice (check, node, spec, text, (const char *const *)spec->values);
      break;
    case TW_PARAM_DIMENSION:
      if ((dims[0] = tw_check_dim (check, node, spec->id, text)) != NULL)
        n->bindings[n->facts->n_names + param] = tw_dim_ref (dims[0]);
      break;
    case TW_PARAM_SHAPE:
      break; /* by the types of the source, which need the dimensions anyway */
    case TW_PARAM_DTYPE:
      for (int i = 0; i < TW_DTYPE_LAST; i++)
        dtypes[i] = tw_dtype_get_name ((TwDtype)i);
      check_choice (check, node, spec, text, dtypes);
      break;
    default:
      break;
    }
}

/* What a parameter may be, in words. g_free. */
static char *
allowed_text (const TwParamSpec *spec)
{
  switch (spec->type)
    {
    case TW_PARAM_ENUM:
      return g_strjoinv (" or ", spec->values);
    case TW_PARAM_BOOLEAN:
      return g_strdup ("true or false");
    case TW_PARAM_DTYPE:
      return g_strdup_printf ("%s, %s or %s", tw_dtype_get_name (TW_DTYPE_BF16),
                              tw_dtype_get_name (TW_DTYPE_F16), tw_dtype_get_name (TW_DTYPE_F32));
    case TW_PARAM_DIMENSION:
      return g_strdup ("a dimension expression");
    case TW_PARAM_SHAPE:
      return g_strdup ("up to three dimension expressions, as in \"T, 512\"");
    case TW_PARAM_INTEGER:
    case TW_PARAM_REAL:
      return range_text (spec);
    }
  return g_strdup (spec->doc);
}

static void
report_missing (TwCheck *check, int node, const TwParamSpec *spec)
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  g_autofree char *expected = allowed_text (spec);
  g_autofree char *fix = NULL;
  if (spec->values != NULL && spec->values[0] != NULL)
    fix = g_strdup_printf ("set %s=%s on %s if that is what the values mean", spec->id,
                           spec->values[0], n->id);
  else
    fix = g_strdup_printf ("set %s on %s to %s", spec->id, n->id, expected);
  TwDiagnostic *diagnostic = tw_check_add (
      check, TW_SEVERITY_ERROR, "missing-param", node, NULL, n->node->line, "nothing", expected,
      fix, "%s needs %s%s%s", n->id, spec->id, spec->doc[0] != '\0' ? ": " : "", spec->doc);
  for (int i = 1; spec->values != NULL && spec->values[0] != NULL && spec->values[i] != NULL; i++)
    {
      g_autofree char *more = g_strdup_printf ("set %s=%s on %s", spec->id, spec->values[i], n->id);
      tw_diagnostic_add_fix (diagnostic, more);
    }
}

void
tw_check_params (TwCheck *check, int node)
{
  const TwNodeTyping *n = &check->typing->nodes[node];
  const TwBlock *block = n->facts->block;
  for (int i = 0; i < n->node->n_params; i++)
    {
      const TwParam *param = &n->node->params[i];
      if (tw_block_get_param (block, param->name) != NULL)
        continue;
      g_autofree const char **names = g_new0 (const char *, (gsize)block->n_params + 1);
      for (int p = 0; p < block->n_params; p++)
        names[p] = block->params[p].id;
      const char *near = tw_nearest_name (param->name, names);
      g_autofree char *all = g_strjoinv (", ", (char **)names);
      g_autofree char *fix = near != NULL ? g_strdup_printf ("did you mean %s?", near)
                                          : g_strdup_printf ("remove %s", param->name);
      tw_check_add (check, TW_SEVERITY_ERROR, "unknown-param", node, NULL, n->node->line,
                    param->name, block->n_params > 0 ? all : "no parameters", fix,
                    "block %s has no parameter %s", block->id, param->name);
    }
  for (int p = 0; p < block->n_params; p++)
    {
      const TwParamSpec *spec = &block->params[p];
      const char *text = tw_node_get_param (n->node, block, spec->id);
      if (text != NULL)
        check_value (check, node, p, text);
      else if (!spec->optional)
        report_missing (check, node, spec);
    }
}
