/* Single trials of a law on one sample. */
#include "law-private.h"

#include <math.h>
#include <string.h>

#define TOLERANCE 1e-9           /* of the larger of two values */
#define ABSOLUTE_TOLERANCE 1e-11 /* of the largest value there is: sums cancel */

/* The index along dimension `dim` of element `at`; -1 if the operand has none. */
static gint64
get_index (const LawSample *sample, const TwFormulaOperand *operand, const char *dim, gint64 at)
{
  gint64 index = -1;
  for (int i = operand->n_dims - 1; i >= 0; i--)
    {
      gint64 extent = tw_law_get_extent (sample, operand->dims[i]);
      if (strcmp (operand->dims[i], dim) == 0)
        index = at % extent;
      at /= extent;
    }
  return index;
}

/* A copy of operand `operand` with every element multiplied by factor[its index along `dim`]. */
static double *
scale (const LawSample *sample, int operand, const char *dim, const double *factor)
{
  const TwFormulaOperand *spec = &sample->block->operands[operand];
  gint64 size = tw_law_get_size (sample, spec);
  double *out = g_new (double, (gsize)MAX (size, 1));
  for (gint64 i = 0; i < size; i++)
    {
      gint64 index = get_index (sample, spec, dim, i);
      out[i] = sample->data[operand][i] * (index >= 0 ? factor[index] : 1.0);
    }
  return out;
}

static double *
draw_vector (LawSample *sample, const char *dim, gboolean positive)
{
  gint64 size = tw_law_get_extent (sample, dim);
  double *vector = g_new (double, (gsize)size + 1);
  for (gint64 i = 0; i < size; i++)
    vector[i] = positive ? g_rand_double_range (sample->rand, 0.5, 2.0)
                         : tw_law_draw_signed (sample->rand, 0.5, 2.0);
  return vector;
}

static gboolean
is_close (double a, double b, double size)
{
  if (isnan (a) || isnan (b))
    return isnan (a) && isnan (b);
  return a == b
         || fabs (a - b) <= TOLERANCE * fmax (fabs (a), fabs (b)) + ABSOLUTE_TOLERANCE * size;
}

static double
get_largest (const double *data, gint64 size)
{
  double largest = 0;
  for (gint64 i = 0; i < size; i++)
    if (isfinite (data[i]))
      largest = fmax (largest, fabs (data[i]));
  return largest;
}

/* The degrees (bit LAW_MAX_DEGREE + d) with scaled == y * factor^d at every element. */
static guint32
find_degrees (const LawSample *sample, const double *y, const double *scaled, const char *dim,
              const double *factor)
{
  const TwFormulaOperand *output = &sample->block->outputs[sample->output];
  gint64 size = tw_law_get_size (sample, output);
  double largest = get_largest (y, size);
  guint32 degrees = 0;
  for (int d = -LAW_MAX_DEGREE; d <= LAW_MAX_DEGREE; d++)
    {
      gboolean holds = TRUE;
      for (gint64 i = 0; i < size && holds; i++)
        {
          double power = pow (factor[get_index (sample, output, dim, i)], d);
          holds = is_close (scaled[i], y[i] * power, largest * fabs (power));
        }
      degrees |= holds ? 1u << (LAW_MAX_DEGREE + d) : 0;
    }
  return degrees;
}

/* `set` scaled along `dim`; the degrees that fit. */
guint32
tw_law_try_scale (LawSample *sample, LawSet set, const char *dim, gboolean positive,
                  const double *y)
{
  g_autofree double *factor = draw_vector (sample, dim, positive);
  double *data[LAW_MAX_OPERANDS];
  memcpy (data, sample->data, sizeof data);
  for (int i = 0; i < sample->block->n_operands; i++)
    if (set & (1u << i))
      data[i] = scale (sample, i, dim, factor);
  g_autofree double *scaled = tw_law_evaluate (sample, data);
  guint32 degrees = scaled ? find_degrees (sample, y, scaled, dim, factor) : 0;
  for (int i = 0; i < sample->block->n_operands; i++)
    if (set & (1u << i))
      g_free (data[i]);
  return degrees;
}

gboolean
tw_law_try_linear (LawSample *sample, LawSet set, const double *y)
{
  double alpha = tw_law_draw_signed (sample->rand, 0.5, 2.0),
         beta = tw_law_draw_signed (sample->rand, 0.5, 2.0);
  double *other[LAW_MAX_OPERANDS], *mixed[LAW_MAX_OPERANDS];
  memcpy (other, sample->data, sizeof other);
  memcpy (mixed, sample->data, sizeof mixed);
  for (int i = 0; i < sample->block->n_operands; i++)
    if (set & (1u << i))
      {
        gint64 size = tw_law_get_size (sample, &sample->block->operands[i]);
        other[i] = tw_law_draw_data (sample, i);
        mixed[i] = g_new (double, (gsize)MAX (size, 1));
        for (gint64 j = 0; j < size; j++)
          mixed[i][j] = alpha * sample->data[i][j] + beta * other[i][j];
      }
  g_autofree double *z = tw_law_evaluate (sample, other), *sum = tw_law_evaluate (sample, mixed);
  gint64 size = tw_law_get_size (sample, &sample->block->outputs[sample->output]);
  gboolean holds = z && sum;
  double largest = holds ? get_largest (y, size) + get_largest (z, size) : 0;
  for (gint64 i = 0; i < size && holds; i++)
    holds = is_close (sum[i], alpha * y[i] + beta * z[i], largest);
  for (int i = 0; i < sample->block->n_operands; i++)
    if (set & (1u << i))
      {
        g_free (other[i]);
        g_free (mixed[i]);
      }
  return holds;
}

/* What adding mu[m]*v[n] to operand `index` (and `data` for the others) adds to the output. */
static double *
add_shift (const LawSample *sample, int index, double *const *data, const double *mu, double times,
           const double *v)
{
  const TwFormulaOperand *spec = &sample->block->operands[index];
  gint64 size = tw_law_get_size (sample, spec);
  double *shifted[LAW_MAX_OPERANDS];
  memcpy (shifted, data, sizeof shifted);
  g_autofree double *moved = g_new (double, (gsize)MAX (size, 1));
  for (gint64 i = 0; i < size; i++)
    moved[i] = data[index][i]
               + times * mu[get_index (sample, spec, spec->dims[0], i)]
                     * v[get_index (sample, spec, spec->dims[1], i)];
  shifted[index] = moved;
  double *before = tw_law_evaluate (sample, data), *after = tw_law_evaluate (sample, shifted);
  gint64 n = tw_law_get_size (sample, &sample->block->outputs[sample->output]);
  for (gint64 i = 0; before && after && i < n; i++)
    after[i] -= before[i];
  if (!before)
    g_clear_pointer (&after, g_free);
  g_free (before);
  return after;
}

/* "carries": what is added is the same whatever the value was, grows with mu, and is a per-row
 * times a per-column vector, so that it can be owed again. */
void
tw_law_try_shift (LawSample *sample, int index, const double *y, gboolean *carries,
                  gboolean *invariant)
{
  const TwFormulaOperand *spec = &sample->block->operands[index];
  const TwFormulaOperand *output = &sample->block->outputs[sample->output];
  g_autofree double *mu = draw_vector (sample, spec->dims[0], FALSE);
  g_autofree double *v = draw_vector (sample, spec->dims[1], FALSE);
  double *other[LAW_MAX_OPERANDS];
  memcpy (other, sample->data, sizeof other);
  g_autofree double *fresh = tw_law_draw_data (sample, index);
  other[index] = fresh;
  g_autofree double *one = add_shift (sample, index, sample->data, mu, 1.0, v);
  g_autofree double *two = add_shift (sample, index, sample->data, mu, -2.0, v);
  g_autofree double *elsewhere = add_shift (sample, index, other, mu, 1.0, v);
  gint64 size = tw_law_get_size (sample, output),
         rows = tw_law_get_extent (sample, output->dims[0]);
  gint64 columns = rows ? size / rows : 0;
  if (!one || !two || !elsewhere)
    {
      *carries = *invariant = FALSE;
      return;
    }
  double largest = (get_largest (y, size) + get_largest (one, size));
  for (gint64 i = 0; i < size; i++)
    {
      gint64 column = i % columns, pivot = i - column;
      *invariant = *invariant && is_close (one[i], 0.0, largest);
      *carries = *carries && is_close (two[i], -2.0 * one[i], largest)
                 && is_close (elsewhere[i], one[i], largest)
                 && is_close (one[i] * one[0], one[pivot] * one[column],
                              largest * get_largest (one, size));
    }
}

gboolean
tw_law_try_transfer (LawSample *sample, int from, LawSet to, const char *dim, const double *y)
{
  g_autofree double *factor = draw_vector (sample, dim, FALSE);
  double *left[LAW_MAX_OPERANDS], *right[LAW_MAX_OPERANDS];
  memcpy (left, sample->data, sizeof left);
  memcpy (right, sample->data, sizeof right);
  left[from] = scale (sample, from, dim, factor);
  for (int i = 0; i < sample->block->n_operands; i++)
    if (to & (1u << i))
      right[i] = scale (sample, i, dim, factor);
  g_autofree double *a = tw_law_evaluate (sample, left), *b = tw_law_evaluate (sample, right);
  gint64 size = tw_law_get_size (sample, &sample->block->outputs[sample->output]);
  double largest = get_largest (y, size);
  gboolean holds = a && b;
  for (gint64 i = 0; i < size && holds; i++)
    holds = is_close (a[i], b[i], largest);
  g_free (left[from]);
  for (int i = 0; i < sample->block->n_operands; i++)
    if (to & (1u << i))
      g_free (right[i]);
  return holds;
}
