/* What the schema cannot say of a block: names that refer to one another, defaults, dimensions,
 * laws; and what follows from them: operands, outputs, the formula. */
#include "block-private.h"
#include "graph.h"

#include <math.h>
#include <string.h>

static gboolean
is_name (const char *text)
{
  if (!g_ascii_isalpha (text[0]) && text[0] != '_')
    return FALSE;
  gsize n = 1;
  while (g_ascii_isalnum (text[n]) || text[n] == '_')
    n++;
  return text[n] == '\0' && n <= TW_ID_MAX;
}

static gboolean
has_value (const TwParamSpec *param, const char *value)
{
  return param->values != NULL && g_strv_contains ((const char *const *)param->values, value);
}

static gboolean
is_shape (const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  guint n = g_strv_length (parts);
  if (n > 3)
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (TwDim) dim = tw_dim_parse (g_strstrip (parts[i]), NULL);
      if (dim == NULL)
        return FALSE;
    }
  return TRUE;
}

static gboolean
default_fits (const TwParamSpec *param)
{
  const char *text = param->fallback;
  gint64 integer;
  TwDtype dtype;
  char *end = NULL;
  switch (param->type)
    {
    case TW_PARAM_INTEGER:
      return g_ascii_string_to_signed (text, 10, G_MININT64, G_MAXINT64, &integer, NULL)
             && (double)integer >= param->minimum && (double)integer <= param->maximum
             && integer % param->multiple == 0;
    case TW_PARAM_REAL:
      {
        double real = g_ascii_strtod (text, &end);
        return end != text && *end == '\0' && isfinite (real) && real <= param->maximum
               && (param->exclusive_minimum ? real > param->minimum : real >= param->minimum);
      }
    case TW_PARAM_BOOLEAN:
      return strcmp (text, "true") == 0 || strcmp (text, "false") == 0;
    case TW_PARAM_ENUM:
      return has_value (param, text);
    case TW_PARAM_DTYPE:
      return tw_dtype_from_name (text, &dtype);
    case TW_PARAM_DIMENSION:
      {
        g_autoptr (TwDim) dim = tw_dim_parse (text, NULL);
        return dim != NULL;
      }
    case TW_PARAM_SHAPE:
      return is_shape (text);
    }
  return FALSE;
}

static gboolean
check_params (const TwBlock *block, const TwBlockLines *lines, GError **error)
{
  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *param = &block->params[i];
      int line = lines->params[i];
      if (tw_block_get_param (block, param->id) != param)
        return tw_block_fail (lines, line, error, "a second parameter %s; ids are unique",
                              param->id);
      guint n = param->values != NULL ? g_strv_length (param->values) : 0;
      if (param->type == TW_PARAM_ENUM && n == 0)
        return tw_block_fail (lines, line, error, "parameter %s: an enum needs <value>s",
                              param->id);
      for (guint k = 0; k < n; k++)
        for (guint other = 0; other < k; other++)
          if (strcmp (param->values[k], param->values[other]) == 0)
            return tw_block_fail (lines, line, error, "parameter %s has the value %s twice",
                                  param->id, param->values[k]);
      for (guint k = 0; k < n; k++)
        if (!isfinite (param->numbers[k]))
          return tw_block_fail (lines, line, error, "parameter %s: the number of %s is not finite",
                                param->id, param->values[k]);
      if (!(param->minimum <= param->maximum))
        return tw_block_fail (lines, line, error, "parameter %s: min is above max", param->id);
      if (param->fallback != NULL && !default_fits (param))
        return tw_block_fail (lines, line, error,
                              "parameter %s: its default \"%s\" is no value of its type and range",
                              param->id, param->fallback);
    }
  return TRUE;
}

static void
count_name (const char *name, gpointer user_data)
{
  GPtrArray *names = user_data;
  g_ptr_array_add (names, g_strdup (name));
}

static gboolean
check_dims (const TwPortSpec *port, int line, const TwBlockLines *lines, GError **error)
{
  static const int ranks[] = { 2, 1, 1, 2, -1 };
  if (port->n_dims >= 0 && ranks[port->role] >= 0 && port->n_dims != ranks[port->role])
    return tw_block_fail (lines, line, error, "port %s has %d dimensions; its role needs %d",
                          port->id, port->n_dims, ranks[port->role]);
  if (port->n_dims < 0 && port->role != TW_ROLE_ANY)
    return tw_block_fail (lines, line, error, "port %s needs dims", port->id);
  for (int d = 0; d < port->n_dims; d++)
    {
      g_autoptr (GError) inner = NULL;
      g_autoptr (TwDim) dim = tw_dim_parse (port->dims[d], &inner);
      if (dim == NULL)
        return tw_block_fail (lines, line, error, "port %s: dimension \"%s\": %s", port->id,
                              port->dims[d], inner->message);
      g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
      tw_dim_foreach_name (dim, count_name, names);
      if (names->len > 4)
        return tw_block_fail (lines, line, error,
                              "port %s: dimension \"%s\" has %u names; at most 4 are possible",
                              port->id, port->dims[d], names->len);
      if (!is_name (port->index[d]))
        return tw_block_fail (lines, line, error,
                              "port %s: dimension \"%s\" is no name; the index attribute has to "
                              "name it",
                              port->id, port->index[d]);
    }
  return TRUE;
}

static gboolean
check_dtype (const TwBlock *block, const TwPortSpec *port, int line, const TwBlockLines *lines,
             GError **error)
{
  TwDtype dtype;
  if (port->dtype[0] == '$')
    {
      const TwParamSpec *param = tw_block_get_param (block, port->dtype + 1);
      if (param == NULL || param->type != TW_PARAM_DTYPE)
        return tw_block_fail (lines, line, error, "port %s: %s is no parameter of type dtype",
                              port->id, port->dtype);
      return TRUE;
    }
  if (port->n_dtypes > 0 || tw_dtype_from_name (port->dtype, &dtype)
      || (port->role == TW_ROLE_ANY && port->dtype[0] == '\0'))
    return TRUE;
  return tw_block_fail (lines, line, error,
                        "port %s: dtype \"%s\" is neither a dtype, nor a <dtype> of this block "
                        "with dtypes to choose from, nor $parameter",
                        port->id, port->dtype);
}

static gboolean
check_port_params (const TwBlock *block, const TwPortSpec *port, int line,
                   const TwBlockLines *lines, GError **error)
{
  const char *id = port->id;
  if (port->when_param != NULL)
    {
      const TwParamSpec *param = tw_block_get_param (block, port->when_param);
      for (int k = 0; param == NULL || port->when_values[k] != NULL; k++)
        if (param == NULL || !has_value (param, port->when_values[k]))
          return tw_block_fail (lines, line, error, "port %s: when names %s = %s, which is none",
                                id, port->when_param, port->when_values[k]);
    }
  if (port->partner_param != NULL)
    {
      const TwParamSpec *param = tw_block_get_param (block, port->partner_param);
      if (param == NULL || param->type != TW_PARAM_ENUM)
        return tw_block_fail (lines, line, error, "port %s: interleave \"%s\" is no enum parameter",
                              id, port->partner_param);
    }
  if (port->group_param != NULL)
    {
      const TwParamSpec *param = tw_block_get_param (block, port->group_param);
      if (param == NULL || param->type != TW_PARAM_INTEGER)
        return tw_block_fail (lines, line, error, "port %s: group \"%s\" is no integer parameter",
                              id, port->group_param);
    }
  if ((port->role == TW_ROLE_STATISTIC) != (port->statistic != NULL))
    return tw_block_fail (lines, line, error,
                          "port %s: a statistic port, and no other, names its statistic", id);
  if (port->alias != NULL)
    {
      const TwPortSpec *other = tw_block_get_port (block, port->alias);
      if (port->direction != TW_DIRECTION_OUT || other == NULL
          || other->direction != TW_DIRECTION_IN)
        return tw_block_fail (lines, line, error,
                              "port %s: alias is for an output and names an input, not \"%s\"", id,
                              port->alias);
    }
  return TRUE;
}

static gboolean
check_ports (const TwBlock *block, const TwBlockLines *lines, GError **error)
{
  int n[2] = { 0, 0 };
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      int line = lines->ports[i];
      if (tw_block_get_port (block, port->id) != port)
        return tw_block_fail (lines, line, error, "a second port %s; ids are unique", port->id);
      if (!check_dims (port, line, lines, error) || !check_dtype (block, port, line, lines, error)
          || !check_port_params (block, port, line, lines, error))
        return FALSE;
      n[port->direction]++;
    }
  gboolean source = block->kind == TW_KIND_SOURCE, sink = block->kind == TW_KIND_SINK;
  if (source ? n[0] != 0 || n[1] != 1 : sink ? n[0] != 1 || n[1] != 0 : n[0] == 0 || n[1] == 0)
    return tw_block_fail (lines, lines->block, error,
                          "%d inputs and %d outputs; %s", n[0], n[1],
                          source ? "a source has one output and nothing else"
                          : sink ? "a sink has one input and nothing else"
                                 : "a block has at least one of each");
  return TRUE;
}

static int
find (const TwFormulaOperand *list, int n, const char *name)
{
  for (int i = 0; i < n; i++)
    if (strcmp (list[i].name, name) == 0)
      return i;
  return -1;
}

/* The operands a port carries. Those of a packed pair have the index space of the output: the
 * name in "2*N" is their column. */
static gboolean
add_operands (TwBlock *block, int at, const TwBlockLines *lines, GError **error)
{
  const TwPortSpec *port = &block->ports[at];
  gboolean in = port->direction == TW_DIRECTION_IN;
  for (int k = 0; k < 2 && port->operands[k] != NULL; k++)
    {
      TwFormulaOperand operand
          = { port->operands[k], MAX (port->n_dims, 0),
              { port->index[0], port->index[1], port->index[2] } };
      if (!is_name (operand.name))
        return tw_block_fail (lines, lines->ports[at], error, "\"%s\" is no name of an operand",
                              operand.name);
      if (find (block->operands, block->n_operands, operand.name) >= 0
          && port->operands[1] != NULL)
        continue; /* as a port of its own, under another parameter value */
      if (find (block->operands, block->n_operands, operand.name) >= 0
          || find (block->outputs, block->n_outputs, operand.name) >= 0
          || tw_block_get_param (block, operand.name) != NULL)
        return tw_block_fail (lines, lines->ports[at], error,
                              "the name %s is taken; operands, outputs and parameters differ",
                              operand.name);
      if (port->operands[1] != NULL)
        {
          const char *column = NULL;
          for (int i = 0; i < block->n_ports; i++)
            if (block->ports[i].direction == TW_DIRECTION_OUT && block->ports[i].n_dims > 0)
              column = block->ports[i].index[block->ports[i].n_dims - 1];
          g_autofree char *packed = g_strconcat ("2*", column, NULL);
          g_autoptr (TwDim) width = tw_dim_parse (packed, NULL);
          g_autoptr (TwDim) dim
              = port->n_dims > 0 ? tw_dim_parse (port->dims[port->n_dims - 1], NULL) : NULL;
          if (dim == NULL || width == NULL || !tw_dim_equal (dim, width))
            return tw_block_fail (lines, lines->ports[at], error,
                                  "port %s: the last dimension of a packed pair has to be twice "
                                  "the output's",
                                  port->id);
          operand.dims[port->n_dims - 1] = column;
        }
      if (in && block->n_operands == TW_BLOCK_MAX_OPERANDS)
        return tw_block_fail (lines, lines->ports[at], error,
                              "more than %d operands", TW_BLOCK_MAX_OPERANDS);
      if (in)
        block->operands[block->n_operands++] = operand;
      else
        block->outputs[block->n_outputs++] = operand;
    }
  return TRUE;
}

static gboolean
read_formula (TwBlock *block, const TwBlockLines *lines, GError **error)
{
  block->operands = g_new0 (TwFormulaOperand, 2 * block->n_ports + 1);
  block->outputs = g_new0 (TwFormulaOperand, 2 * block->n_ports + 1);
  for (int i = 0; i < block->n_ports; i++)
    if (!add_operands (block, i, lines, error))
      return FALSE;
  gboolean boundary = block->kind == TW_KIND_SOURCE || block->kind == TW_KIND_SINK;
  gboolean composite = block->kind == TW_KIND_COMPOSITE;
  if ((block->body != NULL) != composite)
    return tw_block_fail (lines, lines->block, error,
                          composite ? "a composite needs a <body>"
                                    : "a <body>, which only a composite has");
  if ((block->formula_text != NULL) != (!boundary && !composite))
    return tw_block_fail (lines, lines->block, error,
                          block->formula_text == NULL
                              ? "a <formula> is missing: it says what the block means"
                              : "a <formula>, which a source, a sink or a composite has not");
  if (block->formula_text == NULL)
    return TRUE;
  g_autofree const char **params = g_new0 (const char *, block->n_params + 1);
  for (int i = 0; i < block->n_params; i++)
    params[i] = block->params[i].id;
  TwFormulaNames names = { block->operands, block->n_operands, block->outputs, block->n_outputs,
                           params,          block->n_params };
  g_autoptr (GError) inner = NULL;
  block->formula = tw_formula_parse (block->formula_text, &names, &inner);
  if (block->formula == NULL)
    return tw_block_fail (lines, lines->formula, error, "formula: %s", inner->message);
  return TRUE;
}

static gboolean
check_laws (const TwBlock *block, const TwBlockLines *lines, GError **error)
{
  for (int i = 0; i < block->n_laws; i++)
    {
      const TwLaw *law = &block->laws[i];
      int line = lines->laws[i];
      guint n = g_strv_length (law->inputs);
      for (guint k = 0; k < n; k++)
        if (tw_block_get_operand (block, law->inputs[k]) < 0)
          return tw_block_fail (lines, line, error, "a law of \"%s\", which is no operand",
                                law->inputs[k]);
      if (n < (law->kind == TW_LAW_TRANSFER ? 2u : 1u))
        return tw_block_fail (lines, line, error, "this law needs %s in inputs",
                              law->kind == TW_LAW_TRANSFER ? "two operands" : "an operand");
      if (law->output != NULL && find (block->outputs, block->n_outputs, law->output) < 0)
        return tw_block_fail (lines, line, error, "a law of \"%s\", which is no output",
                              law->output);
      if (law->degree_param != NULL)
        {
          const TwParamSpec *param = tw_block_get_param (block, law->degree_param);
          if (param == NULL || param->type != TW_PARAM_INTEGER)
            return tw_block_fail (lines, line, error, "$%s is no integer parameter",
                                  law->degree_param);
        }
      if ((law->kind == TW_LAW_SHIFT) != (law->response != NULL))
        return tw_block_fail (lines, line, error, "a shift law, and no other, has a response");
    }
  return TRUE;
}

static gboolean
check_requirements (const TwBlock *block, const TwBlockLines *lines, GError **error)
{
  for (int i = 0; i < block->n_requirements; i++)
    {
      const char *when = block->requirements[i].when_param;
      if (when == NULL)
        continue;
      g_auto (GStrv) sides = g_strsplit (when, "=", 2);
      if (g_strv_length (sides) != 2 || tw_block_get_param (block, g_strstrip (sides[0])) == NULL)
        return tw_block_fail (lines, lines->block, error,
                              "require: when has to read \"parameter = value ...\", not \"%s\"",
                              when);
    }
  return TRUE;
}

/* Every port of a composite is a node of its body. */
static gboolean
check_body (const TwBlock *block, const TwBlockLines *lines, GError **error)
{
  if (block->body == NULL)
    return TRUE;
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      const char *kind = port->direction == TW_DIRECTION_IN ? "input" : "output";
      const TwNode *node = tw_graph_get_node (block->body, port->id);
      if (node == NULL || strcmp (node->block, kind) != 0)
        return tw_block_fail (lines, lines->ports[i], error,
                              "port %s: the body has no node %s of block %s", port->id, port->id,
                              kind);
    }
  return TRUE;
}

gboolean
tw_block_complete (TwBlock *block, const TwBlockLines *lines, GError **error)
{
  if (!check_params (block, lines, error) || !check_ports (block, lines, error)
      || !read_formula (block, lines, error) || !check_laws (block, lines, error)
      || !check_requirements (block, lines, error) || !check_body (block, lines, error))
    return FALSE;
  if (block->targets[0] == NULL)
    return tw_block_fail (lines, lines->block, error, "no <target>: it would run nowhere");
  if (block->source != NULL && block->directory[0] != '\0'
      && !g_file_test (block->source, G_FILE_TEST_IS_REGULAR))
    return tw_block_fail (lines, lines->source, error, "source file %s is not there",
                          block->source);
  return TRUE;
}
