/* NAME_workspace_size and NAME_launch: every check, then the kernels. */

#include "launcher.h"

static void
print_overlaps (TwEmit *emit, TwText *text)
{
  guint n = emit->tensors->len;

  for (guint out = 0; out < n; out++)
    {
      const TwEmitTensor *output = g_ptr_array_index (emit->tensors, out);

      if (output->kind != TW_BUFFER_OUTPUT)
        continue;
      tw_text_noted (text, output->id, "for (int i = 0; i < %s; i++)",
                     emit->plan->n_slots > 0 ? "N_TENSORS + 1" : "N_TENSORS");
      g_autoptr (GString) condition = g_string_new (NULL);
      g_string_printf (condition, "i != %u && spans_overlap (&spans[%u], &spans[i])", out, out);
      for (guint k = 0; k + 1 < emit->aliases->len; k += 2)
        if (g_array_index (emit->aliases, int, k) == (int)out)
          {
            int in = g_array_index (emit->aliases, int, k + 1);
            const TwEmitTensor *input = g_ptr_array_index (emit->tensors, in);

            g_string_append_printf (
                condition, " && !(i == %d && args->%s == args->%s && args->%s_ld == args->%s_ld)",
                in, output->field, input->field, output->field, input->field);
          }
      tw_text_line (text, "  if (%s)", condition->str);
      tw_text_line (text, "    return %s_ERROR_OVERLAP;", emit->upper);
    }
}

void
tw_launcher_launch (TwEmit *emit, TwText *text)
{
  const char *p = emit->prefix, *u = emit->upper;
  int n_slots = emit->plan->n_slots;
  TwText *body = tw_text_new ();

  tw_text_line (text, "size_t");
  tw_text_line (text, "%s_workspace_size (const void *plan)", p);
  tw_text_open (text);
  if (n_slots > 0)
    {
      tw_text_line (text, "size_t place[%d];", n_slots + 1);
      tw_text_line (text, "%s", "");
      tw_text_line (text, "if (!is_plan (plan))");
      tw_text_line (text, "  return 0;");
      tw_text_line (text, "place_workspace ((const Plan *) plan, place);");
      tw_text_line (text, "return place[%d];", n_slots);
    }
  else
    {
      tw_text_line (text, "(void) plan;");
      tw_text_line (text, "return 0;");
    }
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");

  tw_text_indent (body, 2);
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != TW_BUFFER_WEIGHT)
        {
          tw_launcher_check_tensor (emit, body, i, "args");
          continue;
        }
      gboolean ld = tw_type_has_ld (tensor->type), column = tensor->type->column_order;
      g_autofree char *stride
          = ld ? g_strdup_printf ("p->ld_%s", tensor->id) : g_strdup (tensor->rows);

      tw_text_line (body, "check_tensor (p->v_%s, %s, %s, %s, %d, &spans[%u]);", tensor->id, stride,
                    !ld      ? "1"
                    : column ? tensor->columns
                             : tensor->rows,
                    !ld || column ? tensor->rows : tensor->columns,
                    (int)tw_dtype_get_size (tensor->type->dtype), i);
    }
  if (n_slots > 0)
    {
      tw_launcher_check (body, "workspace == NULL && place[N_SLOTS] > 0", u, "NULL");
      tw_launcher_check (body,
                         "workspace_bytes < place[N_SLOTS] || (uintptr_t) workspace % 64 != 0", u,
                         "WORKSPACE");
      tw_text_line (
          body, "check_tensor (workspace, (int64_t) place[N_SLOTS], 1, (int64_t) place[N_SLOTS], "
                "1, &spans[N_TENSORS]);");
    }
  print_overlaps (emit, body);
  if (tw_launcher_has_prepare (emit))
    tw_launcher_check (body, "p->prepared == NULL", u, "PREPARE");
  tw_text_line (body, "%s", "");
  tw_text_line (body, "set_weights (v, p);");
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);

      tw_text_line (body, "v->d_%s = d_%s;", dim->name, dim->name);
    }
  tw_launcher_views (emit, body, TRUE);
  g_autofree char *printed = tw_text_steal (body);

  tw_text_line (text, "int");
  tw_text_line (text,
                "%s_launch (const void *plan, const %s_args *args, void *workspace, "
                "size_t workspace_bytes)",
                p, p);
  tw_text_open (text);
  if (n_slots > 0)
    tw_text_line (text, "enum { N_TENSORS = %u, N_SLOTS = %d };", emit->tensors->len, n_slots);
  else
    tw_text_line (text, "enum { N_TENSORS = %u };", emit->tensors->len);
  tw_text_line (text, "const Plan *p = (const Plan *) plan;");
  tw_text_line (text, "Values values, *v = &values;");
  tw_text_line (text, "Span spans[N_TENSORS + 1];");
  if (n_slots > 0)
    tw_text_line (text, "size_t place[N_SLOTS + 1];");
  tw_text_line (text, "int code;");
  tw_text_line (text, "%s", "");
  tw_launcher_check (text, "plan == NULL || args == NULL", u, "NULL");
  tw_launcher_check (text, "!is_plan (plan)", u, "PLAN");
  tw_launcher_check (text, "args->struct_size != sizeof *args", u, "STRUCT_SIZE");
  tw_launcher_check_dims (emit, text, "args", TRUE);

  g_autoptr (GString) guards = g_string_new (NULL);
  const GPtrArray *list = tw_typing_get_guards (emit->typing);
  for (guint i = 0; i < list->len; i++)
    g_string_append_printf (guards, " %s",
                            ((const TwGuard *)g_ptr_array_index (list, i))->expression);
  g_autofree char *guarded = tw_emit_prefix_names (emit, guards->str);
  g_autofree char *all = g_strconcat (printed, guarded, NULL);
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);
      g_autofree char *local = g_strconcat ("d_", dim->name, NULL);

      if (tw_text_has_word (all, local))
        tw_text_line (text, "const int64_t %s = args->%s;", local,
                      (const char *)g_ptr_array_index (emit->dim_fields, i));
    }
  for (guint i = 0; i < list->len; i++)
    {
      const TwGuard *guard = g_ptr_array_index (list, i);
      g_autofree char *expression = tw_emit_prefix_names (emit, guard->expression);
      g_autofree char *condition = g_strdup_printf ("!(%s)", expression);

      tw_text_comment (text, "%s: required by its block", guard->node);
      tw_launcher_check (text, condition, u, "GUARD");
    }
  if (n_slots > 0)
    tw_text_line (text, "place_workspace (p, place);");
  else
    {
      tw_text_line (text, "(void) workspace;");
      tw_text_line (text, "(void) workspace_bytes;");
    }
  tw_text_raw (text, printed);
  tw_text_line (text, "%s", "");
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      if (!kernel->prepare)
        tw_text_line (text, "%s (v);", kernel->name);
    }
  tw_text_line (text, "return 0;");
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
}
