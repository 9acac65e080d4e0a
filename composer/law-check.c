/* The laws measured on the exact formula.
 *
 * For each output every candidate law (a kind and a set of operands) is tried on random data of
 * both signs, in several sizes and parameter settings. One counterexample ends a candidate; what
 * survives all of them holds. Then declared and measured are compared both ways. An operand that
 * the output does not read takes no part. */
#include "law-private.h"

#include <math.h>
#include <string.h>

#define N_DRAWS 2 /* sizes for each setting */

typedef struct
{
  guint32 degrees; /* bit LAW_MAX_DEGREE + d: has degree d */
  guint32 params;  /* bit i: the degree is integer parameter i */
} Degrees;

typedef struct
{
  Degrees row, column;
  gboolean linear;
} Candidate;

typedef struct
{
  const TwBlock *block;
  const TwFormulaOperand *output;
  int index;            /* of the output */
  LawSet used;          /* operands it is computed from */
  LawSet rows, columns; /* those with its first dimension in front; with its last dimension */
  Candidate candidates[1 << LAW_MAX_OPERANDS]; /* by set */
  gboolean carries[LAW_MAX_OPERANDS], invariant[LAW_MAX_OPERANDS];
  gboolean transfers[LAW_MAX_OPERANDS][LAW_MAX_OPERANDS];
  gboolean measured; /* some value was finite */
  gboolean *said;    /* per declared law: it says something about an output */
  gboolean *refuted; /* per declared law: reported as false */
  GPtrArray *diagnostics;
} Check;

static const TwFormulaOperand *
get_operand (const Check *check, int operand)
{
  return &check->block->operands[operand];
}

static gboolean
has_dim (const TwFormulaOperand *operand, const char *dim)
{
  for (int i = 0; i < operand->n_dims; i++)
    if (strcmp (operand->dims[i], dim) == 0)
      return TRUE;
  return FALSE;
}

/* The dimension that a column scale of `from` can be moved along into `to`; NULL. */
static const char *
get_transfer_dim (const Check *check, int from, int to)
{
  const TwFormulaOperand *a = get_operand (check, from), *b = get_operand (check, to);
  if (from == to || a->n_dims < 2 || b->n_dims < 1)
    return NULL;
  const char *dim = a->dims[a->n_dims - 1];
  return strcmp (dim, b->dims[0]) == 0 && !has_dim (check->output, dim) ? dim : NULL;
}

static gboolean
can_shift (const Check *check, int operand)
{
  return (check->rows & (1u << operand)) && get_operand (check, operand)->n_dims == 2;
}

static void
begin (Check *check, int index)
{
  const TwBlock *block = check->block;
  check->index = index;
  check->output = &block->outputs[index];
  check->used = check->rows = check->columns = 0;
  check->measured = FALSE;
  const char *first = check->output->dims[0];
  const char *last = check->output->dims[check->output->n_dims - 1];
  for (int i = 0; i < block->n_operands; i++)
    {
      const TwFormulaOperand *operand = get_operand (check, i);
      if (!tw_formula_output_uses_input (block->formula, index, i))
        continue;
      check->used |= 1u << i;
      if (operand->n_dims > 0 && strcmp (operand->dims[0], first) == 0)
        check->rows |= 1u << i;
      if (check->output->n_dims > 1 && has_dim (operand, last))
        check->columns |= 1u << i;
    }
  for (LawSet set = 0; set < 1u << LAW_MAX_OPERANDS; set++)
    {
      Degrees all = { ~0u, ~0u }, none = { 0, 0 };
      gboolean is_set = set && !(set & ~check->used);
      check->candidates[set].row = is_set && !(set & ~check->rows) ? all : none;
      check->candidates[set].column = is_set && !(set & ~check->columns) ? all : none;
      check->candidates[set].linear = is_set;
    }
  for (int i = 0; i < LAW_MAX_OPERANDS; i++)
    {
      gboolean used = check->used & (1u << i);
      check->carries[i] = check->invariant[i] = used && can_shift (check, i);
      for (int j = 0; j < LAW_MAX_OPERANDS; j++)
        check->transfers[i][j]
            = used && (check->used & (1u << j)) && get_transfer_dim (check, i, j);
    }
}

/* Keeps the degrees found, and the integer parameters whose value is one of them. */
static void
keep (const LawSample *sample, Degrees *degrees, guint32 found)
{
  degrees->degrees &= found;
  for (int i = 0; i < 32; i++)
    {
      gboolean is_integer = i < sample->block->n_params
                            && sample->block->params[i].type == TW_PARAM_INTEGER
                            && fabs (sample->params[i]) <= LAW_MAX_DEGREE;
      if (!is_integer || !(found & (1u << (LAW_MAX_DEGREE + (int)sample->params[i]))))
        degrees->params &= ~(1u << i);
    }
}

static void
measure (Check *check, LawSample *sample)
{
  const TwFormulaOperand *output = check->output;
  g_autofree double *y = tw_law_evaluate (sample, sample->data);
  gint64 size = tw_law_get_size (sample, output);
  gboolean finite = FALSE;
  for (gint64 i = 0; y && i < size; i++)
    finite = finite || isfinite (y[i]);
  if (!finite)
    return;
  check->measured = TRUE;
  for (LawSet set = 1; set < 1u << check->block->n_operands; set++)
    {
      Candidate *candidate = &check->candidates[set];
      if (candidate->row.degrees || candidate->row.params)
        keep (sample, &candidate->row, tw_law_try_scale (sample, set, output->dims[0], TRUE, y));
      if (candidate->column.degrees || candidate->column.params)
        keep (sample, &candidate->column,
              tw_law_try_scale (sample, set, output->dims[output->n_dims - 1], FALSE, y));
      if (candidate->linear)
        candidate->linear = tw_law_try_linear (sample, set, y);
    }
  for (int i = 0; i < check->block->n_operands; i++)
    {
      if (check->carries[i] || check->invariant[i])
        tw_law_try_shift (sample, i, y, &check->carries[i], &check->invariant[i]);
      for (int j = 0; j < check->block->n_operands; j++)
        if (check->transfers[i][j])
          check->transfers[i][j]
              = tw_law_try_transfer (sample, i, 1u << j, get_transfer_dim (check, i, j), y);
    }
}

static const char *
get_kind_name (TwLawKind kind)
{
  static const char *const names[] = { "degree", "linear", "column", "force", "shift", "transfer" };
  return names[kind];
}

static char *
name_set (const Check *check, LawSet set)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (int i = 0; i < check->block->n_operands; i++)
    if (set & (1u << i))
      g_string_append_printf (text, "%s%s", text->len ? " " : "", get_operand (check, i)->name);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
report_missing (const Check *check, TwLawKind kind, LawSet set, const char *what)
{
  g_autofree char *names = name_set (check, set);
  g_autofree char *output = check->block->n_outputs > 1
                                ? g_strdup_printf (" output=\"%s\"", check->output->name)
                                : g_strdup ("");
  g_autofree char *law = g_strdup_printf ("<law kind=\"%s\" inputs=\"%s\"%s%s/>",
                                          get_kind_name (kind), names, output, what);
  g_autofree char *message
      = g_strdup_printf ("block '%s': a law holds that is not declared: %s", check->block->id, law);
  g_ptr_array_add (check->diagnostics,
                   tw_diagnostic_new ("law-missing", TW_SEVERITY_ERROR, NULL, NULL, 0, message,
                                      NULL, law, "declare it"));
}

static void
report_false (const Check *check, int law, const char *reason)
{
  const TwLaw *declared = &check->block->laws[law];
  if (check->refuted[law])
    return;
  check->refuted[law] = TRUE;
  g_autofree char *names = declared->inputs ? g_strjoinv (" ", declared->inputs) : g_strdup ("");
  g_autofree char *message = g_strdup_printf (
      "block '%s': the declared %s law of '%s' does not hold for output '%s': %s", check->block->id,
      get_kind_name (declared->kind), names, check->output->name, reason);
  g_ptr_array_add (check->diagnostics,
                   tw_diagnostic_new ("law-false", TW_SEVERITY_ERROR, NULL, NULL, 0, message, NULL,
                                      NULL, "remove or correct it"));
}

static gboolean
applies (const Check *check, const TwLaw *law)
{
  return !law->output || strcmp (law->output, check->output->name) == 0;
}

/* The operands of a law that take part; those a column scale is moved to, for a transfer. */
static LawSet
get_set (const Check *check, const TwLaw *law)
{
  LawSet set = 0;
  for (int i = law->kind == TW_LAW_TRANSFER; law->inputs && law->inputs[0] && law->inputs[i]; i++)
    {
      int operand = tw_block_get_operand (check->block, law->inputs[i]);
      if (operand >= 0)
        set |= 1u << operand;
    }
  return set & check->used;
}

static gboolean
is_declared (const Check *check, TwLawKind kind, LawSet set)
{
  for (int i = 0; i < check->block->n_laws; i++)
    if (check->block->laws[i].kind == kind && applies (check, &check->block->laws[i])
        && get_set (check, &check->block->laws[i]) == set)
      return TRUE;
  return FALSE;
}

/* TRUE if `set` is a disjoint union of declared laws and of `reported` ones (by set). */
static gboolean
is_covered (const Check *check, TwLawKind kind, LawSet set, const gboolean *reported)
{
  if (!set)
    return TRUE;
  LawSet lowest = set & -set;
  for (LawSet part = set; part; part = (part - 1) & set)
    if ((part & lowest) && (reported[part] || is_declared (check, kind, part))
        && is_covered (check, kind, set & ~part, reported))
      return TRUE;
  return FALSE;
}

static int
count_bits (LawSet set)
{
  int n = 0;
  for (; set; set &= set - 1)
    n++;
  return n;
}

static const Degrees *
get_degrees (const Check *check, TwLawKind kind, LawSet set)
{
  return kind == TW_LAW_DEGREE ? &check->candidates[set].row : &check->candidates[set].column;
}

/* " degree="2"", the smallest that holds; NULL if none does. */
static char *
print_degree (const Check *check, const Degrees *degrees)
{
  for (int size = 0; size <= LAW_MAX_DEGREE; size++)
    for (int sign = 1; sign >= -1; sign -= 2)
      if (degrees->degrees & (1u << (LAW_MAX_DEGREE + sign * size)))
        return g_strdup_printf (" degree=\"%d\"", sign * size);
  for (int i = 0; i < check->block->n_params && i < 32; i++)
    if (degrees->params & (1u << i))
      return g_strdup_printf (" degree=\"$%s\"", check->block->params[i].id);
  return NULL;
}

static void
find_missing (Check *check)
{
  static const TwLawKind kinds[] = { TW_LAW_DEGREE, TW_LAW_COLUMN };
  int n = check->block->n_operands;
  LawSet end = 1u << n, scaled = 0;
  for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      gboolean reported[1 << LAW_MAX_OPERANDS] = { FALSE };
      for (int bits = 1; bits <= n; bits++)
        for (LawSet set = 1; set < end; set++)
          {
            const Degrees *degrees = get_degrees (check, kinds[k], set);
            g_autofree char *degree
                = count_bits (set) == bits ? print_degree (check, degrees) : NULL;
            if (!degree)
              continue;
            if (kinds[k] == TW_LAW_DEGREE)
              scaled |= set;
            if (!is_covered (check, kinds[k], set, reported))
              {
                report_missing (check, kinds[k], set, degree);
                reported[set] = TRUE;
              }
          }
    }
  for (LawSet set = 1; set < end; set++)
    if (check->candidates[set].linear && !is_declared (check, TW_LAW_LINEAR, set))
      report_missing (check, TW_LAW_LINEAR, set, "");
  for (int i = 0; i < n; i++)
    {
      gboolean declared_force = FALSE, declared_shift = FALSE;
      LawSet declared_transfers = 0;
      for (int l = 0; l < check->block->n_laws; l++)
        {
          const TwLaw *law = &check->block->laws[l];
          LawSet set = applies (check, law) ? get_set (check, law) : 0;
          gboolean here = set & (1u << i);
          declared_force = declared_force || (here && law->kind == TW_LAW_FORCE);
          declared_shift = declared_shift || (here && law->kind == TW_LAW_SHIFT);
          if (set && law->kind == TW_LAW_TRANSFER
              && tw_block_get_operand (check->block, law->inputs[0]) == i)
            declared_transfers |= set;
        }
      gboolean in_rows = check->rows & (1u << i);
      gboolean forces = in_rows ? !(scaled & (1u << i))
                                : (check->used & (1u << i)) && get_operand (check, i)->n_dims > 1;
      if (forces && !declared_force)
        report_missing (check, TW_LAW_FORCE, 1u << i, "");
      if ((check->carries[i] || check->invariant[i]) && !declared_shift)
        report_missing (check, TW_LAW_SHIFT, 1u << i,
                        check->invariant[i] ? " response=\"invariant\"" : " response=\"carries\"");
      for (int j = 0; j < n; j++)
        if (check->transfers[i][j] && !(declared_transfers & (1u << j)))
          {
            g_autofree char *names = g_strdup_printf (
                "block '%s': a law holds that is not declared: <law kind=\"transfer\" "
                "inputs=\"%s %s\"/> for output '%s'",
                check->block->id, get_operand (check, i)->name, get_operand (check, j)->name,
                check->output->name);
            g_ptr_array_add (check->diagnostics,
                             tw_diagnostic_new ("law-missing", TW_SEVERITY_ERROR, NULL, NULL, 0,
                                                names, NULL, NULL, "declare it"));
          }
    }
}

static void
check_degree (Check *check, int index, LawSet set)
{
  const TwLaw *law = &check->block->laws[index];
  LawSet able = law->kind == TW_LAW_DEGREE ? check->rows : check->columns;
  const Degrees *degrees = get_degrees (check, law->kind, set);
  gboolean holds = FALSE;
  if (set & ~able)
    {
      report_false (check, index,
                    law->kind == TW_LAW_DEGREE ? "an input has not the row dimension in front"
                                               : "an input has not the output's last dimension");
      return;
    }
  if (law->degree_param)
    {
      for (int i = 0; i < check->block->n_params && i < 32; i++)
        if (strcmp (check->block->params[i].id, law->degree_param) == 0)
          holds = degrees->params & (1u << i);
    }
  else
    holds = ABS (law->degree) <= LAW_MAX_DEGREE
            && (degrees->degrees & (1u << (LAW_MAX_DEGREE + law->degree)));
  g_autofree char *found = print_degree (check, degrees);
  g_autofree char *reason = g_strdup_printf ("measured%s", found ? found : " no degree");
  if (!holds)
    report_false (check, index, reason);
}

static void
check_force (Check *check, int index, LawSet set)
{
  for (int i = 0; i < check->block->n_operands; i++)
    {
      LawSet self = 1u << i;
      if (!(set & self))
        continue;
      if (!(check->rows & self) && get_operand (check, i)->n_dims < 2)
        report_false (check, index, "an input without rows needs none");
      for (LawSet other = 1; (check->rows & self) && other < 1u << check->block->n_operands;
           other++)
        {
          const Degrees *degrees = &check->candidates[other].row;
          if ((other & self) && (degrees->degrees || degrees->params))
            {
              g_autofree char *names = name_set (check, other);
              g_autofree char *degree = print_degree (check, degrees);
              g_autofree char *reason
                  = g_strdup_printf ("'%s' has%s", names, degree ? degree : " a degree");
              report_false (check, index, reason);
            }
        }
    }
}

static void
check_shift (Check *check, int index, LawSet set)
{
  const char *response = check->block->laws[index].response;
  for (int i = 0; i < check->block->n_operands; i++)
    if (set & (1u << i))
      {
        const char *found = check->invariant[i] ? "invariant"
                            : check->carries[i] ? "carries"
                                                : "neither";
        g_autofree char *reason = g_strdup_printf ("measured response \"%s\"", found);
        if (g_strcmp0 (response, found) != 0)
          report_false (check, index, reason);
      }
}

static void
check_transfer (Check *check, int index, LawSet set)
{
  int from = tw_block_get_operand (check->block, check->block->laws[index].inputs[0]);
  for (int i = 0; i < check->block->n_operands; i++)
    if ((set & (1u << i)) && (from < 0 || !check->transfers[from][i]))
      report_false (check, index, "a column scale cannot be moved so");
}

static void
find_false (Check *check)
{
  for (int i = 0; i < check->block->n_laws; i++)
    {
      const TwLaw *law = &check->block->laws[i];
      LawSet set = applies (check, law) ? get_set (check, law) : 0;
      int from = law->kind == TW_LAW_TRANSFER && law->inputs && law->inputs[0]
                     ? tw_block_get_operand (check->block, law->inputs[0])
                     : -1;
      if (!set || (law->kind == TW_LAW_COLUMN && check->output->n_dims < 2)
          || (from >= 0 && !(check->used & (1u << from))))
        continue;
      check->said[i] = TRUE;
      switch (law->kind)
        {
        case TW_LAW_DEGREE:
        case TW_LAW_COLUMN:
          check_degree (check, i, set);
          break;
        case TW_LAW_LINEAR:
          if (!check->candidates[set].linear)
            report_false (check, i, "a counterexample was found");
          break;
        case TW_LAW_FORCE:
          check_force (check, i, set);
          break;
        case TW_LAW_SHIFT:
          check_shift (check, i, set);
          break;
        case TW_LAW_TRANSFER:
          check_transfer (check, i, set);
          break;
        }
    }
}

static void
check_output (Check *check, LawSample *sample, int index)
{
  begin (check, index);
  sample->output = index;
  int n_settings = tw_law_count_settings (check->block);
  for (int setting = 0; setting < n_settings; setting++)
    for (int draw = 0; draw < N_DRAWS; draw++)
      {
        tw_law_sample_draw (sample, setting, draw);
        measure (check, sample);
      }
  if (check->measured)
    {
      find_false (check);
      find_missing (check);
      return;
    }
  g_autofree char *message
      = g_strdup_printf ("block '%s': output '%s' has no finite value, its laws cannot be measured",
                         check->block->id, check->output->name);
  g_ptr_array_add (check->diagnostics, tw_diagnostic_new ("law-unmeasured", TW_SEVERITY_ERROR, NULL,
                                                          NULL, 0, message, NULL, NULL, NULL));
}

GPtrArray *
tw_law_check (const TwBlock *block, guint32 seed)
{
  GPtrArray *diagnostics = tw_diagnostics_new ();
  if (!block->formula)
    return diagnostics;
  if (block->n_operands > LAW_MAX_OPERANDS)
    {
      g_ptr_array_add (diagnostics,
                       tw_diagnostic_new ("law-unmeasured", TW_SEVERITY_ERROR, NULL, NULL, 0,
                                          "the block has too many operands for its laws to be "
                                          "measured",
                                          NULL, NULL, NULL));
      return diagnostics;
    }
  g_autofree Check *check = g_new0 (Check, 1);
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree double *params = g_new0 (double, (gsize)block->n_params + 1);
  LawSample sample = { .block = block, .rand = rand, .names = names, .params = params };
  check->block = block;
  check->diagnostics = diagnostics;
  check->said = g_new0 (gboolean, (gsize)block->n_laws + 1);
  check->refuted = g_new0 (gboolean, (gsize)block->n_laws + 1);
  gboolean measured = FALSE;
  for (int i = 0; i < block->n_outputs; i++)
    if (block->outputs[i].n_dims > 0)
      {
        check_output (check, &sample, i);
        measured = measured || check->measured;
      }
  for (int i = 0; measured && i < block->n_laws; i++)
    if (!check->said[i])
      report_false (check, i, "it says nothing about any output");
  tw_law_sample_clear (&sample);
  g_free (check->said);
  g_free (check->refuted);
  return diagnostics;
}
