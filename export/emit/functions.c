/* Device functions of the blocks in use: pasted where a block has a source, else printed from its
 * formula. */

#include "emit-private.h"

#include <string.h>

static char *
print_operand (int operand, const char *const *index, gpointer data)
{
  const TwBlock *block = data;

  return g_strdup_printf ("%s_", block->operands[operand].name);
}

static char *
print_param (int param, gpointer data)
{
  const TwBlock *block = data;

  return g_strdup_printf ("%s_", block->params[param].id);
}

static char *
print_extent (const char *dim, gpointer data)
{
  return g_strdup ("0");
}

/* Words of a block's id fit a C name as they are, but for "-". */
static char *
clean (const char *name)
{
  return g_strcanon (g_strdup (name), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_", '_');
}

char *
tw_emit_function_name (const TwBlock *block)
{
  if (block->source != NULL && block->function != NULL)
    return clean (block->function);
  g_autofree char *id = clean (block->id);
  return g_strconcat ("block_", id, NULL); /* tw_relu may be one of math.h */
}

static void
print_function (const TwBlock *block, TwText *text)
{
  static const TwFormulaC spelling = { print_operand, print_param, print_extent, TRUE };
  g_autofree char *name = tw_emit_function_name (block);
  g_autoptr (GString) parameters = g_string_new (NULL);
  gboolean single = block->n_outputs == 1;
  const char *index[3] = { "0", "0", "0" };

  for (int i = 0; i < block->n_operands; i++)
    g_string_append_printf (parameters, "%sfloat %s_", parameters->len > 0 ? ", " : "",
                            block->operands[i].name);
  for (int i = 0; i < block->n_params; i++)
    if (tw_formula_uses_param (block->formula, i))
      {
        TwParamType type = block->params[i].type;
        g_autofree char *param = clean (block->params[i].id);

        g_string_append_printf (
            parameters, "%s%s %s_", parameters->len > 0 ? ", " : "",
            type == TW_PARAM_REAL || type == TW_PARAM_DIMENSION ? "float" : "int", param);
      }
  for (int i = 0; i < block->n_outputs && !single; i++)
    g_string_append_printf (parameters, "%sfloat *%s_", parameters->len > 0 ? ", " : "",
                            block->outputs[i].name);
  g_autofree char *flat = g_strdup (block->formula_text);
  g_strdelimit (flat, "\n\t", ' ');
  g_strstrip (flat);
  tw_text_line (text, "%s", "");
  tw_text_comment (text, "Block %s: %s", block->id, flat);
  tw_text_line (text, "TW_FN %s", single ? "float" : "void");
  tw_text_line (text, "%s (%s)", name, parameters->len > 0 ? parameters->str : "void");
  tw_text_open (text);
  if (single)
    {
      g_autofree char *result = g_strdup_printf ("%s_", block->outputs[0].name);
      g_autofree char *body
          = tw_formula_to_c (block->formula, 0, index, result, 2, &spelling, (gpointer)block);
      g_autofree char *assign = g_strdup_printf ("  %s = ", result);

      if (g_str_has_prefix (body, assign))
        {
          tw_text_raw (text, "  return ");
          tw_text_raw (text, body + strlen (assign));
        }
      else
        {
          tw_text_line (text, "float %s;", result);
          tw_text_line (text, "%s", "");
          tw_text_raw (text, body);
          tw_text_line (text, "return %s;", result);
        }
    }
  else
    for (int i = 0; i < block->n_outputs; i++)
      {
        g_autofree char *result = g_strdup_printf ("*%s_", block->outputs[i].name);
        g_autofree char *body
            = tw_formula_to_c (block->formula, i, index, result, 2, &spelling, (gpointer)block);

        tw_text_raw (text, body);
      }
  tw_text_close (text, NULL);
}

/* Blocks of the plan's kernels, each once, in order of first use. g_ptr_array_unref. */
static GPtrArray *
collect_blocks (TwEmit *emit)
{
  GPtrArray *blocks = g_ptr_array_new ();

  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      for (guint j = 0; j < kernel->nodes->len; j++)
        {
          const TwBlock *block = tw_emit_block (emit, emit->plan->rewrite->graph,
                                                g_ptr_array_index (kernel->nodes, j));

          if (block != NULL && !g_ptr_array_find (blocks, block, NULL)
              && (block->kind == TW_KIND_ELEMENTWISE || block->kind == TW_KIND_STATISTIC
                  || block->kind == TW_KIND_FINISH))
            g_ptr_array_add (blocks, (gpointer)block);
        }
    }
  return blocks;
}

void
tw_emit_collect_functions (TwEmit *emit, TwSources *sources)
{
  g_autoptr (GPtrArray) blocks = collect_blocks (emit);

  for (guint i = 0; i < blocks->len; i++)
    {
      const TwBlock *block = g_ptr_array_index (blocks, i);

      if (block->source != NULL)
        {
          GError *error = NULL;

          if (!tw_sources_add (sources, block->source, &error))
            tw_emit_fail (emit, error);
        }
      else if (block->kind != TW_KIND_ELEMENTWISE || block->formula == NULL
               || (!tw_formula_is_elementwise (block->formula) && !tw_emit_is_copy (block)))
        tw_emit_fail (emit, g_error_new (TW_EMIT_ERROR, TW_EMIT_ERROR_TARGET,
                                         "block %s has no source for cpu, and its formula is not "
                                         "elementwise",
                                         block->id));
    }
}

void
tw_emit_functions (TwEmit *emit, TwText *text)
{
  g_autoptr (GPtrArray) blocks = collect_blocks (emit);
  gboolean any = FALSE;

  for (guint i = 0; i < blocks->len; i++)
    {
      const TwBlock *block = g_ptr_array_index (blocks, i);

      if (block->source == NULL && block->formula != NULL && block->kind == TW_KIND_ELEMENTWISE
          && tw_formula_is_elementwise (block->formula))
        {
          if (!any)
            tw_text_section (text, "formulas");
          any = TRUE;
          print_function (block, text);
        }
    }
}
