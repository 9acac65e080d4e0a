/* tilewright: finds the command. */
#include "cli.h"
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

static const struct
{
  const char *name;
  Status (*run) (int argc, char **argv);
  const char *summary;
} commands[] = {
  { "check", command_check, "is the graph right? Every problem at once, with what to do" },
  { "explain", command_explain, "the derivation step by step, the kernels, and why" },
  { "plan", command_plan, "which nodes share a kernel and what goes through memory" },
  { "run", command_run, "all of it: check, plan, export, compile, verify, measure" },
  { "export", command_export,
    "write a folder with .c, .h and Makefile that needs nothing of ours" },
  { "verify", command_verify, "export, compile, and compare with an independent reference" },
  { "blocks", command_blocks, "what there is to wire; with a block's name, all about it" },
};

static void
print_help (void)
{
  g_print ("Usage: tilewright COMMAND [OPTION...] GRAPH.xml\n"
           "\n"
           "Turns a drawing of tile blocks into one fused, verified program.\n"
           "\n"
           "Commands:\n");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    g_print ("  %-8s  %s\n", commands[i].name, commands[i].summary);
  g_print (
      "\n"
      "Start with:  tilewright explain examples/norm_between/graph.xml\n"
      "             tilewright run examples/llama_mlp/graph.xml\n"
      "\n"
      "`tilewright COMMAND --help` lists a command's options. Exit status: 0 good, 1 usage,\n"
      "2 unreadable, 3 type errors, 4 cannot be fused as demanded, 5 input, output or compiler,\n"
      "6 verification failed.\n");
}

static Status
complain_unknown (const char *name)
{
  const char *names[G_N_ELEMENTS (commands) + 1] = { NULL };
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    names[i] = commands[i].name;
  const char *near = tw_nearest_name (name, names);
  if (near != NULL)
    complain ("there is no command \"%s\"; did you mean %s?", name, near);
  else
    complain ("there is no command \"%s\"; `tilewright --help` lists them", name);
  return STATUS_USAGE;
}

/* A result that did not reach standard output is none. */
static Status
end (Status status)
{
  if ((fflush (stdout) == 0 && !ferror (stdout)) || status != STATUS_GOOD)
    return status;
  complain ("standard output cannot be written: %s", g_strerror (errno));
  return STATUS_IO;
}

int
main (int argc, char **argv)
{
  setlocale (LC_ALL, "");
  g_set_prgname ("tilewright");
  if (argc < 2)
    {
      print_help ();
      return STATUS_USAGE;
    }
  if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0
      || strcmp (argv[1], "help") == 0)
    {
      print_help ();
      return STATUS_GOOD;
    }
  if (strcmp (argv[1], "--version") == 0)
    {
      g_print ("tilewright %s\n", TW_VERSION);
      return STATUS_GOOD;
    }
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0)
      return (int)end (commands[i].run (argc - 1, argv + 1));
  return (int)complain_unknown (argv[1]);
}
