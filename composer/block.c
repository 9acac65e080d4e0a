/* The block as a value: its life and its lookups. Reading is block-xml.c. */
#include "block-private.h"
#include "graph.h"

#include <string.h>

G_DEFINE_QUARK (tw-block-error-quark, tw_block_error)

static void
clear_param (TwParamSpec *param)
{
  g_free (param->id);
  g_free (param->doc);
  g_free (param->fallback);
  g_strfreev (param->values);
  g_free (param->numbers);
}

static void
clear_port (TwPortSpec *port)
{
  g_free (port->id);
  g_free (port->dtype);
  g_free (port->dtypes);
  for (int i = 0; i < 3; i++)
    {
      g_free (port->dims[i]);
      g_free (port->index[i]);
    }
  g_free (port->when_param);
  g_strfreev (port->when_values);
  g_free (port->partner_param);
  g_free (port->operands[0]);
  g_free (port->operands[1]);
  g_free (port->statistic);
  g_free (port->group_param);
  g_free (port->alias);
  g_free (port->doc);
}

static void
clear_law (TwLaw *law)
{
  g_strfreev (law->inputs);
  g_free (law->output);
  g_free (law->degree_param);
  g_free (law->response);
}

TwBlock *
tw_block_ref (TwBlock *block)
{
  g_atomic_int_inc (&block->ref_count);
  return block;
}

void
tw_block_unref (TwBlock *block)
{
  if (!g_atomic_int_dec_and_test (&block->ref_count))
    return;
  g_free (block->id);
  g_free (block->label);
  g_free (block->category);
  g_free (block->doc);
  g_strfreev (block->synonyms);
  g_free (block->notation);
  for (int i = 0; i < block->n_params; i++)
    clear_param (&block->params[i]);
  g_free (block->params);
  for (int i = 0; i < block->n_ports; i++)
    clear_port (&block->ports[i]);
  g_free (block->ports);
  for (int i = 0; i < block->n_laws; i++)
    clear_law (&block->laws[i]);
  g_free (block->laws);
  for (int i = 0; i < block->n_requirements; i++)
    {
      g_free (block->requirements[i].when_param);
      g_free (block->requirements[i].expression);
      g_free (block->requirements[i].message);
    }
  g_free (block->requirements);
  g_free (block->formula_text);
  g_clear_pointer (&block->formula, tw_formula_unref);
  g_free (block->operands); /* their names are the ports' */
  g_free (block->outputs);
  g_free (block->source);
  g_free (block->function);
  g_strfreev (block->targets);
  g_clear_pointer (&block->body, tw_graph_free);
  g_free (block->directory);
  g_free (block);
}

const TwParamSpec *
tw_block_get_param (const TwBlock *block, const char *id)
{
  for (int i = 0; i < block->n_params; i++)
    if (strcmp (block->params[i].id, id) == 0)
      return &block->params[i];
  return NULL;
}

const TwPortSpec *
tw_block_get_port (const TwBlock *block, const char *id)
{
  for (int i = 0; i < block->n_ports; i++)
    if (strcmp (block->ports[i].id, id) == 0)
      return &block->ports[i];
  return NULL;
}

int
tw_block_get_operand (const TwBlock *block, const char *name)
{
  for (int i = 0; i < block->n_operands; i++)
    if (strcmp (block->operands[i].name, name) == 0)
      return i;
  return -1;
}

gboolean
tw_port_spec_present (const TwPortSpec *port, const char *when_value)
{
  if (port->when_param == NULL)
    return TRUE;
  return when_value != NULL
         && g_strv_contains ((const char *const *)port->when_values, when_value);
}
