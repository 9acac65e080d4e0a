/* What laws are tried on: parameter settings, sizes and values of both signs. */
#include "law-private.h"

#include <math.h>
#include <string.h>

#define MAX_SETTINGS 48
#define MIN_SETTINGS 6

static int
find_name (const GPtrArray *names, const char *name)
{
  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) == 0)
      return (int)i;
  return -1;
}

gint64
tw_law_get_extent (const LawSample *sample, const char *name)
{
  int index = find_name (sample->names, name);
  return index < 0 ? 0 : sample->extents[index];
}

gint64
tw_law_get_size (const LawSample *sample, const TwFormulaOperand *operand)
{
  gint64 size = 1;
  for (int i = 0; i < operand->n_dims; i++)
    size *= tw_law_get_extent (sample, operand->dims[i]);
  return size;
}

static gboolean
look_up (const char *name, gint64 *value, gpointer user_data)
{
  const LawSample *sample = user_data;
  int index = find_name (sample->names, name);
  if (index >= 0)
    *value = sample->extents[index];
  return index >= 0;
}

static void
add_name (LawSample *sample, const char *name)
{
  if (find_name (sample->names, name) < 0)
    g_ptr_array_add (sample->names, (gpointer)name);
}

static void
add_dim_name (const char *name, gpointer user_data)
{
  add_name (user_data, g_intern_string (name));
}

/* Extents of every name: free ones at random, the others as the ports' expressions say. */
static void
draw_extents (LawSample *sample, int draw)
{
  const TwBlock *block = sample->block;
  double group = 0;
  gboolean grouped = FALSE;
  const char *width = NULL;
  g_ptr_array_set_size (sample->names, 0);
  for (int i = 0; i < block->n_ports; i++)
    for (int j = 0; j < block->ports[i].n_dims; j++)
      {
        g_autoptr (TwDim) dim = tw_dim_parse (block->ports[i].dims[j], NULL);
        if (dim)
          tw_dim_foreach_name (dim, add_dim_name, sample);
      }
  guint n_free = sample->names->len;
  for (int i = 0; i < block->n_ports; i++)
    for (int j = 0; j < block->ports[i].n_dims; j++)
      if (block->ports[i].index[j])
        add_name (sample, block->ports[i].index[j]);
  for (int i = 0; i < block->n_operands; i++)
    for (int j = 0; j < block->operands[i].n_dims; j++)
      add_name (sample, block->operands[i].dims[j]);
  g_free (sample->extents);
  sample->extents = g_new0 (gint64, sample->names->len + 1);
  for (int i = 0; i < block->n_ports; i++)
    if (block->ports[i].direction == TW_DIRECTION_OUT && block->ports[i].group_param)
      for (int p = 0; p < block->n_params; p++)
        if (strcmp (block->params[p].id, block->ports[i].group_param) == 0)
          {
            grouped = TRUE;
            group = sample->params[p];
          }
  for (guint i = 0; i < sample->names->len; i++)
    sample->extents[i] = i >= n_free ? 0 : 8 * (draw % 2) + g_rand_int_range (sample->rand, 3, 8);
  for (int i = 0; grouped && i < block->n_ports && !width; i++)
    if (block->ports[i].direction == TW_DIRECTION_IN && block->ports[i].role == TW_ROLE_MATRIX
        && block->ports[i].n_dims > 0)
      width = block->ports[i].index[block->ports[i].n_dims - 1];
  if (width && find_name (sample->names, width) >= 0)
    sample->extents[find_name (sample->names, width)]
        = g_rand_int_range (sample->rand, 3, 9) + (group > 0 ? (int)group : 0) * (draw % 2 + 1);
  for (int i = 0; i < block->n_ports; i++)
    for (int j = 0; j < block->ports[i].n_dims; j++)
      {
        const TwPortSpec *port = &block->ports[i];
        int index = port->index[j] ? find_name (sample->names, port->index[j]) : -1;
        g_autoptr (TwDim) dim = tw_dim_parse (port->dims[j], NULL);
        gint64 value = 0;
        if (index >= 0 && dim && tw_dim_evaluate (dim, look_up, sample, &value, NULL))
          sample->extents[index] = value;
        if (index >= 0 && width && port->direction == TW_DIRECTION_OUT && port->group_param
            && j == port->n_dims - 1)
          sample->extents[index]
              = group > 0 ? (tw_law_get_extent (sample, width) + (gint64)group - 1) / (gint64)group
                          : 1;
      }
}

double
tw_law_draw_signed (GRand *rand, double least, double most)
{
  double value = g_rand_double_range (rand, least, most);
  return g_rand_boolean (rand) ? value : -value;
}

/* A statistic that is a sum of squares is no negative number; everything else has both signs. */
static gboolean
is_positive (const TwBlock *block, const char *operand)
{
  for (int i = 0; i < block->n_ports; i++)
    if (block->ports[i].statistic && strcmp (block->ports[i].id, operand) == 0)
      return TRUE;
  return FALSE;
}

double *
tw_law_draw_data (LawSample *sample, int operand)
{
  const TwFormulaOperand *spec = &sample->block->operands[operand];
  gint64 size = tw_law_get_size (sample, spec);
  double *data = g_new (double, (gsize)MAX (size, 1));
  gboolean positive = is_positive (sample->block, spec->name);
  for (gint64 i = 0; i < size; i++)
    data[i] = positive ? g_rand_double_range (sample->rand, 0.25, 3.0)
                       : tw_law_draw_signed (sample->rand, 0.25, 2.5);
  return data;
}

static double
draw_integer (const TwParamSpec *param, int setting)
{
  static const int small[] = { 1, 2, 3, 0, -1, 4, -2 };
  gint64 multiple = MAX (param->multiple, 1);
  if (setting == 0 && param->fallback)
    return g_ascii_strtod (param->fallback, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (small); i++)
    {
      double value = (double)(small[((gsize)setting + i) % G_N_ELEMENTS (small)] * multiple);
      if (value >= param->minimum && value <= param->maximum)
        return value;
    }
  return isfinite (param->minimum) ? ceil (param->minimum / (double)multiple) * (double)multiple
                                   : 0.0;
}

static double
draw_real (const TwParamSpec *param, GRand *rand, int setting)
{
  double low = isfinite (param->minimum) ? param->minimum : -3.0;
  double high = isfinite (param->maximum) ? MIN (param->maximum, low + 3.0) : low + 3.0;
  if (!isfinite (param->minimum) && isfinite (param->maximum))
    low = (high = param->maximum) - 3.0;
  if (setting == 0 && param->fallback)
    return g_ascii_strtod (param->fallback, NULL);
  double value = low < high ? g_rand_double_range (rand, low, high) : low;
  return value == low ? (low + high) / 2 : value;
}

/* Setting number `setting`: all combinations of enums and booleans, other values around them. */
static void
draw_params (LawSample *sample, int setting)
{
  const TwBlock *block = sample->block;
  int rest = setting;
  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *param = &block->params[i];
      int n_values = param->type == TW_PARAM_BOOLEAN ? 2
                     : param->type == TW_PARAM_ENUM && param->values
                         ? (int)g_strv_length (param->values)
                         : 0;
      if (n_values > 0)
        {
          int which = rest % n_values;
          rest /= n_values;
          sample->params[i] = param->type == TW_PARAM_ENUM ? param->numbers[which] : which;
        }
      else if (param->type == TW_PARAM_INTEGER)
        sample->params[i] = draw_integer (param, setting);
      else if (param->type == TW_PARAM_REAL)
        sample->params[i] = draw_real (param, sample->rand, setting);
      else if (param->type == TW_PARAM_DIMENSION)
        sample->params[i] = g_rand_int_range (sample->rand, 1, 9);
      else if (param->type == TW_PARAM_DTYPE)
        sample->params[i] = setting % TW_DTYPE_LAST;
      else
        sample->params[i] = 0.0;
    }
}

int
tw_law_count_settings (const TwBlock *block)
{
  int n = 1;
  for (int i = 0; i < block->n_params && n < MAX_SETTINGS; i++)
    if (block->params[i].type == TW_PARAM_BOOLEAN)
      n *= 2;
    else if (block->params[i].type == TW_PARAM_ENUM && block->params[i].values)
      n *= MAX ((int)g_strv_length (block->params[i].values), 1);
  return CLAMP (n, MIN_SETTINGS, MAX_SETTINGS);
}

/* The output looked at, for the given operands; NULL if the formula has no value there. g_free. */
double *
tw_law_evaluate (const LawSample *sample, double *const *data)
{
  const TwBlock *block = sample->block;
  TwFormulaTensor inputs[LAW_MAX_OPERANDS];
  g_autofree TwFormulaTensor *outputs = g_new0 (TwFormulaTensor, (gsize)block->n_outputs);
  double *kept = NULL;
  for (int i = 0; i < block->n_operands; i++)
    {
      inputs[i] = (TwFormulaTensor){ .n_dims = block->operands[i].n_dims, .data = data[i] };
      for (int j = 0; j < block->operands[i].n_dims; j++)
        inputs[i].dims[j] = tw_law_get_extent (sample, block->operands[i].dims[j]);
    }
  for (int i = 0; i < block->n_outputs; i++)
    {
      outputs[i].n_dims = block->outputs[i].n_dims;
      for (int j = 0; j < block->outputs[i].n_dims; j++)
        outputs[i].dims[j] = tw_law_get_extent (sample, block->outputs[i].dims[j]);
      outputs[i].data = g_new0 (double, (gsize)tw_law_get_size (sample, &block->outputs[i]) + 1);
    }
  gboolean good = tw_formula_evaluate (block->formula, inputs, sample->params,
                                       (const char *const *)sample->names->pdata, sample->extents,
                                       (int)sample->names->len, outputs, NULL);
  for (int i = 0; i < block->n_outputs; i++)
    if (i == sample->output && good)
      kept = outputs[i].data;
    else
      g_free (outputs[i].data);
  return kept;
}

void
tw_law_sample_clear (LawSample *sample)
{
  for (int i = 0; i < LAW_MAX_OPERANDS; i++)
    g_clear_pointer (&sample->data[i], g_free);
  g_clear_pointer (&sample->extents, g_free);
}

void
tw_law_sample_draw (LawSample *sample, int setting, int draw)
{
  tw_law_sample_clear (sample);
  draw_params (sample, setting);
  draw_extents (sample, draw);
  for (int i = 0; i < sample->block->n_operands; i++)
    sample->data[i] = tw_law_draw_data (sample, i);
}
