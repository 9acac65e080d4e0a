/* Kernels of the CPU target: a function of a strip, and a call of a main loop. */

#include "kernels-cpu.h"

/* The rows and columns that the strip function walks: those of what comes out. Of a pair that is
 * read packed, or laid out anew, these are one partner's columns. */
static void
find_extents (const TwPrinter *printer, char **rows, char **columns)
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
print_gemm (TwPrinter *printer, TwText *text)
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
print_kernel (TwPrinter *printer, TwText *text)
{
  const TwEmitKernel *k = printer->k;
  const TwKernel *kernel = k->kernel;

  tw_printer_strip (printer, text);
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
      g_autoptr (TwPrinter) printer = tw_printer_new (k);

      if (i > 0)
        tw_text_line (text, "%s", "");
      print_comment (k, text);
      print_kernel (printer, text);
    }
}

/* v-><name> = the view of a buffer's memory. */
void
tw_emit_view (TwText *text, const char *name, const char *data, const char *ld)
{
  tw_text_line (text, "v->%s.data = (void *) (%s);", name, data);
  tw_text_line (text, "v->%s.ld = %s;", name, ld);
}
