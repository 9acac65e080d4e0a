/* ---- bench, run, main ------------------------------------------------------------------------ */

static int
compare_doubles (const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void
bench_failed (const Options *options, const char *why)
{
  if (options->json)
    printf ("\n  ],\n  \"times\": [],\n  \"ok\": false\n}\n");
  else
    printf ("%s: %s\n", program_name, why);
}

/* Times of what was verified in this run, nothing else. */
static int
command_bench (const Options *options)
{
  const int repeat = options->repeat;
  double *times[2], median[2] = { 0, 0 };
  Session sessions[2];
  int n = 0, wrong, code = 0;

  progress (options, "reference for", options->d);
  Case *c = new_case (options->d, options->seed, 1);
  if (options->json)
    printf ("{\n  \"program\": \"%s\",\n  \"seed\": %" PRIu64 ",\n  \"cases\": [", program_name,
            options->seed);
  else
    {
      printf ("%s: seed %" PRIu64 " ", program_name, options->seed);
      print_dims (c->d, 0);
      printf ("\n");
    }
  wrong = verify_case (options, c, &n);
  if (wrong > 0)
    {
      bench_failed (options, "WRONG; nothing was timed");
      free_case (c);
      return 6;
    }
  for (int i = 0; i < 2; i++)
    times[i] = new_values (repeat);
  memset (sessions, 0, sizeof sessions);
  for (int i = 0; i < 2 && code == 0; i++)
    {
      code = new_session (&sessions[i], &programs[i], c->d, c->t, options->threads);
      if (code == 0)
        code = launch_session (&sessions[i], c->d, c->t);
    }
  for (int r = 0; r < repeat && code == 0; r++)
    {
      if (r % 5 == 0)
        progress (options, "timing", c->d);
      for (int i = 0; i < 2 && code == 0; i++)
        {
          const double start = now ();

          code = launch_session (&sessions[i], c->d, c->t);
          times[i][r] = now () - start;
        }
    }
  if (code != 0)
    {
      bench_failed (options, programs[0].error_text (code));
      for (int i = 0; i < 2; i++)
        {
          free (times[i]);
          free_session (&sessions[i]);
        }
      free_case (c);
      return 6;
    }
  if (options->json)
    printf ("\n  ],\n  \"times\": [");
  n = 0;
  for (int i = 0; i < 2; i++)
    {
      const double bytes = programs[i].bytes (c->d), flops = count_flops (c->d);

      qsort (times[i], (size_t)repeat, sizeof (double), compare_doubles);
      median[i] = times[i][repeat / 2];
      if (options->json)
        {
          json_comma (&n);
          printf ("{\"program\": \"%s\", \"kernels\": %d, \"seconds\": %.6e, \"best\": %.6e, "
                  "\"repeat\": %d, \"flops\": %.6e, \"bytes\": %.6e}",
                  programs[i].name, programs[i].launches, median[i], times[i][0], repeat, flops,
                  bytes);
        }
      else
        printf ("  %-8s %d kernels  %.3f ms (best %.3f, median of %d)  %.1f GFLOP/s  %.1f MiB "
                "through memory\n",
                programs[i].name, programs[i].launches, 1e3 * median[i], 1e3 * times[i][0], repeat,
                flops / median[i] * 1e-9, bytes / 1048576.0);
      free (times[i]);
      free_session (&sessions[i]);
    }
  if (options->json)
    printf ("\n  ],\n  \"ratio\": %.4f,\n  \"ok\": true\n}\n", median[0] / median[1]);
  else
    printf ("  fused/unfused %.3f\n", median[0] / median[1]);
  free_case (c);
  return 0;
}

/* Reads or writes the elements of a tensor, rows adjacent (columns, where they are stored). */
static int
transfer_file (const char *path, int k, const Tensor *t, int writing)
{
  const TensorInfo *info = &tensor_info[k];
  const size_t size = (size_t)dtype_size (info->dtype);
  int64_t lines, length, done = 0;
  FILE *file = fopen (path, writing ? "wb" : "rb");

  if (file == NULL)
    {
      fprintf (stderr, "%s: %s: cannot be opened\n", program_name, path);
      return 5;
    }
  storage_shape (info, t, &lines, &length);
  if (info->n_dims < 2)
    {
      length = lines * length;
      lines = 1;
    }
  for (int64_t i = 0; i < lines; i++)
    {
      unsigned char *line = t->data + (size_t)(i * t->ld) * size;

      done += (int64_t)(writing ? fwrite (line, size, (size_t)length, file)
                                : fread (line, size, (size_t)length, file));
    }
  if (!writing && done == lines * length && fgetc (file) != EOF)
    done++;
  if (fclose (file) != 0 || done != lines * length)
    {
      fprintf (stderr, "%s: %s: %s %" PRId64 " elements of %" PRId64 " bytes\n", program_name, path,
               writing ? "could not write" : "does not hold exactly", lines * length,
               (int64_t)size);
      return 5;
    }
  return 0;
}

/* The fused program once, on inputs from files; what no file gives is random. */
static int
command_run (const Options *options)
{
  Case *c = new_case (options->d, options->seed, 0);
  int status = 0, code;

  for (int k = 0; k < N_TENSORS && status == 0; k++)
    if (options->in_files[k] != NULL)
      status = transfer_file (options->in_files[k], k, &c->t[k], 0);
  if (status != 0)
    {
      free_case (c);
      return status;
    }
  code = run_program (&programs[0], c, options->threads);
  if (code != 0)
    {
      fprintf (stderr, "%s: error %d: %s\n", program_name, code, programs[0].error_text (code));
      status = 6;
    }
  for (int k = 0; k < N_TENSORS && status == 0; k++)
    if (options->out_files[k] != NULL)
      status = transfer_file (options->out_files[k], k, &c->t[k], 1);
  if (options->json)
    {
      int n = 0;

      printf ("{\n  \"program\": \"%s\",\n  \"outputs\": [", program_name);
      for (int k = 0; k < N_TENSORS; k++)
        if (tensor_info[k].kind == OUTPUT)
          {
            json_comma (&n);
            printf ("{\"output\": \"%s\", \"rows\": %" PRId64 ", \"columns\": %" PRId64
                    ", \"hash\": \"%016" PRIx64 "\"}",
                    tensor_info[k].name, c->t[k].rows, c->t[k].columns,
                    hash_tensor (&tensor_info[k], &c->t[k]));
          }
      printf ("\n  ],\n  \"ok\": %s\n}\n", status == 0 ? "true" : "false");
    }
  free_case (c);
  return status;
}

static void
print_usage (FILE *file)
{
  static const char *const dtypes[] = { "f32", "bf16", "f16" };

  fprintf (file,
           "usage: %s_main check|bench|run [options] [NAME=size ...]\n"
           "  check            compares both programs with a reference in double\n"
           "  bench            the same, then times them: fused and unfused in turn\n"
           "  run              one launch on files\n"
           "  --seed N         of the random inputs (default: from the clock)\n"
           "  --threads N      0: as many as there are\n"
           "  --repeat N       launches that are timed (bench; default 15)\n"
           "  --in NAME=FILE   raw elements of an input or weight (run)\n"
           "  --out NAME=FILE  where an output goes (run)\n"
           "  --json           a report for programs\n",
           program_name);
  for (int i = 0; i < N_DIMS; i++)
    fprintf (file,
             "  %s=N  %" PRId64 " ... %" PRId64 ", a multiple of %" PRId64 "; %" PRId64
             " if not given\n",
             dim_info[i].name, dim_info[i].minimum, dim_info[i].maximum, dim_info[i].multiple,
             dim_info[i].value);
  for (int k = 0; k < N_TENSORS; k++)
    fprintf (file, "  %s %s: %s, %s order\n",
             tensor_info[k].kind == OUTPUT   ? "output"
             : tensor_info[k].kind == WEIGHT ? "weight"
                                             : "input",
             tensor_info[k].name, dtypes[tensor_info[k].dtype],
             tensor_info[k].column_order ? "column" : "row");
}

static int
usage_error (const char *what, const char *argument)
{
  fprintf (stderr, "%s: %s: %s\n", program_name, argument, what);
  print_usage (stderr);
  return 1;
}

/* "NAME=VALUE": where VALUE starts if the name is `name`; else NULL. */
static const char *
value_of (const char *argument, const char *name)
{
  const size_t length = strlen (name);

  return strncmp (argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                          : NULL;
}

static int
parse_integer (const char *text, int64_t least, int64_t *value)
{
  char *end;
  long long number;

  errno = 0;
  number = strtoll (text, &end, 10);
  *value = number;
  return errno == 0 && end != text && *end == 0 && number >= least;
}

/* 0, or the exit status of a usage error. */
static int
parse_options (int argc, char **argv, Options *options)
{
  for (int i = 2; i < argc; i++)
    {
      const char *argument = argv[i];
      const int more = i + 1 < argc;
      int64_t value = 0;
      int found = 0;

      if (strcmp (argument, "--json") == 0)
        {
          options->json = 1;
          continue;
        }
      if (strcmp (argument, "--in") == 0 || strcmp (argument, "--out") == 0)
        {
          const int in = argument[2] == 'i';

          if (!more)
            return usage_error ("needs NAME=FILE", argument);
          i++;
          for (int k = 0; k < N_TENSORS; k++)
            {
              const char *path = value_of (argv[i], tensor_info[k].name);

              if (path == NULL || in != (tensor_info[k].kind != OUTPUT))
                continue;
              *(in ? &options->in_files[k] : &options->out_files[k]) = path;
              found = 1;
            }
          if (!found)
            return usage_error ("no tensor of that name", argv[i]);
          continue;
        }
      if (strcmp (argument, "--seed") == 0 || strcmp (argument, "--threads") == 0
          || strcmp (argument, "--repeat") == 0)
        {
          if (!more || !parse_integer (argv[i + 1], argument[2] == 'r', &value)
              || (argument[2] != 's' && value > 1000000))
            return usage_error ("needs a number", argument);
          i++;
          if (argument[2] == 's')
            options->seed = (uint64_t)value;
          else if (argument[2] == 't')
            options->threads = (int)value;
          else
            options->repeat = (int)value;
          continue;
        }
      for (int d = 0; d < N_DIMS; d++)
        {
          const char *text = value_of (argument, dim_info[d].name);

          if (text == NULL)
            continue;
          found = 1;
          if (!parse_integer (text, 1, &value) || value < dim_info[d].minimum
              || value > dim_info[d].maximum || value % dim_info[d].multiple != 0)
            return usage_error ("out of range", argument);
          options->d[d] = value;
        }
      if (!found)
        return usage_error ("not understood", argument);
    }
  return 0;
}

int
main (int argc, char **argv)
{
  Options options;
  int status;

  memset (&options, 0, sizeof options);
  options.started = now ();
  options.seed = (uint64_t)(options.started * 1000) % 1000000000;
  options.repeat = 15;
  for (int i = 0; i < N_DIMS; i++)
    options.d[i] = dim_info[i].value;
  if (argc < 2)
    {
      print_usage (stderr);
      return 1;
    }
  if (strcmp (argv[1], "--help") == 0)
    {
      print_usage (stdout);
      return 0;
    }
  status = parse_options (argc, argv, &options);
  if (status != 0)
    return status;
  if (strcmp (argv[1], "check") == 0)
    return command_check (&options);
  if (strcmp (argv[1], "bench") == 0)
    return command_bench (&options);
  if (strcmp (argv[1], "run") == 0)
    return command_run (&options);
  return usage_error ("not a command", argv[1]);
}
