/* Kernels of the CPU target: a function of a strip with one line a node, and a call of a main loop.
 *
 * Values are printed element by element, named after their nodes. A value that is read as a pair of
 * partners ("packed") is printed twice, once a partner, in the index space of the columns that come
 * out: v_h_0, v_h_1. What is known per row is computed once a strip, before its panels. */

#include "kernel.h"

#include <string.h>

/* Something an epilogue fetches before its elements: a tile, a vector along the row or the column.
 */
typedef struct
{
  int buffer;
  TwRole role;
  int group, partner; /* packed: columns of each partner in turn, which one; else 0 */
  char *name;
} Load;

typedef struct
{
  TwEmitKernel *k;
  GPtrArray *loads;
  gboolean *paired; /* per value: printed once a partner */
  int group;        /* of the pairs in this kernel; 0: none */
} Printer;

static void
load_free (gpointer data)
{
  Load *load = data;

  g_free (load->name);
  g_free (load);
}

static int
value_index (const TwEmitKernel *k, const TwEmitValue *value)
{
  for (guint i = 0; i < k->values->len; i++)
    if (g_ptr_array_index (k->values, i) == value)
      return (int)i;
  return -1;
}

static gboolean
is_paired (const Printer *printer, const TwEmitValue *value)
{
  int index = value_index (printer->k, value);

  return index >= 0 && printer->paired[index];
}

/* Values read as pairs, what they are computed from, and what is computed from them. */
static void
find_pairs (Printer *printer)
{
  const TwEmitKernel *k = printer->k;
  gboolean changed = TRUE;

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      for (int j = 0; j < value->block->n_operands; j++)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);

          if (operand.port == NULL || operand.group == 0)
            continue;
          printer->group = operand.group;
          if (operand.value != NULL)
            printer->paired[value_index (k, operand.value)] = TRUE;
        }
      if (tw_emit_is_copy (value->block))
        {
          printer->paired[i] = TRUE;
          printer->group = value->type->partner_group;
        }
    }
  while (changed)
    {
      changed = FALSE;
      for (guint i = 0; i < k->values->len; i++)
        {
          const TwEmitValue *value = g_ptr_array_index (k->values, i);

          if (value->block->kind != TW_KIND_ELEMENTWISE || value->per_row
              || tw_emit_is_copy (value->block))
            continue;
          for (int j = 0; j < value->block->n_operands; j++)
            {
              TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);
              int from = operand.value != NULL ? value_index (k, operand.value) : -1;

              if (from < 0 || operand.group != 0 || operand.role != TW_ROLE_MATRIX
                  || printer->paired[i] == printer->paired[from])
                continue;
              printer->paired[i] = printer->paired[from] = TRUE;
              changed = TRUE;
            }
        }
    }
}

/* ---- operands ---- */

static const char *
dtype_of (const Printer *printer, int buffer)
{
  const TwBuffer *b = g_ptr_array_index (printer->k->emit->plan->buffers, buffer);

  return tw_dtype_get_name (b->type->dtype);
}

/* The name of what a load fetches; it is remembered. */
static const char *
get_load (Printer *printer, int buffer, TwRole role, int group, int partner)
{
  static const char letters[] = { 'm', 'r', 'c', 'q', 'm' };
  const TwBuffer *b = g_ptr_array_index (printer->k->emit->plan->buffers, buffer);

  for (guint i = 0; i < printer->loads->len; i++)
    {
      const Load *load = g_ptr_array_index (printer->loads, i);

      if (load->buffer == buffer && load->role == role && load->group == group
          && load->partner == partner)
        return load->name;
    }
  Load *load = g_new0 (Load, 1);
  load->buffer = buffer;
  load->role = role;
  load->group = group;
  load->partner = partner;
  load->name = group > 0 ? g_strdup_printf ("%c%d_%s", letters[role], partner, b->name)
                         : g_strdup_printf ("%c_%s", letters[role], b->name);
  g_ptr_array_add (printer->loads, load);
  return load->name;
}

/* The C expression of an operand at element (r, c) of the panel; `partner` of a paired reader, or
 * -1. */
static char *
print_operand (Printer *printer, const TwEmitOperand *operand, int partner)
{
  int which = operand->group > 0 ? operand->partner : partner;
  int group = operand->group > 0 ? operand->group : partner >= 0 ? printer->group : 0;

  if (operand->value != NULL)
    {
      if (operand->value->per_row)
        return g_strdup_printf ("%s[r]", operand->value->name);
      if (is_paired (printer, operand->value))
        return g_strdup_printf ("%s_%d", operand->value->name, MAX (which, 0));
      return g_strdup (operand->value->name);
    }
  if (operand->buffer < 0)
    return g_strdup ("0.0f");
  if (operand->role == TW_ROLE_PER_ROW)
    return g_strdup_printf ("%s[r]", get_load (printer, operand->buffer, operand->role, 0, 0));
  const char *name
      = get_load (printer, operand->buffer, operand->role, group, group > 0 ? MAX (which, 0) : 0);
  return g_strdup_printf (operand->role == TW_ROLE_PER_COLUMN ? "%s[c]" : "%s[r][c]", name);
}

/* ", 1, 1e-6f": the parameters that the block's formula names. */
static void
append_params (Printer *printer, GString *out, const TwEmitValue *value)
{
  const TwBlock *block = value->block;

  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *spec = &block->params[i];
      double number = 0;

      if (block->formula == NULL || !tw_formula_uses_param (block->formula, i))
        continue;
      if (out->str[out->len - 1] != '(')
        g_string_append (out, ", ");
      const TwDim *dim = spec->type == TW_PARAM_DIMENSION
                             ? tw_typing_get_dim (printer->k->typing, value->node->id, spec->id)
                             : NULL;
      gint64 constant;
      if (dim != NULL && !tw_dim_is_constant (dim, &constant))
        {
          g_autofree char *text = tw_dim_to_c (dim, "v->d_");
          g_string_append_printf (out, "(float) (%s)", text);
          continue;
        }
      if (dim != NULL)
        number = (double)constant;
      else
        tw_node_get_number (value->node, block, spec->id, &number);
      gboolean real = spec->type == TW_PARAM_REAL || spec->type == TW_PARAM_DIMENSION;
      g_autofree char *text
          = real ? tw_emit_number (number, TRUE) : g_strdup_printf ("%d", (int)number);
      g_string_append (out, text);
    }
}

/* "tw_swiglu (v_gate, v_up": a call without its end. */
static GString *
print_call (Printer *printer, const TwEmitValue *value, int partner)
{
  g_autofree char *function = tw_emit_function_name (value->block);
  GString *out = g_string_new (NULL);

  g_string_printf (out, "%s (", function);
  for (int i = 0; i < value->block->n_operands; i++)
    {
      TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, value->block, i);
      g_autofree char *text = print_operand (printer, &operand, partner);

      g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", text);
    }
  append_params (printer, out, value);
  return out;
}

/* ---- lines ---- */

static int
count_partners (const Printer *printer, const TwEmitValue *value)
{
  return is_paired (printer, value) ? 2 : 1;
}

/* The accumulator that holds a contraction's output (of a packed pair: its first partner). */
static int
find_accumulator (const Printer *printer, const TwEmitValue *value)
{
  int accumulator = 0;

  for (guint i = 0; i < printer->k->values->len; i++)
    {
      const TwEmitValue *other = g_ptr_array_index (printer->k->values, i);

      if (other == value)
        break;
      if (other->block->kind == TW_KIND_CONTRACTION)
        accumulator++;
    }
  return accumulator;
}

/* All outputs of a node at once, at the first of them. */
static void
print_several (Printer *printer, TwText *text, const TwEmitValue *value, int partner,
               const char *suffix)
{
  const TwBlock *block = value->block;
  g_autoptr (GString) call = NULL;

  if (strcmp (block->outputs[0].name, value->port->id) != 0)
    return;
  call = print_call (printer, value, partner);
  for (int i = 0; i < block->n_outputs; i++)
    {
      const TwEmitValue *output
          = tw_emit_kernel_find (printer->k, value->node->id, block->outputs[i].name);

      tw_text_line (text, "float %s%s;", output->name, suffix);
      g_string_append_printf (call, ", &%s%s", output->name, suffix);
    }
  tw_text_line (text, "%s);", call->str);
}

/* One line a node: values, and what statistics gather, at element (r, c). */
static void
print_element (Printer *printer, TwText *text, const TwEmitValue *value)
{
  const TwBlock *block = value->block;

  if (value->per_row || block->kind == TW_KIND_FINISH)
    return;
  for (int partner = 0; partner < count_partners (printer, value); partner++)
    {
      int which = is_paired (printer, value) ? partner : -1;
      g_autofree char *suffix = which >= 0 ? g_strdup_printf ("_%d", which) : g_strdup ("");

      if (block->kind == TW_KIND_CONTRACTION)
        tw_text_line (text, "const float %s%s = tw_acc (&p, %d, r, c);", value->name, suffix,
                      find_accumulator (printer, value) + partner);
      else if (block->kind == TW_KIND_STATISTIC)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, block, 0);
          g_autofree char *from = print_operand (printer, &operand, which);
          g_autofree char *function = tw_emit_function_name (block);

          tw_text_line (text, "TW_GATHER (%s, %s, &p, r, c, %s);", function, value->name, from);
        }
      else if (tw_emit_is_copy (block))
        {
          TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, block, partner);
          g_autofree char *from = print_operand (printer, &operand, -1);

          tw_text_line (text, "const float %s%s = %s;", value->name, suffix, from);
        }
      else if (block->n_outputs > 1)
        print_several (printer, text, value, which, suffix);
      else
        {
          g_autoptr (GString) call = print_call (printer, value, which);

          tw_text_line (text, "const float %s%s = %s);", value->name, suffix, call->str);
        }
    }
}

/* A partial statistic that a finish of this kernel reads is summed up as its panels go by. */
static gboolean
is_summed (const TwEmitKernel *k, const TwEmitValue *statistic)
{
  for (guint i = 0; i < k->values->len && statistic->type->group > 0; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (value->block->kind == TW_KIND_FINISH
          && tw_emit_kernel_operand (k, value->node, value->block, 0).value == statistic)
        return TRUE;
    }
  return FALSE;
}

/* ---- loads and stores ---- */

static void
print_load (Printer *printer, TwText *text, const Load *load)
{
  g_autofree char *view = tw_emit_view_name (printer->k->emit, load->buffer);
  const char *dtype = dtype_of (printer, load->buffer);

  if (load->role == TW_ROLE_PER_COLUMN && load->group == 0)
    tw_text_line (text, "tw_load_columns_%s (&p, v->%s.data, %s);", dtype, view, load->name);
  else if (load->role == TW_ROLE_PER_COLUMN)
    tw_text_line (text, "tw_load_partner_columns_%s (&p, v->%s.data, %d, %d, %s);", dtype, view,
                  load->group, load->partner, load->name);
  else if (load->group == 0)
    tw_text_line (text, "tw_load_tile_%s (&p, &v->%s, %s);", dtype, view, load->name);
  else
    tw_text_line (text, "tw_load_partner_%s (&p, &v->%s, %d, %d, %s);", dtype, view, load->group,
                  load->partner, load->name);
}

/* Stores of matrices, made element by element. */
static gboolean
is_tile_store (const TwEmitOperand *from)
{
  if (from->value == NULL)
    return from->role == TW_ROLE_MATRIX || from->role == TW_ROLE_STATISTIC;
  return !from->value->per_row && from->value->block->kind != TW_KIND_STATISTIC;
}

/* What a strip keeps per row: row scales from memory, finishes, and other values per row that
 * become known with pass `pass`. */
static void
print_row_values (Printer *printer, TwText *text, int pass)
{
  const TwEmitKernel *k = printer->k;

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (!value->per_row || value->pass != pass)
        continue;
      g_autofree char *function = tw_emit_function_name (value->block);
      g_autoptr (GString) call = NULL;
      if (value->block->kind == TW_KIND_FINISH)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, 0);

          call = g_string_new (NULL);
          if (operand.value != NULL && operand.value->type->group > 0)
            g_string_printf (call, "%s (sum_%s[r]", function, operand.value->name);
          else if (operand.value != NULL)
            {
              g_autofree char *statistic = tw_emit_function_name (operand.value->block);
              g_string_printf (call, "%s (TW_VALUE (%s, %s, r)", function, statistic,
                               operand.value->name);
            }
          else
            {
              g_autofree char *view = tw_emit_view_name (k->emit, operand.buffer);
              g_autofree char *parts
                  = tw_dim_to_c (operand.type->dims[operand.type->n_dims - 1], "v->d_");
              g_string_printf (call, "%s (tw_fold_f32 (&v->%s, s->row + r, %s)", function, view,
                               parts);
            }
          append_params (printer, call, value);
        }
      else
        call = print_call (printer, value, -1);
      tw_text_line (text, "TW_FOR_ROWS (s, r)");
      tw_text_line (text, "  %s[r] = %s);", value->name, call->str);
    }
}

/* Loads of row vectors and declarations of everything that is kept per row. */
static void
declare_rows (Printer *printer, TwText *declarations, TwText *loads)
{
  const TwEmitKernel *k = printer->k;

  for (guint i = 0; i < printer->loads->len; i++)
    {
      const Load *load = g_ptr_array_index (printer->loads, i);

      if (load->role != TW_ROLE_PER_ROW)
        continue;
      g_autofree char *view = tw_emit_view_name (k->emit, load->buffer);
      tw_text_line (declarations, "TwRowValues %s;", load->name);
      tw_text_line (loads, "tw_load_rows_%s (s, v->%s.data, %s);", dtype_of (printer, load->buffer),
                    view, load->name);
    }
  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (value->per_row)
        tw_text_line (declarations, "TwRowValues %s;", value->name);
      if (value->block->kind == TW_KIND_STATISTIC && is_summed (k, value))
        tw_text_line (declarations, "TwRowValues sum_%s = { 0 };", value->name);
    }
}

/* Statistics of pass `pass`: those of the whole row, or partials. */
static gboolean
gathers (const TwEmitValue *value, int pass, gboolean partial)
{
  return value->block->kind == TW_KIND_STATISTIC && value->pass == pass
         && (value->type->group > 0) == partial;
}

/* Merges the states and stores those that are stored. */
static void
print_statistics (Printer *printer, TwText *text, int pass, gboolean partial)
{
  const TwEmitKernel *k = printer->k;

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (!gathers (value, pass, partial))
        continue;
      g_autofree char *function = tw_emit_function_name (value->block);
      tw_text_line (text, partial ? "TW_FOR_ROWS (&p, r)" : "TW_FOR_ROWS (s, r)");
      tw_text_line (text, "  {");
      tw_text_line (text, "    TW_MERGE (%s, %s, r);", function, value->name);
      for (guint j = 0; j < k->kernel->stores->len; j++)
        {
          const TwStore *store = &g_array_index (k->kernel->stores, TwStore, j);
          TwEmitOperand from = tw_emit_kernel_store (k, store);
          g_autofree char *view = tw_emit_view_name (k->emit, store->buffer);
          g_autofree char *column
              = partial ? g_strdup_printf ("p.column / %" G_GINT64_FORMAT, value->type->group)
                        : g_strdup ("0");

          if (from.value == value)
            tw_text_line (text, "    tw_store_f32 (&v->%s, %srow + r, %s, TW_VALUE (%s, %s, r));",
                          view, partial ? "p." : "s->", column, function, value->name);
        }
      if (is_summed (k, value))
        tw_text_line (text, "    sum_%s[r] += TW_VALUE (%s, %s, r);", value->name, function,
                      value->name);
      tw_text_line (text, "  }");
    }
}

/* Stores of values per row, at the end. */
static void
print_row_stores (Printer *printer, TwText *text)
{
  const TwEmitKernel *k = printer->k;

  for (guint i = 0; i < k->kernel->stores->len; i++)
    {
      const TwStore *store = &g_array_index (k->kernel->stores, TwStore, i);
      TwEmitOperand from = tw_emit_kernel_store (k, store);
      g_autofree char *view = tw_emit_view_name (k->emit, store->buffer);
      const char *name = from.value != NULL ? from.value->name : NULL;

      if (is_tile_store (&from) || (from.value != NULL && !from.value->per_row))
        continue;
      if (name == NULL)
        name = get_load (printer, from.buffer, TW_ROLE_PER_ROW, 0, 0);
      tw_text_line (text, "tw_store_rows_%s (s, v->%s.data, %s);",
                    dtype_of (printer, store->buffer), view, name);
    }
}

/* ---- panels ---- */

/* The panels of a pass and, in the last one, what is stored. Row loads stay in printer->loads. */
static void
print_pass (Printer *printer, TwText *text, int pass)
{
  const TwEmitKernel *k = printer->k;
  g_autofree gboolean *needed = tw_emit_kernel_slice (k, pass);
  gboolean last = pass == k->n_passes - 1;
  TwText *elements = tw_text_new ();
  TwText *stores = tw_text_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  int indent = tw_text_get_indent (text) + 4;

  for (guint i = printer->loads->len; i-- > 0;)
    if (((const Load *)g_ptr_array_index (printer->loads, i))->role != TW_ROLE_PER_ROW)
      g_ptr_array_remove_index (printer->loads, i);
  tw_text_indent (elements, indent + 4);
  tw_text_indent (stores, indent);
  for (guint i = 0; i < k->values->len; i++)
    if (needed[i])
      print_element (printer, elements, g_ptr_array_index (k->values, i));
  for (guint i = 0; i < k->kernel->stores->len && last; i++)
    {
      const TwStore *store = &g_array_index (k->kernel->stores, TwStore, i);
      TwEmitOperand from = tw_emit_kernel_store (k, store);
      gboolean paired = from.value != NULL && is_paired (printer, from.value);
      g_autofree char *view = tw_emit_view_name (k->emit, store->buffer);
      const char *dtype = dtype_of (printer, store->buffer);

      if (!is_tile_store (&from))
        continue;
      if (from.value == NULL)
        from.role = TW_ROLE_MATRIX;
      for (int partner = paired ? 0 : -1; partner < (paired ? 2 : 0); partner++)
        {
          g_autofree char *value = print_operand (printer, &from, partner);
          char *name = partner >= 0 ? g_strdup_printf ("o%d_%s", partner, view + 2)
                                    : g_strdup_printf ("o_%s", view + 2);

          g_ptr_array_add (names, name);
          tw_text_line (elements, "%s[r][c] = %s;", name, value);
          if (paired)
            tw_text_line (stores, "tw_store_partner_%s (&p, &v->%s, %d, %d, %s);", dtype, view,
                          printer->group, partner, name);
          else
            tw_text_line (stores, "tw_store_tile_%s (&p, &v->%s, %s);", dtype, view, name);
        }
    }
  g_autofree char *lines = tw_text_steal (elements), *tail = tw_text_steal (stores);

  if (*lines == '\0')
    return;
  tw_text_line (text, "TW_FOR_PANELS (s, p)");
  tw_text_indent (text, 2);
  tw_text_open (text);
  for (guint i = 0; i < printer->loads->len; i++)
    {
      const Load *load = g_ptr_array_index (printer->loads, i);

      if (load->role != TW_ROLE_PER_ROW)
        tw_text_line (text, "%s %s;",
                      load->role == TW_ROLE_PER_COLUMN ? "TwColumnValues" : "TwTile", load->name);
    }
  for (guint i = 0; i < names->len; i++)
    tw_text_line (text, "TwTile %s;", (const char *)g_ptr_array_index (names, i));
  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);
      g_autofree char *function = tw_emit_function_name (value->block);

      if (gathers (value, pass, TRUE))
        tw_text_line (text, "TW_STATE_TABLE (%s, %s);", function, value->name);
    }
  tw_text_line (text, "%s", "");
  for (guint i = 0; i < printer->loads->len; i++)
    {
      const Load *load = g_ptr_array_index (printer->loads, i);

      if (load->role != TW_ROLE_PER_ROW)
        print_load (printer, text, load);
    }
  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);
      g_autofree char *function = tw_emit_function_name (value->block);

      if (gathers (value, pass, TRUE))
        tw_text_line (text, "TW_INIT (%s, %s);", function, value->name);
    }
  tw_text_line (text, "TW_FOR_ELEMENTS (&p, r, c)");
  tw_text_line (text, "  {");
  tw_text_raw (text, lines);
  tw_text_line (text, "  }");
  tw_text_raw (text, tail);
  print_statistics (printer, text, pass, TRUE);
  tw_text_close (text, NULL);
  tw_text_indent (text, -2);
}

/* The function of a strip: everything but the main loop. */
static void
print_strip (Printer *printer, TwText *text)
{
  const TwEmitKernel *k = printer->k;
  TwText *body = tw_text_new ();
  TwText *declarations = tw_text_new ();
  TwText *loads = tw_text_new ();

  tw_text_indent (body, 2);
  tw_text_indent (declarations, 2);
  tw_text_indent (loads, 2);
  for (int pass = 0; pass < k->n_passes; pass++)
    {
      print_row_values (printer, body, pass);
      for (guint i = 0; i < k->values->len; i++)
        {
          const TwEmitValue *value = g_ptr_array_index (k->values, i);

          if (!gathers (value, pass, FALSE))
            continue;
          g_autofree char *function = tw_emit_function_name (value->block);
          tw_text_line (declarations, "TW_STATE_TABLE (%s, %s);", function, value->name);
          tw_text_line (body, "TW_INIT (%s, %s);", function, value->name);
        }
      print_pass (printer, body, pass);
      print_statistics (printer, body, pass, FALSE);
    }
  print_row_stores (printer, body);
  declare_rows (printer, declarations, loads);

  g_autofree char *a = tw_text_steal (declarations), *b = tw_text_steal (loads);
  g_autofree char *c = tw_text_steal (body);
  tw_text_line (text, "static void");
  tw_text_line (text, "%s_strip (const TwStrip *s, const void *data)", k->kernel->name);
  tw_text_open (text);
  tw_text_line (text, "const Values *v = (const Values *) data;");
  tw_text_raw (text, a);
  tw_text_line (text, "%s", "");
  tw_text_raw (text, b);
  tw_text_raw (text, c);
  tw_text_close (text, NULL);
  tw_text_line (text, "%s", "");
}

/* ---- main loops ---- */

/* The rows and columns that the strip function walks: those of what comes out. Of a pair that is
 * read packed, or laid out anew, these are one partner's columns. */
static void
find_extents (const Printer *printer, char **rows, char **columns)
{
  const TwEmitKernel *k = printer->k;
  const TwType *type = NULL;
  const TwDim *width = k->kernel->columns;

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      for (int j = 0; j < value->block->n_operands; j++)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);

          if (operand.port != NULL && operand.group > 0 && value->type->n_dims == 2)
            width = value->type->dims[1];
          else if (operand.port != NULL && tw_emit_is_copy (value->block)
                   && operand.type->n_dims == 2)
            width = operand.type->dims[1];
        }
    }
  if (k->values->len == 0 && k->kernel->stores->len > 0)
    type = tw_emit_kernel_store (k, &g_array_index (k->kernel->stores, TwStore, 0)).type;
  if (type != NULL)
    {
      tw_type_to_c (type, "v->d_", rows, columns);
      if (type->column_order)
        {
          /* A column-stored matrix is the rows of its transpose. */
          char *swap = *rows;
          *rows = *columns;
          *columns = swap;
        }
      return;
    }
  *rows = k->kernel->rows != NULL ? tw_dim_to_c (k->kernel->rows, "v->d_") : g_strdup ("1");
  *columns = width != NULL ? tw_dim_to_c (width, "v->d_") : g_strdup ("1");
}

static void
print_gemm (Printer *printer, TwText *text)
{
  const TwEmitKernel *k = printer->k;
  const TwKernel *kernel = k->kernel;
  const TwNode *node = tw_graph_get_node (k->graph, kernel->contraction);
  const TwBlock *block = tw_catalog_get (k->emit->catalog, node->block);
  g_autofree char *rows = NULL, *columns = NULL;
  g_autofree char *depth
      = kernel->depth != NULL ? tw_dim_to_c (kernel->depth, "v->d_") : g_strdup ("1");
  TwEmitOperand a = tw_emit_kernel_operand (k, node, block, 0);
  g_autofree char *view_a = tw_emit_view_name (k->emit, a.buffer);

  find_extents (printer, &rows, &columns);
  tw_text_line (text, "TwGemm g = { 0 };");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "g.rows = %s;", rows);
  tw_text_line (text, "g.columns = %s;", columns);
  tw_text_line (text, "g.depth = %s;", depth);
  tw_text_line (text, "g.dtype = TW_%s;", tw_emit_dtype (a.type->dtype) + 3);
  tw_text_line (text, "g.a = v->%s;", view_a);
  tw_text_line (text, "g.n_b = %d;", block->n_operands - 1);
  tw_text_line (text, "g.group = %d;", printer->group);
  tw_text_line (text, "g.a_columns = %d;", a.type->column_order);
  for (int i = 1; i < block->n_operands; i++)
    {
      TwEmitOperand operand = tw_emit_kernel_operand (k, node, block, i);
      g_autofree char *view = tw_emit_view_name (k->emit, operand.buffer);

      tw_text_line (text, "g.b[%d] = v->%s;", i - 1, view);
      tw_text_line (text, "g.b_columns[%d] = %d;", i - 1, operand.type->column_order);
    }
  tw_text_line (text, "g.threads = v->threads;");
  tw_text_line (text, "tw_gemm (&g, %s_strip, v);", kernel->name);
}

static void
print_kernel (Printer *printer, TwText *text)
{
  const TwEmitKernel *k = printer->k;
  const TwKernel *kernel = k->kernel;

  print_strip (printer, text);
  tw_text_line (text, "static void");
  tw_text_line (text, "%s (const Values *v)", kernel->name);
  tw_text_open (text);
  if (kernel->mainloop == TW_MAINLOOP_GEMM)
    print_gemm (printer, text);
  else
    {
      g_autofree char *rows = NULL, *columns = NULL;

      find_extents (printer, &rows, &columns);
      tw_text_line (text, "tw_rows (%s, %s, v->threads, %s_strip, v);", rows, columns,
                    kernel->name);
    }
  tw_text_close (text, NULL);
}

/* What it computes: a formula for each thing it stores. */
static void
print_comment (const TwEmitKernel *k, TwText *text)
{
  g_autoptr (GString) out = g_string_new (k->kernel->name);

  g_string_append (out, k->kernel->prepare ? " (once, on weights)" : "");
  for (guint i = 0; i < k->kernel->stores->len; i++)
    {
      g_autofree char *formula = tw_emit_store_formula (k->emit, k->kernel, (int)i);

      g_string_append_printf (out, "%s%s", k->kernel->stores->len > 1 ? "\n  " : ": ", formula);
    }
  tw_text_comment (text, "%s", out->str);
}

void
tw_emit_kernels (TwEmit *emit, TwText *text)
{
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);
      g_autoptr (TwEmitKernel) k = tw_emit_kernel_new (emit, kernel);
      Printer printer = { .k = k };

      printer.loads = g_ptr_array_new_with_free_func (load_free);
      printer.paired = g_new0 (gboolean, k->values->len + 1);
      find_pairs (&printer);
      if (i > 0)
        tw_text_line (text, "%s", "");
      print_comment (k, text);
      print_kernel (&printer, text);
      g_ptr_array_unref (printer.loads);
      g_free (printer.paired);
    }
}

/* v-><name> = the view of a buffer's memory. */
void
tw_emit_view (TwText *text, const char *name, const char *data, const char *ld, const TwType *type)
{
  (void)type;
  tw_text_line (text, "v->%s.data = (void *) (%s);", name, data);
  tw_text_line (text, "v->%s.ld = %s;", name, ld);
}
