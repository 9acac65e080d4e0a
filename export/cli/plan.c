#include "cli.h"

static Status
plan (Session *session)
{
  Status status = session_load (session, FALSE);
  if (status == STATUS_GOOD)
    status = session_plan (session);
  if (session->plan == NULL)
    return status;
  g_autofree char *text
      = session->json
            ? tw_report_plan (session->plan)
            : tw_explain_plan (session->plan, session->catalog, session->machine);
  g_print ("%s%s", text, session->json ? "\n" : "");
  return status;
}

Status
command_plan (int argc, char **argv)
{
  Session session;
  Status status = session_parse (&session, argc, argv, TAKES_PLAN | TAKES_MACHINE, "GRAPH.xml",
                                 "Prints which nodes share a kernel, what goes through memory and "
                                 "why.");
  if (status == STATUS_GOOD)
    status = plan (&session);
  session_clear (&session);
  return status;
}
