/* ---- one case: inputs, reference, programs, verdicts ----------------------------------------- */

typedef struct
{
  uint64_t seed;
  int threads; /* 0: as many as there are */
  int json;
  int repeat;
  int64_t d[N_DIMS + 1]; /* the sizes asked for */
  int given[N_DIMS + 1];
  const char *in_files[N_TENSORS], *out_files[N_TENSORS];
  double started;
} Options;

typedef struct
{
  int64_t d[N_DIMS + 1];
  Tensor t[N_TENSORS];
  Sample samples[N_SAMPLED + 1];
  double *exact[N_TENSORS], *rounded[N_TENSORS]; /* outputs, the sampled rows */
} Case;

/* A program set up for a case. */
typedef struct
{
  const Program *program;
  void *plan, *prepared, *workspace; /* aligned */
  size_t workspace_bytes, prepared_bytes;
  void *blocks[3];
} Session;

typedef struct
{
  double rows, columns; /* largest error over tolerance */
  double l2, cosine;    /* over rows brought to one size */
  int64_t row, column;  /* where the error is largest */
  int64_t unwritten, outside;
  int ok;
} Verdict;

static void
progress (const Options *options, const char *what, const int64_t *d)
{
  if (now () - options->started < 1)
    return;
  fprintf (stderr, "%s: %s", program_name, what);
  for (int i = 0; i < N_DIMS; i++)
    fprintf (stderr, " %s=%" PRId64, dim_info[i].name, d[i]);
  fprintf (stderr, "\n");
}

/* All rows of a small problem; of a large one the first, the last, the zero row, tile edges and
   some at random. */
static Sample
new_sample (uint64_t seed, int sampled, int64_t extent)
{
  const int64_t edges[] = { 0, 1, 15, 16, 17, 31, 32, 47, 48, 63, 64, 65, 127, 128 };
  Sample sample = { extent, 0, NULL };
  unsigned char *chosen;

  if (extent <= 64)
    {
      sample.rows = (int64_t *)allocate (sizeof (int64_t) * (size_t)max64 (extent, 1));
      for (int64_t i = 0; i < extent; i++)
        sample.rows[sample.count++] = i;
      return sample;
    }
  chosen = (unsigned char *)allocate ((size_t)extent);
  memset (chosen, 0, (size_t)extent);
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    if (edges[i] < extent)
      chosen[edges[i]] = chosen[extent - 1 - edges[i] / 4] = 1;
  chosen[zero_row (seed, sampled, extent)] = 1;
  for (uint64_t i = 0; i < 20; i++)
    chosen[random_bits (seed, 3000 + (uint64_t)sampled, i) % (uint64_t)extent] = 1;
  sample.rows = (int64_t *)allocate (sizeof (int64_t) * (size_t)extent);
  for (int64_t i = 0; i < extent; i++)
    if (chosen[i])
      sample.rows[sample.count++] = i;
  free (chosen);
  return sample;
}

static void
run_reference (Case *c)
{
  double *in[N_TENSORS];

  for (int k = 0; k < N_TENSORS; k++)
    {
      const int sampled = tensor_info[k].sampled;

      in[k] = NULL;
      c->exact[k] = c->rounded[k] = NULL;
      if (tensor_info[k].kind != OUTPUT)
        in[k] = get_values (&tensor_info[k], &c->t[k], sampled < 0 ? NULL : &c->samples[sampled]);
    }
  reference (c->d, c->samples, in, c->exact, 0);
  reference (c->d, c->samples, in, c->rounded, 1);
  for (int k = 0; k < N_TENSORS; k++)
    free (in[k]);
}

/* Outputs all poison, as before a launch. */
static void
poison_outputs (Case *c)
{
  for (int k = 0; k < N_TENSORS; k++)
    if (tensor_info[k].kind == OUTPUT)
      memset (c->t[k].block, POISON, c->t[k].block_bytes);
}

/* Fresh inputs of the given sizes and what the program has to compute from them. */
static Case *
new_case (const int64_t *d, uint64_t seed, int with_reference)
{
  Case *c = (Case *)allocate (sizeof *c);

  memcpy (c->d, d, sizeof c->d);
  for (int s = 0; s < N_SAMPLED; s++)
    c->samples[s] = new_sample (seed, s, sample_extent (s, d));
  for (int k = 0; k < N_TENSORS; k++)
    {
      int64_t rows, columns;

      tensor_shape (k, d, &rows, &columns);
      c->t[k] = new_tensor (&tensor_info[k], rows, columns, k % 3 == 0 ? 0 : 8 * (k % 3) - 5);
      c->exact[k] = c->rounded[k] = NULL;
      if (tensor_info[k].kind != OUTPUT)
        fill_tensor (&tensor_info[k], &c->t[k], seed, k, REACH, statistic_width (k, d));
    }
  if (with_reference)
    run_reference (c);
  return c;
}

static void
free_case (Case *c)
{
  for (int s = 0; s < N_SAMPLED; s++)
    free (c->samples[s].rows);
  for (int k = 0; k < N_TENSORS; k++)
    {
      free (c->t[k].block);
      free (c->exact[k]);
      free (c->rounded[k]);
    }
  free (c);
}

static void
free_session (Session *s)
{
  for (int i = 0; i < 3; i++)
    free (s->blocks[i]);
}

/* Plan, prepared memory and a workspace full of NaN. Returns the program's error code. */
static int
new_session (Session *s, const Program *program, const int64_t *d, const Tensor *t, int threads)
{
  const size_t plan_bytes = program->plan_size ();
  int code;

  memset (s, 0, sizeof *s);
  s->program = program;
  s->plan = allocate_aligned (plan_bytes, &s->blocks[0]);
  code = program->plan_init (s->plan, plan_bytes, threads, d, t, 0);
  if (code != 0)
    return code;
  s->prepared_bytes = program->prepared_size (s->plan);
  s->workspace_bytes = program->workspace_size (s->plan);
  s->prepared = allocate_aligned (s->prepared_bytes, &s->blocks[1]);
  s->workspace = allocate_aligned (s->workspace_bytes, &s->blocks[2]);
  memset (s->prepared, POISON, s->prepared_bytes);
  memset (s->workspace, POISON, s->workspace_bytes);
  if (s->prepared_bytes > 0)
    code = program->prepare (s->plan, s->prepared, s->prepared_bytes);
  return code;
}

static int
launch_session (const Session *s, const int64_t *d, const Tensor *t)
{
  return s->program->launch (s->plan, d, t, s->workspace, s->workspace_bytes, 0);
}

/* The program once, from plan to outputs. */
static int
run_program (const Program *program, Case *c, int threads)
{
  Session session;
  int code;

  poison_outputs (c);
  code = new_session (&session, program, c->d, c->t, threads);
  if (code == 0)
    code = launch_session (&session, c->d, c->t);
  free_session (&session);
  return code;
}

/* Neither finite and within range: compared by kind. Returns 1 if `actual` will do. */
static int
judge_extreme (Dtype dtype, double actual, double exact, double rounded)
{
  if (isnan (exact))
    return isnan (actual);
  if (fabs (exact) <= dtype_max (dtype) || isnan (rounded))
    return 1; /* only the unfused order of rounding overflows */
  return !isfinite (actual) || fabs (actual) > dtype_max (dtype) / 4;
}

static int
is_ordinary (Dtype dtype, double exact, double rounded)
{
  return isfinite (exact) && isfinite (rounded) && fabs (exact) <= dtype_max (dtype);
}

/* Per row and per column: err <= 2*max|rounded - exact| + 2*ulp*max|exact| + 1e-6*max|exact|. The
   column's figures are of rows brought to one size. Where a maximum is over few elements the first
   term is larger, since it is an estimate. */
static Verdict
judge (Dtype dtype, const double *actual, const double *exact, const double *rounded, int64_t count,
       int64_t columns, double longest)
{
  const double smallest = dtype == F16 ? ldexp (1, -24) : ldexp (1, -126);
  const double unit
      = 1e-6
        + (dtype == F32 ? 8 * sqrt (max64 (1, (int64_t)longest) * 1.0) * ldexp (1, -24)
                        : 2 * dtype_ulp (dtype));
  const double row_factor = 2 + 16 / (double)max64 (columns, 1);
  double *largest = new_values (count), *spread = new_values (count);
  double pool = 0, error_sum = 0, exact_sum = 0, actual_sum = 0, product_sum = 0;
  int64_t full = 0;
  Verdict v = { 0, 0, 0, 1, 0, 0, 0, 0, 1 };

  for (int64_t i = 0; i < count; i++)
    {
      largest[i] = spread[i] = 0;
      for (int64_t j = 0; j < columns; j++)
        {
          const double e = exact[i * columns + j], r = rounded[i * columns + j];

          if (!is_ordinary (dtype, e, r))
            continue;
          largest[i] = fmax (largest[i], fabs (e));
          spread[i] = fmax (spread[i], fabs (r - e));
        }
      if (largest[i] > 0)
        {
          pool = fmax (pool, fmin (spread[i] / largest[i], 0.05));
          full++;
        }
    }
  for (int64_t i = 0; i < count; i++)
    {
      const double guess = columns < 16 ? fmax (spread[i], pool * largest[i]) : spread[i];
      const double tolerance = row_factor * guess + unit * largest[i] + smallest;

      for (int64_t j = 0; j < columns; j++)
        {
          const double a = actual[i * columns + j], e = exact[i * columns + j];
          double ratio;

          if (!is_ordinary (dtype, e, rounded[i * columns + j]))
            {
              if (judge_extreme (dtype, a, e, rounded[i * columns + j]))
                continue;
              ratio = INFINITY;
            }
          else
            ratio = isfinite (a) ? fabs (a - e) / tolerance : INFINITY;
          if (ratio > v.rows)
            {
              v.rows = ratio;
              v.row = i;
              v.column = j;
            }
          if (largest[i] > 0 && isfinite (a))
            {
              const double s = 1 / largest[i];

              error_sum += (a - e) * s * (a - e) * s;
              exact_sum += e * s * e * s;
              actual_sum += a * s * a * s;
              product_sum += a * s * e * s;
            }
        }
    }
  for (int64_t j = 0; j < columns && full >= 8; j++)
    {
      double column_largest = 0, column_spread = 0, column_error = 0;

      for (int64_t i = 0; i < count; i++)
        {
          const double a = actual[i * columns + j], e = exact[i * columns + j];
          const double r = rounded[i * columns + j];

          if (largest[i] <= 0 || !is_ordinary (dtype, e, r) || !isfinite (a))
            continue;
          column_largest = fmax (column_largest, fabs (e) / largest[i]);
          column_spread = fmax (column_spread, fabs (r - e) / largest[i]);
          column_error = fmax (column_error, (fabs (a - e) - smallest) / largest[i]);
        }
      v.columns = fmax (
          v.columns,
          column_error / ((2 + 16 / (double)full) * column_spread + unit * column_largest + 1e-6));
    }
  if (exact_sum > 0)
    {
      v.l2 = sqrt (error_sum / exact_sum);
      v.cosine = actual_sum > 0 ? product_sum / sqrt (exact_sum * actual_sum) : 0;
    }
  v.ok = v.rows <= 1 && v.columns <= 1;
  free (largest);
  free (spread);
  return v;
}

/* Output `k` as it lies in memory. */
static Verdict
judge_output (const Case *c, int k)
{
  const TensorInfo *info = &tensor_info[k];
  const Tensor *t = &c->t[k];
  const Sample *sample = info->sampled < 0 ? NULL : &c->samples[info->sampled];
  const int64_t count = sample != NULL ? sample->count : t->rows;
  const double longest = longest_sum (c->d);
  double *actual = get_values (info, t, sample);
  double largest = 0;
  Verdict v = judge (info->dtype, actual, c->exact[k], c->rounded[k], count, t->columns, longest);

  if (sample != NULL && count > 0)
    v.row = sample->rows[v.row];
  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t j = 0; j < t->columns; j++)
      v.unwritten += is_poison (info, get_bits (info, t, i, j));
  v.outside = count_overwritten (info, t);
  v.ok = v.ok && v.unwritten == 0 && v.outside == 0;

  /* A judge that lets zeros pass sees nothing. */
  for (int64_t i = 0; i < count * t->columns; i++)
    {
      actual[i] = 0;
      if (is_ordinary (info->dtype, c->exact[k][i], c->rounded[k][i]))
        largest = fmax (largest, fabs (c->exact[k][i]));
    }
  if (v.ok && largest > ldexp (1, -20)
      && judge (info->dtype, actual, c->exact[k], c->rounded[k], count, t->columns, longest).ok)
    v.ok = 0;
  free (actual);
  return v;
}
