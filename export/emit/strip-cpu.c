/* The function of a strip: an epilogue with one line a node.
 *
 * What is known per row is computed once a strip, before its panels. */

#include "kernels-cpu.h"

#include <string.h>

static int
count_partners (const TwPrinter *printer, const TwEmitValue *value)
{
  return tw_printer_is_paired (printer, value) ? 2 : 1;
}

/* The accumulator that holds a contraction's output (of a packed pair: its first partner). */
static int
find_accumulator (const TwPrinter *printer, const TwEmitValue *value)
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
print_several (TwPrinter *printer, TwText *text, const TwEmitValue *value, int partner,
               const char *suffix)
{
  const TwBlock *block = value->block;
  g_autoptr (GString) call = NULL;

  if (strcmp (block->outputs[0].name, value->port->id) != 0)
    return;
  call = tw_printer_call (printer, value, partner);
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
print_element (TwPrinter *printer, TwText *text, const TwEmitValue *value)
{
  const TwBlock *block = value->block;

  if (value->per_row || block->kind == TW_KIND_FINISH)
    return;
  for (int partner = 0; partner < count_partners (printer, value); partner++)
    {
      int which = tw_printer_is_paired (printer, value) ? partner : -1;
      g_autofree char *suffix = which >= 0 ? g_strdup_printf ("_%d", which) : g_strdup ("");

      if (block->kind == TW_KIND_CONTRACTION)
        tw_text_line (text, "const float %s%s = tw_acc (&p, %d, r, c);", value->name, suffix,
                      find_accumulator (printer, value) + partner);
      else if (block->kind == TW_KIND_STATISTIC)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, block, 0);
          g_autofree char *from = tw_printer_operand (printer, &operand, which);
          g_autofree char *function = tw_emit_function_name (block);

          tw_text_line (text, "TW_GATHER (%s, %s, &p, r, c, %s);", function, value->name, from);
        }
      else if (tw_emit_is_copy (block))
        {
          TwEmitOperand operand = tw_emit_kernel_operand (printer->k, value->node, block, partner);
          g_autofree char *from = tw_printer_operand (printer, &operand, -1);

          tw_text_line (text, "const float %s%s = %s;", value->name, suffix, from);
        }
      else if (block->n_outputs > 1)
        print_several (printer, text, value, which, suffix);
      else
        {
          g_autoptr (GString) call = tw_printer_call (printer, value, which);

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
print_load (TwPrinter *printer, TwText *text, const TwLoad *load)
{
  g_autofree char *view = tw_emit_view_name (printer->k->emit, load->buffer);
  const char *dtype = tw_printer_get_dtype (printer, load->buffer);

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
print_row_values (TwPrinter *printer, TwText *text, int pass)
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
          tw_printer_append_params (printer, call, value);
        }
      else
        call = tw_printer_call (printer, value, -1);
      tw_text_line (text, "TW_FOR_ROWS (s, r)");
      tw_text_line (text, "  %s[r] = %s);", value->name, call->str);
    }
}

/* Loads of row vectors and declarations of everything that is kept per row. */
static void
declare_rows (TwPrinter *printer, TwText *declarations, TwText *loads)
{
  const TwEmitKernel *k = printer->k;

  for (guint i = 0; i < printer->loads->len; i++)
    {
      const TwLoad *load = g_ptr_array_index (printer->loads, i);

      if (load->role != TW_ROLE_PER_ROW)
        continue;
      g_autofree char *view = tw_emit_view_name (k->emit, load->buffer);
      tw_text_line (declarations, "TwRowValues %s;", load->name);
      tw_text_line (loads, "tw_load_rows_%s (s, v->%s.data, %s);",
                    tw_printer_get_dtype (printer, load->buffer), view, load->name);
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
print_statistics (TwPrinter *printer, TwText *text, int pass, gboolean partial)
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
print_row_stores (TwPrinter *printer, TwText *text)
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
        name = tw_printer_get_load (printer, from.buffer, TW_ROLE_PER_ROW, 0, 0);
      tw_text_line (text, "tw_store_rows_%s (s, v->%s.data, %s);",
                    tw_printer_get_dtype (printer, store->buffer), view, name);
    }
}

/* ---- panels ---- */

/* The panels of a pass and, in the last one, what is stored. Row loads stay in printer->loads. */
static void
print_pass (TwPrinter *printer, TwText *text, int pass)
{
  const TwEmitKernel *k = printer->k;
  g_autofree gboolean *needed = tw_emit_kernel_slice (k, pass);
  gboolean last = pass == k->n_passes - 1;
  TwText *elements = tw_text_new ();
  TwText *stores = tw_text_new ();
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  int indent = tw_text_get_indent (text) + 4;

  for (guint i = printer->loads->len; i-- > 0;)
    if (((const TwLoad *)g_ptr_array_index (printer->loads, i))->role != TW_ROLE_PER_ROW)
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
      gboolean paired = from.value != NULL && tw_printer_is_paired (printer, from.value);
      g_autofree char *view = tw_emit_view_name (k->emit, store->buffer);
      const char *dtype = tw_printer_get_dtype (printer, store->buffer);

      if (!is_tile_store (&from))
        continue;
      if (from.value == NULL)
        from.role = TW_ROLE_MATRIX;
      for (int partner = paired ? 0 : -1; partner < (paired ? 2 : 0); partner++)
        {
          g_autofree char *value = tw_printer_operand (printer, &from, partner);
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
      const TwLoad *load = g_ptr_array_index (printer->loads, i);

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
      const TwLoad *load = g_ptr_array_index (printer->loads, i);

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
void
tw_printer_strip (TwPrinter *printer, TwText *text)
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
