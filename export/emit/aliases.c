/* Which output may be the memory of which input. */

#include "emit-private.h"

#include <string.h>

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
