/* The box comment of NAME.c: what the program computes, how it came about, what it needs. */

#include "emit-private.h"

#include "../../composer/notation.h"

#include <string.h>

static void
add_heading (GString *out, const char *heading)
{
  g_string_append_printf (out, "\n\n%s\n", heading);
}

static void
add_graph (const TwEmit *emit, GString *out)
{
  g_autoptr (GPtrArray) order = tw_graph_sort (emit->drawn, NULL);

  add_heading (out, "Graph");
  for (guint i = 0; i < order->len; i++)
    {
      const TwNode *node = tw_graph_get_node (emit->drawn, g_ptr_array_index (order, i));
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);
      g_autoptr (GString) inputs = g_string_new (NULL);
      const TwType *type = NULL;

      for (int j = 0; j < block->n_ports; j++)
        {
          const TwPortSpec *port = &block->ports[j];
          const TwLink *link = port->direction == TW_DIRECTION_IN
                                   ? tw_graph_get_link_to (emit->drawn, node->id, port->id)
                                   : NULL;

          if (link != NULL)
            g_string_append_printf (inputs, "%s%s", inputs->len > 0 ? ", " : "", link->from_node);
          if (type == NULL && (port->direction == TW_DIRECTION_OUT || block->kind == TW_KIND_SINK))
            type = tw_typing_get (emit->typing, node->id, port->id);
        }
      g_autofree char *shape = tw_type_to_text (type);
      g_string_append_printf (out, "  %s = %s%s%s%s: %s\n", node->id, block->id,
                              inputs->len > 0 ? " (" : "", inputs->str, inputs->len > 0 ? ")" : "",
                              shape);
    }
  g_string_truncate (out, out->len - 1);
}

static void
add_derivation (const TwEmit *emit, GString *out)
{
  const TwRewrite *rewrite = emit->plan->rewrite;

  if (rewrite->steps->len > 0)
    {
      add_heading (out, "Derivation");
      for (guint i = 0; i < rewrite->steps->len; i++)
        {
          const TwStep *step = g_ptr_array_index (rewrite->steps, i);

          g_string_append_printf (out, "  %u. %s at %s\n", i + 1, step->rule, step->node);
          if (step->before != NULL && step->after != NULL
              && strcmp (step->before, step->after) != 0)
            g_string_append_printf (out, "     before: %s\n     after:  %s\n", step->before,
                                    step->after);
        }
      g_string_truncate (out, out->len - 1);
    }
  if (rewrite->refusals->len > 0)
    {
      add_heading (out, "Not done");
      for (guint i = 0; i < rewrite->refusals->len; i++)
        {
          const TwRefusal *refusal = g_ptr_array_index (rewrite->refusals, i);

          g_string_append_printf (out, "  %s at %s: %s\n", refusal->rule, refusal->node,
                                  refusal->reason);
        }
      g_string_truncate (out, out->len - 1);
    }
}

static void
add_kernels (const TwEmit *emit, GString *out)
{
  add_heading (out, "Kernels");
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    {
      const TwKernel *kernel = g_ptr_array_index (emit->plan->kernels, i);

      g_string_append_printf (out, "  %s%s:", kernel->name,
                              kernel->prepare ? " (prepare, on weights)" : "");
      for (guint j = 0; j < kernel->nodes->len; j++)
        g_string_append_printf (out, "%s %s", j > 0 ? "," : "",
                                (const char *)g_ptr_array_index (kernel->nodes, j));
      g_string_append_c (out, '\n');
      for (guint j = 0; j < kernel->stores->len; j++)
        {
          g_autofree char *formula = tw_emit_store_formula (emit, kernel, (int)j);

          g_string_append_printf (out, "     %s\n", formula);
        }
    }
  g_string_truncate (out, out->len - 1);

  gboolean memory = FALSE;
  for (guint i = 0; i < emit->plan->edges->len; i++)
    {
      const TwEdge *edge = g_ptr_array_index (emit->plan->edges, i);

      if (strcmp (edge->where, "memory") != 0)
        continue;
      if (!memory)
        add_heading (out, "Through memory");
      else
        g_string_append_c (out, '\n');
      memory = TRUE;
      g_string_append_printf (out, "  %s to %s: %s", edge->from, edge->to, edge->reason);
    }
}

static void
add_needs (const TwEmit *emit, GString *out)
{
  add_heading (out, "Needs");
  g_string_append (out,
                   "  Tensors are aligned to their elements; workspace and prepared memory to 64 "
                   "bytes. Sizes are free within their ranges, rows may be 0.");
  for (guint i = 0; i + 1 < emit->aliases->len; i += 2)
    {
      const TwEmitTensor *output
          = g_ptr_array_index (emit->tensors, g_array_index (emit->aliases, int, i));
      const TwEmitTensor *input
          = g_ptr_array_index (emit->tensors, g_array_index (emit->aliases, int, i + 1));

      g_string_append_printf (out, "\n  %s may be the very memory of %s.", output->id, input->id);
    }
}

char *
tw_emit_store_formula (const TwEmit *emit, const TwKernel *kernel, int store)
{
  const TwStore *s = &g_array_index (kernel->stores, TwStore, store);
  const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, s->buffer);
  g_autoptr (GHashTable) stop = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < kernel->reads->len; i++)
    {
      const TwBuffer *read
          = g_ptr_array_index (emit->plan->buffers, g_array_index (kernel->reads, int, i));

      g_hash_table_add (stop, read->node);
    }
  g_autofree char *value
      = tw_notation_print (emit->plan->rewrite->graph, emit->catalog, s->node, s->port, NULL, stop);
  return g_strdup_printf ("%s = %s", buffer->name, value);
}

void
tw_emit_box (TwEmit *emit, TwText *text, gboolean unfused)
{
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out, "%s: a fused program.", emit->prefix);
  if (unfused)
    g_string_printf (out, "%s: one kernel a block, for comparison.", emit->prefix);
  g_string_append (out, " SPDX-License-Identifier: MIT-0");
  add_graph (emit, out);
  add_derivation (emit, out);
  add_kernels (emit, out);
  add_needs (emit, out);
  tw_text_comment (text, "%s", out->str);
  tw_text_line (text, "%s", "");
}
