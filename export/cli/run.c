#include "cli.h"

#include <json-glib/json-glib.h>

static void
add_text (JsonBuilder *builder, const char *key, const char *json)
{
  g_autoptr (JsonNode) node = json != NULL ? json_from_string (json, NULL) : NULL;
  json_builder_set_member_name (builder, key);
  if (node != NULL)
    json_builder_add_value (builder, g_steal_pointer (&node));
  else
    json_builder_add_null_value (builder);
}

static void
print_json (const Session *session, const char *verify, const char *bench)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  g_autofree char *check = tw_report_check (tw_typing_get_diagnostics (session->typing));
  g_autofree char *plan = session->plan != NULL ? tw_report_plan (session->plan) : NULL;
  json_builder_begin_object (builder);
  add_text (builder, "check", check);
  add_text (builder, "plan", plan);
  add_text (builder, "verify", verify);
  add_text (builder, "bench", bench);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (root, TRUE);
  g_print ("%s\n", text);
}

static Status
run_folder (Session *session, Folder *folder, char **verify, char **bench)
{
  Status status = folder_write (session, folder);
  if (status == STATUS_GOOD)
    status = folder_compile (session, folder);
  if (status == STATUS_GOOD && !session->json)
    g_print ("\nVERIFICATION (error as a share of what is tolerated)\n\n");
  if (status == STATUS_GOOD)
    status = folder_run (session, folder, "check", session->json ? verify : NULL);
  if (status == STATUS_GOOD && !session->json)
    g_print ("\nTIME (fused and unfused launched in turn)\n\n");
  if (status == STATUS_GOOD)
    status = folder_run (session, folder, "bench", session->json ? bench : NULL);
  return status;
}

static Status
run (Session *session)
{
  Folder folder = { 0 };
  g_autofree char *verify = NULL, *bench = NULL;
  Status status = session_load (session, FALSE);
  if (status != STATUS_GOOD)
    return status;
  status = session_plan (session);
  if (session->plan != NULL && !session->json)
    session_explain (session);
  if (status == STATUS_GOOD)
    status = run_folder (session, &folder, &verify, &bench);
  if (session->json)
    print_json (session, verify, bench);
  folder_clear (&folder);
  return status;
}

Status
command_run (int argc, char **argv)
{
  Session session;
  Status status = session_parse (
      &session, argc, argv, TAKES_PLAN | TAKES_MACHINE | TAKES_OUTPUT | TAKES_SEED, "GRAPH.xml",
      "The whole way: checks, plans, exports, compiles, verifies and times. With -o the exported "
      "folder stays.");
  if (status == STATUS_GOOD)
    status = run (&session);
  session_clear (&session);
  return status;
}
