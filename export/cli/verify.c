#include "cli.h"

static Status
verify (Session *session)
{
  Folder folder = { 0 };
  g_autofree char *json = NULL;
  Status status = session_load (session, FALSE);
  if (status == STATUS_GOOD)
    status = session_plan (session);
  if (status == STATUS_GOOD)
    status = folder_write (session, &folder);
  if (status == STATUS_GOOD)
    status = folder_compile (session, &folder);
  if (status == STATUS_GOOD)
    status = folder_run (session, &folder, "check", session->json ? &json : NULL);
  if (json != NULL)
    g_print ("%s", json);
  folder_clear (&folder);
  return status;
}

Status
command_verify (int argc, char **argv)
{
  Session session;
  Status status
      = session_parse (&session, argc, argv, TAKES_PLAN | TAKES_OUTPUT | TAKES_SEED, "GRAPH.xml",
                       "Exports, compiles, and compares the program with a reference in double "
                       "printed from the drawn graph's formulas, on fresh random data.");
  if (status == STATUS_GOOD)
    status = verify (&session);
  session_clear (&session);
  return status;
}
