/* What is wrong in a user's graph or block: a list, since all problems are collected.
 *
 * Operations that fail as a whole (a file that cannot be read) use GError instead. */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

typedef enum
{
  TW_SEVERITY_ERROR,
  TW_SEVERITY_WARNING,
  TW_SEVERITY_NOTE
} TwSeverity;

typedef struct
{
  char *code;     /* stable, kebab-case, e.g. "dimension-mismatch"; listed in docs/diagnostics.md */
  TwSeverity severity;
  char *node;     /* node id, or NULL */
  char *port;     /* port id, or NULL */
  char *message;  /* one sentence: what is wrong */
  char *found;    /* what was found, or NULL */
  char *expected; /* what was needed, or NULL */
  char **fixes;   /* NULL-terminated, each one thing the user can do; never NULL */
  int line;       /* line in the graph's file, 0 if unknown */
} TwDiagnostic;

/* A new diagnostic; strings are copied, any but code and message may be NULL. `fix` is the first
 * fix or NULL. Transfer: the caller owns it. */
TwDiagnostic *tw_diagnostic_new (const char *code, TwSeverity severity, const char *node,
                                 const char *port, int line, const char *message,
                                 const char *found, const char *expected, const char *fix);
void tw_diagnostic_add_fix (TwDiagnostic *diagnostic, const char *fix);
void tw_diagnostic_free (TwDiagnostic *diagnostic);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwDiagnostic, tw_diagnostic_free)

/* One line for a terminal: "error: n1.a: message (found ...; needed ...). fix. [code]"; a message
 * that begins with the node stands for itself. g_free. */
char *tw_diagnostic_to_text (const TwDiagnostic *diagnostic, const char *file);

/* A list that owns its diagnostics: GPtrArray of TwDiagnostic. */
GPtrArray *tw_diagnostics_new (void);
gboolean tw_diagnostics_have_error (const GPtrArray *diagnostics);

/* The candidate nearest to `name` by edit distance, for "did you mean"; NULL if none is near.
 * Borrowed from `candidates` (NULL-terminated). */
const char *tw_nearest_name (const char *name, const char *const *candidates);

G_END_DECLS
