/* A program printed as C: the same operations in the same order as the evaluator's. */
#include "formula-private.h"

#include <math.h>
#include <string.h>

#define COLUMNS 100

/* How tightly a printed expression binds. */
typedef enum
{
  BIND_SELECT,
  BIND_COMPARE,
  BIND_SUM,
  BIND_PRODUCT,
  BIND_UNARY,
  BIND_PRIMARY
} Binding;

typedef struct
{
  char *text;
  Binding binding;
  gboolean integer;   /* may have an integer type in C */
  gboolean condition; /* an int 0 or 1 that has to become a number */
} Piece;

typedef struct
{
  const TwFormula *formula;
  const Program *program;
  const TwFormulaC *spelling;
  gpointer user_data;
  char *bits[3 + TW_FORMULA_MAX_REDUCTIONS]; /* the index variable of each bit */
  char **variables;                          /* per node: its variable, or NULL: printed in place */
  GHashTable *used;                          /* names taken */
  GString *out;
} Printer;

static Piece print_node (Printer *printer, int index);

static const char *
get_type (const Printer *printer)
{
  return printer->spelling->single ? "float" : "double";
}

/* An expression that needs no parentheses wherever it stands: a number, a name, calls, subscripts
 * and members of it, or something in parentheses. */
static gboolean
is_primary (const char *text)
{
  if (g_ascii_isdigit (*text) || *text == '.')
    {
      char *end = NULL;
      g_ascii_strtod (text, &end);
      if (*end == 'f' || *end == 'F')
        end++;
      return !*end;
    }
  const char *c = text;
  while (g_ascii_isalnum (*c) || *c == '_')
    c++;
  if (c == text && *c != '(')
    return FALSE;
  while (*c)
    {
      if (*c == ' ' && (c[1] == '(' || c[1] == '['))
        c++;
      if (*c == '(' || *c == '[')
        {
          int depth = 0;
          do
            {
              depth += *c == '(' || *c == '[';
              depth -= *c == ')' || *c == ']';
              c++;
            }
          while (*c && depth > 0);
          if (depth)
            return FALSE;
          /* "(float) x" is a cast. */
          if (text[0] == '(' && *c && *c != '[' && *c != '-' && *c != '.')
            return FALSE;
        }
      else if (*c == '.' || (c[0] == '-' && c[1] == '>'))
        {
          c += *c == '.' ? 1 : 2;
          const char *start = c;
          while (g_ascii_isalnum (*c) || *c == '_')
            c++;
          if (c == start)
            return FALSE;
        }
      else
        return FALSE;
    }
  return TRUE;
}

/* Takes `text`. */
static char *
enclose (char *text)
{
  if (is_primary (text))
    return text;
  char *enclosed = g_strdup_printf ("(%s)", text);
  g_free (text);
  return enclosed;
}

/* Takes `piece`; its text, in parentheses if it binds less tightly than `needed`. */
static char *
bind (Piece piece, Binding needed)
{
  if (piece.binding >= needed)
    return piece.text;
  char *enclosed = g_strdup_printf ("(%s)", piece.text);
  g_free (piece.text);
  return enclosed;
}

static char *
print_number (double value, gboolean single)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (single && fabs (value) > 3.4028234663852886e38)
    return g_strdup ("HUGE_VALF");
  for (int digits = 1; digits <= (single ? 9 : 17); digits++)
    {
      char format[8];
      g_snprintf (format, sizeof format, "%%.%dg", digits);
      g_ascii_formatd (text, sizeof text, format, value);
      double back = g_ascii_strtod (text, NULL);
      if (single ? (float)back == (float)value : back == value)
        break;
    }
  const char *point = strpbrk (text, ".e") ? "" : ".0";
  return g_strdup_printf ("%s%s%s", text, point, single ? "f" : "");
}

static char *
unique_name (Printer *printer, const char *prefix, const char *name)
{
  char *unique = g_strconcat (prefix, name, NULL);
  for (int i = 2; g_hash_table_contains (printer->used, unique); i++)
    {
      g_free (unique);
      unique = g_strdup_printf ("%s%s%d", prefix, name, i);
    }
  g_hash_table_add (printer->used, g_strdup (unique));
  return unique;
}

static Piece
print_read (Printer *printer, const Node *node)
{
  const Operand *operand = &printer->formula->inputs[node->item];
  const char *index[3] = { NULL, NULL, NULL };
  g_autofree char *shift = NULL;
  if (node->dim >= 0)
    {
      Piece at = print_node (printer, node->args[0]);
      g_autofree char *text = bind (at, BIND_UNARY);
      shift = g_strdup_printf ("(int64_t) %s", text);
    }
  for (int i = 0; i < operand->n_dims; i++)
    index[i] = node->bind[i] < 0 ? shift : printer->bits[node->bind[i]];
  Piece piece = { .binding = BIND_PRIMARY };
  piece.text = enclose (printer->spelling->read (node->item, index, printer->user_data));
  return piece;
}

static Piece
print_call (Printer *printer, const Node *node)
{
  static const char *const doubles[]
      = { "fabs",      "exp",     "log",     "sqrt",  "ref_rsqrt",  "tanh",        "ref_sigmoid",
          "erf",       "sin",     "cos",     "floor", "ref_square", "ref_relu",    "ref_sign",
          "ref_isnan", "ref_min", "ref_max", "pow",   "ref_mod",    "ref_round_to" };
  const FormulaFunction *function = &tw_formula_functions[node->op - OP_ABS];
  g_autoptr (GString) text = g_string_new (NULL);
  if (printer->spelling->single)
    g_string_append_printf (text, "tw_%s (", function->name);
  else
    g_string_append_printf (text, "%s (", doubles[node->op - OP_ABS]);
  for (int i = 0; i < function->n_args; i++)
    {
      Piece piece = print_node (printer, node->args[i]);
      g_string_append_printf (text, "%s%s", i ? ", " : "", piece.text);
      g_free (piece.text);
    }
  g_string_append_c (text, ')');
  return (Piece){ g_string_free (g_steal_pointer (&text), FALSE), BIND_PRIMARY, FALSE, FALSE };
}

/* A comparison stays a C condition where it is one. */
static Piece
print_comparison (Printer *printer, const Node *node)
{
  static const char *const signs[] = { "<", "<=", ">", ">=", "==", "!=" };
  g_autofree char *left = bind (print_node (printer, node->args[0]), BIND_SUM);
  g_autofree char *right = bind (print_node (printer, node->args[1]), BIND_SUM);
  Piece piece = { g_strdup_printf ("%s %s %s", left, signs[node->op - OP_LESS], right),
                  BIND_COMPARE, FALSE, TRUE };
  return piece;
}

static Piece
print_binary (Printer *printer, const Node *node)
{
  static const char signs[] = "+-*/";
  gboolean product = node->op >= OP_MULTIPLY;
  Binding binding = product ? BIND_PRODUCT : BIND_SUM;
  Piece left = print_node (printer, node->args[0]), right = print_node (printer, node->args[1]);
  gboolean cast = left.integer && right.integer;
  g_autofree char *a = bind (left, cast ? BIND_UNARY : binding);
  g_autofree char *b = bind (right, binding + 1);
  Piece piece = { .binding = binding };
  piece.text
      = cast ? g_strdup_printf ("(%s) %s %c %s", get_type (printer), a, signs[node->op - OP_ADD], b)
             : g_strdup_printf ("%s %c %s", a, signs[node->op - OP_ADD], b);
  return piece;
}

static Piece
print_select (Printer *printer, const Node *node)
{
  const Node *test = NODE (printer->program, node->args[0]);
  gboolean compares
      = test->op >= OP_LESS && test->op <= OP_NOT_EQUAL && !printer->variables[node->args[0]];
  g_autofree char *condition = compares ? bind (print_comparison (printer, test), BIND_COMPARE)
                                        : bind (print_node (printer, node->args[0]), BIND_SUM);
  Piece b = print_node (printer, node->args[1]), c = print_node (printer, node->args[2]);
  gboolean integer = b.integer && c.integer;
  g_autofree char *yes = bind (b, BIND_COMPARE), *no = bind (c, BIND_COMPARE);
  Piece piece = { .binding = BIND_SELECT, .integer = integer };
  piece.text
      = g_strdup_printf (compares ? "%s ? %s : %s" : "%s != 0 ? %s : %s", condition, yes, no);
  return piece;
}

static Piece
print_in_place (Printer *printer, const Node *node)
{
  Piece piece = { .binding = BIND_PRIMARY };
  switch (node->op)
    {
    case OP_NUMBER:
      piece.text = print_number (node->number, printer->spelling->single);
      break;
    case OP_PARAM:
      piece.text = enclose (printer->spelling->param (node->item, printer->user_data));
      piece.integer = TRUE;
      break;
    case OP_SIZE:
      piece.text = enclose (
          printer->spelling->extent (printer->formula->dims[node->dim], printer->user_data));
      piece.integer = TRUE;
      break;
    case OP_INDEX:
      piece.text = enclose (g_strdup (printer->bits[node->bind[0]]));
      piece.integer = TRUE;
      break;
    case OP_READ:
      return print_read (printer, node);
    case OP_NEGATE:
      {
        Piece inner = print_node (printer, node->args[0]);
        gboolean integer = inner.integer;
        g_autofree char *text = bind (inner, BIND_PRIMARY);
        piece.text = integer ? g_strdup_printf ("-(%s) %s", get_type (printer), text)
                             : g_strconcat ("-", text, NULL);
        piece.binding = BIND_UNARY;
        break;
      }
    case OP_ADD:
    case OP_SUBTRACT:
    case OP_MULTIPLY:
    case OP_DIVIDE:
      return print_binary (printer, node);
    case OP_LESS:
    case OP_LESS_EQUAL:
    case OP_GREATER:
    case OP_GREATER_EQUAL:
    case OP_EQUAL:
    case OP_NOT_EQUAL:
      {
        Piece condition = print_comparison (printer, node);
        piece.text = g_strdup_printf (
            printer->spelling->single ? "(%s ? 1.0f : 0.0f)" : "(%s ? 1.0 : 0.0)", condition.text);
        g_free (condition.text);
        break;
      }
    case OP_SELECT:
      return print_select (printer, node);
    default:
      return print_call (printer, node);
    }
  return piece;
}

static Piece
print_node (Printer *printer, int index)
{
  if (printer->variables[index])
    return (Piece){ g_strdup (printer->variables[index]), BIND_PRIMARY, FALSE, FALSE };
  return print_in_place (printer, NODE (printer->program, index));
}

/* One statement, broken before operators or after commas where it is too long. */
static void
print_line (Printer *printer, int indent, const char *text)
{
  int at = indent;
  g_string_append_printf (printer->out, "%*s", indent, "");
  while (at + (int)strlen (text) > COLUMNS)
    {
      int best = -1, least = G_MAXINT, any = -1;
      for (int i = 1, depth = 0; text[i] && (at + i <= COLUMNS || any < 0); i++)
        {
          depth += text[i] == '(' || text[i] == '[';
          depth -= text[i] == ')' || text[i] == ']';
          if (text[i] != ' ')
            continue;
          any = i;
          if (i < COLUMNS / 5 || strchr ("+-*/<>=?:", text[i - 1]) || depth > least)
            continue;
          best = i;
          least = depth;
        }
      if (any < 0)
        break;
      best = best > 0 ? best : any;
      at = indent + 4;
      g_string_append_printf (printer->out, "%.*s\n%*s", best, text, at, "");
      text += best + 1;
    }
  g_string_append_printf (printer->out, "%s\n", text);
}

static void G_GNUC_PRINTF (3, 4)
    print_statement (Printer *printer, int indent, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *text = g_strdup_vprintf (format, args);
  va_end (args);
  print_line (printer, indent, text);
}

static void print_scope (Printer *printer, int scope, int indent);

static gboolean
needs_block (const Printer *printer, const Scope *scope)
{
  for (guint i = 0; i < scope->nodes->len; i++)
    if (printer->variables[g_array_index (scope->nodes, int, i)])
      return TRUE;
  return FALSE;
}

/* Declares the bounds of a group's loop; *first and *last are set to their names. */
static void
print_group (Printer *printer, const Node *node, const char *extent, int indent, char **first,
             char **last)
{
  const char *dim = printer->formula->dims[node->dim];
  g_autofree char *group = unique_name (printer, "group_", dim);
  *first = unique_name (printer, "first_", dim);
  *last = unique_name (printer, "last_", dim);
  g_autofree char *columns = bind (print_node (printer, node->args[1]), BIND_UNARY);
  g_autofree char *which = enclose (g_strdup (printer->bits[node->bind[0]]));
  print_statement (printer, indent, "const int64_t %s = (int64_t) %s;", group, columns);
  if (node->own)
    print_statement (printer, indent, "const int64_t %s = %s > 0 ? %s / %s * %s : 0;", *first,
                     group, which, group, group);
  else
    print_statement (printer, indent, "const int64_t %s = %s * %s < %s ? %s * %s : %s;", *first,
                     which, group, extent, which, group, extent);
  print_statement (printer, indent, "const int64_t %s = %s > 0 && %s + %s < %s ? %s + %s : %s;",
                   *last, group, *first, group, extent, *first, group, extent);
}

static void
print_reduction (Printer *printer, int index, int indent)
{
  static const char *const names[] = { "sum_", "mean_", "max_", "min_" };
  const Node *node = NODE (printer->program, index);
  const Scope *body = SCOPE (printer->program, node->body);
  const char *dim = printer->formula->dims[node->dim], *type = get_type (printer);
  const char *zero = printer->spelling->single ? "0.0f" : "0.0";
  g_autofree char *extent = enclose (printer->spelling->extent (dim, printer->user_data));
  g_autofree char *first = NULL, *last = NULL;
  if (node->args[1] >= 0)
    print_group (printer, node, extent, indent, &first, &last);
  char *total = unique_name (printer, names[node->item], dim);
  if (node->item == REDUCE_SUM || node->item == REDUCE_MEAN)
    print_statement (printer, indent, "%s %s = %s;", type, total, zero);
  else
    print_statement (printer, indent, "%s %s = %s%s;", type, total,
                     node->item == REDUCE_MAX ? "-" : "",
                     printer->spelling->single ? "HUGE_VALF" : "HUGE_VAL");
  char *i = unique_name (printer, "i_", dim);
  g_free (printer->bits[body->bit]);
  printer->bits[body->bit] = i;
  print_statement (printer, indent, "for (int64_t %s = %s; %s < %s; %s++)", i, first ? first : "0",
                   i, last ? last : extent, i);
  gboolean block = needs_block (printer, body);
  int inner = indent + (block ? 4 : 2);
  if (block)
    print_line (printer, indent + 2, "{");
  print_scope (printer, node->body, inner);
  Piece value = print_node (printer, body->result);
  if (node->item == REDUCE_SUM || node->item == REDUCE_MEAN)
    print_statement (printer, inner, "%s += %s;", total, value.text);
  else
    print_statement (printer, inner, "%s = %s_%s (%s, %s);", total,
                     printer->spelling->single ? "tw" : "ref",
                     node->item == REDUCE_MAX ? "max" : "min", total, value.text);
  g_free (value.text);
  if (block)
    print_line (printer, indent + 2, "}");
  if (node->item == REDUCE_MEAN && first)
    print_statement (printer, indent, "%s /= (%s) (%s - %s);", total, type, last, first);
  else if (node->item == REDUCE_MEAN)
    print_statement (printer, indent, "%s /= (%s) %s;", total, type, extent);
  g_free (printer->variables[index]);
  printer->variables[index] = total;
}

/* The declarations of a scope. */
static void
print_scope (Printer *printer, int scope, int indent)
{
  const GArray *nodes = SCOPE (printer->program, scope)->nodes;
  for (guint i = 0; i < nodes->len; i++)
    {
      int index = g_array_index (nodes, int, i);
      const Node *node = NODE (printer->program, index);
      if (!printer->variables[index])
        continue;
      if (node->op == OP_REDUCE)
        {
          print_reduction (printer, index, indent);
          continue;
        }
      const char *local = node->local >= 0 ? STATEMENT (printer->formula, node->local)->name : NULL;
      char *name = unique_name (printer, local ? "v_" : "fixed", local ? local : "");
      Piece value = print_in_place (printer, node);
      print_statement (printer, indent, "const %s %s = %s;", get_type (printer), name, value.text);
      g_free (value.text);
      g_free (printer->variables[index]);
      printer->variables[index] = name;
    }
}

static gboolean
is_leaf (const Node *node)
{
  return node->op == OP_NUMBER || node->op == OP_PARAM || node->op == OP_SIZE
         || node->op == OP_INDEX || (node->op == OP_READ && node->dim < 0);
}

/* Reductions, locals, and what a loop's body takes from outside it get a variable. */
static void
find_variables (Printer *printer)
{
  const Program *program = printer->program;
  for (guint i = 0; i < program->nodes->len; i++)
    {
      const Node *node = NODE (program, i);
      if (node->op == OP_REDUCE || (node->local >= 0 && !is_leaf (node)))
        {
          g_free (printer->variables[i]);
          printer->variables[i] = g_strdup ("");
        }
      for (int j = 0; j < 4; j++)
        {
          int scope = node->scope, arg = j < 3 ? node->args[j] : -1;
          if (j == 3 && node->op == OP_REDUCE)
            {
              scope = node->body;
              arg = SCOPE (program, scope)->result;
            }
          if (arg >= 0 && NODE (program, arg)->scope != scope && !is_leaf (NODE (program, arg))
              && !printer->variables[arg])
            printer->variables[arg] = g_strdup ("");
        }
    }
}

char *
tw_formula_to_c (const TwFormula *formula, int output, const char *const *index, const char *target,
                 int indent, const TwFormulaC *spelling, gpointer user_data)
{
  const Program *program = &formula->programs[output];
  guint n = program->nodes->len;
  g_autoptr (GHashTable) used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Printer printer = { .formula = formula,
                      .program = program,
                      .spelling = spelling,
                      .user_data = user_data,
                      .variables = g_new0 (char *, n),
                      .used = used,
                      .out = g_string_new (NULL) };
  for (int i = 0; i < formula->outputs[output].n_dims; i++)
    {
      printer.bits[i] = enclose (g_strdup (index[i]));
      g_hash_table_add (used, g_strdup (index[i]));
    }
  find_variables (&printer);
  const Scope *root = SCOPE (program, 0);
  gboolean block = needs_block (&printer, root);
  if (block)
    print_line (&printer, indent, "{");
  print_scope (&printer, 0, indent + (block ? 2 : 0));
  Piece value = print_node (&printer, root->result);
  print_statement (&printer, indent + (block ? 2 : 0), "%s = %s;", target, value.text);
  g_free (value.text);
  if (block)
    print_line (&printer, indent, "}");
  for (guint i = 0; i < n; i++)
    g_free (printer.variables[i]);
  g_free (printer.variables);
  for (gsize i = 0; i < G_N_ELEMENTS (printer.bits); i++)
    g_free (printer.bits[i]);
  return g_string_free (printer.out, FALSE);
}

const char *
tw_formula_get_helpers (void)
{
  return "static inline double\n"
         "ref_rsqrt (double x)\n"
         "{\n"
         "  return 1.0 / sqrt (x);\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_sigmoid (double x)\n"
         "{\n"
         "  return 1.0 / (1.0 + exp (-x));\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_square (double x)\n"
         "{\n"
         "  return x * x;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_relu (double x)\n"
         "{\n"
         "  return isnan (x) || x > 0.0 ? x : 0.0;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_sign (double x)\n"
         "{\n"
         "  return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_isnan (double x)\n"
         "{\n"
         "  return isnan (x) ? 1.0 : 0.0;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_min (double a, double b)\n"
         "{\n"
         "  return isnan (a) || a < b ? a : b;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_max (double a, double b)\n"
         "{\n"
         "  return isnan (a) || a > b ? a : b;\n"
         "}\n"
         "\n"
         "static inline double\n"
         "ref_mod (double a, double b)\n"
         "{\n"
         "  return a - floor (a / b) * b;\n"
         "}\n"
         "\n"
         "/* Rounded once to f32 (0), bf16 (1) or f16 (2), ties to even. */\n"
         "static inline double\n"
         "ref_round_to (double x, double dtype)\n"
         "{\n"
         "  if (!(dtype >= 0.0 && dtype < 3.0))\n"
         "    return NAN;\n"
         "  if (x == 0.0 || !isfinite (x))\n"
         "    return x;\n"
         "  const int which = (int) dtype;\n"
         "  const int digits = which == 0 ? 24 : which == 1 ? 8 : 11;\n"
         "  const int lowest = which == 2 ? -13 : -125, highest = which == 2 ? 16 : 128;\n"
         "  int exponent;\n"
         "  frexp (x, &exponent);\n"
         "  const double unit = ldexp (1.0, (exponent < lowest ? lowest : exponent) - digits);\n"
         "  const double y = rint (x / unit) * unit;\n"
         "  return fabs (y) >= ldexp (1.0, highest) ? copysign (HUGE_VAL, x) : y;\n"
         "}\n";
}
