/* NAME.h: the C interface of an exported program. */

#include "emit-private.h"

static const struct
{
  const char *name, *doc;
} errors[] = {
  { "NULL", "a pointer that is needed is NULL" },
  { "STRUCT_SIZE", "struct_size is not the size of the struct" },
  { "DIMENSION", "a dimension is out of its range or no multiple" },
  { "LEADING_DIMENSION", "a leading dimension is smaller than a row" },
  { "ALIGNMENT", "a pointer is not aligned to its elements" },
  { "OVERLAP", "an output overlaps another tensor" },
  { "WORKSPACE", "the workspace is too small or not aligned to 64 bytes" },
  { "PLAN", "the plan was not initialised, or its memory is too small" },
  { "PREPARE", "prepare was not called, or its memory is too small" },
  { "GUARD", "a requirement of a block does not hold for these dimensions" },
};

static void
print_tensor_fields (TwEmit *emit, TwText *text, TwBufferKind kind)
{
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != kind)
        continue;
      g_autofree char *type = tw_type_to_text (tensor->type);
      g_autofree char *note
          = g_strconcat (type, tensor->type->column_order ? ", columns stored" : "", NULL);

      tw_text_noted (text, note, "%svoid *%s;", kind == TW_BUFFER_OUTPUT ? "" : "const ",
                     tensor->field);
      if (tw_type_has_ld (tensor->type))
        tw_text_line (text, "int64_t %s_ld;", tensor->field);
    }
}

static void
print_dim_fields (TwEmit *emit, TwText *text)
{
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);
      g_autoptr (GString) note = g_string_new (NULL);

      g_string_printf (note, "%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, dim->minimum,
                       dim->maximum);
      if (dim->multiple > 1)
        g_string_append_printf (note, ", a multiple of %" G_GINT64_FORMAT, dim->multiple);
      tw_text_noted (text, note->str, "int64_t %s;",
                     (const char *)g_ptr_array_index (emit->dim_fields, i));
    }
}

static void
print_struct (TwEmit *emit, TwText *text, const char *name, gboolean dims, int kind_a, int kind_b)
{
  tw_text_line (text, "typedef struct %s_%s", emit->prefix, name);
  tw_text_open (text);
  tw_text_noted (text, "sizeof of this struct", "size_t struct_size;");
  if (dims)
    print_dim_fields (emit, text);
  if (kind_a >= 0)
    print_tensor_fields (emit, text, (TwBufferKind)kind_a);
  if (kind_b >= 0)
    print_tensor_fields (emit, text, (TwBufferKind)kind_b);
  g_autofree char *tail = g_strdup_printf (" %s_%s;", emit->prefix, name);
  tw_text_close (text, tail);
  tw_text_line (text, "%s", "");
}

char *
tw_emit_header (TwEmit *emit)
{
  TwText *text = tw_text_new ();
  const char *p = emit->prefix;

  tw_text_comment (
      text,
      "%s: the interface. SPDX-License-Identifier: MIT-0\n"
      "\n"
      "Tensors are the caller's. Rows of a matrix are <name>_ld elements apart (columns, "
      "where columns are stored); a vector is dense. Everything returns 0 or a code of "
      "the enum below; nothing allocates, prints or keeps state, and several threads may "
      "launch one plan at once, each with a workspace of its own.",
      p);
  tw_text_line (text, "#ifndef %s_H", emit->upper);
  tw_text_line (text, "#define %s_H", emit->upper);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "#include <stddef.h>");
  tw_text_line (text, "#include <stdint.h>");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "#ifdef __cplusplus");
  tw_text_line (text, "extern \"C\" {");
  tw_text_line (text, "#endif");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "enum");
  tw_text_open (text);
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      const char *comma = i + 1 < G_N_ELEMENTS (errors) ? "," : "";

      if (i == 0)
        tw_text_noted (text, errors[i].doc, "%s_ERROR_%s = 1%s", emit->upper, errors[i].name,
                       comma);
      else
        tw_text_noted (text, errors[i].doc, "%s_ERROR_%s%s", emit->upper, errors[i].name, comma);
    }
  tw_text_close (text, ";");
  tw_text_line (text, "%s", "");

  tw_text_comment (text, "Dimensions: the largest there will be (plan_init).");
  print_struct (emit, text, "dims", TRUE, -1, -1);
  tw_text_comment (text, "Weights: read by prepare and by every launch, so they stay in place.");
  print_struct (emit, text, "weights", FALSE, TW_BUFFER_WEIGHT, -1);
  tw_text_comment (text, "Arguments of a launch: the actual dimensions, inputs, outputs.");
  print_struct (emit, text, "args", TRUE, TW_BUFFER_INPUT, TW_BUFFER_OUTPUT);

  tw_text_comment (text, "Bytes of a plan. It holds no pointer to itself and may be copied.");
  tw_text_line (text, "size_t %s_plan_size (void);", p);
  tw_text_comment (text, "Makes a plan in `plan` (aligned to 8 bytes). threads <= 0: as many as "
                         "OpenMP has.");
  tw_text_line (text,
                "int %s_plan_init (void *plan, size_t plan_bytes, int threads, "
                "const %s_dims *max_dims, const %s_weights *weights);",
                p, p, p);
  tw_text_comment (text,
                   "Bytes that prepare fills, 0 where nothing is folded or packed; then it need "
                   "not be called.");
  tw_text_line (text, "size_t %s_prepared_size (const void *plan);", p);
  tw_text_comment (text, "Computes what depends on weights alone into `prepared` (aligned to 64 "
                         "bytes), which then belongs to the plan. Call again when weights change.");
  tw_text_line (text, "int %s_prepare (void *plan, void *prepared, size_t prepared_bytes);", p);
  tw_text_comment (text, "Bytes of scratch one launch needs (aligned to 64 bytes).");
  tw_text_line (text, "size_t %s_workspace_size (const void *plan);", p);
  tw_text_comment (text, "Computes the outputs. Dimensions of 0 are good: nothing is written.");
  tw_text_line (text,
                "int %s_launch (const void *plan, const %s_args *args, void *workspace, "
                "size_t workspace_bytes);",
                p, p);
  tw_text_comment (text, "What a code means. Static.");
  tw_text_line (text, "const char *%s_error_text (int code);", p);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "#ifdef __cplusplus");
  tw_text_line (text, "}");
  tw_text_line (text, "#endif");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "#endif");
  return tw_text_steal (text);
}

void
tw_emit_error_text (TwEmit *emit, TwText *text)
{
  tw_text_line (text, "const char *");
  tw_text_line (text, "%s_error_text (int code)", emit->prefix);
  tw_text_open (text);
  tw_text_line (text, "switch (code)");
  tw_text_indent (text, 2);
  tw_text_open (text);
  tw_text_line (text, "case 0:");
  tw_text_line (text, "  return \"good\";");
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    {
      tw_text_line (text, "case %s_ERROR_%s:", emit->upper, errors[i].name);
      tw_text_line (text, "  return \"%s\";", errors[i].doc);
    }
  tw_text_line (text, "default:");
  tw_text_line (text, "  return \"unknown code\";");
  tw_text_close (text, NULL);
  tw_text_indent (text, -2);
  tw_text_close (text, NULL);
}

/* Spellings of the codes as the driver of NAME_main.c knows them. */
void
tw_emit_error_names (TwEmit *emit, TwText *text)
{
  tw_text_line (text, "enum");
  tw_text_open (text);
  for (guint i = 0; i < G_N_ELEMENTS (errors); i++)
    tw_text_line (text, "E_%s = %s_ERROR_%s%s", errors[i].name, emit->upper, errors[i].name,
                  i + 1 < G_N_ELEMENTS (errors) ? "," : "");
  tw_text_close (text, ";");
}
