/* From terms to the program of one output: every node is put where its indices are bound. */
#include "formula-private.h"

typedef struct
{
  TwFormula *formula;
  const Operand *output;
  Program *program;
  guint32 *free;    /* per term: dimension names whose index it takes from outside */
  GHashTable *memo; /* (statement, scope) -> node + 1 */
  GError **error;
} Compiler;

/* The dimension whose index selects the group: the reduced one if the output has it, else the
 * output's last. -1 if the output has none. */
static int
get_group_dim (const Operand *output, int dim)
{
  for (int i = 0; i < output->n_dims; i++)
    if (output->dims[i] == dim)
      return dim;
  return output->n_dims ? output->dims[output->n_dims - 1] : -1;
}

static void
find_free (Compiler *compiler)
{
  TwFormula *formula = compiler->formula;
  for (guint i = 0; i < formula->terms->len; i++)
    {
      const Term *term = TERM (formula, i);
      guint32 bits = 0;
      for (int j = 0; j < 3; j++)
        if (term->args[j] >= 0)
          bits |= compiler->free[term->args[j]];
      if (term->op == OP_LOCAL)
        bits = compiler->free[STATEMENT (formula, term->item)->term];
      else if (term->op == OP_INDEX)
        bits = 1u << term->dim;
      else if (term->op == OP_READ)
        for (int j = 0; j < formula->inputs[term->item].n_dims; j++)
          {
            int dim = formula->inputs[term->item].dims[j];
            if (dim != term->dim)
              bits |= 1u << dim;
          }
      else if (term->op == OP_REDUCE)
        {
          bits &= ~(1u << term->dim);
          int group = term->args[1] >= 0 ? get_group_dim (compiler->output, term->dim) : -1;
          if (group >= 0)
            bits |= 1u << group;
        }
      compiler->free[i] = bits;
    }
}

/* The scope that binds `dim` for code in `scope`; -1 if none does. */
static int
find_scope (const Compiler *compiler, int scope, int dim)
{
  for (; scope > 0; scope = SCOPE (compiler->program, scope)->parent)
    if (SCOPE (compiler->program, scope)->dim == dim)
      return scope;
  for (int i = 0; i < compiler->output->n_dims; i++)
    if (compiler->output->dims[i] == dim)
      return 0;
  return -1;
}

static int
find_bit (const Compiler *compiler, int scope, int dim)
{
  scope = find_scope (compiler, scope, dim);
  if (scope > 0)
    return SCOPE (compiler->program, scope)->bit;
  for (int i = 0; scope == 0; i++)
    if (compiler->output->dims[i] == dim)
      return i;
  return -1;
}

static int
add_scope (Compiler *compiler, int parent, int dim)
{
  Scope scope = { .parent = parent, .dim = dim, .bit = -1, .vector = -1, .chunk = FORMULA_CHUNK };
  if (parent >= 0)
    {
      scope.depth = SCOPE (compiler->program, parent)->depth + 1;
      scope.bit = 2 + scope.depth;
    }
  scope.nodes = g_array_new (FALSE, FALSE, sizeof (int));
  g_array_append_val (compiler->program->scopes, scope);
  return (int)compiler->program->scopes->len - 1;
}

static int
add_node (Compiler *compiler, const Node *node)
{
  int index = (int)compiler->program->nodes->len;
  if (index >= TW_FORMULA_MAX_NODES)
    {
      g_set_error (compiler->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                   "at offset 0: more than %d operations for one output", TW_FORMULA_MAX_NODES);
      return -1;
    }
  g_array_append_val (compiler->program->nodes, *node);
  g_array_append_val (SCOPE (compiler->program, node->scope)->nodes, index);
  return index;
}

/* The error names the operand that brings the dimension in. */
static void
fail_unbound (const Compiler *compiler, int index, int dim)
{
  const TwFormula *formula = compiler->formula;
  const Term *term = TERM (formula, index);
  for (gboolean found = TRUE; found;)
    {
      found = FALSE;
      int next = term->op == OP_LOCAL ? STATEMENT (formula, term->item)->term : -1;
      for (int i = 0; i < 3 && next < 0; i++)
        if (term->args[i] >= 0 && (compiler->free[term->args[i]] & (1u << dim)))
          next = term->args[i];
      if (next >= 0)
        {
          term = TERM (formula, next);
          found = TRUE;
        }
    }
  const char *name = term->op == OP_READ ? formula->inputs[term->item].name : "the expression";
  const char *quote = term->op == OP_READ ? "'" : "";
  g_set_error (compiler->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
               "at offset %d: %s%s%s has dimension %s, which neither output '%s' nor a reduction "
               "binds",
               term->offset, quote, name, quote, formula->dims[dim], compiler->output->name);
}

static int compile (Compiler *compiler, int term, int scope);

static gboolean
compile_reduction (Compiler *compiler, const Term *term, Node *node)
{
  Program *program = compiler->program;
  if (SCOPE (program, node->scope)->depth >= TW_FORMULA_MAX_REDUCTIONS)
    {
      g_set_error (compiler->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                   "at offset %d: more than %d reductions in one another", term->offset,
                   TW_FORMULA_MAX_REDUCTIONS);
      return FALSE;
    }
  if (term->args[1] >= 0)
    {
      int group = get_group_dim (compiler->output, term->dim);
      if (group < 0)
        {
          g_set_error (compiler->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                       "at offset %d: groups need an output with a dimension", term->offset);
          return FALSE;
        }
      node->own = group == term->dim;
      node->bind[0] = find_bit (compiler, node->scope, group);
      node->deps |= 1u << node->bind[0];
      node->args[1] = compile (compiler, term->args[1], node->scope);
      if (node->args[1] < 0)
        return FALSE;
    }
  node->body = add_scope (compiler, node->scope, term->dim);
  int result = compile (compiler, term->args[0], node->body);
  if (result < 0)
    return FALSE;
  Scope *body = SCOPE (program, node->body);
  body->result = result;
  guint32 deps = NODE (program, result)->deps;
  for (guint i = 0; i < body->nodes->len; i++)
    deps |= NODE (program, g_array_index (body->nodes, int, i))->deps;
  node->deps |= deps & ~(1u << body->bit);
  return TRUE;
}

static int
compile (Compiler *compiler, int index, int scope)
{
  TwFormula *formula = compiler->formula;
  const Term *term = TERM (formula, index);
  int target = 0;
  for (int dim = 0; dim < formula->n_dims; dim++)
    if (compiler->free[index] & (1u << dim))
      {
        int binder = find_scope (compiler, scope, dim);
        if (binder < 0)
          {
            fail_unbound (compiler, index, dim);
            return -1;
          }
        target = MAX (target, binder);
      }
  if (term->op == OP_LOCAL)
    {
      gpointer key = GUINT_TO_POINTER ((guint)term->item << 16 | (guint)target);
      int node = GPOINTER_TO_INT (g_hash_table_lookup (compiler->memo, key)) - 1;
      if (node < 0)
        {
          node = compile (compiler, STATEMENT (formula, term->item)->term, target);
          if (node < 0)
            return -1;
          if (NODE (compiler->program, node)->local < 0)
            NODE (compiler->program, node)->local = term->item;
          g_hash_table_insert (compiler->memo, key, GINT_TO_POINTER (node + 1));
        }
      return node;
    }
  Node node = { term->op,       term->item, term->dim, term->number,
                { -1, -1, -1 }, target,     0,         { -1, -1, -1 },
                FALSE,          -1,         -1,        -1 };
  if (term->op == OP_REDUCE)
    {
      if (!compile_reduction (compiler, term, &node))
        return -1;
      return add_node (compiler, &node);
    }
  for (int i = 0; i < 3; i++)
    if (term->args[i] >= 0)
      {
        node.args[i] = compile (compiler, term->args[i], target);
        if (node.args[i] < 0)
          return -1;
        node.deps |= NODE (compiler->program, node.args[i])->deps;
      }
  if (term->op == OP_INDEX)
    node.bind[0] = find_bit (compiler, target, term->dim);
  else if (term->op == OP_READ)
    for (int i = 0; i < formula->inputs[term->item].n_dims; i++)
      if (formula->inputs[term->item].dims[i] != term->dim)
        node.bind[i] = find_bit (compiler, target, formula->inputs[term->item].dims[i]);
  for (int i = 0; i < 3; i++)
    if (node.bind[i] >= 0)
      node.deps |= 1u << node.bind[i];
  return add_node (compiler, &node);
}

/* Decides along which index each scope works in chunks. A reduction that depends on its scope's
 * index keeps it (one loop step adds a whole chunk); another takes its own. A group is selected by
 * one index only, so it forces chunks of one. */
static void
find_vectors (Program *program)
{
  for (guint i = 0; i < program->scopes->len; i++)
    {
      const Scope *scope = SCOPE (program, i);
      for (guint j = 0; j < scope->nodes->len; j++)
        {
          Node *node = NODE (program, g_array_index (scope->nodes, int, j));
          if (scope->vector >= 0 && (node->deps & (1u << scope->vector)))
            node->vector = scope->vector;
          if (node->op != OP_REDUCE)
            continue;
          Scope *body = SCOPE (program, node->body);
          if (node->vector >= 0 && node->args[1] < 0)
            {
              body->vector = node->vector;
              continue;
            }
          body->vector = body->bit;
          if (node->vector < 0)
            continue;
          int owner = (int)i;
          while (owner > 0 && SCOPE (program, owner)->bit != node->vector)
            owner = SCOPE (program, owner)->parent;
          SCOPE (program, owner)->chunk = 1;
        }
    }
}

gboolean
tw_formula_compile (TwFormula *formula, int output, GError **error)
{
  Program *program = &formula->programs[output];
  program->nodes = g_array_new (FALSE, FALSE, sizeof (Node));
  program->scopes = g_array_new (FALSE, FALSE, sizeof (Scope));
  g_autoptr (GHashTable) memo = g_hash_table_new (NULL, NULL);
  g_autofree guint32 *bits = g_new0 (guint32, (gsize)formula->terms->len + 1);
  const Operand *operand = &formula->outputs[output];
  Compiler compiler = { formula, operand, program, bits, memo, error };
  find_free (&compiler);
  int root = add_scope (&compiler, -1, -1), result = -1;
  for (guint i = 0; i < formula->statements->len; i++)
    if (STATEMENT (formula, i)->output == output)
      result = compile (&compiler, STATEMENT (formula, i)->term, root);
  if (result < 0)
    return FALSE;
  SCOPE (program, root)->result = result;
  SCOPE (program, root)->vector = operand->n_dims - 1;
  find_vectors (program);
  return TRUE;
}
