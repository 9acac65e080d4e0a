#include "cli.h"

static Status
check (Session *session)
{
  Status status = session_load (session, TRUE);
  if (status != STATUS_GOOD)
    return status;
  if (session->json)
    {
      g_autofree char *json = tw_report_check (tw_typing_get_diagnostics (session->typing));
      g_print ("%s\n", json);
      return tw_typing_is_good (session->typing) ? STATUS_GOOD : STATUS_TYPES;
    }
  status = session_report (session);
  if (status == STATUS_GOOD)
    g_print ("%s: good, %d nodes\n", session->path, tw_graph_get_n_nodes (session->graph));
  return status;
}

Status
command_check (int argc, char **argv)
{
  Session session;
  Status status = session_parse (&session, argc, argv, 0, "GRAPH.xml",
                                 "Checks types, dimensions, parameters and wiring, and says every "
                                 "problem with what to do.");
  if (status == STATUS_GOOD)
    status = check (&session);
  session_clear (&session);
  return status;
}
