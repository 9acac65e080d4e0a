/* The plan for programs. */
#include "report.h"

#include <json-glib/json-glib.h>

static void
add_string (JsonBuilder *builder, const char *key, const char *value)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_string_value (builder, value);
}

static void
add_integer (JsonBuilder *builder, const char *key, gint64 value)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_int_value (builder, value);
}

static void
begin_list (JsonBuilder *builder, const char *key)
{
  json_builder_set_member_name (builder, key);
  json_builder_begin_array (builder);
}

static void
add_kernel (JsonBuilder *builder, const TwPlan *plan, const TwKernel *kernel)
{
  json_builder_begin_object (builder);
  add_string (builder, "name", kernel->name);
  add_string (builder, "mainloop", tw_mainloop_get_name (kernel->mainloop));
  begin_list (builder, "nodes");
  for (guint i = 0; i < kernel->nodes->len; i++)
    json_builder_add_string_value (builder, kernel->nodes->pdata[i]);
  json_builder_end_array (builder);
  begin_list (builder, "reads");
  for (guint i = 0; i < kernel->reads->len; i++)
    {
      const TwBuffer *buffer = plan->buffers->pdata[g_array_index (kernel->reads, int, i)];
      json_builder_add_string_value (builder, buffer->name);
    }
  json_builder_end_array (builder);
  begin_list (builder, "writes");
  for (guint i = 0; i < kernel->stores->len; i++)
    {
      const TwBuffer *buffer
          = plan->buffers->pdata[g_array_index (kernel->stores, TwStore, i).buffer];
      json_builder_add_string_value (builder, buffer->name);
    }
  json_builder_end_array (builder);
  add_integer (builder, "bytes", kernel->bytes);
  add_integer (builder, "flops", kernel->flops);
  json_builder_set_member_name (builder, "prepare");
  json_builder_add_boolean_value (builder, kernel->prepare);
  json_builder_end_object (builder);
}

static void
add_step (JsonBuilder *builder, const TwStep *step)
{
  json_builder_begin_object (builder);
  add_string (builder, "rule", step->rule);
  add_string (builder, "before", step->before);
  add_string (builder, "after", step->after);
  begin_list (builder, "conditions");
  for (int i = 0; step->conditions[i] != NULL; i++)
    json_builder_add_string_value (builder, step->conditions[i]);
  json_builder_end_array (builder);
  add_string (builder, "saves", step->saves);
  json_builder_end_object (builder);
}

char *
tw_report_plan (const TwPlan *plan)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  begin_list (builder, "kernels");
  for (guint i = 0; i < plan->kernels->len; i++)
    add_kernel (builder, plan, plan->kernels->pdata[i]);
  json_builder_end_array (builder);
  begin_list (builder, "edges");
  for (guint i = 0; i < plan->edges->len; i++)
    {
      const TwEdge *edge = plan->edges->pdata[i];
      json_builder_begin_object (builder);
      add_string (builder, "from", edge->from);
      add_string (builder, "to", edge->to);
      add_string (builder, "where", edge->where);
      add_string (builder, "reason", edge->reason);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  begin_list (builder, "steps");
  for (guint i = 0; i < plan->rewrite->steps->len; i++)
    add_step (builder, plan->rewrite->steps->pdata[i]);
  json_builder_end_array (builder);
  begin_list (builder, "refusals");
  for (guint i = 0; i < plan->rewrite->refusals->len; i++)
    {
      const TwRefusal *refusal = plan->rewrite->refusals->pdata[i];
      json_builder_begin_object (builder);
      add_string (builder, "rule", refusal->rule);
      add_string (builder, "node", refusal->node);
      add_string (builder, "reason", refusal->reason);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}
