#include "cli.h"

static Status
export_graph (Session *session)
{
  Folder folder = { 0 };
  Status status = session_load (session, FALSE);
  if (status == STATUS_GOOD)
    status = session_plan (session);
  if (status != STATUS_GOOD)
    return status;
  if (session->output == NULL)
    session->output = g_strdup (session_get_prefix (session));
  status = folder_write (session, &folder);
  if (status == STATUS_GOOD)
    g_print ("%s: written. `make -C %s check` verifies it, `make -C %s bench` times it\n",
             session->output, session->output, session->output);
  folder_clear (&folder);
  return status;
}

Status
command_export (int argc, char **argv)
{
  Session session;
  Status status
      = session_parse (&session, argc, argv, TAKES_PLAN | TAKES_OUTPUT, "GRAPH.xml",
                       "Writes a folder with the program's source, its unfused twin, a driver that "
                       "verifies and times both, and a Makefile. It needs a C compiler and nothing "
                       "of ours. The folder is named after the graph unless -o says otherwise.");
  if (status == STATUS_GOOD)
    status = export_graph (&session);
  session_clear (&session);
  return status;
}
