/* What every part of the exporter asks: tensors, dimensions and how they are spelled. */

#include "emit-private.h"

#include <string.h>

/* Names that C, C++ or a libc header may have taken, and struct_size. */
static const char *const taken[] = { "struct_size", "alignas",   "alignof",     "and",
                                     "and_eq",      "asm",       "assert",      "auto",
                                     "bitand",      "bitor",     "bool",        "break",
                                     "case",        "catch",     "char",        "class",
                                     "compl",       "complex",   "concept",     "const",
                                     "constexpr",   "continue",  "decltype",    "default",
                                     "delete",      "do",        "double",      "else",
                                     "enum",        "errno",     "explicit",    "export",
                                     "extern",      "false",     "float",       "for",
                                     "friend",      "goto",      "i386",        "if",
                                     "imaginary",   "inline",    "int",         "linux",
                                     "long",        "mutable",   "namespace",   "new",
                                     "noexcept",    "noreturn",  "not",         "not_eq",
                                     "nullptr",     "operator",  "or",          "or_eq",
                                     "private",     "protected", "public",      "register",
                                     "requires",    "restrict",  "return",      "short",
                                     "signed",      "sizeof",    "static",      "static_assert",
                                     "stderr",      "stdin",     "stdout",      "struct",
                                     "switch",      "template",  "this",        "thread_local",
                                     "throw",       "true",      "try",         "typedef",
                                     "typeid",      "typename",  "typeof",      "union",
                                     "unix",        "unsigned",  "using",       "virtual",
                                     "void",        "volatile",  "wchar_t",     "while",
                                     "xor",         "xor_eq",    "EOF",         "I",
                                     "NULL",        "offsetof",  "max_align_t", "size_t",
                                     "ptrdiff_t",   "int64_t",   "uint64_t",    "INFINITY",
                                     "NAN",         "HUGE_VAL",  "HUGE_VALF",   "INT64_MAX",
                                     "INT64_C",     "UINT64_C",  "SIZE_MAX",    "PRId64",
                                     "M_PI",        NULL };

/* `id`, with "_" after it while the name is taken. */
static char *
make_field (GHashTable *used, const char *id)
{
  g_autoptr (GString) name = g_string_new (id);

  for (;;)
    {
      g_autofree char *ld = g_strconcat (name->str, "_ld", NULL);
      gboolean reserved
          = (name->str[0] == '_' && (name->str[1] == '_' || g_ascii_isupper (name->str[1])))
            || g_str_has_prefix (name->str, "TW_"); /* macros of the tile layer */

      if (!reserved && !g_strv_contains (taken, name->str)
          && !g_hash_table_contains (used, name->str) && !g_hash_table_contains (used, ld))
        break;
      if (reserved)
        g_string_prepend (name, "v");
      else
        g_string_append_c (name, '_');
    }
  g_hash_table_add (used, g_strdup (name->str));
  g_hash_table_add (used, g_strconcat (name->str, "_ld", NULL));
  return g_strdup (name->str);
}

static void
tensor_free (gpointer data)
{
  TwEmitTensor *tensor = data;

  g_free (tensor->field);
  g_free (tensor->rows);
  g_free (tensor->columns);
  g_free (tensor);
}

gboolean
tw_type_has_ld (const TwType *type)
{
  return type->n_dims >= 2;
}

void
tw_type_to_c (const TwType *type, const char *prefix, char **rows, char **columns)
{
  g_autoptr (GString) product = g_string_new (NULL);
  int n = type->n_dims >= 2 ? type->n_dims - 1 : type->n_dims;

  for (int i = 0; i < n; i++)
    {
      g_autofree char *extent = tw_dim_to_c (type->dims[i], prefix);

      g_string_append_printf (product, n > 1 ? "%s(%s)" : "%s%s", i > 0 ? " * " : "", extent);
    }
  if (n == 0)
    g_string_append (product, "1");
  *rows = g_strdup (product->str);
  *columns
      = type->n_dims >= 2 ? tw_dim_to_c (type->dims[type->n_dims - 1], prefix) : g_strdup ("1");
}

const char *
tw_emit_dtype (TwDtype dtype)
{
  static const char *const names[] = { "TW_F32", "TW_BF16", "TW_F16" };

  return names[dtype];
}

const TwBlock *
tw_emit_block (const TwEmit *emit, const TwGraph *graph, const char *node)
{
  const TwNode *n = tw_graph_get_node (graph, node);

  return n == NULL ? NULL : tw_catalog_get (emit->catalog, n->block);
}

/* The type of a source's output or a sink's input. */
static const TwType *
get_boundary_type (const TwEmit *emit, const TwNode *node, const TwBlock *block)
{
  TwDirection wanted = block->kind == TW_KIND_SOURCE ? TW_DIRECTION_OUT : TW_DIRECTION_IN;

  for (int i = 0; i < block->n_ports; i++)
    if (block->ports[i].direction == wanted)
      return tw_typing_get (emit->typing, node->id, block->ports[i].id);
  return NULL;
}

static void
add_tensors (TwEmit *emit, TwBufferKind kind, GHashTable *used)
{
  for (int i = 0; i < tw_graph_get_n_nodes (emit->drawn); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (emit->drawn, i);
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);

      if (block == NULL || (block->kind != TW_KIND_SOURCE && block->kind != TW_KIND_SINK))
        continue;
      const TwType *type = get_boundary_type (emit, node, block);
      if (type == NULL)
        continue;
      TwBufferKind is = block->kind == TW_KIND_SINK ? TW_BUFFER_OUTPUT
                        : type->weight              ? TW_BUFFER_WEIGHT
                                                    : TW_BUFFER_INPUT;
      if (is != kind)
        continue;
      TwEmitTensor *tensor = g_new0 (TwEmitTensor, 1);
      tensor->id = node->id;
      tensor->kind = kind;
      tensor->type = type;
      tensor->field = make_field (used, node->id);
      tw_type_to_c (type, "d_", &tensor->rows, &tensor->columns);
      g_ptr_array_add (emit->tensors, tensor);
    }
}

TwEmit *
tw_emit_new (const TwGraph *drawn, const TwTyping *typing, const TwPlan *plan,
             const TwCatalog *catalog, const char *prefix)
{
  TwEmit *emit = g_new0 (TwEmit, 1);
  g_autoptr (GHashTable) used = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  emit->drawn = drawn;
  emit->typing = typing;
  emit->plan = plan;
  emit->catalog = catalog;
  emit->prefix = g_strdup (prefix);
  emit->upper = tw_text_upper (prefix);
  emit->dims = g_ptr_array_new ();
  emit->dim_fields = g_ptr_array_new_with_free_func (g_free);
  emit->tensors = g_ptr_array_new_with_free_func (tensor_free);
  emit->aliases = g_array_new (FALSE, FALSE, sizeof (int));
  for (int i = 0; i < tw_graph_get_n_dimensions (drawn); i++)
    {
      const TwDimension *dim = tw_graph_get_nth_dimension (drawn, i);

      if (!dim->dynamic)
        continue;
      g_ptr_array_add (emit->dims, (gpointer)dim);
      g_ptr_array_add (emit->dim_fields, make_field (used, dim->name));
    }
  add_tensors (emit, TW_BUFFER_INPUT, used);
  add_tensors (emit, TW_BUFFER_WEIGHT, used);
  add_tensors (emit, TW_BUFFER_OUTPUT, used);
  return emit;
}

void
tw_emit_free (TwEmit *emit)
{
  if (emit == NULL)
    return;
  g_free (emit->prefix);
  g_free (emit->upper);
  g_ptr_array_unref (emit->dims);
  g_ptr_array_unref (emit->dim_fields);
  g_ptr_array_unref (emit->tensors);
  g_array_unref (emit->aliases);
  g_clear_error (&emit->error);
  g_free (emit);
}

void
tw_emit_fail (TwEmit *emit, GError *error)
{
  if (emit->error == NULL)
    emit->error = error;
  else
    g_clear_error (&error);
}

gboolean
tw_emit_is_copy (const TwBlock *block)
{
  for (int i = 0; i < block->n_ports; i++)
    if (block->ports[i].direction == TW_DIRECTION_OUT
        && block->ports[i].partner == TW_PARTNER_INTERLEAVED)
      return TRUE;
  return FALSE;
}

gboolean
tw_emit_uses_buffer (const TwEmit *emit, int buffer)
{
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      for (guint j = 0; j < kernel->reads->len; j++)
        if (g_array_index (kernel->reads, int, j) == buffer)
          return TRUE;
      for (guint j = 0; j < kernel->stores->len; j++)
        if (g_array_index (kernel->stores, TwStore, j).buffer == buffer)
          return TRUE;
    }
  return FALSE;
}

int
tw_emit_find_tensor (const TwEmit *emit, const char *id)
{
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (strcmp (tensor->id, id) == 0)
        return (int)i;
    }
  return -1;
}

char *
tw_emit_prefix_names (const TwEmit *emit, const char *expression)
{
  GString *out = g_string_new (NULL);

  for (const char *c = expression; *c != '\0';)
    {
      gsize length = 0;

      while (g_ascii_isalnum (c[length]) || c[length] == '_')
        length++;
      if (length == 0)
        {
          g_string_append_c (out, *c++);
          continue;
        }
      g_autofree char *word = g_strndup (c, length);
      if (tw_graph_get_dimension (emit->drawn, word) != NULL)
        g_string_append (out, "d_");
      g_string_append (out, word);
      c += length;
    }
  return g_string_free (out, FALSE);
}

char *
tw_emit_number (double number, gboolean single)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  for (int digits = 6; digits <= 17; digits++)
    {
      g_autofree char *format = g_strdup_printf ("%%.%dg", digits);

      g_ascii_formatd (buffer, sizeof buffer, format, number);
      if (g_ascii_strtod (buffer, NULL) == number)
        break;
    }
  gboolean whole = strpbrk (buffer, ".en") == NULL;
  char *exponent = strchr (buffer, 'e');
  if (exponent != NULL)
    {
      /* e-06 is e-6, e+20 is e20 */
      char *digits = exponent + 1 + (exponent[1] == '-');
      char *from = digits + strspn (digits, "+0");
      memmove (digits, from, strlen (from) + 1);
    }
  gboolean negative = buffer[0] == '-';

  return g_strdup_printf ("%s%s%s%s%s", negative ? "(" : "", buffer, whole ? ".0" : "",
                          single ? "f" : "", negative ? ")" : "");
}

int
tw_emit_dim_locals (const TwEmit *emit, TwText *text, const char *body)
{
  int n = 0;

  for (guint i = 0; i < emit->dims->len; i++)
    {
      const TwDimension *dim = g_ptr_array_index (emit->dims, i);
      g_autofree char *name = g_strconcat ("d_", dim->name, NULL);

      if (tw_text_has_word (body, name))
        {
          tw_text_line (text, "const int64_t %s = d[%u];", name, i);
          n++;
        }
    }
  return n;
}

/* ---- facts ---- */

static void
unref_dim (gpointer data)
{
  tw_dim_unref (*(TwDim **)data);
}

TwEmitFacts *
tw_emit_facts_new (const TwEmit *emit)
{
  TwEmitFacts *facts = g_new0 (TwEmitFacts, 1);

  facts->samples = g_array_new (FALSE, FALSE, sizeof (TwDim *));
  facts->sampled = g_new (int, emit->tensors->len + 1);
  for (guint i = 0; i < emit->tensors->len; i++)
    facts->sampled[i] = -1;
  facts->widths = g_new0 (char *, emit->tensors->len + 1);
  facts->sums = g_ptr_array_new_with_free_func (g_free);
  facts->flops = g_ptr_array_new_with_free_func (g_free);
  g_array_set_clear_func (facts->samples, unref_dim);
  for (guint i = 0; i < emit->tensors->len; i++)
    facts->widths[i] = g_strdup ("1");
  return facts;
}

void
tw_emit_facts_free (TwEmitFacts *facts)
{
  if (facts == NULL)
    return;
  g_array_unref (facts->samples);
  g_free (facts->sampled);
  g_strfreev (facts->widths);
  g_ptr_array_unref (facts->sums);
  g_ptr_array_unref (facts->flops);
  g_free (facts);
}

static void
add_text (GPtrArray *list, char *text)
{
  for (guint i = 0; i < list->len; i++)
    if (strcmp (g_ptr_array_index (list, i), text) == 0)
      {
        g_free (text);
        return;
      }
  g_ptr_array_add (list, text);
}

/* Extents of inputs that no output has are summed over; a contraction multiplies as often as its
 * distinct dimensions say. */
static void
scan_node (const TwNode *node, const TwBlock *block, const TwTyping *typing, TwEmitFacts *facts)
{
  const char *seen[16];
  int n_seen = 0;
  g_autoptr (GString) product = g_string_new ("2.0");

  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < block->n_ports; i++)
      {
        const TwPortSpec *port = &block->ports[i];
        const TwType *type = tw_typing_get (typing, node->id, port->id);
        gboolean output = port->direction == TW_DIRECTION_OUT;

        if (type == NULL || output != (pass == 0) || port->n_dims < 0)
          continue;
        for (int j = 0; j < port->n_dims && j < type->n_dims; j++)
          {
            gboolean known = FALSE;
            const char *name = port->index[j];

            for (int k = 0; k < n_seen; k++)
              known = known || g_strcmp0 (seen[k], name) == 0;
            if (known || n_seen == 16)
              continue;
            seen[n_seen++] = name;
            char *extent = tw_dim_to_c (type->dims[j], "d_");
            g_string_append_printf (product, " * (double) (%s)", extent);
            if (output)
              g_free (extent);
            else
              add_text (facts->sums, extent);
          }
      }
  if (block->kind == TW_KIND_CONTRACTION)
    {
      int outputs = 0;

      for (int i = 0; i < block->n_ports; i++)
        outputs += block->ports[i].direction == TW_DIRECTION_OUT;
      if (outputs > 1)
        g_string_append_printf (product, " * %d", outputs);
      g_ptr_array_add (facts->flops, g_strdup (product->str));
    }
}

/* Columns a statistic that comes in was taken over: what its finish divides by. */
static char *
find_width (const TwEmit *emit, const TwGraph *graph, const TwTyping *typing,
            const TwEmitTensor *tensor)
{
  g_autoptr (GPtrArray) links = tw_graph_get_links_from (graph, tensor->id, NULL);

  for (guint i = 0; i < links->len; i++)
    {
      const TwLink *link = g_ptr_array_index (links, i);
      const TwBlock *block = tw_emit_block (emit, graph, link->to_node);

      for (int j = 0; block->kind == TW_KIND_FINISH && j < block->n_params; j++)
        {
          const TwDim *dim = block->params[j].type == TW_PARAM_DIMENSION
                                 ? tw_typing_get_dim (typing, link->to_node, block->params[j].id)
                                 : NULL;

          if (dim != NULL)
            return tw_dim_to_c (dim, "d_");
        }
    }
  if (tensor->type->group > 0)
    return g_strdup_printf ("%" G_GINT64_FORMAT " * (%s)", tensor->type->group, tensor->columns);
  return g_strdup ("64");
}

void
tw_emit_facts_scan (TwEmit *emit, const TwGraph *graph, const TwTyping *typing, TwEmitFacts *facts)
{
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);

      for (int j = 0; j < block->n_ports; j++)
        {
          const TwType *type = tw_typing_get (typing, node->id, block->ports[j].id);

          facts->f16 = facts->f16 || (type != NULL && type->dtype == TW_DTYPE_F16);
        }
      scan_node (node, block, typing, facts);
    }
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->type->statistic == NULL || tensor->kind == TW_BUFFER_OUTPUT)
        continue;
      g_free (facts->widths[i]);
      facts->widths[i] = find_width (emit, graph, typing, tensor);
    }
}
