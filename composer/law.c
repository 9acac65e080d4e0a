/* What the declared laws predict. Laws of one kind compose: where one covers some of the inputs and
 * another the rest, scaling all of them is doing one after the other, and degrees add. */
#include "law.h"

#include <string.h>

/* Operands as a set; -1 if one is unknown or there are none. */
static gint64
get_set (const TwBlock *block, const char *const *inputs)
{
  gint64 set = 0;
  for (int i = 0; inputs && inputs[i]; i++)
    {
      int operand = tw_block_get_operand (block, inputs[i]);
      if (operand < 0 || operand > 30)
        return -1;
      set |= G_GINT64_CONSTANT (1) << operand;
    }
  return set ? set : -1;
}

static int
get_degree (const TwBlock *block, const TwNode *node, const TwLaw *law)
{
  if (!law->degree_param)
    return law->degree;
  double value = 0;
  if (node)
    return tw_node_get_number (node, block, law->degree_param, &value) ? (int)value : TW_LAW_NONE;
  const TwParamSpec *param = tw_block_get_param (block, law->degree_param);
  return param && param->fallback ? (int)g_ascii_strtoll (param->fallback, NULL, 10) : TW_LAW_NONE;
}

/* Degree of `set` as a disjoint union of laws; each step takes its lowest operand, so the recursion
 * is at most as deep as there are operands. */
static int
cover (const TwBlock *block, const TwNode *node, TwLawKind kind, gint64 set, const char *output)
{
  if (!set)
    return 0;
  gint64 lowest = set & -set;
  for (int i = 0; i < block->n_laws; i++)
    {
      const TwLaw *law = &block->laws[i];
      gint64 covered = law->kind == kind ? get_set (block, (const char *const *)law->inputs) : -1;
      if (covered < 0 || !(covered & lowest) || (covered & ~set)
          || (law->output && output && strcmp (law->output, output) != 0))
        continue;
      int degree = get_degree (block, node, law);
      int rest = degree == TW_LAW_NONE ? degree : cover (block, node, kind, set & ~covered, output);
      if (rest != TW_LAW_NONE)
        return degree + rest;
    }
  return TW_LAW_NONE;
}

static int
predict (const TwBlock *block, const TwNode *node, TwLawKind kind, const char *const *inputs,
         const char *output)
{
  gint64 set = get_set (block, inputs);
  return set < 0 ? TW_LAW_NONE : cover (block, node, kind, set, output);
}

int
tw_law_predict_degree (const TwBlock *block, const TwNode *node, const char *const *inputs,
                       const char *output)
{
  return predict (block, node, TW_LAW_DEGREE, inputs, output);
}

int
tw_law_predict_column (const TwBlock *block, const TwNode *node, const char *const *inputs,
                       const char *output)
{
  return predict (block, node, TW_LAW_COLUMN, inputs, output);
}

gboolean
tw_law_is_linear (const TwBlock *block, const char *const *inputs, const char *output)
{
  gint64 set = get_set (block, inputs);
  for (int i = 0; i < block->n_laws && set > 0; i++)
    if (block->laws[i].kind == TW_LAW_LINEAR
        && get_set (block, (const char *const *)block->laws[i].inputs) == set
        && (!block->laws[i].output || !output || strcmp (block->laws[i].output, output) == 0))
      return TRUE;
  return FALSE;
}

const TwLaw *
tw_law_get_transfer (const TwBlock *block, const char *from)
{
  for (int i = 0; i < block->n_laws; i++)
    if (block->laws[i].kind == TW_LAW_TRANSFER && block->laws[i].inputs
        && g_strcmp0 (block->laws[i].inputs[0], from) == 0)
      return &block->laws[i];
  return NULL;
}
