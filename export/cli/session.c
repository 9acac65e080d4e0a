/* Options, and what every command does first: blocks, graph, types, plan. */
#include "cli.h"

#include "composer/command.h"

#include <stdio.h>
#include <string.h>

void
complain (const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_printerr ("tilewright: %s\n", message);
}

/* ---- options ---- */
static Status
check_options (Session *session)
{
  if (session->target != NULL && !g_strv_contains (tw_emit_targets (), session->target))
    {
      g_autofree char *targets = g_strjoinv (", ", (char **)tw_emit_targets ());
      complain ("--target %s: there is no such target; this version has: %s", session->target,
                targets);
      return STATUS_USAGE;
    }
  if (session->fuse != NULL && strcmp (session->fuse, "none") != 0
      && strcmp (session->fuse, "all") != 0)
    {
      complain ("--fuse %s: it is \"all\" (the default) or \"none\"", session->fuse);
      return STATUS_USAGE;
    }
  if (session->max_kernels == G_MININT)
    session->max_kernels = 0;
  else if (session->max_kernels <= 0)
    {
      complain ("--max-kernels %d: it is a number from 1 on", session->max_kernels);
      return STATUS_USAGE;
    }
  return STATUS_GOOD;
}

Status
session_parse (Session *session, int argc, char **argv, Takes takes, const char *arguments,
               const char *summary)
{
  const GOptionEntry common[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &session->json, "Print JSON for programs (docs/json.md)",
      NULL },
    { "blocks", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &session->blocks,
      "A folder of block folders, before the library's; may be repeated", "DIR" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  const GOptionEntry graph[] = {
    { "define", 'D', 0, G_OPTION_ARG_STRING_ARRAY, &session->dims,
      "Set a dimension of the graph; may be repeated", "NAME=VALUE" },
    { "target", 0, 0, G_OPTION_ARG_STRING, &session->target, "What it is for (default: cpu)",
      "TARGET" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  const GOptionEntry plan[] = {
    { "fuse", 0, 0, G_OPTION_ARG_STRING, &session->fuse,
      "none: every drawn node is a kernel of its own, for comparison", "all|none" },
    { "pack", 0, 0, G_OPTION_ARG_NONE, &session->pack,
      "Allow copies of frozen weights: gamma folded in, partners interleaved", NULL },
    { "max-kernels", 0, 0, G_OPTION_ARG_INT, &session->max_kernels,
      "Refuse a plan with more kernels", "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  const GOptionEntry machine[] = {
    { "machine", 0, 0, G_OPTION_ARG_STRING, &session->machine_name,
      "Model times on a machine of share/gpu (default: cpu)", "NAME" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  const GOptionEntry output[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &session->output, "The folder to write", "DIR" },
    { "prefix", 0, 0, G_OPTION_ARG_STRING, &session->prefix,
      "Of files and symbols (default: the graph's name)", "NAME" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  const GOptionEntry seed[] = {
    { "seed", 0, 0, G_OPTION_ARG_INT64, &session->seed, "Of the random inputs (default: new ones)",
      "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strdup_printf ("%s %s", "tilewright", argv[0]);
  g_autofree char *title = g_strdup_printf ("%s", arguments);
  g_autoptr (GOptionContext) context = g_option_context_new (title);
  *session = (Session){ .max_kernels = G_MININT };
  g_set_prgname (name);
  g_option_context_set_summary (context, summary);
  g_option_context_add_main_entries (context, common, NULL);
  if (!(takes & NO_GRAPH))
    g_option_context_add_main_entries (context, graph, NULL);
  if (takes & TAKES_PLAN)
    g_option_context_add_main_entries (context, plan, NULL);
  if (takes & TAKES_MACHINE)
    g_option_context_add_main_entries (context, machine, NULL);
  if (takes & TAKES_OUTPUT)
    g_option_context_add_main_entries (context, output, NULL);
  if (takes & TAKES_SEED)
    g_option_context_add_main_entries (context, seed, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error))
    {
      complain ("%s; `%s --help` lists the options", error->message, name);
      return STATUS_USAGE;
    }
  int words = argc - 1;
  if (words > 1 && strcmp (argv[1], "--") == 0)
    {
      argv++;
      words--;
    }
  if (words > 1 || (words == 0 && !(takes & NO_GRAPH)))
    {
      complain (words == 0 ? "a graph is missing: %s GRAPH.xml"
                           : "one graph at a time: %s GRAPH.xml",
                name);
      return STATUS_USAGE;
    }
  session->path = words == 1 ? argv[1] : NULL;
  return check_options (session);
}

/* ---- blocks, graph, types ---- */
Status
session_open_catalog (Session *session)
{
  g_autoptr (GError) error = NULL;
  for (int i = 0; session->blocks != NULL && session->blocks[i] != NULL; i++)
    if (!g_file_test (session->blocks[i], G_FILE_TEST_IS_DIR))
      {
        complain ("--blocks %s: there is no such folder", session->blocks[i]);
        return STATUS_IO;
      }
  session->catalog = tw_catalog_new ((const char *const *)session->blocks, &error);
  if (session->catalog == NULL)
    {
      complain ("%s", error->message);
      return STATUS_IO;
    }
  const GPtrArray *diagnostics = tw_catalog_get_diagnostics (session->catalog);
  for (guint i = 0; i < diagnostics->len; i++)
    {
      g_autofree char *line = tw_diagnostic_to_text (diagnostics->pdata[i], NULL);
      g_printerr ("%s\n", line);
    }
  return STATUS_GOOD;
}

static Status
define (Session *session, const char *text)
{
  g_auto (GStrv) sides = g_strsplit (text, "=", 2);
  gint64 value;
  g_autoptr (GError) error = NULL;
  const TwDimension *old
      = sides[0] != NULL ? tw_graph_get_dimension (session->graph, sides[0]) : NULL;
  if (g_strv_length (sides) != 2
      || !g_ascii_string_to_signed (sides[1], 10, 0, TW_DIMENSION_MAX, &value, NULL))
    {
      complain ("-D %s: it has to read NAME=VALUE with a whole number", text);
      return STATUS_USAGE;
    }
  if (old == NULL)
    {
      GString *names = g_string_new (NULL);
      for (int i = 0; i < tw_graph_get_n_dimensions (session->graph); i++)
        g_string_append_printf (names, "%s%s", i > 0 ? ", " : "",
                                tw_graph_get_nth_dimension (session->graph, i)->name);
      complain ("-D %s: %s has no dimension %s; it has: %s", text, session->path, sides[0],
                names->str);
      g_string_free (names, TRUE);
      return STATUS_USAGE;
    }
  TwCommand command = { .kind = TW_COMMAND_SET_DIMENSION, .dimension = *old };
  command.dimension.value = value;
  if (tw_graph_apply (session->graph, &command, &error))
    return STATUS_GOOD;
  complain ("-D %s: %s", text, error->message);
  return STATUS_USAGE;
}

static void
print_unreadable (const GError *error)
{
  g_autoptr (GPtrArray) list = tw_diagnostics_new ();
  gboolean schema = g_error_matches (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_SCHEMA);
  g_ptr_array_add (list, tw_diagnostic_new (schema ? "schema" : "unreadable", TW_SEVERITY_ERROR,
                                            NULL, NULL, 0, error->message, NULL, NULL,
                                            "correct the file; share/graph.xsd describes it"));
  g_autofree char *json = tw_report_check (list);
  g_print ("%s\n", json);
}

Status
session_load (Session *session, gboolean report)
{
  g_autoptr (GError) error = NULL;
  Status status = session_open_catalog (session);
  if (status != STATUS_GOOD)
    return status;
  session->graph = tw_graph_load (session->path, &error);
  if (session->graph == NULL)
    {
      if (report && session->json)
        print_unreadable (error);
      complain ("%s", error->message);
      return STATUS_READ;
    }
  for (int i = 0; session->dims != NULL && session->dims[i] != NULL; i++)
    if ((status = define (session, session->dims[i])) != STATUS_GOOD)
      return status;
  TwCheckOptions options = { .target = session->target != NULL ? session->target : "cpu" };
  session->typing = tw_check (session->graph, session->catalog, &options);
  return STATUS_GOOD;
}

static Status
print_diagnostics (const Session *session, const GPtrArray *diagnostics, Status bad)
{
  for (guint i = 0; i < diagnostics->len; i++)
    {
      g_autofree char *line = tw_diagnostic_to_text (diagnostics->pdata[i], session->path);
      g_printerr ("%s\n", line);
    }
  return tw_diagnostics_have_error (diagnostics) ? bad : STATUS_GOOD;
}

Status
session_report (const Session *session)
{
  return print_diagnostics (session, tw_typing_get_diagnostics (session->typing), STATUS_TYPES);
}

Status
session_plan (Session *session)
{
  g_autoptr (GError) error = NULL;
  Status status = session_report (session);
  if (status != STATUS_GOOD)
    return status;
  TwPlanOptions fused = { .fuse = g_strcmp0 (session->fuse, "none") != 0,
                          .pack = session->pack,
                          .max_kernels = session->max_kernels };
  TwPlanOptions apart = { .fuse = FALSE };
  session->machine
      = tw_machine_load (session->machine_name != NULL ? session->machine_name : "cpu", &error);
  if (session->machine == NULL)
    {
      complain ("--machine: %s", error->message);
      return STATUS_USAGE;
    }
  session->plan = tw_plan (session->graph, session->catalog, &fused);
  session->unfused = tw_plan (session->graph, session->catalog, &apart);
  return print_diagnostics (session, session->plan->diagnostics, STATUS_FUSE);
}

void
session_explain (const Session *session)
{
  g_autofree char *graph = tw_explain_graph (session->graph, session->catalog, session->typing);
  g_autofree char *derivation = tw_explain_derivation (session->plan, session->catalog);
  g_autofree char *plan = tw_explain_plan (session->plan, session->catalog, session->machine);
  g_print ("THE GRAPH\n\n%s\nTHE DERIVATION\n%s\nTHE PLAN\n\n%s", graph, derivation, plan);
}

const char *
session_get_prefix (const Session *session)
{
  return session->prefix != NULL ? session->prefix : tw_graph_get_name (session->graph);
}

void
session_clear (Session *session)
{
  g_strfreev (session->blocks);
  g_strfreev (session->dims);
  g_free (session->target);
  g_free (session->fuse);
  g_free (session->machine_name);
  g_free (session->output);
  g_free (session->prefix);
  tw_plan_free (session->plan);
  tw_plan_free (session->unfused);
  tw_machine_free (session->machine);
  g_clear_pointer (&session->typing, tw_typing_free);
  tw_graph_free (session->graph);
  g_clear_pointer (&session->catalog, tw_catalog_unref);
}
