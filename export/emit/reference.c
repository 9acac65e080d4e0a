/* The reference of NAME_main.c: the drawn graph in double, printed from its blocks' formulas.
 *
 * A large problem is judged on some rows. So a value of which each row can be computed alone is
 * computed on the sampled rows ("follows the sample"); what a contraction reads as its right
 * operand, or a column vector, is computed in full. In the rounding mode each drawn edge rounds to
 * its dtype, edges inside a composite do not. */

#include "emit-private.h"

#include "../../composer/expand.h"

#include <string.h>

typedef struct
{
  const TwNode *node;
  const TwBlock *block;
  const TwPortSpec *port;
  const TwType *type;
  char *name, *rounded; /* C names: exact values; of what drawn edges carry (the same or another) */
  char *rows, *columns;
  gboolean full;
  int sample; /* index in samples, -1 if full */
} Value;

typedef struct
{
  TwEmit *emit;
  const TwGraph *graph; /* composites expanded */
  const TwTyping *typing;
  GHashTable *values; /* "node.port" -> Value */
  GPtrArray *order;   /* node ids */
  /* the node being printed */
  const TwNode *node;
  const TwBlock *block;
  const Value *output;
} Reference;

static void
value_free (gpointer data)
{
  Value *value = data;

  g_free (value->name);
  g_free (value->rounded);
  g_free (value->rows);
  g_free (value->columns);
  g_free (value);
}

static Value *
find_value (const Reference *reference, const char *node, const char *port)
{
  g_autofree char *key = g_strconcat (node, ".", port, NULL);

  return g_hash_table_lookup (reference->values, key);
}

static void
collect_values (Reference *reference)
{
  for (guint i = 0; i < reference->order->len; i++)
    {
      const char *id = g_ptr_array_index (reference->order, i);
      const TwNode *node = tw_graph_get_node (reference->graph, id);
      const TwBlock *block = tw_catalog_get (reference->emit->catalog, node->block);
      int n_outputs = 0, nth = 0;

      for (int j = 0; j < block->n_ports; j++)
        n_outputs += block->ports[j].direction == TW_DIRECTION_OUT;
      for (int j = 0; j < block->n_ports; j++)
        {
          const TwPortSpec *port = &block->ports[j];
          const TwType *type = tw_typing_get (reference->typing, id, port->id);

          if (port->direction != TW_DIRECTION_OUT || type == NULL)
            continue;
          Value *value = g_new0 (Value, 1);
          value->node = node;
          value->block = block;
          value->port = port;
          value->type = type;
          value->name
              = n_outputs == 1 ? g_strdup_printf ("x_%s", id) : g_strdup_printf ("x%d_%s", nth, id);
          value->sample = -1;
          tw_type_to_c (type, "d_", &value->rows, &value->columns);
          nth++;
          g_hash_table_insert (reference->values, g_strconcat (id, ".", port->id, NULL), value);
        }
    }
}

/* Row m of the output needs row m of this input and no other. */
static gboolean
follows (const TwPortSpec *in, const TwPortSpec *out)
{
  return in->n_dims > 0 && out->n_dims > 0 && in->n_dims < 3 && out->n_dims < 3
         && strcmp (in->index[0], out->index[0]) == 0;
}

/* Are all readers content with sampled rows? */
static gboolean
needs_all_rows (const Reference *reference, const Value *value)
{
  g_autoptr (GPtrArray) links
      = tw_graph_get_links_from (reference->graph, value->node->id, value->port->id);

  if (value->type->n_dims < 1 || value->type->n_dims > 2)
    return TRUE;
  for (guint i = 0; i < links->len; i++)
    {
      const TwLink *link = g_ptr_array_index (links, i);
      const TwNode *node = tw_graph_get_node (reference->graph, link->to_node);
      const TwBlock *block = tw_catalog_get (reference->emit->catalog, node->block);
      const TwPortSpec *in = tw_block_get_port (block, link->to_port);

      if (block->kind == TW_KIND_SINK || in == NULL)
        continue;
      for (int j = 0; j < block->n_ports; j++)
        {
          const TwPortSpec *out = &block->ports[j];
          const Value *result = out->direction == TW_DIRECTION_OUT
                                    ? find_value (reference, node->id, out->id)
                                    : NULL;

          if (result != NULL && (result->full || !follows (in, out)))
            return TRUE;
        }
    }
  return FALSE;
}

static int
find_sample (GArray *samples, const TwDim *dim)
{
  for (guint i = 0; i < samples->len; i++)
    if (tw_dim_equal (g_array_index (samples, const TwDim *, i), dim))
      return (int)i;
  g_array_append_val (samples, dim);
  return (int)samples->len - 1;
}

static void
find_samples (Reference *reference, GArray *samples)
{
  for (guint i = reference->order->len; i-- > 0;)
    {
      const char *id = g_ptr_array_index (reference->order, i);
      const TwNode *node = tw_graph_get_node (reference->graph, id);
      const TwBlock *block = tw_catalog_get (reference->emit->catalog, node->block);

      for (int j = 0; j < block->n_ports; j++)
        {
          Value *value = block->ports[j].direction == TW_DIRECTION_OUT
                             ? find_value (reference, id, block->ports[j].id)
                             : NULL;

          if (value == NULL)
            continue;
          value->full = needs_all_rows (reference, value);
          if (!value->full)
            value->sample = find_sample (samples, value->type->dims[0]);
        }
    }
}

/* A link of the drawn graph: not one between two parts of one composite. */
static gboolean
is_drawn (const Reference *reference, const TwLink *link)
{
  const TwNode *from = tw_graph_get_node (reference->graph, link->from_node);
  const TwNode *to = tw_graph_get_node (reference->graph, link->to_node);

  return from->origin == NULL || to->origin == NULL || strcmp (from->origin, to->origin) != 0;
}

/* ---- spelling of formulas ---- */

/* The port that carries operand `operand` of the node, and which of its partners it is. */
static const TwPortSpec *
find_operand_port (const TwBlock *block, int operand, int *partner)
{
  const char *name = block->operands[operand].name;

  for (int i = 0; i < block->n_ports; i++)
    for (int p = 0; p < 2; p++)
      if (block->ports[i].direction == TW_DIRECTION_IN && block->ports[i].operands[p] != NULL
          && strcmp (block->ports[i].operands[p], name) == 0)
        {
          *partner = p;
          return &block->ports[i];
        }
  return NULL;
}

/* As find_operand_port, of the ports that the node has: a name may be an operand of several. */
static const TwLink *
find_operand_link (const Reference *reference, int operand, const TwPortSpec **port, int *partner)
{
  const TwBlock *block = reference->block;
  const char *name = block->operands[operand].name;

  for (int i = 0; i < block->n_ports; i++)
    for (int p = 0; p < 2; p++)
      {
        const TwPortSpec *spec = &block->ports[i];

        if (spec->direction != TW_DIRECTION_IN || spec->operands[p] == NULL
            || strcmp (spec->operands[p], name) != 0
            || !tw_node_has_port (reference->node, block, spec))
          continue;
        const TwLink *link = tw_graph_get_link_to (reference->graph, reference->node->id, spec->id);
        if (link == NULL)
          continue;
        *port = spec;
        *partner = p;
        return link;
      }
  *port = find_operand_port (block, operand, partner);
  return NULL;
}

static gint64
get_group (const Reference *reference, const TwPortSpec *port)
{
  double number = 0;

  if (port->partner_param != NULL
      && tw_node_get_number (reference->node, reference->block, port->partner_param, &number))
    return (gint64)number;
  return port->partner_group;
}

static char *
print_read (int operand, const char *const *index, gpointer data)
{
  Reference *reference = data;
  const TwPortSpec *port = NULL;
  int partner = 0;
  const TwLink *link = find_operand_link (reference, operand, &port, &partner);

  if (link == NULL)
    return g_strdup ("0.0"); /* an optional port left open */
  const Value *value = find_value (reference, link->from_node, link->from_port);
  const char *array = is_drawn (reference, link) ? value->rounded : value->name;
  int n = reference->block->operands[operand].n_dims;
  g_autofree char *column = n >= 2 ? g_strdup (index[n - 1]) : NULL;
  g_autoptr (GString) row = g_string_new (NULL);

  if (port->partner == TW_PARTNER_INTERLEAVED && n >= 2)
    {
      gint64 g = get_group (reference, port);
      char *packed = g == 1
                         ? g_strdup_printf ("2 * (%s) + %d", column, partner)
                         : g_strdup_printf ("(%s) / %" G_GINT64_FORMAT " * %" G_GINT64_FORMAT
                                            " + (%s) %% %" G_GINT64_FORMAT " + %" G_GINT64_FORMAT,
                                            column, g, 2 * g, column, g, partner * g);
      g_free (column);
      column = packed;
    }
  if (n == 0)
    return g_strdup_printf ("%s[0]", array);
  if (n == 3)
    {
      g_autofree char *middle = tw_dim_to_c (value->type->dims[1], "d_");

      g_string_printf (row, "((%s) * (%s) + %s)", index[0], middle, index[1]);
    }
  else if (!value->full && strcmp (index[0], "m") == 0 && !reference->output->full)
    g_string_assign (row, "i");
  else
    g_string_assign (row, index[0]);
  if (n == 1)
    return g_strdup_printf ("%s[%s]", array, row->str);
  if (strcmp (value->columns, "1") == 0)
    return g_strdup_printf ("%s[%s + %s]", array, row->str, column);
  return g_strdup_printf (strchr (value->columns, ' ') != NULL ? "%s[%s * (%s) + %s]"
                                                               : "%s[%s * %s + %s]",
                          array, row->str, value->columns, column);
}

static char *
print_param (int param, gpointer data)
{
  Reference *reference = data;
  double number = 0;
  int nth = 0;

  for (int i = 0; i < reference->block->n_params; i++)
    {
      const TwParamSpec *spec = &reference->block->params[i];

      if (nth++ != param)
        continue;
      if (spec->type == TW_PARAM_DIMENSION)
        {
          const TwDim *dim = tw_typing_get_dim (reference->typing, reference->node->id, spec->id);

          if (dim != NULL)
            {
              g_autofree char *text = tw_dim_to_c (dim, "d_");
              return g_strdup_printf ("(double) (%s)", text);
            }
        }
      tw_node_get_number (reference->node, reference->block, spec->id, &number);
    }
  return tw_emit_number (number, FALSE);
}

static char *
print_extent (const char *name, gpointer data)
{
  Reference *reference = data;
  const TwDim *dim = tw_typing_get_dim (reference->typing, reference->node->id, name);

  if (dim != NULL)
    return tw_dim_to_c (dim, "d_");
  for (int i = 0; i < reference->block->n_ports; i++)
    for (int j = 0; j < reference->block->ports[i].n_dims; j++)
      {
        const TwPortSpec *port = &reference->block->ports[i];
        const TwType *type = tw_typing_get (reference->typing, reference->node->id, port->id);

        if (port->index[j] != NULL && strcmp (port->index[j], name) == 0 && type != NULL
            && type->n_dims == port->n_dims)
          return tw_dim_to_c (type->dims[j], "d_");
      }
  return g_strdup ("1");
}

/* ---- printing ---- */

static char *
print_count (const Value *value)
{
  g_autofree char *rows
      = value->full ? g_strdup_printf (strchr (value->rows, ' ') ? "(%s)" : "%s", value->rows)
                    : g_strdup_printf ("s[%d].count", value->sample);

  if (strcmp (value->columns, "1") == 0)
    return g_steal_pointer (&rows);
  return g_strdup_printf (strchr (value->columns, ' ') ? "%s * (%s)" : "%s * %s", rows,
                          value->columns);
}

static void
print_loops (Reference *reference, TwText *text, const Value *value, int output)
{
  const TwType *type = value->type;
  gboolean matrix = type->n_dims >= 2;
  gboolean columns_first = reference->block->kind == TW_KIND_CONTRACTION && type->n_dims == 2;
  const char *index[3] = { "m", "n", NULL };
  const char *row = value->full ? "m" : "i";
  g_autofree char *limit
      = value->full ? g_strdup (value->rows) : g_strdup_printf ("s[%d].count", value->sample);
  g_autofree char *target = NULL;
  static const TwFormulaC spelling = { print_read, print_param, print_extent, FALSE };

  if (type->n_dims == 3)
    {
      index[0] = "m0";
      index[1] = "m1";
      index[2] = "n";
    }
  if (!matrix)
    target = g_strdup_printf ("%s[%s]", value->name, row);
  else
    target
        = g_strdup_printf (strchr (value->columns, ' ') ? "%s[%s * (%s) + n]" : "%s[%s * %s + n]",
                           value->name, row, value->columns);
  int indent = tw_text_get_indent (text);
  tw_text_line (text, "PARALLEL_FOR");
  if (columns_first)
    tw_text_line (text, "for (int64_t n = 0; n < %s; n++)", value->columns);
  else
    tw_text_line (text, "for (int64_t %s = 0; %s < %s; %s++)", row, row, limit, row);
  if (matrix)
    {
      tw_text_indent (text, 2);
      if (columns_first)
        tw_text_line (text, "for (int64_t %s = 0; %s < %s; %s++)", row, row, limit, row);
      else
        tw_text_line (text, "for (int64_t n = 0; n < %s; n++)", value->columns);
    }
  tw_text_indent (text, 2);
  g_autofree char *body = tw_formula_to_c (reference->block->formula, output, index, target,
                                           tw_text_get_indent (text) + 2, &spelling, reference);
  gboolean flattened = type->n_dims == 3;
  gboolean named = !flattened && !value->full && tw_text_has_word (body, "m");
  if (flattened || named)
    {
      tw_text_open (text);
      if (flattened)
        {
          g_autofree char *middle = tw_dim_to_c (type->dims[1], "d_");

          tw_text_line (text, "const int64_t m0 = m / (%s), m1 = m %% (%s);", middle, middle);
        }
      else
        tw_text_line (text, "const int64_t m = s[%d].rows[i];", value->sample);
      tw_text_indent (text, -2);
    }
  g_free (body);
  body = tw_formula_to_c (reference->block->formula, output, index, target,
                          tw_text_get_indent (text) + (flattened || named ? 2 : 0), &spelling,
                          reference);
  tw_text_raw (text, body);
  if (flattened || named)
    {
      tw_text_indent (text, 2);
      tw_text_close (text, NULL);
    }
  tw_text_indent (text, indent - tw_text_get_indent (text));
}

/* Declares what drawn edges of the value carry. */
static void
print_edges (Reference *reference, TwText *text, Value *value)
{
  g_autoptr (GPtrArray) links
      = tw_graph_get_links_from (reference->graph, value->node->id, value->port->id);
  guint drawn = 0;
  g_autofree char *count = print_count (value);

  for (guint i = 0; i < links->len; i++)
    drawn += is_drawn (reference, g_ptr_array_index (links, i));
  value->rounded = g_strdup (value->name);
  if (drawn == 0)
    return;
  if (drawn < links->len)
    {
      g_free (value->rounded);
      value->rounded = g_strdup_printf ("e%s", value->name);
      tw_text_line (text, "double *%s = take (&pool, %s);", value->rounded, count);
      tw_text_line (text, "memcpy (%s, %s, sizeof (double) * (size_t) (%s));", value->rounded,
                    value->name, count);
    }
  tw_text_line (text, "if (rounding)");
  tw_text_line (text, "  round_values (%s, %s, %s);", value->rounded, count,
                tw_emit_dtype (value->type->dtype) + 3);
}

static void
print_sink (Reference *reference, TwText *text)
{
  const TwLink *link = NULL;

  for (int i = 0; i < reference->block->n_ports && link == NULL; i++)
    link = tw_graph_get_link_to (reference->graph, reference->node->id,
                                 reference->block->ports[i].id);
  if (link == NULL)
    return;
  const Value *value = find_value (reference, link->from_node, link->from_port);
  int tensor = tw_emit_find_tensor (reference->emit, reference->node->id);
  g_autofree char *count = print_count (value);

  tw_text_line (text, "%s", "");
  tw_text_comment (text, "%s: output", reference->node->id);
  tw_text_line (text, "out[%d] = new_values (%s);", tensor, count);
  tw_text_line (text, "memcpy (out[%d], %s, sizeof (double) * (size_t) (%s));", tensor,
                value->rounded, count);
  tw_text_line (text, "if (rounding)");
  tw_text_line (text, "  round_values (out[%d], %s, %s);", tensor, count,
                tw_emit_dtype (value->type->dtype) + 3);
}

static void
print_node (Reference *reference, TwText *text)
{
  const TwBlock *block = reference->block;

  if (block->formula == NULL)
    return;
  tw_text_line (text, "%s", "");
  g_autofree char *flat = g_strdup (block->formula_text);
  g_strdelimit (flat, "\n\t", ' ');
  g_strstrip (flat);
  tw_text_comment (text, "%s (%s): %s", reference->node->id, block->id, flat);
  for (int i = 0; i < block->n_outputs; i++)
    {
      Value *value = find_value (reference, reference->node->id, block->outputs[i].name);

      if (value == NULL)
        continue;
      g_autofree char *count = print_count (value);

      reference->output = value;
      tw_text_line (text, "double *%s = take (&pool, %s);", value->name, count);
      print_loops (reference, text, value, i);
      print_edges (reference, text, value);
    }
}

void
tw_emit_reference (TwEmit *emit, TwText *text, TwEmitFacts *facts)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwGraph) graph = tw_expand (emit->drawn, emit->catalog, emit->typing, &error);
  const TwCheckOptions options = { "cpu" };
  g_autoptr (TwTyping) typing = NULL;
  Reference reference = { .emit = emit };

  if (graph == NULL)
    {
      if (emit->error == NULL)
        g_propagate_error (&emit->error, g_steal_pointer (&error));
      return;
    }
  typing = tw_check (graph, emit->catalog, &options);
  reference.graph = graph;
  reference.typing = typing;
  reference.values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, value_free);
  reference.order = tw_graph_sort (graph, NULL);
  collect_values (&reference);
  find_samples (&reference, facts->samples);
  for (guint i = 0; i < facts->samples->len; i++)
    {
      TwDim *dim = g_array_index (facts->samples, TwDim *, i);

      g_array_index (facts->samples, TwDim *, i) = tw_dim_ref (dim);
    }

  TwText *body = tw_text_new ();
  tw_text_indent (body, 2);
  for (guint i = 0; i < reference.order->len; i++)
    {
      const char *id = g_ptr_array_index (reference.order, i);

      reference.node = tw_graph_get_node (graph, id);
      reference.block = tw_catalog_get (emit->catalog, reference.node->block);
      if (reference.block->kind == TW_KIND_SINK)
        print_sink (&reference, body);
      else if (reference.block->kind == TW_KIND_SOURCE)
        {
          int tensor = tw_emit_find_tensor (emit, id);

          for (int j = 0; j < reference.block->n_ports; j++)
            {
              Value *value = find_value (&reference, id, reference.block->ports[j].id);

              if (value == NULL || tensor < 0)
                continue;
              value->rounded = g_strdup (value->name);
              facts->sampled[tensor] = value->sample;
              g_autoptr (GPtrArray) links = tw_graph_get_links_from (graph, id, NULL);
              if (links->len > 0)
                tw_text_line (body, "double *%s = in[%d];", value->name, tensor);
            }
        }
      else
        print_node (&reference, body);
    }
  tw_emit_facts_scan (emit, graph, typing, facts);
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind != TW_BUFFER_OUTPUT)
        continue;
      const TwNode *node = tw_graph_get_node (graph, tensor->id);
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);
      for (int j = 0; j < block->n_ports; j++)
        {
          const TwLink *link = tw_graph_get_link_to (graph, node->id, block->ports[j].id);
          const Value *value
              = link != NULL ? find_value (&reference, link->from_node, link->from_port) : NULL;

          if (value != NULL)
            facts->sampled[i] = value->sample;
        }
    }
  /* Each row alone: no input is needed in full. */
  facts->rows_apart = TRUE;
  for (guint i = 0; i < emit->tensors->len; i++)
    {
      const TwEmitTensor *tensor = g_ptr_array_index (emit->tensors, i);

      if (tensor->kind == TW_BUFFER_INPUT && tensor->type->n_dims >= 2 && facts->sampled[i] < 0)
        facts->rows_apart = FALSE;
    }

  g_autofree char *printed = tw_text_steal (body);
  for (const char *at = strstr (printed, "take (&pool"); at != NULL;
       at = strstr (at + 1, "take (&pool"))
    facts->n_values++;
  tw_text_comment (text,
                   "The drawn graph in double, on the sampled rows. With `rounding`, what each "
                   "drawn edge carries is rounded to its dtype: what an unfused program "
                   "computes.");
  tw_text_line (text, "static void");
  tw_text_line (text,
                "reference (const int64_t *d, const Sample *s, double *const *in, double **out, "
                "int rounding)");
  tw_text_open (text);
  tw_emit_dim_locals (emit, text, printed);
  tw_text_line (text, "Pool pool = { { NULL }, 0 };");
  tw_text_line (text, "%s", "");
  static const char *const names[] = { "d", "s", "in", "rounding" };
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    if (!tw_text_has_word (printed, names[i]))
      tw_text_line (text, "(void) %s;", names[i]);
  tw_text_raw (text, printed);
  tw_text_line (text, "release (&pool);");
  tw_text_close (text, NULL);
  g_hash_table_unref (reference.values);
  g_ptr_array_unref (reference.order);
}
