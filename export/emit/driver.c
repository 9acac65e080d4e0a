/* NAME_main.c: check, bench and run of an exported program.
 *
 * What is the same for every graph is C in share/export/; here are the tables of this graph, its
 * reference, and the calls of its two programs. */

#include "emit-private.h"

#include <string.h>

static gboolean
paste (TwEmit *emit, TwText *text, const char *name)
{
  g_autofree char *path = g_build_filename (tw_share_directory (), "export", name, NULL);
  g_autofree char *content = NULL;
  g_autoptr (GError) error = NULL;

  if (!g_file_get_contents (path, &content, NULL, &error))
    {
      if (emit->error == NULL)
        g_set_error (&emit->error, TW_EMIT_ERROR, TW_EMIT_ERROR_READ, "%s", error->message);
      return FALSE;
    }
  tw_text_raw (text, "\n");
  tw_text_raw (text, content);
  return TRUE;
}

static const char *
fill_of (const TwEmitTensor *tensor, int sampled)
{
  if (tensor->kind == TW_BUFFER_OUTPUT)
    return "FILL_NONE";
  if (tensor->type->statistic != NULL)
    return "FILL_STATISTIC";
  if (tensor->type->positive)
    return "FILL_POSITIVE";
  if (tensor->type->n_dims < 2)
    return "FILL_VECTOR";
  return tensor->kind == TW_BUFFER_WEIGHT || sampled < 0 ? "FILL_WEIGHT" : "FILL_ROWS";
}

static void
print_tables (TwEmit *emit, TwText *text, const TwEmitFacts *facts)
{
  static const char *const kinds[] = { "INPUT", "WEIGHT", "", "OUTPUT", "" };

  tw_text_line (text, "%s", "");
  tw_text_line (text, "static const DimInfo dim_info[] = {");
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);

      tw_text_line (text,
                    "  { \"%s\", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT ", %" G_GINT64_FORMAT
                    ", %" G_GINT64_FORMAT " },",
                    dim->name, dim->value, dim->minimum, dim->maximum, MAX (1, dim->multiple));
    }
  if (emit->dims->len == 0)
    tw_text_line (text, "  { NULL, 0, 0, 0, 1 },");
  tw_text_line (text, "};");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "static const TensorInfo tensor_info[N_TENSORS] = {");
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      tw_text_line (text, "  { \"%s\", %s, %s, %d, %d, %d, %s },", tensor->id,
                    kinds[tensor->kind == TW_BUFFER_INPUT    ? 0
                          : tensor->kind == TW_BUFFER_WEIGHT ? 1
                                                             : 3],
                    tw_emit_dtype (tensor->type->dtype) + 3, tensor->type->n_dims,
                    tensor->type->column_order, facts->sampled[i],
                    fill_of (tensor, facts->sampled[i]));
    }
  tw_text_line (text, "};");
}

/* A function of the sizes with a case for each tensor or sample. */
static void
print_by_size (TwEmit *emit, TwText *text, const char *head, TwText *body_text)
{
  g_autofree char *body = tw_text_steal (body_text);

  tw_text_line (text, "%s", "");
  tw_text_raw (text, head);
  tw_text_open (text);
  int locals = tw_emit_dim_locals (emit, text, body);
  if (locals == 0)
    tw_text_line (text, "(void) d;");
  else if (!g_str_has_prefix (body, "  double"))
    tw_text_line (text, "%s", "");
  tw_text_raw (text, body);
  tw_text_close (text, NULL);
}

static void
print_sizes (TwEmit *emit, TwText *text, const TwEmitFacts *facts)
{
  TwText *body = tw_text_new ();

  tw_text_indent (body, 2);
  tw_text_line (body, "*rows = *columns = 0;");
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      tw_text_noted (body, tensor->id, "if (tensor == %u)", i);
      tw_text_line (body, "  {");
      tw_text_line (body, "    *rows = %s;", tensor->rows);
      tw_text_line (body, "    *columns = %s;", tensor->columns);
      tw_text_line (body, "  }");
    }
  print_by_size (emit, text,
                 "static void\n"
                 "tensor_shape (int tensor, const int64_t *d, int64_t *rows, int64_t *columns)\n",
                 body);

  body = tw_text_new ();
  tw_text_indent (body, 2);
  for (guint i = 0; i < facts->samples->len; i++)
    {
      g_autofree char *extent = tw_dim_to_c (g_array_index (facts->samples, TwDim *, i), "d_");

      tw_text_line (body, "if (sampled == %u)", i);
      tw_text_line (body, "  return %s;", extent);
    }
  if (facts->samples->len == 0)
    tw_text_line (body, "(void) sampled;");
  tw_text_line (body, "return 0;");
  print_by_size (emit, text, "static int64_t\nsample_extent (int sampled, const int64_t *d)\n",
                 body);

  body = tw_text_new ();
  tw_text_indent (body, 2);
  gboolean any = FALSE;
  for (guint i = 0; i < emit->tensors->len; i++)
    if (strcmp (facts->widths[i], "1") != 0)
      {
        any = TRUE;
        tw_text_line (body, "if (tensor == %u)", i);
        tw_text_line (body, "  return (double) (%s);", facts->widths[i]);
      }
  if (!any)
    tw_text_line (body, "(void) tensor;");
  tw_text_line (body, "return 1;");
  print_by_size (emit, text,
                 "/* Columns that a statistic which comes in was taken over. */\n"
                 "static double\nstatistic_width (int tensor, const int64_t *d)\n",
                 body);

  body = tw_text_new ();
  tw_text_indent (body, 2);
  tw_text_line (body, "double longest = 1;");
  tw_text_line (body, "%s", "");
  for (guint i = 0; i < facts->sums->len; i++)
    tw_text_line (body, "longest = fmax (longest, (double) (%s));",
                  (const char *)g_ptr_array_index (facts->sums, i));
  tw_text_line (body, "return longest;");
  print_by_size (emit, text,
                 "/* Terms of the longest sum. */\nstatic double\nlongest_sum (const int64_t *d)\n",
                 body);

  body = tw_text_new ();
  tw_text_indent (body, 2);
  tw_text_line (body, "double flops = 0;");
  tw_text_line (body, "%s", "");
  for (guint i = 0; i < facts->flops->len; i++)
    tw_text_line (body, "flops += %s;", (const char *)g_ptr_array_index (facts->flops, i));
  tw_text_line (body, "return flops;");
  print_by_size (emit, text,
                 "/* Of the matrix products. */\nstatic double\ncount_flops (const int64_t *d)\n",
                 body);
}

/* Bytes that the kernels of a launch read and write, each buffer of a kernel once. */
static void
print_bytes (TwEmit *emit, TwText *text, const char *name)
{
  TwText *body = tw_text_new ();
  g_autofree char *head = g_strdup_printf ("static double\n%s_bytes (const int64_t *d)\n", name);

  tw_text_indent (body, 2);
  tw_text_line (body, "double bytes = 0;");
  tw_text_line (body, "%s", "");
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      if (kernel->prepare)
        continue;
      for (guint j = 0; j < kernel->reads->len + kernel->stores->len; j++)
        {
          int index = j < kernel->reads->len
                          ? g_array_index (kernel->reads, int, j)
                          : g_array_index (kernel->stores, TwStore, j - kernel->reads->len).buffer;
          const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, index);
          g_autofree char *rows = NULL, *columns = NULL;

          tw_type_to_c (buffer->type, "d_", &rows, &columns);
          tw_text_line (body, "bytes += %d.0 * (double) (%s) * (double) (%s);",
                        (int)tw_dtype_get_size (buffer->type->dtype), rows, columns);
        }
    }
  tw_text_line (body, "return bytes;");
  print_by_size (emit, text, head, body);
}

static void
print_assignments (TwEmit *emit, TwText *text, const char *variable, TwBufferKind kind)
{
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != kind)
        continue;
      tw_text_line (text, "%s.%s = t[%u].data;", variable, tensor->field, i);
      if (tw_type_has_ld (tensor->type))
        tw_text_line (text, "%s.%s_ld = t[%u].ld;", variable, tensor->field, i);
    }
}

static void
print_dims_assignments (TwEmit *emit, TwText *text, const char *variable)
{
  for (guint i = 0; i < emit->dims->len; i++)
    tw_text_line (text, "%s.%s = d[%u];", variable,
                  (const char *)g_ptr_array_index (emit->dim_fields, i), i);
}

static void
print_calls (TwEmit *emit, TwText *text, const char *name)
{
  const char *p = emit->prefix;

  tw_text_line (text, "%s", "");
  tw_text_line (text, "static int");
  tw_text_line (text,
                "%s_plan_init (void *plan, size_t bytes, int threads, const int64_t *d, "
                "const Tensor *t, size_t lie)",
                name);
  tw_text_open (text);
  tw_text_line (text, "%s_dims dims;", p);
  tw_text_line (text, "%s_weights weights;", p);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "(void) d;");
  tw_text_line (text, "(void) t;");
  tw_text_line (text, "dims.struct_size = sizeof dims + lie;");
  print_dims_assignments (emit, text, "dims");
  tw_text_line (text, "weights.struct_size = sizeof weights;");
  print_assignments (emit, text, "weights", TW_BUFFER_WEIGHT);
  tw_text_line (text, "return %s_plan_init (plan, bytes, threads, &dims, &weights);", p);
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "static int");
  tw_text_line (text,
                "%s_launch (const void *plan, const int64_t *d, const Tensor *t, void *workspace, "
                "size_t bytes, size_t lie)",
                name);
  tw_text_open (text);
  tw_text_line (text, "%s_args args;", p);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "(void) d;");
  tw_text_line (text, "args.struct_size = sizeof args + lie;");
  print_dims_assignments (emit, text, "args");
  print_assignments (emit, text, "args", TW_BUFFER_INPUT);
  print_assignments (emit, text, "args", TW_BUFFER_OUTPUT);
  tw_text_line (text, "return %s_launch (plan, &args, workspace, bytes);", p);
  tw_text_close (text, NULL);
  print_bytes (emit, text, name);
}

static void
print_program (TwEmit *emit, TwText *text, const char *name)
{
  const char *p = emit->prefix;
  int launches = 0;

  for (guint i = 0; i < emit->plan->kernels->len; i++)
    launches += !((const TwKernel *)g_ptr_array_index (emit->plan->kernels, i))->prepare;
  tw_text_line (text,
                "  { \"%s\", %d, %s_plan_size, %s_plan_init, %s_prepared_size, %s_prepare, "
                "%s_workspace_size, %s_launch, %s_error_text, %s_bytes },",
                name, launches, p, name, p, p, p, name, p, name);
}

char *
tw_emit_driver (TwEmit *emit, TwEmit *unfused)
{
  TwText *text = tw_text_new ();
  TwText *middle = tw_text_new ();
  g_autoptr (TwEmitFacts) facts = tw_emit_facts_new (emit);
  GArray *aliases = emit->aliases;

  tw_emit_reference (emit, middle, facts);
  tw_text_comment (
      text,
      "%s_main: verifies, times and runs the exported program. "
      "SPDX-License-Identifier: MIT-0\n"
      "\n"
      "The reference is printed from the formulas of the drawn graph and shares no code "
      "with the program: it computes in double, once exactly and once rounding what each "
      "drawn edge carries.",
      emit->prefix);
  tw_text_line (text, "#include \"%s.h\"", emit->prefix);
  tw_text_line (text, "#include \"%s.h\"", unfused->prefix);
  tw_text_line (text, "%s", "");
  tw_text_raw (text, "#include <errno.h>\n#include <float.h>\n#include <inttypes.h>\n"
                     "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
                     "#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n");
  paste (emit, text, "driver-base.c");

  tw_text_section (text, "this graph");
  tw_text_line (text, "%s", "");
  g_autofree char *quoted = tw_text_quote (emit->prefix);
  tw_text_line (text, "static const char *const program_name = %s;", quoted);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "enum");
  tw_text_open (text);
  tw_text_line (text, "N_DIMS = %u,", emit->dims->len);
  tw_text_line (text, "N_TENSORS = %u,", emit->tensors->len);
  tw_text_noted (text, "classes of rows that can be computed alone", "N_SAMPLED = %u,",
                 facts->samples->len);
  tw_text_noted (text, "outputs that may be an input's memory", "N_ALIASES = %u,",
                 aliases->len / 2);
  tw_text_noted (text, "rows depend on nothing of other rows", "ROWS_APART = %d,",
                 facts->rows_apart);
  tw_text_noted (text, "row scales 2^-REACH ... 2^REACH", "REACH = %d", facts->f16 ? 6 : 14);
  tw_text_close (text, ";");
  tw_text_line (text, "%s", "");
  tw_emit_error_names (emit, text);
  print_tables (emit, text, facts);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "static const int aliases[][2] = {");
  for (guint i = 0; i + 1 < aliases->len; i += 2)
    tw_text_line (text, "  { %d, %d },", g_array_index (aliases, int, i),
                  g_array_index (aliases, int, i + 1));
  if (aliases->len == 0)
    tw_text_line (text, "  { -1, -1 },");
  tw_text_line (text, "};");
  print_sizes (emit, text, facts);

  tw_text_line (text, "%s", "");
  tw_text_comment (text, "Functions of the formula language.");
  tw_text_raw (text, "#ifdef __GNUC__\n#pragma GCC diagnostic push\n"
                     "#pragma GCC diagnostic ignored \"-Wunused-function\"\n#endif\n");
  tw_text_raw (text, tw_formula_get_helpers ());
  tw_text_raw (text, "#ifdef __GNUC__\n#pragma GCC diagnostic pop\n#endif\n\n");
  tw_text_comment (text, "Values of the reference, freed together.");
  tw_text_line (text, "typedef struct");
  tw_text_open (text);
  tw_text_line (text, "double *values[%d];", MAX (1, facts->n_values));
  tw_text_line (text, "int n;");
  tw_text_close (text, " Pool;");
  if (facts->n_values > 0)
    tw_text_raw (text, "\nstatic double *\ntake (Pool *pool, int64_t count)\n{\n"
                       "  return pool->values[pool->n++] = new_values (count);\n}\n");
  tw_text_raw (text, "\nstatic void\nrelease (Pool *pool)\n{\n"
                     "  while (pool->n > 0)\n    free (pool->values[--pool->n]);\n}\n\n");
  g_autofree char *printed = tw_text_steal (middle);
  tw_text_raw (text, printed);
  print_calls (emit, text, "fused");
  print_calls (unfused, text, "unfused");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "static const Program programs[2] = {");
  print_program (emit, text, "fused");
  print_program (unfused, text, "unfused");
  tw_text_line (text, "};");

  paste (emit, text, "driver-judge.c");
  paste (emit, text, "driver-check.c");
  paste (emit, text, "driver-main.c");
  return tw_text_steal (text);
}
