/* The exported folder on disk: written whole or not at all, compiled, run. */
#include "cli.h"

#include <errno.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* An interrupt reaches the child too; here it only has to lead to the end with everything cleared
 * up. */
static volatile sig_atomic_t interrupted;

static void
on_interrupt (int number)
{
  (void)number;
  interrupted = 1;
}

gboolean
is_interrupted (void)
{
  return interrupted != 0;
}

static void
catch_interrupts (void)
{
  struct sigaction action = { .sa_handler = on_interrupt };
  sigaction (SIGINT, &action, NULL);
  sigaction (SIGTERM, &action, NULL);
  sigaction (SIGHUP, &action, NULL);
}

/* ---- writing ---- */
/* Removes the files of a folder and the folder. */
static void
remove_folder (const char *path)
{
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    {
      g_autofree char *file = g_build_filename (path, name, NULL);
      g_unlink (file);
    }
  g_rmdir (path);
}

/* TRUE if the file begins as a Makefile that the exporter writes. */
static gboolean
is_exported_makefile (const char *path)
{
  static const char beginning[] = "# make: builds ";
  char found[sizeof beginning] = "";
  FILE *file = g_file_test (path, G_FILE_TEST_IS_REGULAR) ? g_fopen (path, "r") : NULL;
  if (file == NULL)
    return FALSE;
  gboolean good = fread (found, 1, sizeof beginning - 1, file) == sizeof beginning - 1
                  && strcmp (found, beginning) == 0;
  fclose (file);
  return good;
}

/* TRUE if the folder is empty, or holds an export: then its files may be replaced. The names alone
 * do not tell: many a project has a Makefile. */
static gboolean
may_replace (const char *path)
{
  g_autofree char *plan = g_build_filename (path, "plan.json", NULL);
  g_autofree char *make = g_build_filename (path, "Makefile", NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  if (dir == NULL)
    return FALSE;
  return g_dir_read_name (dir) == NULL
         || (g_file_test (plan, G_FILE_TEST_EXISTS) && is_exported_makefile (make));
}

static gboolean
write_files (const GPtrArray *files, const char *path, GError **error)
{
  for (guint i = 0; i < files->len; i++)
    {
      const TwEmitFile *file = files->pdata[i];
      g_autofree char *target = g_build_filename (path, file->name, NULL);
      if (!g_file_set_contents (target, file->text, -1, error))
        return FALSE;
    }
  return TRUE;
}

/* Moves the written folder to its place: as a whole if there is none, else file by file. */
static gboolean
move_folder (const GPtrArray *files, const char *from, const char *to)
{
  if (g_rename (from, to) == 0)
    return TRUE;
  gboolean good = TRUE;
  for (guint i = 0; i < files->len && good; i++)
    {
      const TwEmitFile *file = files->pdata[i];
      g_autofree char *source = g_build_filename (from, file->name, NULL);
      g_autofree char *target = g_build_filename (to, file->name, NULL);
      good = g_rename (source, target) == 0;
    }
  int problem = errno;
  remove_folder (from);
  errno = problem;
  return good;
}

static Status
write_output (Session *session, const GPtrArray *files, Folder *folder)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_canonicalize_filename (session->output, NULL);
  g_autofree char *parent = g_path_get_dirname (path);
  g_autofree char *template = g_build_filename (parent, ".tilewright-XXXXXX", NULL);
  if (g_file_test (path, G_FILE_TEST_EXISTS) && !may_replace (path))
    {
      complain ("%s is there and is no exported folder; name a new or empty one", session->output);
      return STATUS_IO;
    }
  if (g_mkdir_with_parents (parent, 0777) != 0 || g_mkdtemp_full (template, 0755) == NULL)
    {
      complain ("%s cannot be written: %s", session->output, g_strerror (errno));
      return STATUS_IO;
    }
  if (!write_files (files, template, &error))
    {
      complain ("%s cannot be written: %s", session->output, error->message);
      remove_folder (template);
      return STATUS_IO;
    }
  if (!move_folder (files, template, path))
    {
      complain ("%s cannot be written: %s", session->output, g_strerror (errno));
      return STATUS_IO;
    }
  folder->path = g_steal_pointer (&path);
  return STATUS_GOOD;
}

Status
folder_write (Session *session, Folder *folder)
{
  g_autoptr (GError) error = NULL;
  TwEmitOptions options
      = { .target = session->target != NULL ? session->target : "cpu",
          .prefix = session->prefix,
          .unfused = session->unfused };
  g_autoptr (GPtrArray) files = tw_emit (session->graph, session->typing, session->plan,
                                         session->catalog, &options, &error);
  *folder = (Folder){ 0 };
  catch_interrupts ();
  if (files == NULL)
    {
      complain ("%s: %s", session->path, error->message);
      return g_error_matches (error, TW_EMIT_ERROR, TW_EMIT_ERROR_OPTIONS) ? STATUS_USAGE
                                                                           : STATUS_IO;
    }
  if (session->output != NULL)
    return write_output (session, files, folder);
  folder->path = g_dir_make_tmp ("tilewright-XXXXXX", &error);
  folder->temporary = TRUE;
  if (folder->path == NULL || !write_files (files, folder->path, &error))
    {
      complain ("the program cannot be written: %s", error->message);
      return STATUS_IO;
    }
  return STATUS_GOOD;
}

void
folder_clear (Folder *folder)
{
  if (folder->path != NULL && folder->temporary)
    remove_folder (folder->path);
  g_clear_pointer (&folder->path, g_free);
}

/* ---- compiling and running ---- */
Status
folder_compile (const Session *session, const Folder *folder)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *output = NULL;
  const char *cc = g_getenv ("CC");
  g_auto (GStrv) words = g_strsplit (cc != NULL && *cc != '\0' ? cc : "cc", " ", 2);
  g_autofree char *compiler = g_find_program_in_path (words[0]);
  g_autofree char *make = g_find_program_in_path ("make");
  if (compiler == NULL || make == NULL)
    {
      complain ("%s is not installed, which compiling needs; on Debian: apt-get install gcc make",
                make == NULL ? "make" : words[0]);
      return STATUS_IO;
    }
  g_printerr ("compiling ...\n");
  g_autoptr (GSubprocess) child
      = g_subprocess_new (G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_MERGE, &error,
                          make, "-s", "-j4", "-C", folder->path, NULL);
  if (child == NULL || !g_subprocess_communicate_utf8 (child, NULL, NULL, &output, NULL, &error))
    {
      complain ("%s cannot be run: %s", make, error->message);
      return STATUS_IO;
    }
  if (is_interrupted ())
    return STATUS_INTERRUPTED;
  if (!g_subprocess_get_successful (child))
    {
      complain ("the exported program does not compile with %s:\n%s", compiler,
                output != NULL ? output : "");
      return STATUS_IO;
    }
  return STATUS_GOOD;
}

Status
folder_run (const Session *session, const Folder *folder, const char *command, char **out)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *name = g_strconcat (session_get_prefix (session), "_main", NULL);
  g_autofree char *program = g_build_filename (folder->path, name, NULL);
  g_autofree char *seed
      = session->seed > 0 ? g_strdup_printf ("%" G_GINT64_FORMAT, session->seed) : NULL;
  g_autoptr (GPtrArray) argv = g_ptr_array_new ();
  g_ptr_array_add (argv, program);
  g_ptr_array_add (argv, (char *)command);
  if (out != NULL)
    g_ptr_array_add (argv, (char *)"--json");
  if (seed != NULL)
    {
      g_ptr_array_add (argv, (char *)"--seed");
      g_ptr_array_add (argv, seed);
    }
  g_ptr_array_add (argv, NULL);
  g_autoptr (GSubprocess) child = g_subprocess_newv (
      (const char *const *)argv->pdata,
      out != NULL ? G_SUBPROCESS_FLAGS_STDOUT_PIPE : G_SUBPROCESS_FLAGS_NONE, &error);
  if (child == NULL
      || !(out != NULL ? g_subprocess_communicate_utf8 (child, NULL, NULL, out, NULL, &error)
                       : g_subprocess_wait (child, NULL, &error)))
    {
      complain ("%s cannot be run: %s", program, error->message);
      return STATUS_IO;
    }
  if (is_interrupted ())
    return STATUS_INTERRUPTED;
  if (g_subprocess_get_successful (child))
    return STATUS_GOOD;
  if (g_subprocess_get_if_exited (child) && g_subprocess_get_exit_status (child) == STATUS_IO)
    {
      complain ("%s: %s %s could not run to its end; nothing is said of its results", session->path,
                name, command);
      return STATUS_IO;
    }
  if (g_subprocess_get_if_signaled (child))
    complain ("%s %s was ended by signal %d", name, command, g_subprocess_get_term_sig (child));
  else
    complain ("%s: verification failed; %s %s tells where", session->path, name, command);
  return STATUS_VERIFY;
}
