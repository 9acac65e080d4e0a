/* Reading a dimension expression; the grammar is in dimension.h. */
#include "dimension-private.h"

#include <string.h>

#define MAX_DEPTH 32
#define MAX_NAME 63

typedef struct
{
  const char *start, *at;
  int depth;
  const char *problem; /* static */
} Parser;

static TwDim *parse_expression (Parser *parser, const char *end);

static void
skip_space (Parser *parser)
{
  while (g_ascii_isspace (*parser->at))
    parser->at++;
}

static TwDim *
fail (Parser *parser, const char *problem)
{
  if (parser->problem == NULL)
    parser->problem = problem;
  return NULL;
}

static gboolean
parse_integer (Parser *parser, gint64 *value)
{
  char *end;
  skip_space (parser);
  if (!g_ascii_isdigit (*parser->at))
    return FALSE;
  guint64 number = g_ascii_strtoull (parser->at, &end, 10);
  if (number > G_MAXINT64)
    return FALSE;
  *value = (gint64)number;
  parser->at = end;
  return TRUE;
}

/* The closing parenthesis of the one just read, and the last '/' at its level. */
static const char *
find_close (const char *at, const char **slash, gboolean *sum)
{
  int depth = 0;
  *slash = NULL;
  *sum = FALSE;
  for (; *at != '\0'; at++)
    {
      if (*at == ')' && depth == 0)
        return at;
      depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
      if (depth == 0 && *at == '/')
        *slash = at;
      *sum |= depth == 0 && (*at == '+' || *at == '-');
    }
  return NULL;
}

static TwDim *
parse_ceil (Parser *parser)
{
  const char *slash;
  gboolean sum;
  const char *close = find_close (parser->at, &slash, &sum);
  gint64 divisor = 0;
  if (close == NULL || slash == NULL)
    return fail (parser, "expected ceil(expression/integer)");
  if (sum)
    return fail (parser, "a sum under ceil needs parentheses: ceil((a + b)/n)");
  g_autoptr (TwDim) inner = parse_expression (parser, slash);
  if (inner == NULL)
    return NULL;
  parser->at = slash + 1;
  if (!parse_integer (parser, &divisor) || divisor <= 0)
    return fail (parser, "expected a positive integer");
  skip_space (parser);
  if (parser->at != close)
    return fail (parser, "expected ')'");
  parser->at++;
  return tw_dim_round_up (inner, divisor);
}

static TwDim *
parse_factor (Parser *parser)
{
  gint64 value;
  skip_space (parser);
  if (g_ascii_isdigit (*parser->at))
    return parse_integer (parser, &value) ? tw_dim_new_integer (value)
                                          : fail (parser, "the number does not fit 64 bits");
  if (*parser->at == '(')
    {
      parser->at++;
      g_autoptr (TwDim) inner = parse_expression (parser, NULL);
      if (inner == NULL)
        return NULL;
      if (*parser->at != ')')
        return fail (parser, "expected ')'");
      parser->at++;
      return g_steal_pointer (&inner);
    }
  if (!g_ascii_isalpha (*parser->at) && *parser->at != '_')
    return fail (parser, "expected a number, a name, ceil() or '('");
  const char *start = parser->at;
  while (g_ascii_isalnum (*parser->at) || *parser->at == '_')
    parser->at++;
  if (parser->at - start > MAX_NAME)
    return fail (parser, "the name is longer than 63 characters");
  g_autofree char *name = g_strndup (start, (gsize)(parser->at - start));
  skip_space (parser);
  if (strcmp (name, "ceil") != 0 || *parser->at != '(')
    return tw_dim_new_name (name);
  parser->at++;
  return parse_ceil (parser);
}

static TwDim *
parse_term (Parser *parser, const char *end)
{
  g_autoptr (TwDim) left = parse_factor (parser);
  while (left != NULL)
    {
      skip_space (parser);
      if (parser->at == end || (*parser->at != '*' && *parser->at != '/'))
        break;
      gboolean times = *parser->at++ == '*';
      gint64 divisor = 0;
      g_autoptr (TwDim) right = times ? parse_factor (parser) : NULL;
      if (times && right == NULL)
        return NULL;
      if (!times && (!parse_integer (parser, &divisor) || divisor == 0))
        return fail (parser, "expected a positive integer after '/'");
      TwDim *result = times ? tw_dim_multiply (left, right) : tw_dim_divide (left, divisor);
      tw_dim_unref (left);
      left = result;
    }
  return left != NULL ? g_steal_pointer (&left) : fail (parser, "the expression is too large");
}

/* Up to `end`, or as far as it goes. */
static TwDim *
parse_expression (Parser *parser, const char *end)
{
  if (++parser->depth > MAX_DEPTH)
    return fail (parser, "nested too deeply");
  g_autoptr (TwDim) left = parse_term (parser, end);
  while (left != NULL)
    {
      skip_space (parser);
      if (parser->at == end || (*parser->at != '+' && *parser->at != '-'))
        break;
      gint64 sign = *parser->at++ == '+' ? 1 : -1;
      g_autoptr (TwDim) right = parse_term (parser, end);
      if (right == NULL)
        return NULL;
      TwDim *result = tw_dim_add (left, right, sign);
      tw_dim_unref (left);
      left = result;
    }
  parser->depth--;
  return left != NULL ? g_steal_pointer (&left) : fail (parser, "the expression is too large");
}

TwDim *
tw_dim_parse (const char *text, GError **error)
{
  Parser parser = { .start = text, .at = text };
  g_autoptr (TwDim) dim = parse_expression (&parser, NULL);
  if (dim != NULL && *parser.at != '\0')
    {
      fail (&parser, "expected '+', '-', '*', '/' or the end");
      g_clear_pointer (&dim, tw_dim_unref);
    }
  if (dim == NULL)
    g_set_error (error, TW_DIM_ERROR, TW_DIM_ERROR_SYNTAX, "at character %d: %s",
                 (int)(parser.at - text) + 1, parser.problem);
  return g_steal_pointer (&dim);
}
