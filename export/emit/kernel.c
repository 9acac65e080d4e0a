/* See kernel.h. */

#include "kernel.h"

#include <string.h>

static void
value_free (gpointer data)
{
  TwEmitValue *value = data;

  g_free (value->name);
  g_free (value);
}

TwEmitValue *
tw_emit_kernel_find (const TwEmitKernel *k, const char *node, const char *port)
{
  for (guint i = 0; i < k->values->len; i++)
    {
      TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (strcmp (value->node->id, node) == 0 && strcmp (value->port->id, port) == 0)
        return value;
    }
  return NULL;
}

/* What a type is to an epilogue. A matrix of one dimension is a value per row. */
static TwRole
get_role (const TwPortSpec *port, const TwType *type)
{
  if (port != NULL && port->role != TW_ROLE_ANY)
    return port->role;
  if (type->statistic != NULL)
    return TW_ROLE_STATISTIC;
  return type->n_dims < 2 ? TW_ROLE_PER_ROW : TW_ROLE_MATRIX;
}

static int
get_group (const TwNode *node, const TwBlock *block, const TwPortSpec *port)
{
  double number = 0;

  if (port->partner != TW_PARTNER_INTERLEAVED)
    return 0;
  if (port->partner_param != NULL && tw_node_get_number (node, block, port->partner_param, &number))
    return (int)number;
  return port->partner_group;
}

static void
find_source (const TwEmitKernel *k, const char *node, const char *port, TwEmitOperand *operand)
{
  operand->type = tw_typing_get (k->typing, node, port);
  operand->value = tw_emit_kernel_find (k, node, port);
  if (operand->value == NULL)
    operand->buffer = tw_plan_get_buffer (k->emit->plan, node, port);
}

TwEmitOperand
tw_emit_kernel_operand (const TwEmitKernel *k, const TwNode *node, const TwBlock *block, int index)
{
  const char *name = block->operands[index].name;
  TwEmitOperand operand = { .buffer = -1 };

  for (int i = 0; i < block->n_ports; i++)
    for (int p = 0; p < 2; p++)
      {
        const TwPortSpec *port = &block->ports[i];

        if (port->direction != TW_DIRECTION_IN || port->operands[p] == NULL
            || strcmp (port->operands[p], name) != 0 || !tw_node_has_port (node, block, port))
          continue;
        const TwLink *link = tw_graph_get_link_to (k->graph, node->id, port->id);
        if (link == NULL)
          continue;
        operand.port = port;
        operand.partner = p;
        operand.group = get_group (node, block, port);
        find_source (k, link->from_node, link->from_port, &operand);
        operand.role = get_role (port, operand.type);
        return operand;
      }
  return operand;
}

TwEmitOperand
tw_emit_kernel_store (const TwEmitKernel *k, const TwStore *store)
{
  TwEmitOperand operand = { .buffer = -1 };

  find_source (k, store->node, store->port, &operand);
  operand.role = get_role (operand.value != NULL ? operand.value->port : NULL, operand.type);
  return operand;
}

/* The first pass in which everything the node reads is known. */
static int
find_pass (const TwEmitKernel *k, const TwNode *node, const TwBlock *block)
{
  int pass = 0;

  for (int i = 0; i < block->n_operands; i++)
    {
      TwEmitOperand operand = tw_emit_kernel_operand (k, node, block, i);

      if (operand.value == NULL)
        continue;
      pass = MAX (pass,
                  operand.value->pass + (operand.value->block->kind == TW_KIND_STATISTIC ? 1 : 0));
    }
  return pass;
}

TwEmitKernel *
tw_emit_kernel_new (TwEmit *emit, const TwKernel *kernel)
{
  TwEmitKernel *k = g_new0 (TwEmitKernel, 1);

  k->emit = emit;
  k->graph = emit->plan->rewrite->graph;
  k->typing = emit->plan->rewrite->typing;
  k->kernel = kernel;
  k->values = g_ptr_array_new_with_free_func (value_free);
  k->n_passes = 1;
  for (guint i = 0; i < kernel->nodes->len; i++)
    {
      const TwNode *node = tw_graph_get_node (k->graph, g_ptr_array_index (kernel->nodes, i));
      const TwBlock *block = tw_catalog_get (emit->catalog, node->block);
      int outputs = 0, nth = 0;

      if (block->kind == TW_KIND_SOURCE || block->kind == TW_KIND_SINK)
        continue;
      for (int j = 0; j < block->n_ports; j++)
        outputs += block->ports[j].direction == TW_DIRECTION_OUT;
      int pass = find_pass (k, node, block);
      for (int j = 0; j < block->n_ports; j++)
        {
          const TwPortSpec *port = &block->ports[j];
          const TwType *type = tw_typing_get (k->typing, node->id, port->id);

          if (port->direction != TW_DIRECTION_OUT || type == NULL)
            continue;
          TwEmitValue *value = g_new0 (TwEmitValue, 1);
          value->node = node;
          value->block = block;
          value->port = port;
          value->type = type;
          value->name = outputs == 1 ? g_strdup_printf ("v_%s", node->id)
                                     : g_strdup_printf ("v%d_%s", nth, node->id);
          value->per_row = type->n_dims < 2 && type->statistic == NULL;
          value->pass = pass;
          nth++;
          g_ptr_array_add (k->values, value);
          k->n_passes = MAX (k->n_passes, pass + 1);
        }
    }
  return k;
}

void
tw_emit_kernel_free (TwEmitKernel *k)
{
  if (k == NULL)
    return;
  g_ptr_array_unref (k->values);
  g_free (k);
}

gboolean *
tw_emit_kernel_slice (const TwEmitKernel *k, int pass)
{
  gboolean *needed = g_new0 (gboolean, k->values->len + 1);

  for (guint i = 0; i < k->values->len; i++)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      needed[i] = value->block->kind == TW_KIND_STATISTIC && value->pass == pass;
    }
  for (guint i = 0; i < k->kernel->stores->len && pass == k->n_passes - 1; i++)
    {
      TwEmitOperand operand
          = tw_emit_kernel_store (k, &g_array_index (k->kernel->stores, TwStore, i));

      for (guint j = 0; j < k->values->len; j++)
        if (g_ptr_array_index (k->values, j) == operand.value
            && operand.value->block->kind != TW_KIND_STATISTIC)
          needed[j] = TRUE;
    }
  /* Values are in order of execution: one walk backwards. Statistics of earlier passes are known.
   */
  for (guint i = k->values->len; i-- > 0;)
    {
      const TwEmitValue *value = g_ptr_array_index (k->values, i);

      if (!needed[i])
        continue;
      for (int j = 0; j < value->block->n_operands; j++)
        {
          TwEmitOperand operand = tw_emit_kernel_operand (k, value->node, value->block, j);

          for (guint m = 0; m < i && operand.value != NULL; m++)
            if (g_ptr_array_index (k->values, m) == operand.value
                && operand.value->block->kind != TW_KIND_STATISTIC)
              needed[m] = TRUE;
        }
    }
  return needed;
}
