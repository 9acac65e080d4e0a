/* From text to terms. Recursion is bounded: every level of it counts as depth. */
#include "diagnostic.h"
#include "formula-private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

const FormulaFunction tw_formula_functions[] = {
  { "abs", 1 },    { "exp", 1 },     { "log", 1 },  { "sqrt", 1 }, { "rsqrt", 1 },
  { "tanh", 1 },   { "sigmoid", 1 }, { "erf", 1 },  { "sin", 1 },  { "cos", 1 },
  { "floor", 1 },  { "square", 1 },  { "relu", 1 }, { "sign", 1 }, { "isnan", 1 },
  { "min", 2 },    { "max", 2 },     { "pow", 2 },  { "mod", 2 },  { "round_to", 2 },
  { "select", 3 }, { NULL, 0 },
};

static const char *const reductions[] = { "sum", "mean", "max", "min", NULL };

typedef enum
{
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_NUMBER,
  TOKEN_SIGN, /* one of the operators; text holds it */
  TOKEN_BAD
} TokenKind;

typedef struct
{
  TokenKind kind;
  const char *start;
  int length;
  double number;
} Token;

typedef struct
{
  TwFormula *formula;
  const char *text;
  Token token;
  int depth;
  gboolean pure; /* inside a group: parameters and numbers only */
  GError **error;
  gboolean failed;
} Parser;

static gboolean
is_letter (char c)
{
  return g_ascii_isalpha (c) || c == '_';
}

static void
next_token (Parser *parser)
{
  static const char *const doubles[] = { "<=", ">=", "==", "!=" };
  Token *token = &parser->token;
  const char *c = token->start + token->length;
  while (*c == ' ' || *c == '\t' || *c == '\n' || *c == '\r')
    c++;
  token->start = c;
  token->length = 1;
  if (!*c)
    {
      token->kind = TOKEN_END;
      token->length = 0;
    }
  else if (is_letter (*c))
    {
      token->kind = TOKEN_NAME;
      while (is_letter (c[token->length]) || g_ascii_isdigit (c[token->length]))
        token->length++;
    }
  else if (g_ascii_isdigit (*c) || (*c == '.' && g_ascii_isdigit (c[1])))
    {
      const char *end = c;
      while (g_ascii_isdigit (*end))
        end++;
      if (*end == '.')
        end++;
      while (g_ascii_isdigit (*end))
        end++;
      if ((*end == 'e' || *end == 'E')
          && (g_ascii_isdigit (end[1])
              || ((end[1] == '+' || end[1] == '-') && g_ascii_isdigit (end[2]))))
        for (end += 2; g_ascii_isdigit (*end);)
          end++;
      g_autofree char *number = g_strndup (c, (gsize)(end - c));
      token->length = (int)(end - c);
      token->number = g_ascii_strtod (number, NULL);
      token->kind
          = isfinite (token->number) && !is_letter (*end) && *end != '.' ? TOKEN_NUMBER : TOKEN_BAD;
    }
  else
    {
      token->kind = strchr ("+-*/()[],;=<>:", *c) ? TOKEN_SIGN : TOKEN_BAD;
      for (gsize i = 0; i < G_N_ELEMENTS (doubles); i++)
        if (c[0] == doubles[i][0] && c[1] == doubles[i][1])
          {
            token->kind = TOKEN_SIGN;
            token->length = 2;
          }
    }
}

static char *
token_to_text (const Token *token)
{
  if (token->kind == TOKEN_END)
    return g_strdup ("the end");
  for (int i = 0; i < token->length; i++)
    if (!g_ascii_isprint (token->start[i]))
      return g_strdup_printf ("byte 0x%02x", (guchar)token->start[i]);
  return g_strdup_printf ("'%.*s'%s", MIN (token->length, 64), token->start,
                          token->length > 64 ? "..." : "");
}

static int G_GNUC_PRINTF (4, 5)
    fail (Parser *parser, TwFormulaError code, int offset, const char *format, ...)
{
  if (parser->failed)
    return -1;
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (parser->error, TW_FORMULA_ERROR, (int)code, "at offset %d: %s", offset, message);
  parser->failed = TRUE;
  return -1;
}

static int
token_offset (const Parser *parser)
{
  return (int)(parser->token.start - parser->text);
}

static int
fail_expected (Parser *parser, const char *expected)
{
  g_autofree char *found = token_to_text (&parser->token);
  return fail (parser, TW_FORMULA_ERROR_SYNTAX, token_offset (parser), "found %s, expected %s",
               found, expected);
}

static gboolean
at_sign (const Parser *parser, const char *sign)
{
  return parser->token.kind == TOKEN_SIGN && parser->token.length == (int)strlen (sign)
         && strncmp (parser->token.start, sign, (gsize)parser->token.length) == 0;
}

static gboolean
accept_sign (Parser *parser, const char *sign)
{
  if (!at_sign (parser, sign))
    return FALSE;
  next_token (parser);
  return TRUE;
}

static gboolean
expect_sign (Parser *parser, const char *sign, const char *expected)
{
  if (accept_sign (parser, sign))
    return TRUE;
  fail_expected (parser, expected);
  return FALSE;
}

static int
find_name (const char *const *names, const char *name)
{
  for (int i = 0; names && names[i]; i++)
    if (strcmp (names[i], name) == 0)
      return i;
  return -1;
}

static int
find_operand (const Operand *operands, int n, const char *name)
{
  for (int i = 0; i < n; i++)
    if (strcmp (operands[i].name, name) == 0)
      return i;
  return -1;
}

static int
find_statement (const TwFormula *formula, const char *name)
{
  for (guint i = 0; i < formula->statements->len; i++)
    if (strcmp (STATEMENT (formula, i)->name, name) == 0)
      return (int)i;
  return -1;
}

static gboolean
is_value (const TwFormula *formula, const char *name)
{
  return find_operand (formula->inputs, formula->n_inputs, name) >= 0
         || find_name ((const char *const *)formula->params, name) >= 0
         || find_statement (formula, name) >= 0;
}

static int
fail_name (Parser *parser, int offset, const char *name, const char *expected,
           const char *const *candidates)
{
  const char *nearest = tw_nearest_name (name, candidates);
  return fail (parser, TW_FORMULA_ERROR_NAME, offset, "found '%.64s', expected %s%s%s%s", name,
               expected, nearest ? "; did you mean '" : "", nearest ? nearest : "",
               nearest ? "'?" : "");
}

static int
fail_value (Parser *parser, int offset, const char *name)
{
  const TwFormula *formula = parser->formula;
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  if (!parser->pure)
    for (int i = 0; i < formula->n_inputs; i++)
      g_ptr_array_add (names, formula->inputs[i].name);
  for (int i = 0; i < formula->n_params; i++)
    g_ptr_array_add (names, formula->params[i]);
  if (!parser->pure)
    for (guint i = 0; i < formula->statements->len; i++)
      g_ptr_array_add (names, STATEMENT (formula, i)->name);
  g_ptr_array_add (names, NULL);
  return fail_name (parser, offset, name,
                    parser->pure ? "a parameter" : "an operand, a parameter or an earlier name",
                    (const char *const *)names->pdata);
}

static int
add_term (Parser *parser, Op op, int item, int dim, int a, int b, int c, int offset)
{
  Term term = { op, item, dim, 0.0, { a, b, c }, 1, offset };
  for (int i = 0; i < 3; i++)
    if (term.args[i] >= 0)
      term.depth = MAX (term.depth, TERM (parser->formula, term.args[i])->depth + 1);
  if (op == OP_LOCAL)
    term.depth = TERM (parser->formula, STATEMENT (parser->formula, item)->term)->depth + 1;
  if (term.depth > TW_FORMULA_MAX_DEPTH)
    return fail (parser, TW_FORMULA_ERROR_SYNTAX, offset, "nested more than %d deep",
                 TW_FORMULA_MAX_DEPTH);
  g_array_append_val (parser->formula->terms, term);
  return (int)parser->formula->terms->len - 1;
}

static int parse_expr (Parser *parser);

/* A dimension's name. */
static int
parse_dim (Parser *parser)
{
  if (parser->token.kind != TOKEN_NAME)
    return fail_expected (parser, "a dimension");
  g_autofree char *name = g_strndup (parser->token.start, (gsize)parser->token.length);
  const char *const *dims = (const char *const *)parser->formula->dims;
  int dim = find_name (dims, name);
  if (dim < 0)
    return fail_name (parser, token_offset (parser), name, "a dimension", dims);
  next_token (parser);
  return dim;
}

/* After "name (" where name reduces. */
static int
parse_reduction (Parser *parser, int kind, int offset)
{
  if (parser->pure)
    return fail (parser, TW_FORMULA_ERROR_NAME, offset, "a group is made of parameters only");
  int dim = parse_dim (parser), group = -1;
  if (dim < 0)
    return -1;
  if (accept_sign (parser, ":"))
    {
      parser->pure = TRUE;
      group = parse_expr (parser);
      parser->pure = FALSE;
      if (group < 0)
        return -1;
    }
  if (!expect_sign (parser, ",", group < 0 ? "',' or ':'" : "','"))
    return -1;
  int body = parse_expr (parser);
  if (body < 0 || !expect_sign (parser, ")", "')'"))
    return -1;
  return add_term (parser, OP_REDUCE, kind, dim, body, group, -1, offset);
}

/* After "name (". */
static int
parse_call (Parser *parser, const char *name, int offset)
{
  if (strcmp (name, "size") == 0 || strcmp (name, "index") == 0)
    {
      if (parser->pure)
        return fail (parser, TW_FORMULA_ERROR_NAME, offset, "a group is made of parameters only");
      int dim = parse_dim (parser);
      if (dim < 0 || !expect_sign (parser, ")", "')'"))
        return -1;
      return add_term (parser, name[0] == 's' ? OP_SIZE : OP_INDEX, -1, dim, -1, -1, -1, offset);
    }
  int function = 0, reduction = find_name (reductions, name);
  while (tw_formula_functions[function].name
         && strcmp (tw_formula_functions[function].name, name) != 0)
    function++;
  gboolean is_function = tw_formula_functions[function].name != NULL;
  if (reduction >= 0 && is_function && parser->token.kind == TOKEN_NAME)
    {
      g_autofree char *first = g_strndup (parser->token.start, (gsize)parser->token.length);
      if (find_name ((const char *const *)parser->formula->dims, first) >= 0
          && !is_value (parser->formula, first))
        is_function = FALSE;
    }
  if (reduction >= 0 && !is_function)
    return parse_reduction (parser, reduction, offset);
  if (!is_function)
    {
      g_autoptr (GPtrArray) names = g_ptr_array_new ();
      for (int i = 0; tw_formula_functions[i].name; i++)
        g_ptr_array_add (names, (gpointer)tw_formula_functions[i].name);
      for (int i = 0; i < 2; i++)
        g_ptr_array_add (names, (gpointer)reductions[i]);
      g_ptr_array_add (names, (gpointer) "size");
      g_ptr_array_add (names, (gpointer) "index");
      g_ptr_array_add (names, NULL);
      return fail_name (parser, offset, name, "a function", (const char *const *)names->pdata);
    }
  int args[3] = { -1, -1, -1 };
  int n_args = tw_formula_functions[function].n_args;
  for (int i = 0; i < n_args; i++)
    {
      args[i] = parse_expr (parser);
      if (args[i] < 0)
        return -1;
      g_autofree char *expected
          = g_strdup_printf ("%s: %s takes %d value%s", i + 1 < n_args ? "','" : "')'", name,
                             n_args, n_args == 1 ? "" : "s");
      if (!expect_sign (parser, i + 1 < n_args ? "," : ")", expected))
        return -1;
    }
  return add_term (parser, (Op)(OP_ABS + function), -1, -1, args[0], args[1], args[2], offset);
}

/* After "operand [". */
static int
parse_shift (Parser *parser, int operand, int offset)
{
  const Operand *input = &parser->formula->inputs[operand];
  int at = token_offset (parser), dim = parse_dim (parser);
  gboolean has = FALSE;
  if (dim < 0)
    return -1;
  for (int i = 0; i < input->n_dims; i++)
    has = has || input->dims[i] == dim;
  if (!has)
    return fail (parser, TW_FORMULA_ERROR_SHAPE, at, "'%s' has no dimension %s", input->name,
                 parser->formula->dims[dim]);
  if (!expect_sign (parser, "=", "'='"))
    return -1;
  int index = parse_expr (parser);
  if (index < 0 || !expect_sign (parser, "]", "']'"))
    return -1;
  return add_term (parser, OP_READ, operand, dim, index, -1, -1, offset);
}

static int
parse_name (Parser *parser)
{
  TwFormula *formula = parser->formula;
  int offset = token_offset (parser), item;
  g_autofree char *name = g_strndup (parser->token.start, (gsize)parser->token.length);
  next_token (parser);
  if (accept_sign (parser, "("))
    return parse_call (parser, name, offset);
  item = find_name ((const char *const *)formula->params, name);
  if (item >= 0)
    return add_term (parser, OP_PARAM, item, -1, -1, -1, -1, offset);
  if (parser->pure)
    return fail_value (parser, offset, name);
  item = find_operand (formula->inputs, formula->n_inputs, name);
  if (item >= 0)
    {
      if (accept_sign (parser, "["))
        return parse_shift (parser, item, offset);
      return add_term (parser, OP_READ, item, -1, -1, -1, -1, offset);
    }
  item = find_statement (formula, name);
  if (item < 0)
    return fail_value (parser, offset, name);
  if (at_sign (parser, "["))
    return fail (parser, TW_FORMULA_ERROR_NAME, offset,
                 "only an operand can be read at another index, '%s' is none", name);
  STATEMENT (formula, item)->used = TRUE;
  return add_term (parser, OP_LOCAL, item, -1, -1, -1, -1, offset);
}

static int
parse_unary (Parser *parser)
{
  int offset = token_offset (parser), term = -1;
  if (++parser->depth > TW_FORMULA_MAX_DEPTH)
    term = fail (parser, TW_FORMULA_ERROR_SYNTAX, offset, "nested more than %d deep",
                 TW_FORMULA_MAX_DEPTH);
  else if (accept_sign (parser, "-"))
    {
      term = parse_unary (parser);
      if (term >= 0)
        term = add_term (parser, OP_NEGATE, -1, -1, term, -1, -1, offset);
    }
  else if (accept_sign (parser, "("))
    {
      term = parse_expr (parser);
      if (term >= 0 && !expect_sign (parser, ")", "')' or an operator"))
        term = -1;
    }
  else if (parser->token.kind == TOKEN_NUMBER)
    {
      term = add_term (parser, OP_NUMBER, -1, -1, -1, -1, -1, offset);
      if (term >= 0)
        TERM (parser->formula, term)->number = parser->token.number;
      next_token (parser);
    }
  else if (parser->token.kind == TOKEN_NAME)
    term = parse_name (parser);
  else
    fail_expected (parser, "a number, a name, '-' or '('");
  parser->depth--;
  return term;
}

typedef struct
{
  const char *sign;
  Op op;
} Operator;

static int
match_operator (Parser *parser, const Operator *operators)
{
  for (int i = 0; operators[i].sign; i++)
    if (accept_sign (parser, operators[i].sign))
      return (int)operators[i].op;
  return -1;
}

static int
parse_product (Parser *parser)
{
  static const Operator operators[] = { { "*", OP_MULTIPLY }, { "/", OP_DIVIDE }, { NULL, 0 } };
  int left = parse_unary (parser);
  while (left >= 0)
    {
      int offset = token_offset (parser), op = match_operator (parser, operators);
      if (op < 0)
        break;
      int right = parse_unary (parser);
      left = right < 0 ? -1 : add_term (parser, (Op)op, -1, -1, left, right, -1, offset);
    }
  return left;
}

static int
parse_sum (Parser *parser)
{
  static const Operator operators[] = { { "+", OP_ADD }, { "-", OP_SUBTRACT }, { NULL, 0 } };
  int left = parse_product (parser);
  while (left >= 0)
    {
      int offset = token_offset (parser), op = match_operator (parser, operators);
      if (op < 0)
        break;
      int right = parse_product (parser);
      left = right < 0 ? -1 : add_term (parser, (Op)op, -1, -1, left, right, -1, offset);
    }
  return left;
}

static int
parse_expr (Parser *parser)
{
  static const Operator operators[] = {
    { "<=", OP_LESS_EQUAL }, { ">=", OP_GREATER_EQUAL }, { "==", OP_EQUAL }, { "!=", OP_NOT_EQUAL },
    { "<", OP_LESS },        { ">", OP_GREATER },        { NULL, 0 }
  };
  int left = parse_sum (parser);
  if (left < 0)
    return -1;
  int offset = token_offset (parser), op = match_operator (parser, operators);
  if (op < 0)
    return left;
  int right = parse_sum (parser);
  return right < 0 ? -1 : add_term (parser, (Op)op, -1, -1, left, right, -1, offset);
}

static gboolean
parse_statement (Parser *parser)
{
  TwFormula *formula = parser->formula;
  int offset = token_offset (parser);
  if (parser->token.kind != TOKEN_NAME)
    {
      fail_expected (parser, "the name of an output or a local");
      return FALSE;
    }
  g_autofree char *name = g_strndup (parser->token.start, (gsize)parser->token.length);
  if (is_value (formula, name))
    {
      fail (parser, TW_FORMULA_ERROR_NAME, offset, "'%.64s' has a value already", name);
      return FALSE;
    }
  next_token (parser);
  if (!expect_sign (parser, "=", "'='"))
    return FALSE;
  int term = parse_expr (parser);
  if (term < 0)
    return FALSE;
  Statement statement = { g_steal_pointer (&name), -1, term, FALSE };
  statement.output = find_operand (formula->outputs, formula->n_outputs, statement.name);
  g_array_append_val (formula->statements, statement);
  return TRUE;
}

static gboolean
parse_formula (Parser *parser)
{
  TwFormula *formula = parser->formula;
  next_token (parser);
  do
    {
      if (!parse_statement (parser))
        return FALSE;
      if (parser->token.kind != TOKEN_END && !at_sign (parser, ";"))
        {
          fail_expected (parser, "an operator, ';' or the end");
          return FALSE;
        }
    }
  while (accept_sign (parser, ";") && parser->token.kind != TOKEN_END);
  for (guint i = 0; i < formula->statements->len; i++)
    {
      const Statement *statement = STATEMENT (formula, i);
      if (statement->output < 0 && !statement->used)
        {
          g_autoptr (GPtrArray) names = g_ptr_array_new ();
          for (int j = 0; j < formula->n_outputs; j++)
            g_ptr_array_add (names, formula->outputs[j].name);
          g_ptr_array_add (names, NULL);
          fail_name (parser, 0, statement->name, "an output: the value is not used",
                     (const char *const *)names->pdata);
          return FALSE;
        }
    }
  for (int i = 0; i < formula->n_outputs; i++)
    if (find_statement (formula, formula->outputs[i].name) < 0)
      {
        fail (parser, TW_FORMULA_ERROR_NAME, (int)strlen (parser->text),
              "output '%s' is not computed", formula->outputs[i].name);
        return FALSE;
      }
  return TRUE;
}

static gboolean
take_operands (TwFormula *formula, const TwFormulaOperand *from, int n, Operand **to, int *n_to,
               GPtrArray *dims)
{
  *to = g_new0 (Operand, (gsize)n + 1);
  for (int i = 0; i < n; i++)
    {
      Operand *operand = &(*to)[i];
      operand->name = g_strdup (from[i].name);
      operand->n_dims = CLAMP (from[i].n_dims, 0, 3);
      *n_to = i + 1;
      for (int j = 0; j < operand->n_dims; j++)
        {
          guint k = 0;
          while (k < dims->len && strcmp (dims->pdata[k], from[i].dims[j]) != 0)
            k++;
          if (k == dims->len)
            g_ptr_array_add (dims, g_strdup (from[i].dims[j]));
          operand->dims[j] = (int)k;
        }
    }
  return dims->len <= TW_FORMULA_MAX_DIMS;
}

static gboolean
check_names (const TwFormula *formula, GError **error)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  for (int i = 0; i < formula->n_inputs + formula->n_params + formula->n_outputs; i++)
    {
      int j = i - formula->n_inputs, k = j - formula->n_params;
      char *name = j < 0   ? formula->inputs[i].name
                   : k < 0 ? formula->params[j]
                           : formula->outputs[k].name;
      if (!g_hash_table_add (seen, name))
        {
          g_set_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_NAME,
                       "at offset 0: '%s' names two of the operands and parameters", name);
          return FALSE;
        }
    }
  return TRUE;
}

TwFormula *
tw_formula_parse (const char *text, const TwFormulaNames *names, GError **error)
{
  if (strlen (text) > TW_FORMULA_MAX_LENGTH)
    {
      g_set_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SYNTAX,
                   "at offset %d: longer than %d bytes", TW_FORMULA_MAX_LENGTH,
                   TW_FORMULA_MAX_LENGTH);
      return NULL;
    }
  g_autoptr (TwFormula) formula = g_new0 (TwFormula, 1);
  formula->ref_count = 1;
  formula->text = g_strdup (text);
  formula->terms = g_array_new (FALSE, FALSE, sizeof (Term));
  formula->statements = g_array_new (FALSE, FALSE, sizeof (Statement));
  GPtrArray *dims = g_ptr_array_new ();
  gboolean fit = take_operands (formula, names->inputs, names->n_inputs, &formula->inputs,
                                &formula->n_inputs, dims);
  fit = take_operands (formula, names->outputs, names->n_outputs, &formula->outputs,
                       &formula->n_outputs, dims)
        && fit;
  formula->n_dims = (int)dims->len;
  g_ptr_array_add (dims, NULL);
  formula->dims = (char **)g_ptr_array_free (dims, FALSE);
  formula->params = g_new0 (char *, (gsize)names->n_params + 1);
  for (int i = 0; i < names->n_params; i++)
    formula->params[i] = g_strdup (names->params[i]);
  formula->n_params = names->n_params;
  formula->programs = g_new0 (Program, (gsize)formula->n_outputs + 1);
  if (!fit)
    {
      g_set_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_NAME,
                   "at offset 0: more than %d dimension names", TW_FORMULA_MAX_DIMS);
      return NULL;
    }
  Parser parser = { .formula = formula, .text = text, .error = error };
  parser.token.start = text;
  if (!check_names (formula, error) || !parse_formula (&parser))
    return NULL;
  for (int i = 0; i < formula->n_outputs; i++)
    if (!tw_formula_compile (formula, i, error))
      return NULL;
  return g_steal_pointer (&formula);
}
