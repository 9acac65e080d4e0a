/* The graph of a case: a node of the block for each setting, fed and stored apart from the others.
 */
#include "cases.h"

#include <string.h>

static void
tensor_free (gpointer data)
{
  CaseTensor *tensor = data;

  g_free (tensor->node);
  g_free (tensor->port);
  g_free (tensor->id);
  g_free (tensor);
}

static void
setting_free (gpointer data)
{
  CaseSetting *setting = data;

  g_free (setting->label);
  g_free (setting->node);
  g_ptr_array_unref (setting->inputs);
  g_ptr_array_unref (setting->outputs);
  g_free (setting);
}

static void
add_tensor (GPtrArray *tensors, const char *node, const char *port, const char *id, gboolean weight)
{
  CaseTensor *tensor = g_new0 (CaseTensor, 1);

  tensor->node = g_strdup (node);
  tensor->port = g_strdup (port);
  tensor->id = g_strdup (id);
  tensor->weight = weight;
  g_ptr_array_add (tensors, tensor);
}

static void
put_param (GString *xml, const char *name, const char *value)
{
  g_autofree char *line
      = g_markup_printf_escaped ("    <param name=\"%s\" value=\"%s\"/>\n", name, value);
  g_string_append (xml, line);
}

static void
put_link (GString *links, const char *from, const char *out, const char *to, const char *in)
{
  g_string_append_printf (links, "  <link from=\"%s.%s\" to=\"%s.%s\"/>\n", from, out, to, in);
}

/* The storage type that the node which feeds `port` has. */
static const char *
port_dtype (const Case *c, int setting, const TwPortSpec *port)
{
  const char *chosen = cases_find (c, setting, CHOICE_INPUT, port->id, "dtype");

  if (chosen == NULL && port->dtype != NULL)
    chosen = cases_find (c, setting, CHOICE_DTYPE, NULL, port->dtype);
  return chosen != NULL ? chosen : port->dtype != NULL ? port->dtype : "f32";
}

static gboolean
is_present (const TwBlock *block, const Case *c, int setting, const TwPortSpec *port)
{
  if (port->when_param == NULL)
    return TRUE;
  const char *value = cases_find (c, setting, CHOICE_PARAM, NULL, port->when_param);
  const TwParamSpec *spec = tw_block_get_param (block, port->when_param);

  return tw_port_spec_present (port, value != NULL ? value : spec != NULL ? spec->fallback : NULL);
}

/* Columns of each partner in turn. */
static int
group_of (const TwBlock *block, const Case *c, int setting, const TwPortSpec *port)
{
  const TwParamSpec *spec
      = port->partner_param != NULL ? tw_block_get_param (block, port->partner_param) : NULL;
  const char *value = spec != NULL ? cases_find (c, setting, CHOICE_PARAM, NULL, spec->id) : NULL;

  if (spec == NULL)
    return port->partner_group;
  for (int i = 0; spec->values != NULL && spec->values[i] != NULL; i++)
    if (strcmp (spec->values[i], value != NULL ? value : spec->fallback) == 0)
      return (int)spec->numbers[i];
  return 0;
}

/* The node that feeds a port. */
static void
put_feeder (GString *xml, const TwBlock *block, const Case *c, int setting, const TwPortSpec *port,
            const char *id)
{
  g_autoptr (GString) shape = g_string_new (NULL);

  g_string_append_printf (xml, "  <node id=\"%s\" block=\"%s\">\n", id,
                          c->fixed ? "weight" : "input");
  put_param (xml, "dtype", port_dtype (c, setting, port));
  for (int i = 0; i < port->n_dims; i++)
    g_string_append_printf (shape, "%s%s", i > 0 ? ", " : "", port->dims[i]);
  if (cases_find (c, setting, CHOICE_INPUT, port->id, "shape") == NULL)
    put_param (xml, "shape", shape->len > 0 ? shape->str : "M, N");
  if (port->role == TW_ROLE_STATISTIC)
    put_param (xml, "statistic", port->statistic);
  if (port->partner == TW_PARTNER_INTERLEAVED)
    {
      g_autofree char *partner
          = g_strdup_printf ("interleaved-%d", group_of (block, c, setting, port));
      put_param (xml, "partner", partner);
    }
  for (guint i = 0; i < c->choices->len; i++)
    {
      const Choice *choice = c->choices->pdata[i];

      if (choice->kind == CHOICE_INPUT && strcmp (choice->port, port->id) == 0
          && strcmp (choice->name, "dtype") != 0)
        put_param (xml, choice->name, cases_value (c, i, setting));
    }
  g_string_append (xml, "  </node>\n");
}

static CaseSetting *
put_setting (GString *xml, GString *links, const TwBlock *block, const Case *c, int setting)
{
  CaseSetting *result = g_new0 (CaseSetting, 1);
  g_autoptr (GString) label = g_string_new (NULL);

  result->node = g_strdup_printf (block->kind == TW_KIND_SINK ? "s%d_o" : "s%d", setting);
  result->inputs = g_ptr_array_new_with_free_func (tensor_free);
  result->outputs = g_ptr_array_new_with_free_func (tensor_free);
  for (guint i = 0; i < c->choices->len; i++)
    {
      const Choice *choice = c->choices->pdata[i];

      g_string_append_printf (
          label, "%s%s%s%s=%s", i > 0 ? " " : "", choice->port != NULL ? choice->port : "",
          choice->port != NULL ? "." : "", choice->name, cases_value (c, i, setting));
    }
  result->label = g_strdup (label->str);
  if (block->kind == TW_KIND_SOURCE)
    add_tensor (result->inputs, result->node, "y", result->node, strcmp (block->id, "input") != 0);
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      g_autofree char *id = g_strdup_printf (
          "s%d_%s_%s", setting, port->direction == TW_DIRECTION_IN ? "i" : "o", port->id);

      if (!is_present (block, c, setting, port))
        continue;
      if (port->direction == TW_DIRECTION_OUT)
        {
          add_tensor (result->outputs, result->node, port->id, id, FALSE);
          g_string_append_printf (xml, "  <node id=\"%s\" block=\"output\"/>\n", id);
          put_link (links, result->node, port->id, id, "x");
          continue;
        }
      add_tensor (result->inputs, result->node, port->id, id, c->fixed);
      put_feeder (xml, block, c, setting, port, id);
      put_link (links, id, "y", result->node, port->id);
      if (block->kind == TW_KIND_SINK)
        add_tensor (result->outputs, result->node, port->id, result->node, FALSE);
    }
  g_string_append_printf (xml, "  <node id=\"%s\" block=\"%s\">\n", result->node, block->id);
  for (guint i = 0; i < c->choices->len; i++)
    {
      const Choice *choice = c->choices->pdata[i];

      if (choice->kind == CHOICE_PARAM)
        put_param (xml, choice->name, cases_value (c, i, setting));
    }
  if (block->kind == TW_KIND_SOURCE && cases_find (c, setting, CHOICE_PARAM, NULL, "shape") == NULL)
    put_param (xml, "shape", "M, N");
  g_string_append (xml, "  </node>\n");
  return result;
}

CaseGraph *
case_graph_new (const TwBlock *block, const Case *c)
{
  CaseGraph *graph = g_new0 (CaseGraph, 1);
  g_autoptr (GString) links = g_string_new (NULL);
  g_autoptr (GString) xml = g_string_new ("<graph format=\"1\" name=\"program\">\n");

  graph->settings = g_ptr_array_new_with_free_func (setting_free);
  for (int i = 0; i < c->n_dims; i++)
    {
      gint64 most = 0;

      for (int j = 0; j < c->n_sizes; j++)
        most = MAX (most, g_array_index (c->sizes, gint64, j * c->n_dims + i));
      g_string_append_printf (xml,
                              "  <dimension name=\"%s\" kind=\"%s\" value=\"%" G_GINT64_FORMAT "\"",
                              c->dims[i], c->fixed ? "fixed" : "dynamic", most);
      g_string_append (xml, c->fixed ? "/>\n" : " min=\"0\" max=\"1048576\"/>\n");
    }
  for (int i = 0; i < cases_n_settings (c); i++)
    g_ptr_array_add (graph->settings, put_setting (xml, links, block, c, i));
  g_string_append_printf (xml, "%s</graph>\n", links->str);
  graph->xml = g_string_free (g_steal_pointer (&xml), FALSE);
  return graph;
}

void
case_graph_free (CaseGraph *graph)
{
  g_free (graph->xml);
  g_ptr_array_unref (graph->settings);
  g_free (graph);
}
