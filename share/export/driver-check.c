/* ---- check ----------------------------------------------------------------------------------- */

typedef struct
{
  int passed, failed;
  const Options *options;
  const Program *program;
  int n_reports;
} Calls;

/* JSON goes out as it is found; `n` counts the members of the list so far. */
static void
json_comma (int *n)
{
  printf ("%s\n    ", (*n)++ > 0 ? "," : "");
}

static void
json_number (const char *key, double value)
{
  if (isfinite (value))
    printf ("\"%s\": %.6g", key, value);
  else
    printf ("\"%s\": null", key);
}

static void
print_dims (const int64_t *d, int json)
{
  for (int i = 0; i < N_DIMS; i++)
    if (json)
      printf ("%s\"%s\": %" PRId64, i > 0 ? ", " : "", dim_info[i].name, d[i]);
    else
      printf ("%s%s=%" PRId64, i > 0 ? " " : "", dim_info[i].name, d[i]);
}

static void
expect (Calls *calls, const char *what, const char *tensor, int found, int wanted)
{
  if (found == wanted)
    {
      calls->passed++;
      return;
    }
  calls->failed++;
  if (!calls->options->json)
    printf ("  %s: %s%s%s: returned %d (%s), not %d\n", calls->program->name, what,
            *tensor != 0 ? " of " : "", tensor, found, calls->program->error_text (found), wanted);
}

/* One launch with the tensors as given; the outputs are not looked at. */
static int
try_launch (const Session *s, const int64_t *d, const Tensor *t)
{
  return launch_session (s, d, t);
}

/* Wrong plans and wrong weights. */
static void
check_plan_calls (Calls *calls, const Case *c)
{
  const Program *p = calls->program;
  const size_t bytes = p->plan_size ();
  void *block, *plan = allocate_aligned (bytes, &block);
  Tensor t[N_TENSORS];
  int64_t d[N_DIMS + 1];
  size_t least;

  memset (plan, 0, bytes);
  memcpy (t, c->t, sizeof t);
  expect (calls, "launch without a plan", "", p->launch (plan, c->d, t, NULL, 0, 0), E_PLAN);
  expect (calls, "plan NULL", "", p->plan_init (NULL, bytes, 1, c->d, t, 0), E_NULL);
  expect (calls, "plan too small", "", p->plan_init (plan, bytes - 1, 1, c->d, t, 0), E_PLAN);
  expect (calls, "struct_size", "", p->plan_init (plan, bytes, 1, c->d, t, 8), E_STRUCT_SIZE);
  for (int i = 0; i < N_DIMS; i++)
    {
      memcpy (d, c->d, sizeof d);
      d[i] = -1;
      expect (calls, "negative", dim_info[i].name, p->plan_init (plan, bytes, 1, d, t, 0),
              E_DIMENSION);
      d[i] = dim_info[i].maximum + dim_info[i].multiple;
      if (dim_info[i].maximum < INT64_MAX / 2)
        expect (calls, "too large a value", dim_info[i].name,
                p->plan_init (plan, bytes, 1, d, t, 0), E_DIMENSION);
    }
  for (int i = 0; i < N_DIMS; i++)
    d[i] = dim_info[i].maximum / dim_info[i].multiple * dim_info[i].multiple;
  expect (calls, "plan_init", "", p->plan_init (plan, bytes, 1, c->d, t, 0), 0);
  least = p->workspace_size (plan);
  expect (calls, "the largest sizes", "", p->plan_init (plan, bytes, 1, d, t, 0), 0);
  expect (calls, "a workspace that shrinks as sizes grow", "", p->workspace_size (plan) < least, 0);
  for (int k = 0; k < N_TENSORS; k++)
    {
      const TensorInfo *info = &tensor_info[k];

      if (info->kind != WEIGHT)
        continue;
      t[k].data = NULL;
      expect (calls, "NULL instead", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0), E_NULL);
      t[k].data = c->t[k].data + 1;
      expect (calls, "misaligned memory", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0),
              E_ALIGNMENT);
      t[k] = c->t[k];
      if (info->n_dims >= 2)
        {
          t[k].ld = (info->column_order ? t[k].rows : t[k].columns) - 1;
          expect (calls, "too small an ld", info->name, p->plan_init (plan, bytes, 1, c->d, t, 0),
                  E_LEADING_DIMENSION);
          t[k] = c->t[k];
        }
    }
  free (block);
}

static int
is_allowed_alias (int output, int input)
{
  for (int i = 0; i < N_ALIASES; i++)
    if (aliases[i][0] == output && aliases[i][1] == input)
      return 1;
  return 0;
}

/* Wrong arguments of launch. Nothing may be written. */
static void
check_launch_calls (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  Tensor t[N_TENSORS];
  int64_t d[N_DIMS + 1];
  Session s;

  poison_outputs (c);
  memcpy (t, c->t, sizeof t);
  expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, 1), 0);
  expect (calls, "struct_size", "", p->launch (s.plan, c->d, t, s.workspace, s.workspace_bytes, 8),
          E_STRUCT_SIZE);
  if (s.workspace_bytes > 0)
    {
      expect (calls, "workspace too small", "",
              p->launch (s.plan, c->d, t, s.workspace, s.workspace_bytes - 1, 0), E_WORKSPACE);
      expect (calls, "workspace NULL", "", p->launch (s.plan, c->d, t, NULL, s.workspace_bytes, 0),
              E_NULL);
    }
  for (int i = 0; i < N_DIMS; i++)
    {
      memcpy (d, c->d, sizeof d);
      d[i] = -1;
      expect (calls, "negative", dim_info[i].name, try_launch (&s, d, t), E_DIMENSION);
      d[i] = c->d[i] + dim_info[i].multiple;
      expect (calls, "more than planned", dim_info[i].name, try_launch (&s, d, t), E_DIMENSION);
    }
  for (int k = 0; k < N_TENSORS; k++)
    {
      const TensorInfo *info = &tensor_info[k];

      if (info->kind == WEIGHT || t[k].rows * t[k].columns == 0)
        continue;
      t[k].data = NULL;
      expect (calls, "NULL instead", info->name, try_launch (&s, c->d, t), E_NULL);
      t[k].data = c->t[k].data + 1;
      expect (calls, "misaligned memory", info->name, try_launch (&s, c->d, t), E_ALIGNMENT);
      t[k] = c->t[k];
      if (info->n_dims >= 2)
        {
          t[k].ld = (info->column_order ? t[k].rows : t[k].columns) - 1;
          expect (calls, "too small an ld", info->name, try_launch (&s, c->d, t),
                  E_LEADING_DIMENSION);
          t[k] = c->t[k];
        }
      if (info->kind != OUTPUT)
        continue;
      for (int other = 0; other < N_TENSORS; other++)
        {
          int64_t lines, length;

          storage_shape (&tensor_info[other], &t[other], &lines, &length);
          if (tensor_info[other].n_dims < 2)
            length *= lines;
          if (other == k || lines * length < 8
              || length * dtype_size (tensor_info[other].dtype) <= 4)
            continue;
          t[k].data = c->t[other].data + 4;
          expect (calls, "overlap", info->name, try_launch (&s, c->d, t), E_OVERLAP);
          if (!is_allowed_alias (k, other) && t[k].ld >= 1)
            {
              t[k].data = c->t[other].data;
              expect (calls, "aliasing", info->name, try_launch (&s, c->d, t), E_OVERLAP);
            }
          t[k] = c->t[k];
        }
    }
  for (int k = 0; k < N_TENSORS; k++)
    if (tensor_info[k].kind == OUTPUT)
      {
        const unsigned char *b = c->t[k].block;
        int written = 0;

        for (size_t i = 0; i < c->t[k].block_bytes; i++)
          written += b[i] != POISON;
        expect (calls, "bytes written by refused calls", tensor_info[k].name, written, 0);
      }
  free_session (&s);
  if (s.prepared_bytes > 0)
    {
      Session bare;

      memset (&bare, 0, sizeof bare);
      bare = s;
      bare.plan = allocate_aligned (p->plan_size (), &bare.blocks[0]);
      bare.prepared = allocate_aligned (s.prepared_bytes, &bare.blocks[1]);
      bare.workspace = allocate_aligned (s.workspace_bytes, &bare.blocks[2]);
      expect (calls, "plan_init", "", p->plan_init (bare.plan, p->plan_size (), 1, c->d, c->t, 0),
              0);
      expect (calls, "launch before prepare", "", try_launch (&bare, c->d, c->t), E_PREPARE);
      expect (calls, "prepared NULL", "", p->prepare (bare.plan, NULL, s.prepared_bytes), E_NULL);
      expect (calls, "prepared memory too small", "",
              p->prepare (bare.plan, bare.prepared, s.prepared_bytes - 1), E_PREPARE);
      free_session (&bare);
    }
}

/* Dimensions of 0: good, and nothing written. */
static void
check_empty (Calls *calls, Case *c)
{
  const Program *p = calls->program;

  for (int i = 0; i < N_DIMS; i++)
    {
      int64_t d[N_DIMS + 1];
      Session s;

      memcpy (d, c->d, sizeof d);
      d[i] = 0;
      poison_outputs (c);
      expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, 2), 0);
      expect (calls, "a launch of 0", dim_info[i].name, launch_session (&s, d, c->t), 0);
      free_session (&s);
      for (int k = 0; k < N_TENSORS; k++)
        {
          int64_t rows, columns, written = 0;

          tensor_shape (k, d, &rows, &columns);
          if (tensor_info[k].kind != OUTPUT || rows * columns > 0)
            continue;
          for (size_t b = 0; b < c->t[k].block_bytes; b++)
            written += c->t[k].block[b] != POISON;
          expect (calls, "bytes written by an empty launch", tensor_info[k].name, written != 0, 0);
        }
    }
}

/* The same bits with other numbers of threads, with a used workspace, and in place where that is
   allowed; prepared memory is only read by a launch. */
static void
check_bits (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  uint64_t hash[N_TENSORS] = { 0 };

  for (int threads = 1; threads <= 3; threads++)
    {
      Session s;

      poison_outputs (c);
      expect (calls, "plan_init", "", new_session (&s, p, c->d, c->t, threads), 0);
      for (int again = 0; again < 2; again++)
        {
          unsigned char *before = (unsigned char *)allocate (s.prepared_bytes);

          memcpy (before, s.prepared, s.prepared_bytes);
          expect (calls, "launch", "", launch_session (&s, c->d, c->t), 0);
          expect (calls, "prepared memory changed", "",
                  memcmp (before, s.prepared, s.prepared_bytes) != 0, 0);
          free (before);
          for (int k = 0; k < N_TENSORS; k++)
            if (tensor_info[k].kind == OUTPUT)
              {
                const uint64_t bits = hash_tensor (&tensor_info[k], &c->t[k]);

                if (threads == 1 && again == 0)
                  hash[k] = bits;
                expect (calls, "other bits in another run", tensor_info[k].name, bits != hash[k],
                        0);
              }
        }
      free_session (&s);
    }
  for (int i = 0; i < N_ALIASES; i++)
    {
      const int out = aliases[i][0], in = aliases[i][1];
      const Tensor *from = &c->t[in];
      Tensor t[N_TENSORS];
      Session s;

      memcpy (t, c->t, sizeof t);
      t[in] = new_tensor (&tensor_info[in], from->rows, from->columns, 8);
      for (int64_t r = 0; r < from->rows; r++)
        for (int64_t j = 0; j < from->columns; j++)
          set_bits (&tensor_info[in], &t[in], r, j, get_bits (&tensor_info[in], from, r, j));
      t[out] = t[in];
      expect (calls, "plan_init", "", new_session (&s, p, c->d, t, 2), 0);
      expect (calls, "launch in place", tensor_info[out].name, launch_session (&s, c->d, t), 0);
      expect (calls, "other bits in place", tensor_info[out].name,
              hash_tensor (&tensor_info[out], &t[out]) != hash[out], 0);
      free_session (&s);
      free (t[in].block);
    }
}

/* NaN in one row and Inf in another: every other row keeps its bits. */
static void
check_rows_apart (Calls *calls, Case *c)
{
  const Program *p = calls->program;
  uint64_t *hash[N_TENSORS];

  for (int pass = 0; pass < 2; pass++)
    {
      expect (calls, "launch", "", run_program (p, c, 2), 0);
      for (int k = 0; k < N_TENSORS; k++)
        {
          const TensorInfo *info = &tensor_info[k];
          const Tensor *t = &c->t[k];

          if (info->kind != OUTPUT || info->sampled < 0)
            continue;
          if (pass == 0)
            hash[k] = (uint64_t *)allocate (sizeof (uint64_t) * (size_t)max64 (t->rows, 1));
          for (int64_t i = 0; i < t->rows; i++)
            {
              uint64_t bits = 0;

              for (int64_t j = 0; j < t->columns; j++)
                bits = (bits ^ get_bits (info, t, i, j)) * UINT64_C (0x100000001b3);
              if (pass == 0)
                hash[k][i] = bits;
              else if (i != 1 && i != t->rows - 2)
                expect (calls, "a NaN in another row changes a row", info->name, bits != hash[k][i],
                        0);
            }
          if (pass == 1)
            free (hash[k]);
        }
      for (int k = 0; k < N_TENSORS && pass == 0; k++)
        if (tensor_info[k].kind == INPUT && tensor_info[k].sampled >= 0 && c->t[k].rows > 4)
          {
            const Tensor *t = &c->t[k];
            const Dtype dtype = tensor_info[k].dtype;

            set_bits (&tensor_info[k], t, 1, t->columns / 2, encode (dtype, NAN));
            set_bits (&tensor_info[k], t, t->rows - 2, t->columns / 2, encode (dtype, INFINITY));
          }
    }
}

static void
print_verdict (const Options *options, const Program *p, const Case *c, int k, Verdict v, int *n)
{
  const int sampled = tensor_info[k].sampled;
  const int64_t judged = sampled < 0 ? c->t[k].rows : c->samples[sampled].count;

  if (options->json)
    {
      json_comma (n);
      printf ("{\"program\": \"%s\", \"dims\": {", p->name);
      print_dims (c->d, 1);
      printf ("}, \"output\": \"%s\", \"ok\": %s, \"rows\": %" PRId64 ", \"rows_judged\": %" PRId64,
              tensor_info[k].name, v.ok ? "true" : "false", c->t[k].rows, judged);
      printf (", ");
      json_number ("row_error", v.rows);
      printf (", ");
      json_number ("column_error", v.columns);
      printf (", ");
      json_number ("relative_l2", v.l2);
      printf (", ");
      json_number ("cosine", v.cosine);
      printf (", \"unwritten\": %" PRId64 ", \"outside\": %" PRId64 "}", v.unwritten, v.outside);
      return;
    }
  printf ("  %-8s %-12s %6" PRId64 " of %" PRId64 " rows judged  error/tolerance %.2f by row, ",
          p->name, tensor_info[k].name, judged, c->t[k].rows, v.rows);
  if (v.columns > 0)
    printf ("%.2f by column", v.columns);
  else
    printf ("too few for columns");
  printf ("  L2 %.1e  cosine %.7f  %s\n", v.l2, v.cosine, v.ok ? "good" : "WRONG");
  if (v.unwritten > 0)
    printf ("           %" PRId64 " elements were never written\n", v.unwritten);
  if (v.outside > 0)
    printf ("           %" PRId64 " bytes outside the output were written\n", v.outside);
  if (v.rows > 1)
    printf ("           worst at row %" PRId64 ", column %" PRId64 "\n", v.row, v.column);
}

/* Both programs on one case. Returns the number of wrong outputs. */
static int
verify_case (const Options *options, Case *c, int *n)
{
  int wrong = 0;

  for (int i = 0; i < 2; i++)
    {
      const int code = run_program (&programs[i], c, options->threads);

      if (code != 0)
        {
          wrong++;
          if (options->json)
            {
              json_comma (n);
              printf ("{\"program\": \"%s\", \"dims\": {", programs[i].name);
              print_dims (c->d, 1);
              printf ("}, \"ok\": false, \"error\": \"%s\"}", programs[i].error_text (code));
            }
          else
            printf ("  %s: error %d: %s\n", programs[i].name, code, programs[i].error_text (code));
          continue;
        }
      for (int k = 0; k < N_TENSORS; k++)
        if (tensor_info[k].kind == OUTPUT)
          {
            const Verdict v = judge_output (c, k);

            wrong += !v.ok;
            print_verdict (options, &programs[i], c, k, v, n);
          }
    }
  return wrong;
}

/* `value` brought into the dimension's range and to its multiple. */
static int64_t
legal_value (int dim, int64_t value)
{
  const DimInfo *info = &dim_info[dim];

  value = max64 (info->minimum, min64 (value, info->maximum));
  value = value / info->multiple * info->multiple;
  while (value < info->minimum || value < 1)
    value += info->multiple;
  return min64 (value, info->maximum);
}

static int
command_check (const Options *options)
{
  const int64_t small[] = { 130, 1, 7, 33 };
  const int n_cases = N_DIMS > 0 ? 5 : 1;
  int wrong = 0, n = 0;
  Calls calls[2];

  if (options->json)
    printf ("{\n  \"program\": \"%s\",\n  \"seed\": %" PRIu64 ",\n  \"cases\": [", program_name,
            options->seed);
  else
    printf ("%s: seed %" PRIu64 "\n", program_name, options->seed);
  for (int i = 0; i < n_cases; i++)
    {
      int64_t d[N_DIMS + 1] = { 0 };
      int known = 0;

      for (int j = 0; j < N_DIMS; j++)
        d[j] = i == 0 ? options->d[j] : legal_value (j, small[(i + 2 * j) % 4]);
      for (int j = 0; j < N_DIMS && i > 0; j++)
        known += d[j] == options->d[j];
      if (i > 0 && known == N_DIMS)
        continue;
      progress (options, "reference for", d);
      Case *c = new_case (d, options->seed + (uint64_t)i, 1);
      if (!options->json)
        {
          printf (" ");
          print_dims (d, 0);
          printf ("\n");
        }
      fflush (stdout);
      wrong += verify_case (options, c, &n);
      fflush (stdout);
      free_case (c);
    }
  if (options->json)
    printf ("\n  ],\n  \"calls\": [");
  n = 0;
  for (int i = 0; i < 2; i++)
    {
      int64_t d[N_DIMS + 1] = { 0 };
      Calls *of = &calls[i];

      memset (of, 0, sizeof *of);
      of->options = options;
      of->program = &programs[i];
      for (int j = 0; j < N_DIMS; j++)
        d[j] = legal_value (j, 19 + 4 * j);
      progress (options, "the launcher's checks with", d);
      Case *c = new_case (d, options->seed + 99, 0);
      check_plan_calls (of, c);
      check_launch_calls (of, c);
      check_empty (of, c);
      check_bits (of, c);
      if (ROWS_APART)
        check_rows_apart (of, c);
      free_case (c);
      wrong += of->failed;
      if (options->json)
        {
          json_comma (&n);
          printf ("{\"program\": \"%s\", \"passed\": %d, \"failed\": %d}", programs[i].name,
                  of->passed, of->failed);
        }
      else
        printf ("  %-8s launcher and bits: %d checks passed, %d failed\n", programs[i].name,
                of->passed, of->failed);
    }
  if (options->json)
    printf ("\n  ],\n  \"ok\": %s\n}\n", wrong == 0 ? "true" : "false");
  else
    printf ("%s: %s\n", program_name, wrong == 0 ? "good" : "WRONG");
  return wrong == 0 ? 0 : 6;
}
