/* The launcher of NAME.c: what it declares, the plan, what is prepared.
 *
 * Nothing here depends on the target but how a view is made and a kernel called. */

#include "launcher.h"

/* A number of the program's own, so that the memory of another is not taken for a plan. */
static guint64
make_magic (const char *prefix)
{
  guint64 hash = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  for (const char *c = prefix; *c != '\0'; c++)
    hash = (hash ^ (guchar)*c) * G_GUINT64_CONSTANT (0x100000001b3);
  return hash;
}

static void
print_helpers (TwEmit *emit, TwText *text)
{
  const char *u = emit->upper;

  tw_text_comment (text, "What plan_init leaves in the caller's memory.");
  tw_text_line (text, "typedef struct");
  tw_text_open (text);
  tw_text_line (text, "uint64_t magic;");
  tw_text_line (text, "int threads;");
  tw_text_line (text, "unsigned char *prepared;");
  for (guint i = 0; i < emit->dims->len; i++)
    tw_text_line (text, "int64_t d_%s;",
                  ((const TwDimension *)g_ptr_array_index (emit->dims, i))->name);
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != TW_BUFFER_WEIGHT)
        continue;
      tw_text_line (text, "const void *v_%s;", tensor->id);
      if (tw_type_has_ld (tensor->type))
        tw_text_line (text, "int64_t ld_%s;", tensor->id);
    }
  tw_text_close (text, " Plan;");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "static const uint64_t plan_magic = UINT64_C (0x%" G_GINT64_MODIFIER "x);",
                make_magic (emit->prefix));
  tw_text_line (text, "%s", "");
  tw_text_comment (text, "The bytes of a tensor: `width` bytes every `stride`.");
  tw_text_raw (
      text,
      "typedef struct\n"
      "{\n"
      "  uintptr_t first, last;\n"
      "  size_t stride, width;\n"
      "} Span;\n"
      "\n"
      "/* `lines` runs of `length` elements, `ld` elements apart. */\n"
      "static int\n"
      "check_tensor (const void *data, int64_t ld, int64_t lines, int64_t length, int64_t size,\n"
      "              Span *span)\n"
      "{\n"
      "  span->first = span->last = (uintptr_t) data;\n"
      "  span->stride = span->width = 0;\n"
      "  if (lines <= 0 || length <= 0)\n"
      "    return 0;\n");
  tw_text_indent (text, 2);
  tw_text_line (text, "if (data == NULL)");
  tw_text_line (text, "  return %s_ERROR_NULL;", u);
  tw_text_line (text, "if (ld < length || ld > INT64_MAX / 8 / lines)");
  tw_text_line (text, "  return %s_ERROR_LEADING_DIMENSION;", u);
  tw_text_line (text, "if ((uintptr_t) data %% (uintptr_t) size != 0)");
  tw_text_line (text, "  return %s_ERROR_ALIGNMENT;", u);
  tw_text_indent (text, -2);
  tw_text_raw (text,
               "  span->stride = (size_t) (ld * size);\n"
               "  span->width = (size_t) (length * size);\n"
               "  span->last = span->first + (size_t) (lines - 1) * span->stride + span->width;\n"
               "  return 0;\n"
               "}\n"
               "\n"
               "/* Column ranges of one matrix share no element though their spans cross. */\n"
               "static int\n"
               "spans_overlap (const Span *a, const Span *b)\n"
               "{\n"
               "  if (a->first == a->last || b->first == b->last || a->last <= b->first\n"
               "      || b->last <= a->first)\n"
               "    return 0;\n"
               "  if (a->stride == b->stride)\n"
               "    {\n"
               "      const Span *low = a->first <= b->first ? a : b, *high = low == a ? b : a;\n"
               "      const size_t offset = (high->first - low->first) % low->stride;\n"
               "\n"
               "      if (offset >= low->width && offset + high->width <= low->stride)\n"
               "        return 0;\n"
               "    }\n"
               "  return 1;\n"
               "}\n\n");
}

static guint
count_tensors (const TwEmit *emit, TwBufferKind kind)
{
  guint n = 0;

  for (guint i = 0; i < emit->tensors->len; i++)
    n += ((const TwEmitTensor *)g_ptr_array_index (emit->tensors, i))->kind == kind;
  return n;
}

static void
print_plan_init (TwEmit *emit, TwText *text)
{
  const char *p = emit->prefix, *u = emit->upper;
  guint n_weights = count_tensors (emit, TW_BUFFER_WEIGHT);

  tw_text_line (text, "size_t");
  tw_text_line (text, "%s_plan_size (void)", p);
  tw_text_open (text);
  tw_text_line (text, "return sizeof (Plan);");
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "int");
  tw_text_line (text,
                "%s_plan_init (void *plan, size_t plan_bytes, int threads, "
                "const %s_dims *max_dims, const %s_weights *weights)",
                p, p, p);
  tw_text_open (text);
  tw_text_line (text, "Plan *p = (Plan *) plan;");
  if (n_weights > 0)
    {
      tw_text_line (text, "Span spans[%u];", emit->tensors->len);
      tw_text_line (text, "int code;");
    }
  tw_text_line (text, "%s", "");
  tw_launcher_check (text, "plan == NULL || max_dims == NULL || weights == NULL", u, "NULL");
  tw_launcher_check (text, "plan_bytes < sizeof *p || (uintptr_t) plan % sizeof (uint64_t) != 0", u,
                     "PLAN");
  tw_text_line (text, "memset (p, 0, sizeof *p);");
  tw_launcher_check (
      text, "max_dims->struct_size != sizeof *max_dims || weights->struct_size != sizeof *weights",
      u, "STRUCT_SIZE");
  tw_launcher_check_dims (emit, text, "max_dims", FALSE);
  for (guint i = 0; i < emit->tensors->len; i++)
    if (((const TwEmitTensor *)g_ptr_array_index (emit->tensors, i))->kind == TW_BUFFER_WEIGHT)
      tw_launcher_check_tensor (emit, text, i, "weights");
  tw_text_line (text, "p->threads = threads;");
  for (guint i = 0; i < emit->dims->len; i++)
    tw_text_line (text, "p->d_%s = max_dims->%s;",
                  ((const TwDimension *)g_ptr_array_index (emit->dims, i))->name,
                  (const char *)g_ptr_array_index (emit->dim_fields, i));
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != TW_BUFFER_WEIGHT)
        continue;
      tw_text_line (text, "p->v_%s = weights->%s;", tensor->id, tensor->field);
      if (tw_type_has_ld (tensor->type))
        tw_text_line (text, "p->ld_%s = weights->%s_ld;", tensor->id, tensor->field);
    }
  tw_text_line (text, "p->magic = plan_magic;");
  tw_text_line (text, "return 0;");
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
}

static void
print_prepare (TwEmit *emit, TwText *text)
{
  const char *p = emit->prefix, *u = emit->upper;
  gboolean prepares = tw_launcher_has_prepare (emit);

  tw_text_line (text, "static int");
  tw_text_line (text, "is_plan (const void *plan)");
  tw_text_open (text);
  tw_text_line (text, "const Plan *p = (const Plan *) plan;");
  tw_text_line (text, "%s", "");
  tw_text_line (text,
                "return p != NULL && (uintptr_t) plan %% sizeof (uint64_t) == 0 && p->magic == "
                "plan_magic;");
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");

  tw_text_comment (text, "Views of what does not change from launch to launch.");
  tw_text_line (text, "static void");
  tw_text_line (text, "set_weights (Values *v, const Plan *p)");
  tw_text_open (text);
  if (prepares)
    {
      tw_text_line (text, "size_t place[%d];", emit->plan->n_prepared_slots + 1);
      tw_text_line (text, "%s", "");
      tw_text_line (text, "place_prepared (p, place);");
    }
  tw_text_line (text, "memset (v, 0, sizeof *v);");
  tw_text_line (text, "v->threads = p->threads;");
  tw_launcher_views (emit, text, FALSE);
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");

  tw_text_line (text, "size_t");
  tw_text_line (text, "%s_prepared_size (const void *plan)", p);
  tw_text_open (text);
  if (prepares)
    {
      tw_text_line (text, "size_t place[%d];", emit->plan->n_prepared_slots + 1);
      tw_text_line (text, "%s", "");
      tw_text_line (text, "if (!is_plan (plan))");
      tw_text_line (text, "  return 0;");
      tw_text_line (text, "place_prepared ((const Plan *) plan, place);");
      tw_text_line (text, "return place[%d];", emit->plan->n_prepared_slots);
    }
  else
    {
      tw_text_line (text, "(void) plan;");
      tw_text_line (text, "return 0;");
    }
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
  tw_text_line (text, "int");
  tw_text_line (text, "%s_prepare (void *plan, void *prepared, size_t prepared_bytes)", p);
  tw_text_open (text);
  if (prepares)
    {
      tw_text_line (text, "Plan *p = (Plan *) plan;");
      tw_text_line (text, "Values v;");
      tw_text_line (text, "%s", "");
    }
  tw_launcher_check (text, "!is_plan (plan)", u, "PLAN");
  if (prepares)
    {
      tw_launcher_check (text, "prepared == NULL", u, "NULL");
      g_autofree char *small = g_strdup_printf (
          "prepared_bytes < %s_prepared_size (plan) || (uintptr_t) prepared %% 64 != 0", p);
      tw_launcher_check (text, small, u, "PREPARE");
      tw_text_line (text, "p->prepared = (unsigned char *) prepared;");
      tw_text_line (text, "set_weights (&v, p);");
      for (guint i = 0; i < emit->plan->kernels->len; i++)
        {
          const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

          if (kernel->prepare)
            tw_text_line (text, "%s (&v);", kernel->name);
        }
    }
  else
    {
      tw_text_line (text, "(void) prepared;");
      tw_text_line (text, "(void) prepared_bytes;");
    }
  tw_text_line (text, "return 0;");
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
}

void
tw_emit_launcher (TwEmit *emit, TwText *text)
{
  tw_text_section (text, "launcher");
  tw_text_line (text, "%s", "");
  print_helpers (emit, text);
  if (emit->plan->n_slots > 0 || tw_launcher_has_prepare (emit))
    tw_text_raw (text,
                 "/* A matrix from `from` on, rounded up to 64 bytes; *end grows to hold it. What "
                 "no memory\n"
                 "   can hold stays more than there is. */\n"
                 "static void\n"
                 "reserve (size_t *end, size_t from, int64_t rows, int64_t ld, int64_t size)\n"
                 "{\n"
                 "  const size_t most = SIZE_MAX / 8 * 4, line = (size_t) (ld * size);\n"
                 "  const int fits = line == 0 || (size_t) rows <= (most - 63) / line;\n"
                 "  const size_t bytes = fits ? ((size_t) rows * line + 63) / 64 * 64 : most;\n"
                 "  const size_t last = from < most - bytes ? from + bytes : most;\n"
                 "\n"
                 "  if (last > *end)\n"
                 "    *end = last;\n"
                 "}\n\n");
  tw_launcher_slots (emit, text, TW_BUFFER_WORKSPACE, "place_workspace");
  tw_launcher_slots (emit, text, TW_BUFFER_PREPARED, "place_prepared");
  print_plan_init (emit, text);
  print_prepare (emit, text);
  tw_launcher_launch (emit, text);
  tw_emit_error_text (emit, text);
}
