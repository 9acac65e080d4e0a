/* What functions of the launcher have in common: the places of buffers, views of them, checks. */

#include "launcher.h"

char *
tw_emit_view_name (const TwEmit *emit, int buffer)
{
  const TwBuffer *b = g_ptr_array_index (emit->plan->buffers, buffer);

  return g_strdup_printf ("%s%s",
                          b->kind == TW_BUFFER_WORKSPACE  ? "b_"
                          : b->kind == TW_BUFFER_PREPARED ? "p_"
                                                          : "v_",
                          b->name);
}

gboolean
tw_launcher_has_prepare (const TwEmit *emit)
{
  return emit->plan->n_prepared_slots > 0;
}

/* ld of a buffer in workspace or prepared memory: rows start at multiples of 64 bytes. */
static char *
print_buffer_ld (const TwBuffer *buffer)
{
  g_autofree char *rows = NULL, *columns = NULL;
  gint64 constant;
  int per_line = 64 / (int)tw_dtype_get_size (buffer->type->dtype);

  tw_type_to_c (buffer->type, "d_", &rows, &columns);
  if (!tw_type_has_ld (buffer->type))
    return g_strdup ("1");
  if (tw_dim_is_constant (buffer->type->dims[buffer->type->n_dims - 1], &constant))
    return g_strdup_printf ("%" G_GINT64_FORMAT, (constant + per_line - 1) / per_line * per_line);
  return g_strdup_printf ("((%s) + %d) / %d * %d", columns, per_line - 1, per_line, per_line);
}

static int
count_slots (const TwEmit *emit, TwBufferKind kind)
{
  return kind == TW_BUFFER_WORKSPACE ? emit->plan->n_slots : emit->plan->n_prepared_slots;
}

void
tw_launcher_slots (TwEmit *emit, TwText *text, TwBufferKind kind, const char *name)
{
  int n = count_slots (emit, kind);
  TwText *body = tw_text_new ();

  if (n == 0)
    {
      tw_text_free (body);
      return;
    }
  tw_text_indent (body, 2);
  tw_text_line (body, "place[0] = 0;");
  for (int slot = 0; slot < n; slot++)
    {
      tw_text_line (body, "place[%d] = place[%d];", slot + 1, slot);
      for (guint i = 0; i < emit->plan->buffers->len; i++)
        {
          const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, i);
          g_autofree char *rows = NULL, *columns = NULL, *ld = NULL;

          if (buffer->kind != kind || buffer->slot != slot)
            continue;
          tw_type_to_c (buffer->type, "d_", &rows, &columns);
          ld = print_buffer_ld (buffer);
          tw_text_noted (body, buffer->name, "reserve (&place[%d], place[%d], %s, %s, %d);",
                         slot + 1, slot, rows, ld, (int)tw_dtype_get_size (buffer->type->dtype));
        }
    }
  g_autofree char *printed = tw_text_steal (body);
  tw_text_line (text, "static void");
  tw_text_line (text, "%s (const Plan *p, size_t *place)", name);
  tw_text_open (text);
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);
      g_autofree char *local = g_strconcat ("d_", dim->name, NULL);

      if (tw_text_has_word (printed, local))
        tw_text_line (text, "const int64_t %s = p->%s;", local, local);
    }
  if (emit->dims->len > 0)
    tw_text_line (text, "%s", "");
  tw_text_line (text, "(void) p;");
  tw_text_raw (text, printed);
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
}

void
tw_launcher_views (TwEmit *emit, TwText *text, gboolean at_launch)
{
  for (guint i = 0; i < emit->plan->buffers->len; i++)
    {
      const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, i);
      gboolean known = buffer->kind == TW_BUFFER_WEIGHT || buffer->kind == TW_BUFFER_PREPARED;
      g_autofree char *data = NULL, *ld = NULL;

      if (known == at_launch || !tw_emit_uses_buffer (emit, (int)i))
        continue;
      if (buffer->kind == TW_BUFFER_WORKSPACE)
        {
          data = g_strdup_printf ("(unsigned char *) workspace + place[%d]", buffer->slot);
          ld = print_buffer_ld (buffer);
        }
      else if (buffer->kind == TW_BUFFER_PREPARED)
        {
          data = g_strdup_printf ("p->prepared + place[%d]", buffer->slot);
          ld = print_buffer_ld (buffer);
        }
      else if (buffer->kind == TW_BUFFER_WEIGHT)
        {
          data = g_strdup_printf ("p->v_%s", buffer->name);
          ld = tw_type_has_ld (buffer->type) ? g_strdup_printf ("p->ld_%s", buffer->name)
                                             : g_strdup ("1");
        }
      else
        {
          int tensor = tw_emit_find_tensor (emit, buffer->name);

          if (tensor < 0)
            continue;
          const TwEmitTensor *t = g_ptr_array_index (emit->tensors, tensor);
          data = g_strdup_printf ("args->%s", t->field);
          ld = tw_type_has_ld (t->type) ? g_strdup_printf ("args->%s_ld", t->field)
                                        : g_strdup ("1");
        }
      g_autofree char *name = tw_emit_view_name (emit, (int)i);
      tw_emit_view (text, name, data, ld);
    }
}

void
tw_launcher_check (TwText *text, const char *condition, const char *upper, const char *code)
{
  tw_text_line (text, "if (%s)", condition);
  tw_text_line (text, "  return %s_ERROR_%s;", upper, code);
}

void
tw_launcher_check_dims (TwEmit *emit, TwText *text, const char *from, gboolean at_launch)
{
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);
      const char *field = g_ptr_array_index (emit->dim_fields, i);
      g_autoptr (GString) condition = g_string_new (NULL);

      g_string_printf (condition, "%s->%s < 0", from, field);
      if (at_launch)
        g_string_append_printf (condition, " || %s->%s > p->d_%s", from, field, dim->name);
      else
        g_string_append_printf (condition, " || %s->%s > %" G_GINT64_FORMAT, from, field,
                                dim->maximum);
      if (dim->minimum > 1)
        g_string_append_printf (condition, " || (%s->%s != 0 && %s->%s < %" G_GINT64_FORMAT ")",
                                from, field, from, field, dim->minimum);
      if (dim->multiple > 1)
        g_string_append_printf (condition, " || %s->%s %% %" G_GINT64_FORMAT " != 0", from, field,
                                dim->multiple);
      tw_launcher_check (text, condition->str, emit->upper, "DIMENSION");
    }
}

void
tw_launcher_check_tensor (TwEmit *emit, TwText *text, guint index, const char *from)
{
  const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, index);
  g_autofree char *ld = tw_type_has_ld (tensor->type)
                            ? g_strdup_printf ("%s->%s_ld", from, tensor->field)
                            : g_strdup (tensor->rows);
  const char *lines = tensor->rows, *length = tensor->columns;

  if (!tw_type_has_ld (tensor->type))
    {
      lines = "1";
      length = tensor->rows;
    }
  else if (tensor->type->column_order)
    {
      lines = tensor->columns;
      length = tensor->rows;
    }
  tw_text_line (text, "code = check_tensor (%s->%s, %s, %s, %s, %d, &spans[%u]);", from,
                tensor->field, ld, lines, length, (int)tw_dtype_get_size (tensor->type->dtype),
                index);
  tw_text_line (text, "if (code != 0)");
  tw_text_line (text, "  return code;");
}
