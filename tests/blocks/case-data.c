/* Values of every run of a case, what is exact for them, and the magnitude that errors are measured
 * by: the exact result of the inputs' absolute values. */
#include "cases.h"

#include <math.h>
#include <string.h>

typedef struct
{
  const CaseProgram *program;
  const gint64 *size; /* of the graph's dimensions in this run */
  const char *fill;
  int which; /* the input of each setting that gets the special values */
  GRand *random;
  double *row_scales; /* one a row, the same for all inputs */
  gint64 n_rows;
} Run;

static gboolean
look_up (const char *name, gint64 *value, gpointer data)
{
  const Run *run = data;
  const Case *c = run->program->c;

  for (int i = 0; i < c->n_dims; i++)
    if (strcmp (c->dims[i], name) == 0)
      {
        *value = run->size[i];
        return TRUE;
      }
  return FALSE;
}

static TwTensor *
new_tensor (const Run *run, const TwType *type)
{
  gint64 dims[3] = { 0 };

  for (int i = 0; i < type->n_dims; i++)
    if (!tw_dim_evaluate (type->dims[i], look_up, (gpointer)run, &dims[i], NULL))
      return NULL;
  return tw_tensor_new (type->n_dims, dims);
}

/* ---- values ---- */

/* Of either sign, 1/4 ... 4. */
static double
draw (GRand *random)
{
  const double size = exp2 (g_rand_double_range (random, -2, 2));
  return g_rand_boolean (random) ? size : -size;
}

static double
special (const Run *run, TwDtype dtype, gint64 i)
{
  const double sign = g_rand_boolean (run->random) ? 1 : -1;

  if (strcmp (run->fill, "inf") == 0)
    return i % 16 == 3 || i == 0 ? sign * INFINITY : draw (run->random);
  if (strcmp (run->fill, "nan") == 0)
    return i % 16 == 5 || i == 0 ? NAN : draw (run->random);
  if (strcmp (run->fill, "huge") == 0)
    return draw (run->random) * (dtype == TW_DTYPE_F16 ? 15000 : 2.5e29);
  if (strcmp (run->fill, "subnormal") == 0)
    return sign * tw_dtype_ulp (dtype, 0) * g_rand_int_range (run->random, 0, 100);
  return draw (run->random);
}

static double
value_at (const Run *run, const TwType *type, const TwTensor *tensor, gint64 i, gboolean chosen)
{
  const gint64 columns = tensor->n_dims > 0 ? tensor->dims[tensor->n_dims - 1] : 1;
  const gint64 row = tensor->n_dims > 1 ? i / columns : 0;

  if (strcmp (run->fill, "zeros") == 0)
    return 0;
  if (strcmp (run->fill, "signed-zeros") == 0)
    return i % 3 == 1 ? -0.0 : 0.0;
  if (strcmp (run->fill, "rows") == 0 && tensor->n_dims > 1 && type->role != TW_ROLE_STATISTIC)
    {
      const double scale = run->row_scales[row % run->n_rows];
      return draw (run->random) * (type->dtype == TW_DTYPE_F16 ? sqrt (scale) : scale);
    }
  if (strcmp (run->fill, "offset") == 0 && tensor->n_dims > 1)
    return 100 + draw (run->random) / 2;
  if (strcmp (run->fill, "small") == 0 && tensor->n_dims > 1)
    return 1e-3 * draw (run->random);
  return chosen ? special (run, type->dtype, i) : draw (run->random);
}

static TwTensor *
fill_tensor (const Run *run, const TwType *type, gboolean chosen)
{
  TwTensor *tensor = new_tensor (run, type);

  for (gint64 i = 0; tensor != NULL && i < tw_tensor_get_size (tensor); i++)
    {
      double x = value_at (run, type, tensor, i, chosen);

      if (type->role == TW_ROLE_STATISTIC)
        x = fabs (x);
      if (type->positive)
        x = fabs (x) > 0 ? fabs (x) : 1;
      tensor->data[i] = tw_dtype_round (type->dtype, x);
    }
  return tensor;
}

/* ---- the file ---- */

static void
put_number (GByteArray *out, gint64 value)
{
  g_byte_array_append (out, (const guint8 *)&value, sizeof value);
}

static void
put_values (GByteArray *out, const double *values, gint64 n)
{
  g_byte_array_append (out, (const guint8 *)values, (guint)(sizeof (double) * (gsize)n));
}

static void
put_tensor (GByteArray *out, const TwTensor *tensor)
{
  put_number (out, tensor->n_dims);
  for (int i = 0; i < 3; i++)
    put_number (out, i < tensor->n_dims ? tensor->dims[i] : 1);
  put_values (out, tensor->data, tw_tensor_get_size (tensor));
}

static GHashTable *
evaluate (const Run *run, GHashTable *inputs, GError **error)
{
  const CaseProgram *p = run->program;
  g_autoptr (GHashTable) dims = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);

  for (int i = 0; i < p->c->n_dims; i++)
    g_hash_table_insert (dims, p->c->dims[i], g_memdup2 (&run->size[i], sizeof (gint64)));
  return tw_evaluate (p->graph, p->catalog, p->typing, inputs, dims, TW_EVALUATE_EXACT, error);
}

static TwTensor *
magnitude (const TwTensor *tensor)
{
  TwTensor *result = tw_tensor_new (tensor->n_dims, tensor->dims);

  for (gint64 i = 0; i < tw_tensor_get_size (tensor); i++)
    result->data[i] = fabs (tensor->data[i]);
  return result;
}

static gboolean
put_run (const Run *run, GByteArray *out, GError **error)
{
  const CaseProgram *p = run->program;
  char fill[32] = { 0 };
  gint64 dims[16] = { 0 };
  g_autoptr (GHashTable) inputs
      = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)tw_tensor_free);
  g_autoptr (GHashTable) sizes
      = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)tw_tensor_free);

  for (guint s = 0; s < p->drawn->settings->len; s++)
    {
      const CaseSetting *setting = p->drawn->settings->pdata[s];

      for (guint i = 0; i < setting->inputs->len; i++)
        {
          const CaseTensor *tensor = setting->inputs->pdata[i];
          const TwType *type = tw_typing_get (p->typing, tensor->id, "y");
          TwTensor *values = type != NULL ? fill_tensor (run, type, (int)i == run->which) : NULL;

          if (values == NULL)
            {
              g_set_error (error, TW_EVALUATE_ERROR, TW_EVALUATE_ERROR_INPUT, "no shape for %s",
                           tensor->id);
              return FALSE;
            }
          g_hash_table_insert (inputs, tensor->id, values);
          g_hash_table_insert (sizes, tensor->id, magnitude (values));
        }
    }
  g_autoptr (GHashTable) exact = evaluate (run, inputs, error);
  g_autoptr (GHashTable) scale = exact != NULL ? evaluate (run, sizes, error) : NULL;
  if (scale == NULL)
    return FALSE;
  g_strlcpy (fill, run->fill, sizeof fill);
  g_byte_array_append (out, (const guint8 *)fill, sizeof fill);
  put_values (out, &p->c->error, 1);
  put_number (out, g_strv_contains ((const char *const *)p->c->guarded, run->fill));
  memcpy (dims, run->size, sizeof (gint64) * (gsize)MIN (p->c->n_dims, 16));
  g_byte_array_append (out, (const guint8 *)dims, sizeof dims);
  for (guint s = 0; s < p->drawn->settings->len; s++)
    {
      const CaseSetting *setting = p->drawn->settings->pdata[s];

      for (guint i = 0; i < setting->inputs->len; i++)
        put_tensor (out,
                    g_hash_table_lookup (inputs, ((CaseTensor *)setting->inputs->pdata[i])->id));
      for (guint i = 0; i < setting->outputs->len; i++)
        {
          const CaseTensor *tensor = setting->outputs->pdata[i];
          g_autofree char *key = g_strconcat (tensor->id, ".x", NULL);
          const TwTensor *values = g_hash_table_lookup (exact, key);
          const TwTensor *size = g_hash_table_lookup (scale, key);

          if (values == NULL || size == NULL)
            {
              g_set_error (error, TW_EVALUATE_ERROR, TW_EVALUATE_ERROR_FORMULA, "no value of %s",
                           key);
              return FALSE;
            }
          put_tensor (out, values);
          put_values (out, size->data, tw_tensor_get_size (size));
        }
    }
  return TRUE;
}

static gboolean
is_special (const char *fill)
{
  return strcmp (fill, "inf") == 0 || strcmp (fill, "nan") == 0 || strcmp (fill, "huge") == 0
         || strcmp (fill, "subnormal") == 0;
}

GByteArray *
case_data_new (const CaseProgram *program, guint32 seed, GError **error)
{
  const Case *c = program->c;
  g_autoptr (GByteArray) out = g_byte_array_new ();
  g_autoptr (GRand) random = g_rand_new_with_seed (seed);
  double row_scales[64];
  guint n_inputs = 0;

  for (guint i = 0; i < program->drawn->settings->len; i++)
    n_inputs = MAX (n_inputs, ((CaseSetting *)program->drawn->settings->pdata[i])->inputs->len);
  for (int f = 0; c->fills[f] != NULL; f++)
    for (int s = 0; s < c->n_sizes; s++)
      for (guint which = 0; which < (is_special (c->fills[f]) ? n_inputs : 1); which++)
        {
          const Run run = { program,
                            &g_array_index (c->sizes, gint64, s * c->n_dims),
                            c->fills[f],
                            (int)which,
                            random,
                            row_scales,
                            G_N_ELEMENTS (row_scales) };

          for (guint i = 0; i < G_N_ELEMENTS (row_scales); i++)
            row_scales[i] = exp2 (g_rand_double_range (random, -14, 14));
          if (!put_run (&run, out, error))
            return NULL;
        }
  return g_steal_pointer (&out);
}
