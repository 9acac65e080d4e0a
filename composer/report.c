/* The report of a check for programs. The plan's is in report-plan.c. */
#include "report.h"

#include <json-glib/json-glib.h>

static void
add_string (JsonBuilder *builder, const char *key, const char *value)
{
  json_builder_set_member_name (builder, key);
  if (value != NULL)
    json_builder_add_string_value (builder, value);
  else
    json_builder_add_null_value (builder);
}

static const char *
severity_name (TwSeverity severity)
{
  switch (severity)
    {
    case TW_SEVERITY_ERROR:
      return "error";
    case TW_SEVERITY_WARNING:
      return "warning";
    case TW_SEVERITY_NOTE:
    default:
      return "note";
    }
}

char *
tw_report_check (const GPtrArray *diagnostics)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "ok");
  json_builder_add_boolean_value (builder, !tw_diagnostics_have_error (diagnostics));
  json_builder_set_member_name (builder, "diagnostics");
  json_builder_begin_array (builder);
  for (guint i = 0; diagnostics != NULL && i < diagnostics->len; i++)
    {
      const TwDiagnostic *diagnostic = g_ptr_array_index (diagnostics, i);
      json_builder_begin_object (builder);
      add_string (builder, "code", diagnostic->code);
      add_string (builder, "severity", severity_name (diagnostic->severity));
      add_string (builder, "node", diagnostic->node);
      add_string (builder, "port", diagnostic->port);
      add_string (builder, "message", diagnostic->message);
      add_string (builder, "found", diagnostic->found);
      add_string (builder, "expected", diagnostic->expected);
      json_builder_set_member_name (builder, "fixes");
      json_builder_begin_array (builder);
      for (int f = 0; diagnostic->fixes != NULL && diagnostic->fixes[f] != NULL; f++)
        json_builder_add_string_value (builder, diagnostic->fixes[f]);
      json_builder_end_array (builder);
      json_builder_set_member_name (builder, "line");
      json_builder_add_int_value (builder, diagnostic->line);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  return json_to_string (root, TRUE);
}
