/* Requirements that descriptors state: proved here, refused here, or left to the launcher as a
 * guard where they depend on dynamic dimensions.
 *
 * An expression is read once: its value at the graph's default sizes, whether that value holds for
 * all sizes, and its C text come out together. */
#include "check-private.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH 64

typedef struct
{
  double value;
  gboolean constant; /* holds for every size */
  char *text;        /* C; NULL after an error */
} Value;

typedef struct
{
  TwCheck *check;
  const TwNodeTyping *node;
  const char *at;
  int depth;
  gboolean unknown; /* a dimension has no type: its cause has been reported */
  gboolean bad;
} Reader;

static Value read_comparison (Reader *reader);

static gboolean
get_default (const char *name, gint64 *value, gpointer user_data)
{
  TwCheck *check = user_data;
  const TwDimension *dim = g_hash_table_lookup (check->dims, name);
  if (dim == NULL)
    return FALSE;
  *value = dim->value;
  return TRUE;
}

static Value
fail (Reader *reader)
{
  reader->bad = TRUE;
  return (Value){ NAN, TRUE, NULL };
}

static gboolean
accept (Reader *reader, const char *token)
{
  while (g_ascii_isspace (*reader->at))
    reader->at++;
  gsize n = strlen (token);
  if (strncmp (reader->at, token, n) != 0)
    return FALSE;
  reader->at += n;
  return TRUE;
}

static char *
read_name (Reader *reader)
{
  const char *start = reader->at;
  while (g_ascii_isalnum (*reader->at) || *reader->at == '_')
    reader->at++;
  return g_strndup (start, (gsize)(reader->at - start));
}

static Value
dimension (Reader *reader, const char *name)
{
  const TwDim *dim = tw_typing_get_dim (reader->check->typing, reader->node->id, name);
  if (dim == NULL)
    {
      gboolean named = tw_block_get_param (reader->node->facts->block, name) != NULL;
      for (int i = 0; i < reader->node->facts->n_names; i++)
        named |= strcmp (reader->node->facts->names[i], name) == 0;
      reader->unknown |= named;
      return fail (reader);
    }
  gint64 value = 0;
  gboolean constant = tw_dim_is_constant (dim, &value);
  if (!constant && !tw_dim_evaluate (dim, get_default, reader->check, &value, NULL))
    return fail (reader);
  return (Value){ (double)value, constant, tw_dim_to_c (dim, "") };
}

static Value
join (Value a, Value b, double value, char *text)
{
  g_free (a.text);
  g_free (b.text);
  return (Value){ value, a.constant && b.constant, text };
}

static Value
call (Reader *reader, const char *name)
{
  if (strcmp (name, "size") == 0)
    {
      accept (reader, "");
      g_autofree char *dim = read_name (reader);
      return accept (reader, ")") ? dimension (reader, dim) : fail (reader);
    }
  Value a = read_comparison (reader);
  if (strcmp (name, "abs") == 0 || strcmp (name, "floor") == 0)
    {
      gboolean absolute = name[0] == 'a';
      if (!accept (reader, ")") || a.text == NULL)
        {
          g_free (a.text);
          return fail (reader);
        }
      char *text
          = g_strdup_printf (absolute ? "fabs ((double) (%s))" : "floor ((double) (%s))", a.text);
      return join (a, (Value){ 0, TRUE, NULL }, absolute ? fabs (a.value) : floor (a.value), text);
    }
  Value b = accept (reader, ",") ? read_comparison (reader) : fail (reader);
  gboolean minimum = strcmp (name, "min") == 0, maximum = strcmp (name, "max") == 0;
  /* Operands are printed twice: a bound keeps nested ones from growing without end. */
  if (a.text == NULL || b.text == NULL || strlen (a.text) + strlen (b.text) > 4096
      || !accept (reader, ")") || !(minimum || maximum || strcmp (name, "mod") == 0))
    {
      g_free (a.text);
      g_free (b.text);
      return fail (reader);
    }
  if (minimum || maximum)
    {
      char *text = g_strdup_printf ("((%s) %c (%s) ? (%s) : (%s))", a.text, minimum ? '<' : '>',
                                    b.text, a.text, b.text);
      return join (a, b, minimum ? MIN (a.value, b.value) : MAX (a.value, b.value), text);
    }
  char *text = g_strdup_printf ("((%s) %% (%s))", a.text, b.text);
  return join (a, b, b.value != 0 ? fmod (a.value, b.value) : NAN, text);
}

static Value
read_primary (Reader *reader)
{
  if (reader->depth >= MAX_DEPTH)
    return fail (reader);
  if (accept (reader, "("))
    {
      reader->depth++;
      Value value = read_comparison (reader);
      reader->depth--;
      if (!accept (reader, ")") || value.text == NULL)
        {
          g_free (value.text);
          return fail (reader);
        }
      char *text = g_strdup_printf ("(%s)", value.text);
      return join (value, (Value){ 0, TRUE, NULL }, value.value, text);
    }
  if (g_ascii_isdigit (*reader->at) || *reader->at == '.')
    {
      char *end = NULL;
      double number = g_ascii_strtod (reader->at, &end);
      char *text = g_strndup (reader->at, (gsize)(end - reader->at));
      reader->at = end;
      return (Value){ number, TRUE, text };
    }
  g_autofree char *name = read_name (reader);
  if (name[0] == '\0')
    return fail (reader);
  if (accept (reader, "("))
    {
      reader->depth++;
      Value value = call (reader, name);
      reader->depth--;
      return value;
    }
  const TwBlock *block = reader->node->facts->block;
  const TwParamSpec *spec = tw_block_get_param (block, name);
  double number = 0;
  if (spec == NULL || spec->type == TW_PARAM_DIMENSION)
    return dimension (reader, name);
  if (!tw_node_get_number (reader->node->node, block, name, &number))
    {
      reader->unknown = TRUE;
      return fail (reader);
    }
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  return (Value){ number, TRUE,
                  g_strdup (g_ascii_formatd (buffer, sizeof buffer, "%.17g", number)) };
}

static Value
read_unary (Reader *reader)
{
  int sign = 1;
  while (accept (reader, "-"))
    sign = -sign;
  Value value = read_primary (reader);
  if (sign > 0 || value.text == NULL)
    return value;
  char *text = g_strdup_printf ("(-(%s))", value.text);
  return join (value, (Value){ 0, TRUE, NULL }, -value.value, text);
}

/* One level of left-associative operators; `operators` are tried in order. */
static Value
read_level (Reader *reader, const char *const *operators, Value (*read) (Reader *))
{
  Value left = read (reader);
  while (left.text != NULL)
    {
      int op = 0;
      while (operators[op] != NULL && !accept (reader, operators[op]))
        op++;
      if (operators[op] == NULL)
        break;
      Value right = read (reader);
      if (right.text == NULL)
        {
          g_free (left.text);
          return right;
        }
      const char *sign = operators[op];
      double a = left.value, b = right.value;
      double value = strcmp (sign, "<=") == 0   ? a <= b
                     : strcmp (sign, ">=") == 0 ? a >= b
                     : strcmp (sign, "==") == 0 ? a == b
                     : strcmp (sign, "!=") == 0 ? a != b
                     : strcmp (sign, "<") == 0  ? a < b
                     : strcmp (sign, ">") == 0  ? a > b
                     : strcmp (sign, "+") == 0  ? a + b
                     : strcmp (sign, "-") == 0  ? a - b
                     : strcmp (sign, "*") == 0  ? a * b
                                                : a / b;
      char *text = g_strdup_printf (sign[0] == '/' ? "(double) (%s) %s (%s)" : "(%s) %s (%s)",
                                    left.text, sign, right.text);
      left = join (left, right, value, text);
    }
  return left;
}

static Value
read_product (Reader *reader)
{
  static const char *const operators[] = { "*", "/", NULL };
  return read_level (reader, operators, read_unary);
}

static Value
read_sum (Reader *reader)
{
  static const char *const operators[] = { "+", "-", NULL };
  return read_level (reader, operators, read_product);
}

static Value
read_comparison (Reader *reader)
{
  static const char *const operators[] = { "<=", ">=", "==", "!=", "<", ">", NULL };
  return read_level (reader, operators, read_sum);
}

/* "N must be even, is {N}" with values put in. */
static char *
fill_message (const TwCheck *check, const TwNodeTyping *node, const char *message)
{
  GString *text = g_string_new (NULL);
  for (const char *at = message; *at != '\0';)
    {
      const char *end = *at == '{' ? strchr (at, '}') : NULL;
      if (end == NULL)
        {
          g_string_append_c (text, *at++);
          continue;
        }
      g_autofree char *name = g_strndup (at + 1, (gsize)(end - at - 1));
      const TwDim *dim = tw_typing_get_dim (check->typing, node->id, name);
      const char *value = dim != NULL ? tw_dim_get_text (dim)
                                      : tw_node_get_param (node->node, node->facts->block, name);
      g_string_append (text, value != NULL ? value : name);
      at = end + 1;
    }
  return g_string_free (text, FALSE);
}

/* "param = v1 v2" */
static gboolean
applies (const TwNodeTyping *node, const char *when)
{
  if (when == NULL)
    return TRUE;
  g_auto (GStrv) sides = g_strsplit (when, "=", 2);
  if (sides[0] == NULL || sides[1] == NULL)
    return TRUE;
  const char *value = tw_node_get_param (node->node, node->facts->block, g_strstrip (sides[0]));
  g_auto (GStrv) values = g_strsplit_set (g_strstrip (sides[1]), " ", -1);
  return value != NULL && g_strv_contains ((const char *const *)values, value);
}

void
tw_check_requirements (TwCheck *check, int index)
{
  TwNodeTyping *node = &check->typing->nodes[index];
  const TwBlock *block = node->facts->block;
  for (int i = 0; i < block->n_requirements; i++)
    {
      const TwRequirement *requirement = &block->requirements[i];
      if (!applies (node, requirement->when_param))
        continue;
      Reader reader = { .check = check, .node = node, .at = requirement->expression };
      Value value = read_comparison (&reader);
      g_autofree char *text = value.text;
      gboolean rest = !accept (&reader, "") || *reader.at != '\0';
      if (reader.unknown)
        continue;
      g_autofree char *message = fill_message (
          check, node,
          requirement->message != NULL ? requirement->message : requirement->expression);
      if (reader.bad || rest || value.text == NULL)
        {
          tw_check_add (check, TW_SEVERITY_ERROR, "requirement-failed", index, NULL,
                        node->node->line, requirement->expression, "an expression",
                        "correct the block's descriptor",
                        "a requirement of block %s cannot be evaluated", block->id);
          continue;
        }
      if (value.value == 0 || isnan (value.value))
        {
          g_autofree char *fix = g_strdup_printf ("choose sizes or parameters of %s so that %s",
                                                  node->id, requirement->expression);
          tw_check_add (check, TW_SEVERITY_ERROR, "requirement-failed", index, NULL,
                        node->node->line, value.constant ? text : "not so at the default sizes",
                        requirement->expression, fix, "%s: %s", node->id, message);
          continue;
        }
      if (value.constant)
        continue;
      TwGuard *guard = g_new0 (TwGuard, 1);
      guard->node = g_strdup (node->id);
      guard->expression = g_steal_pointer (&text);
      guard->message = g_steal_pointer (&message);
      g_ptr_array_add (check->typing->guards, guard);
    }
}
