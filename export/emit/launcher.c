/* The launcher of NAME.c: plan, prepare, workspace, and every check before a kernel runs.
 *
 * Nothing here depends on the target but how a view is made and a kernel called. */

#include "emit-private.h"

#include <string.h>

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

/* ---- aliases ---- */

/* TRUE if the kernel reads `buffer` only where it writes: element by element of the same matrix,
 * before the store of that element. */
static gboolean
reads_in_place (const TwEmit *emit, const TwKernel *kernel, const TwBuffer *buffer)
{
  const TwGraph *graph = emit->plan->rewrite->graph;

  for (guint i = 0; i < kernel->nodes->len; i++)
    {
      const char *id = g_ptr_array_index (kernel->nodes, i);
      const TwNode *node = tw_graph_get_node (graph, id);
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);

      for (int j = 0; j < block->n_ports; j++)
        {
          const TwPortSpec *port = &block->ports[j];
          const TwLink *link = port->direction == TW_DIRECTION_IN
                                   ? tw_graph_get_link_to (graph, id, port->id)
                                   : NULL;

          if (link == NULL || strcmp (link->from_node, buffer->node) != 0
              || strcmp (link->from_port, buffer->port) != 0)
            continue;
          if (block->kind != TW_KIND_ELEMENTWISE && block->kind != TW_KIND_STATISTIC)
            return FALSE;
          if (port->role != TW_ROLE_MATRIX || port->partner != TW_PARTNER_NONE)
            return FALSE;
        }
    }
  return TRUE;
}

static gboolean
kernel_reads (const TwKernel *kernel, int buffer)
{
  for (guint i = 0; i < kernel->reads->len; i++)
    if (g_array_index (kernel->reads, int, i) == buffer)
      return TRUE;
  return FALSE;
}

static gboolean
same_shape (const TwType *a, const TwType *b)
{
  if (a->dtype != b->dtype || a->n_dims != b->n_dims || a->n_dims < 2 || a->column_order
      || b->column_order || a->statistic != NULL || b->statistic != NULL
      || a->partner != TW_PARTNER_NONE || b->partner != TW_PARTNER_NONE)
    return FALSE;
  for (int i = 0; i < a->n_dims; i++)
    if (!tw_dim_equal (a->dims[i], b->dims[i]))
      return FALSE;
  return TRUE;
}

/* May output buffer `out` be input buffer `in`? Nothing reads `in` after the kernel that writes
 * `out`, and that kernel reads it element by element. */
static gboolean
may_alias (const TwEmit *emit, int out, int in)
{
  const TwBuffer *output = g_ptr_array_index (emit->plan->buffers, out);
  const TwBuffer *input = g_ptr_array_index (emit->plan->buffers, in);
  gboolean written = FALSE;

  if (!same_shape (output->type, input->type))
    return FALSE;
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      if (written && kernel_reads (kernel, in))
        return FALSE;
      for (guint j = 0; j < kernel->stores->len; j++)
        if (g_array_index (kernel->stores, TwStore, j).buffer == out)
          {
            if (kernel_reads (kernel, in) && !reads_in_place (emit, kernel, input))
              return FALSE;
            if (kernel_reads (kernel, out))
              return FALSE;
            written = TRUE;
          }
    }
  /* A later kernel that reads the output's value reads what was written: fine. */
  return written;
}

GArray *
tw_emit_find_aliases (const TwEmit *emit)
{
  GArray *pairs = g_array_new (FALSE, FALSE, sizeof (int));
  const GPtrArray *buffers = emit->plan->buffers;

  for (guint out = 0; out < buffers->len; out++)
    for (guint in = 0; in < buffers->len; in++)
      {
        const TwBuffer *output = g_ptr_array_index (buffers, out);
        const TwBuffer *input = g_ptr_array_index (buffers, in);

        if (output->kind != TW_BUFFER_OUTPUT || input->kind != TW_BUFFER_INPUT
            || !may_alias (emit, (int)out, (int)in))
          continue;
        int pair[2]
            = { tw_emit_find_tensor (emit, output->name), tw_emit_find_tensor (emit, input->name) };
        if (pair[0] >= 0 && pair[1] >= 0)
          g_array_append_vals (pairs, pair, 2);
      }
  return pairs;
}

/* ---- printing ---- */

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

/* A function that gives each slot's place; the last place is the total. */
static void
print_slots (TwEmit *emit, TwText *text, TwBufferKind kind, const char *name)
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

static void
print_check (TwText *text, const char *condition, const char *upper, const char *code)
{
  tw_text_line (text, "if (%s)", condition);
  tw_text_line (text, "  return %s_ERROR_%s;", upper, code);
}

/* `from`: "max_dims" or "args"; `most`: prefix of the largest value, NULL for the graph's. */
static void
print_dim_checks (TwEmit *emit, TwText *text, const char *from, gboolean at_launch)
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
      print_check (text, condition->str, emit->upper, "DIMENSION");
    }
}

static void
print_tensor_check (TwEmit *emit, TwText *text, guint index, const char *from)
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
  print_check (text, "plan == NULL || max_dims == NULL || weights == NULL", u, "NULL");
  print_check (text, "plan_bytes < sizeof *p || (uintptr_t) plan % sizeof (uint64_t) != 0", u,
               "PLAN");
  tw_text_line (text, "memset (p, 0, sizeof *p);");
  print_check (
      text, "max_dims->struct_size != sizeof *max_dims || weights->struct_size != sizeof *weights",
      u, "STRUCT_SIZE");
  print_dim_checks (emit, text, "max_dims", FALSE);
  for (guint i = 0; i < emit->tensors->len; i++)
    if (((const TwEmitTensor *)g_ptr_array_index (emit->tensors, i))->kind == TW_BUFFER_WEIGHT)
      print_tensor_check (emit, text, i, "weights");
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

/* v->name = view (data, ld, ...) of a buffer. */
static void
print_view (TwEmit *emit, TwText *text, int index, const char *data, const char *ld)
{
  const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, index);
  g_autofree char *name = tw_emit_view_name (emit, index);

  tw_emit_view (text, name, data, ld, buffer->type);
}

static void
print_views (TwEmit *emit, TwText *text, gboolean at_launch)
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
      print_view (emit, text, (int)i, data, ld);
    }
}

static gboolean
has_prepare (const TwEmit *emit)
{
  return emit->plan->n_prepared_slots > 0;
}

static void
print_prepare (TwEmit *emit, TwText *text)
{
  const char *p = emit->prefix, *u = emit->upper;
  gboolean prepares = has_prepare (emit);

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
  print_views (emit, text, FALSE);
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
  print_check (text, "!is_plan (plan)", u, "PLAN");
  if (prepares)
    {
      print_check (text, "prepared == NULL", u, "NULL");
      g_autofree char *small = g_strdup_printf (
          "prepared_bytes < %s_prepared_size (plan) || (uintptr_t) prepared %% 64 != 0", p);
      print_check (text, small, u, "PREPARE");
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

static void
print_launch (TwEmit *emit, TwText *text)
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
          print_tensor_check (emit, body, i, "args");
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
      print_check (body, "workspace == NULL && place[N_SLOTS] > 0", u, "NULL");
      print_check (body, "workspace_bytes < place[N_SLOTS] || (uintptr_t) workspace % 64 != 0", u,
                   "WORKSPACE");
      tw_text_line (
          body, "check_tensor (workspace, (int64_t) place[N_SLOTS], 1, (int64_t) place[N_SLOTS], "
                "1, &spans[N_TENSORS]);");
    }
  print_overlaps (emit, body);
  if (has_prepare (emit))
    print_check (body, "p->prepared == NULL", u, "PREPARE");
  tw_text_line (body, "%s", "");
  tw_text_line (body, "set_weights (v, p);");
  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);

      tw_text_line (body, "v->d_%s = d_%s;", dim->name, dim->name);
    }
  print_views (emit, body, TRUE);
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
  print_check (text, "plan == NULL || args == NULL", u, "NULL");
  print_check (text, "!is_plan (plan)", u, "PLAN");
  print_check (text, "args->struct_size != sizeof *args", u, "STRUCT_SIZE");
  print_dim_checks (emit, text, "args", TRUE);

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
      print_check (text, condition, u, "GUARD");
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

void
tw_emit_launcher (TwEmit *emit, TwText *text)
{
  tw_text_section (text, "launcher");
  tw_text_line (text, "%s", "");
  print_helpers (emit, text);
  if (emit->plan->n_slots > 0 || has_prepare (emit))
    tw_text_raw (text,
                 "/* A matrix from `from` on, rounded up to 64 bytes; *end grows to hold it. */\n"
                 "static void\n"
                 "reserve (size_t *end, size_t from, int64_t rows, int64_t ld, int64_t size)\n"
                 "{\n"
                 "  const size_t bytes = (size_t) (rows * ld * size + 63) / 64 * 64;\n"
                 "\n"
                 "  if (from + bytes > *end)\n"
                 "    *end = from + bytes;\n"
                 "}\n\n");
  print_slots (emit, text, TW_BUFFER_WORKSPACE, "place_workspace");
  print_slots (emit, text, TW_BUFFER_PREPARED, "place_prepared");
  print_plan_init (emit, text);
  print_prepare (emit, text);
  print_launch (emit, text);
  tw_emit_error_text (emit, text);
}
