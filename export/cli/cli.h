/* What the commands of the program share. */
#pragma once

#include "composer/explain.h"
#include "composer/report.h"
#include "export/emit/emit.h"

G_BEGIN_DECLS

typedef enum
{
  STATUS_GOOD,
  STATUS_USAGE,
  STATUS_READ,   /* unreadable, or against the schema */
  STATUS_TYPES,  /* type errors */
  STATUS_FUSE,   /* cannot be fused as demanded */
  STATUS_IO,     /* input, output or compiler */
  STATUS_VERIFY, /* verification failed */
  STATUS_INTERRUPTED = 130
} Status;

/* Options of every command that takes a graph, and what comes of them. */
typedef struct
{
  char **blocks, **dims;
  char *target, *fuse, *machine_name, *output, *prefix;
  gboolean json, pack;
  int max_kernels;
  gint64 seed;

  const char *path;
  TwCatalog *catalog;
  TwGraph *graph;
  TwTyping *typing;
  TwPlan *plan, *unfused;
  TwMachine *machine;
} Session;

typedef enum
{
  TAKES_PLAN = 1 << 0,    /* --fuse, --pack, --max-kernels */
  TAKES_MACHINE = 1 << 1, /* --machine */
  TAKES_OUTPUT = 1 << 2,  /* -o, --prefix */
  TAKES_SEED = 1 << 3,    /* --seed */
  NO_GRAPH = 1 << 4       /* the argument is no graph, and may be missing */
} Takes;

/* session.c. Each prints what is wrong and returns the exit status. */
Status session_parse (Session *session, int argc, char **argv, Takes takes, const char *arguments,
                      const char *summary);
Status session_open_catalog (Session *session);
/* Catalog and graph; the graph is checked. With `report` a check's JSON is printed where the graph
 * cannot be read. */
Status session_load (Session *session, gboolean report);
/* Diagnostics to standard error; STATUS_TYPES if there is an error among them. */
Status session_report (const Session *session);
/* Plans; demands that cannot be met are STATUS_FUSE after a report. */
Status session_plan (Session *session);
/* Graph, derivation and plan in words on standard output. */
void session_explain (const Session *session);
void session_clear (Session *session);

/* One line "tilewright: ..." on standard error. */
void complain (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* folder.c: the exported folder on disk. */
typedef struct
{
  char *path;
  gboolean temporary;
} Folder;
/* Emits into session->output, or into a new temporary folder if there is none. Nothing is left half
 * written. */
Status folder_write (Session *session, Folder *folder);
/* Compiles NAME_main with make. */
Status folder_compile (const Session *session, const Folder *folder);
/* Runs NAME_main COMMAND; its output is passed on, or with `out` returned as JSON text (g_free). */
Status folder_run (const Session *session, const Folder *folder, const char *command, char **out);
void folder_clear (Folder *folder);
/* "NAME" of the files and symbols. */
const char *session_get_prefix (const Session *session);
gboolean is_interrupted (void);

Status command_check (int argc, char **argv);
Status command_explain (int argc, char **argv);
Status command_plan (int argc, char **argv);
Status command_run (int argc, char **argv);
Status command_export (int argc, char **argv);
Status command_verify (int argc, char **argv);
Status command_blocks (int argc, char **argv);

G_END_DECLS
