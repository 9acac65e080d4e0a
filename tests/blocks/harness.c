/* Runs an exported one-block program on the values that make-case wrote and compares, for each
 * element, the program with the exact value, and the block's oracle with the exact value.
 *
 * usage: harness DATA [--verbose]. Prints each failure and `N passed, N failed, N skipped`. */

#include "harness.h"
#include "oracle.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#pragma weak oracle /* a block may have none */

#define MAX_SHOWN 20

typedef struct
{
  int n_dims;
  int64_t dims[3], rows, columns, ld;
  double *values; /* inputs: what is given; outputs: the exact values */
  double *scale;  /* outputs: the exact value of the magnitudes, the measure of rounding errors */
  unsigned char *memory, *again;
  size_t bytes;
} Tensor;

typedef struct
{
  char fill[32];
  double error; /* in units of 2^-24 of the scale */
  int guarded;  /* the oracle may say NaN where the formula has a number */
  int64_t dims[16];
} Run;

static int passed, failed, skipped;

static void *
allocate (size_t bytes)
{
  void *memory = malloc (bytes > 0 ? bytes : 1);

  if (memory == NULL)
    exit (5);
  return memory;
}

static void
take (FILE *file, void *to, size_t bytes)
{
  if (bytes > 0 && fread (to, 1, bytes, file) != bytes)
    {
      fprintf (stderr, "the data file ends early\n");
      exit (5);
    }
}

/* ---- storage: conversions of its own, by the C library's rounding ---- */

static int
digits_of (HarnessDtype dtype)
{
  return dtype == HARNESS_F32 ? FLT_MANT_DIG : dtype == HARNESS_F16 ? 11 : 8;
}

static double
max_of (HarnessDtype dtype)
{
  return dtype == HARNESS_F32 ? FLT_MAX : dtype == HARNESS_F16 ? 65504 : ldexp (255, 120);
}

static double
ulp_of (HarnessDtype dtype, double x)
{
  int exponent = 0, smallest = dtype == HARNESS_F16 ? -13 : -125;

  frexp (x, &exponent);
  return ldexp (1, (exponent > smallest ? exponent : smallest) - digits_of (dtype));
}

static void
put (HarnessDtype dtype, unsigned char *to, double x)
{
  float f = (float)x;
  uint32_t bits;
  uint16_t h;

  memcpy (&bits, &f, 4);
  if (dtype == HARNESS_F32)
    {
      memcpy (to, &f, 4);
      return;
    }
  if (dtype == HARNESS_BF16)
    h = (uint16_t)(isnan (x) ? 0x7fc0 : bits >> 16); /* exact: the value is a bf16 */
  else
    {
      const unsigned sign = signbit (x) ? 0x8000 : 0;
      const double a = fabs (x);
      int exponent = 0;

      frexp (a, &exponent);
      if (isnan (x))
        h = 0x7e00;
      else if (a > 65504)
        h = (uint16_t)(sign | 0x7c00);
      else if (a < ldexp (1, -14))
        h = (uint16_t)(sign | (unsigned)ldexp (a, 24));
      else
        h = (uint16_t)(sign | ((unsigned)(exponent + 14) << 10)
                       | ((unsigned)ldexp (a, 11 - exponent) & 0x3ff));
    }
  memcpy (to, &h, 2);
}

static double
get (HarnessDtype dtype, const unsigned char *from)
{
  uint32_t bits;
  uint16_t h;
  float f;

  if (dtype == HARNESS_F32)
    {
      memcpy (&f, from, 4);
      return f;
    }
  memcpy (&h, from, 2);
  if (dtype == HARNESS_BF16)
    {
      bits = (uint32_t)h << 16;
      memcpy (&f, &bits, 4);
      return f;
    }
  const int exponent = h >> 10 & 31, mantissa = h & 0x3ff;
  const double a = exponent == 31  ? (mantissa ? NAN : INFINITY)
                   : exponent == 0 ? ldexp (mantissa, -24)
                                   : ldexp (mantissa + 1024, exponent - 25);
  return h & 0x8000 ? -a : a;
}

static size_t
size_of (HarnessDtype dtype)
{
  return dtype == HARNESS_F32 ? 4 : 2;
}

static int64_t
place (const Tensor *t, int column_order, int64_t i)
{
  const int64_t row = i / t->columns, column = i % t->columns;

  return column_order ? column * t->ld + row : row * t->ld + column;
}

/* ---- one run ---- */

static void
read_tensor (FILE *file, Tensor *t, int output)
{
  int64_t n_dims = 0, size = 1;

  take (file, &n_dims, sizeof n_dims);
  take (file, t->dims, sizeof t->dims);
  t->n_dims = (int)n_dims;
  for (int i = 0; i < t->n_dims; i++)
    size *= t->dims[i];
  t->columns = t->n_dims > 0 ? t->dims[t->n_dims - 1] : 1;
  t->rows = t->columns > 0 ? size / t->columns : t->n_dims > 1 ? t->dims[0] : 1;
  t->values = allocate (sizeof (double) * (size_t)size);
  take (file, t->values, sizeof (double) * (size_t)size);
  if (output)
    {
      t->scale = allocate (sizeof (double) * (size_t)size);
      take (file, t->scale, sizeof (double) * (size_t)size);
    }
}

/* Memory that ends with the last element, so that the sanitizer sees one read too far; NaN in every
 * byte that is not an element. */
static void
place_tensor (Tensor *t, const HarnessTensor *info, int padding, int output)
{
  const size_t element = size_of (info->dtype);
  const int64_t lines = info->column_order ? t->columns : t->rows;
  const int64_t length = info->column_order ? t->rows : t->columns;

  t->ld = t->n_dims < 2 ? length : length + padding;
  t->bytes = lines > 0 && length > 0 ? element * (size_t)((lines - 1) * t->ld + length) : 0;
  t->memory = allocate (t->bytes);
  memset (t->memory, 0xff, t->bytes);
  for (int64_t i = 0; i < t->rows * t->columns && !output; i++)
    put (info->dtype, t->memory + element * (size_t)place (t, info->column_order, i), t->values[i]);
}

static int
agrees (double got, double exact, double tolerance, double largest)
{
  if (isnan (exact) || isnan (got))
    return isnan (exact) && isnan (got);
  if (fabs (exact) - tolerance > largest)
    return got == (exact > 0 ? INFINITY : -INFINITY);
  if (isinf (got)) /* so near the largest that rounding decides */
    return fabs (exact) + tolerance > largest && (got > 0) == (exact > 0);
  return fabs (got - exact) <= tolerance;
}

static void
describe (const Run *run, const HarnessSetting *setting, const char *what)
{
  printf ("FAILED %s: %s%s%s", what, setting->label, setting->label[0] ? " " : "", run->fill);
  for (int i = 0; i < harness_n_dims; i++)
    printf (" %s=%lld", harness_dims[i], (long long)run->dims[i]);
}

static void
judge (int good)
{
  passed += good;
  failed += !good;
}

static double
error_scale (const Tensor *t, int64_t i)
{
  return isfinite (t->scale[i]) ? fmax (t->scale[i], fabs (t->values[i])) : fabs (t->values[i]);
}

/* Every element of the program's outputs, and the padding between rows. */
static int
check_program (const Run *run, const HarnessSetting *setting, Tensor *tensors,
               double *const *oracles, int show)
{
  for (int n = 0; n < setting->n_outputs; n++)
    {
      const HarnessTensor *info = &harness_tensors[setting->first_output + n];
      Tensor *t = &tensors[setting->first_output + n];
      const size_t element = size_of (info->dtype);
      unsigned char *seen = allocate (t->bytes);

      memset (seen, 0, t->bytes);
      for (int64_t i = 0; i < t->rows * t->columns; i++)
        {
          const size_t at = element * (size_t)place (t, info->column_order, i);
          const double got = get (info->dtype, t->memory + at);
          const double exact
              = run->guarded && oracles != NULL && isnan (oracles[n][i]) ? NAN : t->values[i];
          const double scale = error_scale (t, i);
          const double tolerance = 0.5001 * ulp_of (info->dtype, isfinite (exact) ? exact : 0)
                                   + run->error * ldexp (scale, -24) + 64 * ldexp (1, -149);

          memset (seen + at, 1, element);
          if (agrees (got, exact, tolerance, max_of (info->dtype)))
            continue;
          if (show)
            {
              describe (run, setting, "program");
              printf (": %s[%lld, %lld] is %.9g, exact %.9g, tolerance %.3g\n", info->port,
                      (long long)(i / t->columns), (long long)(i % t->columns), got, exact,
                      tolerance);
            }
          free (seen);
          return 0;
        }
      for (size_t i = 0; i < t->bytes; i++)
        if (!seen[i] && t->memory[i] != 0xff)
          {
            if (show)
              {
                describe (run, setting, "program");
                printf (": wrote between the rows of %s\n", info->port);
              }
            free (seen);
            return 0;
          }
      free (seen);
    }
  return 1;
}

static int
check_oracle (const Run *run, const HarnessSetting *setting, const Tensor *tensors,
              double *const *oracles, int show)
{
  for (int n = 0; n < setting->n_outputs; n++)
    {
      const HarnessTensor *info = &harness_tensors[setting->first_output + n];
      const Tensor *t = &tensors[setting->first_output + n];

      for (int64_t i = 0; i < t->rows * t->columns; i++)
        {
          const double got = oracles[n][i];

          if ((run->guarded && isnan (got))
              || agrees (got, t->values[i], 1e-11 * error_scale (t, i) + 1e-300, DBL_MAX))
            continue;
          if (show)
            {
              describe (run, setting, "oracle");
              printf (": %s[%lld, %lld] is %.17g, by the formula %.17g\n", info->port,
                      (long long)(i / t->columns), (long long)(i % t->columns), got, t->values[i]);
            }
          return 0;
        }
    }
  return 1;
}

static double
param_value (const char *text, const Run *run)
{
  for (int i = 0; i < harness_n_dims; i++)
    if (strcmp (harness_dims[i], text) == 0)
      return (double)run->dims[i];
  return strtod (text, NULL);
}

/* The oracle's values of a setting's outputs; NULL without an oracle. */
static double **
ask_oracle (const Run *run, const HarnessSetting *setting, const Tensor *tensors)
{
  double **values = allocate (sizeof (double *) * (size_t)setting->n_outputs);
  OracleTensor in[16], out[16];
  double params[32];
  OracleCase c = {
    in, out, setting->n_inputs, setting->n_outputs, setting->param_names, params, setting->n_params
  };

  if (oracle == NULL)
    {
      free (values);
      return NULL;
    }
  for (int i = 0; i < setting->n_params; i++)
    params[i] = param_value (setting->param_values[i], run);
  for (int i = 0; i < setting->n_inputs + setting->n_outputs; i++)
    {
      const int input = i < setting->n_inputs;
      const int index
          = input ? setting->first_input + i : setting->first_output + i - setting->n_inputs;
      const Tensor *t = &tensors[index];
      OracleTensor *o = input ? &in[i] : &out[i - setting->n_inputs];

      o->port = harness_tensors[index].port;
      o->n_dims = t->n_dims;
      memcpy (o->dims, t->dims, sizeof o->dims);
      o->data = t->values;
      if (!input)
        {
          /* What is not written is neither NaN nor near anything. */
          o->data = allocate (sizeof (double) * (size_t)(t->rows * t->columns));
          for (int64_t j = 0; j < t->rows * t->columns; j++)
            o->data[j] = 1.2345e300;
          values[i - setting->n_inputs] = o->data;
        }
    }
  oracle (&c);
  return values;
}

static int
launch (const Run *run, Tensor *tensors, int threads)
{
  void *data[256];
  int64_t ld[256];
  const char *step = "";

  for (int i = 0; i < harness_n_tensors; i++)
    {
      data[i] = tensors[i].memory;
      ld[i] = tensors[i].ld;
    }
  const int code = harness_launch (run->dims, data, ld, threads, &step);
  if (code != 0)
    printf ("FAILED program: %s gives %d (%s)\n", step, code, run->fill);
  return code == 0;
}

static int
run_case (FILE *file, int number)
{
  static const int paddings[] = { 0, 3, 8, 1 };
  Run run;
  Tensor tensors[256] = { 0 };
  int equal = 1;

  if (fread (run.fill, 1, sizeof run.fill, file) != sizeof run.fill)
    return 0;
  take (file, &run.error, sizeof run.error);
  int64_t guarded = 0;
  take (file, &guarded, sizeof guarded);
  run.guarded = (int)guarded;
  take (file, run.dims, sizeof run.dims);
  for (int i = 0; i < harness_n_settings; i++)
    {
      const HarnessSetting *s = &harness_settings[i];

      for (int n = 0; n < s->n_inputs + s->n_outputs; n++)
        {
          const int output = n >= s->n_inputs;
          const int index = output ? s->first_output + n - s->n_inputs : s->first_input + n;

          read_tensor (file, &tensors[index], output);
          place_tensor (&tensors[index], &harness_tensors[index], paddings[(number + n) % 4],
                        output);
        }
    }
  int good = launch (&run, tensors, 1);
  for (int i = 0; i < harness_n_settings && good; i++)
    {
      const HarnessSetting *s = &harness_settings[i];
      double **oracles = ask_oracle (&run, s, tensors);

      judge (check_program (&run, s, tensors, oracles, failed < MAX_SHOWN));
      if (oracles != NULL)
        judge (check_oracle (&run, s, tensors, oracles, failed < MAX_SHOWN));
      else
        skipped++;
      for (int n = 0; n < s->n_outputs && oracles != NULL; n++)
        free (oracles[n]);
      free (oracles);
      for (int n = 0; n < s->n_outputs; n++)
        {
          Tensor *t = &tensors[s->first_output + n];

          t->again = allocate (t->bytes);
          memcpy (t->again, t->memory, t->bytes);
          memset (t->memory, 0xff, t->bytes);
        }
    }
  if (good && launch (&run, tensors, 3))
    for (int i = 0; i < harness_n_tensors; i++)
      if (tensors[i].again != NULL)
        equal &= memcmp (tensors[i].again, tensors[i].memory, tensors[i].bytes) == 0;
  if (!equal)
    printf ("FAILED program: other bits with 3 threads (%s)\n", run.fill);
  judge (good && equal);
  for (int i = 0; i < harness_n_tensors; i++)
    {
      free (tensors[i].values);
      free (tensors[i].scale);
      free (tensors[i].memory);
      free (tensors[i].again);
    }
  return 1;
}

int
main (int argc, char **argv)
{
  FILE *file = argc > 1 ? fopen (argv[1], "rb") : NULL;
  int runs = 0;

  if (file == NULL)
    {
      fprintf (stderr, "usage: harness DATA\n");
      return 1;
    }
  while (run_case (file, runs))
    runs++;
  fclose (file);
  printf ("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed > 0 || runs == 0 ? 1 : 0;
}
