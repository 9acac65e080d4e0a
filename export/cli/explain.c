#include "cli.h"

static Status
explain (Session *session)
{
  Status status = session_load (session, FALSE);
  if (status == STATUS_GOOD)
    status = session_plan (session);
  if (session->plan == NULL)
    return status;
  if (session->json)
    {
      g_autofree char *json = tw_report_plan (session->plan);
      g_print ("%s\n", json);
    }
  else
    session_explain (session);
  return status;
}

Status
command_explain (int argc, char **argv)
{
  Session session;
  Status status
      = session_parse (&session, argc, argv, TAKES_PLAN | TAKES_MACHINE, "GRAPH.xml",
                       "Prints the graph, the derivation with the formula before and after each "
                       "step, the kernels, and why each trip through memory is needed.");
  if (status == STATUS_GOOD)
    status = explain (&session);
  session_clear (&session);
  return status;
}
