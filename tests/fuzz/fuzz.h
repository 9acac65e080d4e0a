/* What the mutating fuzzers share: seeds, mutation of bytes and of structure, an allocator for
 * libxml2 that fails at random, counting. A run is determined by its seed and count. */
#pragma once

#include <glib.h>

typedef struct
{
  GRand *random;
  GPtrArray *seeds;  /* GString: whole files or texts */
  GPtrArray *tokens; /* char*: what quoted values and words of all seeds are */
  gint64 count;
  guint32 seed;
  gboolean oom;
  const char *keep; /* file that the current case is written to, so that a crash leaves it */
} Fuzz;

/* --count N --seed S --oom --keep FILE. With --oom libxml2 is made to allocate through this file;
 * so call it first. FALSE after printing the usage. */
gboolean fuzz_init (Fuzz *fuzz, int *argc, char ***argv);
void fuzz_clear (Fuzz *fuzz);

/* Adds every file NAME at most two folders below `folder` whose name ends in `suffix`. */
void fuzz_add_files (Fuzz *fuzz, const char *folder, const char *suffix);
void fuzz_add_text (Fuzz *fuzz, const char *text);

/* A seed, mutated up to six times. `lines`: structure is lines of XML. */
GString *fuzz_next (Fuzz *fuzz, gboolean lines);

/* With --oom: parses `text` while libxml2's allocations fail at random. What comes of it is refused
 * with a message, or the same tree as without failures. Returns whether any allocation failed. (The
 * validator that comes after is libxml2's own and does not survive failing allocations.) */
gboolean fuzz_parse (Fuzz *fuzz, const GString *text);

/* An uneven choice below n. */
int fuzz_below (Fuzz *fuzz, int n);
