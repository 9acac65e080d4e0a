/* Running a program: chunks of up to 256 elements, no allocation inside the loops.
 *
 * The workload is the fuzzer's (thousands of tiny graphs) and the reference's (matrix products of a
 * thousand by a thousand), so both the set-up and the inner loops have to be cheap. */
#include "formula-private.h"

#include <math.h>
#include <string.h>

#define MAX_BITS (3 + TW_FORMULA_MAX_REDUCTIONS)

typedef struct
{
  const TwFormula *formula;
  const Program *program;
  const TwFormulaTensor *inputs;
  const double *params;
  const gint64 *extents;  /* per dimension name */
  const gint64 *steps;    /* per input, three: distance of elements along its dimensions */
  gint64 index[MAX_BITS]; /* current; of the chunked one: of its first element */
  double **buffers;       /* per node */
  const double **values;  /* per node: its buffer, or the operand itself */
  GError **error;
} Machine;

static gboolean
fail_index (Machine *machine, const Node *node, double at)
{
  g_set_error (machine->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
               "'%s' is read at %s = %g, which is not one of its %" G_GINT64_FORMAT " indices",
               machine->formula->inputs[node->item].name, machine->formula->dims[node->dim], at,
               machine->extents[node->dim]);
  return FALSE;
}

/* 1 if the argument has one value per element of the chunk, 0 if one value for all. */
static gsize
get_step (const Machine *machine, int vector, int arg)
{
  return vector >= 0 && NODE (machine->program, arg)->vector == vector;
}

static gboolean
run_read (Machine *machine, int index, const Node *node, int length)
{
  const Operand *operand = &machine->formula->inputs[node->item];
  const gint64 *steps = machine->steps + 3 * node->item;
  const double *data = machine->inputs[node->item].data;
  gint64 offset = 0, step = 0, shift_step = 0;
  for (int i = 0; i < operand->n_dims; i++)
    {
      if (node->bind[i] < 0)
        {
          shift_step += steps[i];
          continue;
        }
      offset += machine->index[node->bind[i]] * steps[i];
      if (node->bind[i] == node->vector)
        step += steps[i];
    }
  double *out = machine->buffers[index];
  if (node->dim >= 0)
    {
      const double *shift = machine->values[node->args[0]];
      gsize shift_each = get_step (machine, node->vector, node->args[0]);
      for (int i = 0; i < length; i++)
        {
          double at = shift[(gsize)i * shift_each];
          if (!(at >= 0.0 && at < (double)machine->extents[node->dim]) || floor (at) != at)
            return fail_index (machine, node, at);
          out[i] = data[offset + i * step + (gint64)at * shift_step];
        }
    }
  else if (step == 1 || length == 1)
    machine->values[index] = data + offset;
  else
    for (int i = 0; i < length; i++)
      out[i] = data[offset + i * step];
  return TRUE;
}

static double
minimum (double a, double b)
{
  return isnan (a) || a < b ? a : b;
}

static double
maximum (double a, double b)
{
  return isnan (a) || a > b ? a : b;
}

static double
round_to (double x, double dtype)
{
  return dtype >= 0.0 && dtype < (double)TW_DTYPE_LAST ? tw_dtype_round ((TwDtype)dtype, x)
                                                       : (double)NAN;
}

#define EACH(expression)                                                                           \
  for (gsize i = 0; i < n; i++)                                                                    \
    {                                                                                              \
      double x = a[i * sa];                                                                        \
      out[i] = (expression);                                                                       \
    }                                                                                              \
  break
#define EACH2(expression)                                                                          \
  if (sa == 1 && sb == 1)                                                                          \
    for (gsize i = 0; i < n; i++)                                                                  \
      {                                                                                            \
        double x = a[i], y = b[i];                                                                 \
        out[i] = (expression);                                                                     \
      }                                                                                            \
  else                                                                                             \
    for (gsize i = 0; i < n; i++)                                                                  \
      {                                                                                            \
        double x = a[i * sa], y = b[i * sb];                                                       \
        out[i] = (expression);                                                                     \
      }                                                                                            \
  break

static void
run_function (Machine *machine, int index, const Node *node, int length)
{
  double *out = machine->buffers[index];
  const double *args[3] = { NULL, NULL, NULL };
  gsize steps[3] = { 0, 0, 0 };
  for (int i = 0; i < 3 && node->args[i] >= 0; i++)
    {
      args[i] = machine->values[node->args[i]];
      steps[i] = get_step (machine, node->vector, node->args[i]);
    }
  const double *a = args[0], *b = args[1];
  gsize sa = steps[0], sb = steps[1], n = (gsize)length;
  switch (node->op)
    {
    case OP_NEGATE:
      EACH (-x);
    case OP_ABS:
      EACH (fabs (x));
    case OP_EXP:
      EACH (exp (x));
    case OP_LOG:
      EACH (log (x));
    case OP_SQRT:
      EACH (sqrt (x));
    case OP_RSQRT:
      EACH (1.0 / sqrt (x));
    case OP_TANH:
      EACH (tanh (x));
    case OP_SIGMOID:
      EACH (1.0 / (1.0 + exp (-x)));
    case OP_ERF:
      EACH (erf (x));
    case OP_SIN:
      EACH (sin (x));
    case OP_COS:
      EACH (cos (x));
    case OP_FLOOR:
      EACH (floor (x));
    case OP_SQUARE:
      EACH (x * x);
    case OP_RELU:
      EACH (isnan (x) || x > 0.0 ? x : 0.0);
    case OP_SIGN:
      EACH (x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x);
    case OP_ISNAN:
      EACH (isnan (x) ? 1.0 : 0.0);
    case OP_ADD:
      EACH2 (x + y);
    case OP_SUBTRACT:
      EACH2 (x - y);
    case OP_MULTIPLY:
      EACH2 (x * y);
    case OP_DIVIDE:
      EACH2 (x / y);
    case OP_LESS:
      EACH2 (x < y ? 1.0 : 0.0);
    case OP_LESS_EQUAL:
      EACH2 (x <= y ? 1.0 : 0.0);
    case OP_GREATER:
      EACH2 (x > y ? 1.0 : 0.0);
    case OP_GREATER_EQUAL:
      EACH2 (x >= y ? 1.0 : 0.0);
    case OP_EQUAL:
      EACH2 (x == y ? 1.0 : 0.0);
    case OP_NOT_EQUAL:
      EACH2 (x != y ? 1.0 : 0.0);
    case OP_MIN:
      EACH2 (minimum (x, y));
    case OP_MAX:
      EACH2 (maximum (x, y));
    case OP_POW:
      EACH2 (pow (x, y));
    case OP_MOD:
      EACH2 (x - floor (x / y) * y);
    case OP_ROUND_TO:
      EACH2 (round_to (x, y));
    case OP_SELECT:
      for (gsize i = 0; i < n; i++)
        out[i] = a[i * sa] != 0.0 ? b[i * sb] : args[2][i * steps[2]];
      break;
    default:
      break;
    }
}

static gboolean run_reduction (Machine *machine, int index, const Node *node, int length);

static gboolean
run_node (Machine *machine, int index, int length)
{
  const Node *node = NODE (machine->program, index);
  double *out = machine->buffers[index];
  if (node->vector < 0)
    length = 1;
  switch (node->op)
    {
    case OP_NUMBER:
      out[0] = node->number;
      break;
    case OP_PARAM:
      out[0] = machine->params[node->item];
      break;
    case OP_SIZE:
      out[0] = (double)machine->extents[node->dim];
      break;
    case OP_INDEX:
      for (int i = 0; i < length; i++)
        out[i] = (double)(machine->index[node->bind[0]] + i);
      break;
    case OP_READ:
      return run_read (machine, index, node, length);
    case OP_REDUCE:
      return run_reduction (machine, index, node, length);
    default:
      run_function (machine, index, node, length);
      break;
    }
  return TRUE;
}

static gboolean
run_scope (Machine *machine, const Scope *scope, int length)
{
  for (guint i = 0; i < scope->nodes->len; i++)
    if (!run_node (machine, g_array_index (scope->nodes, int, i), length))
      return FALSE;
  return TRUE;
}

static gboolean
find_range (Machine *machine, const Node *node, gint64 *first, gint64 *last)
{
  gint64 extent = machine->extents[node->dim], at = machine->index[node->bind[0]];
  double group = machine->values[node->args[1]][0];
  if (!(group >= 0.0 && group <= 9007199254740992.0) || floor (group) != group)
    {
      g_set_error (machine->error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                   "%g is no number of columns for a group of %s", group,
                   machine->formula->dims[node->dim]);
      return FALSE;
    }
  gint64 columns = (gint64)group;
  if (columns == 0)
    return TRUE;
  gint64 which = node->own ? at / columns : at;
  *first = which > extent / columns ? extent : which * columns;
  *last = extent - *first < columns ? extent : *first + columns;
  return TRUE;
}

static void
combine (int kind, double *total, const double *value, gsize step, gsize n)
{
  switch (kind)
    {
    case REDUCE_MAX:
      for (gsize i = 0; i < n; i++)
        total[i] = maximum (total[i], value[i * step]);
      break;
    case REDUCE_MIN:
      for (gsize i = 0; i < n; i++)
        total[i] = minimum (total[i], value[i * step]);
      break;
    default:
      for (gsize i = 0; i < n; i++)
        total[i] += value[i * step];
      break;
    }
}

static gboolean
run_reduction (Machine *machine, int index, const Node *node, int length)
{
  const Scope *body = SCOPE (machine->program, node->body);
  double *total = machine->buffers[index];
  double start = node->item == REDUCE_MAX   ? -(double)INFINITY
                 : node->item == REDUCE_MIN ? (double)INFINITY
                                            : 0.0;
  gint64 first = 0, last = machine->extents[node->dim];
  if (node->args[1] >= 0 && !find_range (machine, node, &first, &last))
    return FALSE;
  gsize step = get_step (machine, body->vector, body->result);
  for (int i = 0; i < length; i++)
    total[i] = start;
  if (body->vector != body->bit)
    for (gint64 k = first; k < last; k++)
      {
        machine->index[body->bit] = k;
        if (!run_scope (machine, body, length))
          return FALSE;
        combine (node->item, total, machine->values[body->result], step, (gsize)length);
      }
  else
    for (gint64 k = first; k < last; k += body->chunk)
      {
        int n = (int)MIN (last - k, body->chunk);
        machine->index[body->bit] = k;
        if (!run_scope (machine, body, n))
          return FALSE;
        const double *value = machine->values[body->result];
        for (int i = 0; i < n; i++)
          combine (node->item, total, value + (gsize)i * step, 0, 1);
      }
  if (node->item == REDUCE_MEAN)
    for (int i = 0; i < length; i++)
      total[i] /= (double)(last - first);
  return TRUE;
}

/* y[M,N] = sum(K, a[M,K]*b[K,N]), the order of the sum kept: four rows share a pass over b. */
static gboolean
run_product (const Machine *machine, const gint64 extents[3], double *y)
{
  const Program *program = machine->program;
  if (program->nodes->len != 4 || program->scopes->len != 2)
    return FALSE;
  const Node *sum = NODE (program, 3), *product = NODE (program, 2);
  if (sum->op != OP_REDUCE || sum->item != REDUCE_SUM || sum->args[1] >= 0 || sum->scope != 0
      || product->op != OP_MULTIPLY || product->args[0] == product->args[1])
    return FALSE;
  const Node *first = NODE (program, product->args[0]), *second = NODE (program, product->args[1]);
  if (first->op != OP_READ || second->op != OP_READ || first->dim >= 0 || second->dim >= 0)
    return FALSE;
  const Node *a = first->bind[0] == 0 ? first : second, *b = a == first ? second : first;
  if (machine->formula->inputs[a->item].n_dims != 2 || machine->formula->inputs[b->item].n_dims != 2
      || a->bind[0] != 0 || a->bind[1] != 3 || b->bind[0] != 3 || b->bind[1] != 1)
    return FALSE;
  gint64 m = extents[0], n = extents[1], depth = machine->extents[sum->dim];
  const double *pa = machine->inputs[a->item].data, *pb = machine->inputs[b->item].data;
  memset (y, 0, (gsize)(m * n) * sizeof *y);
  for (gint64 column = 0; column < n; column += FORMULA_CHUNK)
    {
      gsize width = (gsize)MIN (n - column, FORMULA_CHUNK);
      for (gint64 i = 0; i < m; i += 4)
        {
          int rows = (int)MIN (m - i, 4);
          double *out = y + i * n + column;
          for (gint64 k = 0; k < depth; k++)
            {
              const double *row = pb + k * n + column;
              if (rows == 4)
                {
                  double a0 = pa[i * depth + k], a1 = pa[(i + 1) * depth + k];
                  double a2 = pa[(i + 2) * depth + k], a3 = pa[(i + 3) * depth + k];
                  double *o0 = out, *o1 = out + n, *o2 = out + 2 * n, *o3 = out + 3 * n;
                  for (gsize j = 0; j < width; j++)
                    {
                      double x = row[j];
                      o0[j] += a0 * x;
                      o1[j] += a1 * x;
                      o2[j] += a2 * x;
                      o3[j] += a3 * x;
                    }
                }
              else
                for (int r = 0; r < rows; r++)
                  for (gsize j = 0; j < width; j++)
                    out[r * n + (gint64)j] += pa[(i + r) * depth + k] * row[j];
            }
        }
    }
  return TRUE;
}

static gboolean
run_output (Machine *machine, const Operand *output, double *y)
{
  const Scope *root = SCOPE (machine->program, 0);
  gint64 extents[3] = { 1, 1, 1 }; /* the last is chunked */
  for (int i = 0; i < output->n_dims; i++)
    extents[i] = machine->extents[output->dims[i]];
  if (output->n_dims == 2 && run_product (machine, extents, y))
    return TRUE;
  int last = MAX (output->n_dims - 1, 0);
  gint64 rows = 1, columns = extents[last];
  for (int i = 0; i < last; i++)
    rows *= extents[i];
  gsize step = get_step (machine, root->vector, root->result);
  guint32 changed = ~0u;
  for (gint64 row = 0; columns > 0 && row < rows; row++)
    {
      /* What does not change along the row is computed once for it. */
      for (guint i = 0; i < root->nodes->len; i++)
        {
          int index = g_array_index (root->nodes, int, i);
          const Node *node = NODE (machine->program, index);
          if (node->vector < 0 && (row == 0 || (node->deps & changed))
              && !run_node (machine, index, 1))
            return FALSE;
        }
      for (gint64 column = 0; column < columns; column += root->chunk)
        {
          int n = (int)MIN (columns - column, root->chunk);
          if (root->vector >= 0)
            machine->index[root->vector] = column;
          for (guint i = 0; i < root->nodes->len; i++)
            {
              int index = g_array_index (root->nodes, int, i);
              if (NODE (machine->program, index)->vector >= 0 && !run_node (machine, index, n))
                return FALSE;
            }
          const double *value = machine->values[root->result];
          for (int i = 0; i < n; i++)
            *y++ = value[(gsize)i * step];
        }
      changed = 0;
      for (int i = last - 1; i >= 0; i--)
        {
          changed |= 1u << i;
          if (++machine->index[i] < extents[i])
            break;
          machine->index[i] = 0;
        }
    }
  return TRUE;
}

static gboolean
check_tensor (const TwFormula *formula, const Operand *operand, const TwFormulaTensor *tensor,
              const gint64 *extents, GError **error)
{
  gboolean good = tensor->n_dims == operand->n_dims;
  for (int i = 0; good && i < operand->n_dims; i++)
    good = tensor->dims[i] == extents[operand->dims[i]];
  if (!good)
    g_set_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                 "the tensor given for '%s' has not its shape", operand->name);
  return good;
}

static gboolean
prepare_steps (const TwFormula *formula, const TwFormulaTensor *inputs, const gint64 *extents,
               gint64 *steps, GError **error)
{
  for (int i = 0; i < formula->n_inputs; i++)
    {
      const Operand *operand = &formula->inputs[i];
      if (!tw_formula_uses_input (formula, i))
        continue;
      if (!check_tensor (formula, operand, &inputs[i], extents, error))
        return FALSE;
      gint64 step = 1;
      for (int j = operand->n_dims - 1; j >= 0; j--)
        {
          steps[3 * i + j] = step;
          step *= inputs[i].dims[j];
        }
    }
  return TRUE;
}

static gboolean
run_program (Machine *machine, int output, double *y)
{
  const Program *program = machine->program;
  guint n = program->nodes->len;
  gsize size = 0;
  for (guint i = 0; i < n; i++)
    size += NODE (program, i)->vector >= 0 ? FORMULA_CHUNK : 1;
  g_autofree double *pool = g_new (double, size);
  g_autofree double **buffers = g_new (double *, n);
  g_autofree const double **values = g_new (const double *, n);
  double *next = pool;
  for (guint i = 0; i < n; i++)
    {
      values[i] = buffers[i] = next;
      next += NODE (program, i)->vector >= 0 ? FORMULA_CHUNK : 1;
    }
  machine->buffers = buffers;
  machine->values = values;
  return run_output (machine, &machine->formula->outputs[output], y);
}

gboolean
tw_formula_evaluate (const TwFormula *formula, const TwFormulaTensor *inputs, const double *params,
                     const char *const *dim_names, const gint64 *dim_values, int n_dims,
                     TwFormulaTensor *outputs, GError **error)
{
  gint64 extents[TW_FORMULA_MAX_DIMS];
  for (int i = 0; i < formula->n_dims; i++)
    {
      extents[i] = -1;
      for (int j = 0; j < n_dims; j++)
        if (strcmp (dim_names[j], formula->dims[i]) == 0)
          extents[i] = dim_values[j];
      if (extents[i] < 0)
        {
          g_set_error (error, TW_FORMULA_ERROR, TW_FORMULA_ERROR_SHAPE,
                       "dimension %s has no extent", formula->dims[i]);
          return FALSE;
        }
    }
  g_autofree gint64 *steps = g_new0 (gint64, 3 * (gsize)formula->n_inputs + 1);
  if (!prepare_steps (formula, inputs, extents, steps, error))
    return FALSE;
  for (int i = 0; i < formula->n_outputs; i++)
    {
      Machine machine = { .formula = formula,
                          .program = &formula->programs[i],
                          .inputs = inputs,
                          .params = params,
                          .extents = extents,
                          .steps = steps,
                          .error = error };
      if (!check_tensor (formula, &formula->outputs[i], &outputs[i], extents, error)
          || !run_program (&machine, i, outputs[i].data))
        return FALSE;
    }
  return TRUE;
}
