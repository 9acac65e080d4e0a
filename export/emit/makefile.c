/* Makefile and README of the exported folder. */

#include "emit-private.h"

char *
tw_emit_makefile (TwEmit *emit)
{
  const char *p = emit->prefix;

  return g_strdup_printf (
      "# make: builds %s_main; make check: verifies it; make bench: verifies and times it.\n"
      "# Without OpenMP: make OPENMP=\n"
      "CC ?= cc\n"
      "CFLAGS ?= -O3 -march=native\n"
      "OPENMP ?= -fopenmp\n"
      "ALL_CFLAGS = -std=gnu17 -Wall -Wextra $(CFLAGS) $(OPENMP)\n"
      "ARGS ?=\n"
      "\n"
      "%s_main: %s.o %s_unfused.o %s_main.o\n"
      "\t$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ %s.o %s_unfused.o %s_main.o -lm\n"
      "%s.o: %s.c %s.h\n"
      "\t$(CC) $(ALL_CFLAGS) -c -o $@ %s.c\n"
      "%s_unfused.o: %s_unfused.c %s_unfused.h\n"
      "\t$(CC) $(ALL_CFLAGS) -c -o $@ %s_unfused.c\n"
      "%s_main.o: %s_main.c %s.h %s_unfused.h\n"
      "\t$(CC) $(ALL_CFLAGS) -c -o $@ %s_main.c\n"
      "\n"
      "check: %s_main\n"
      "\t./%s_main check $(ARGS)\n"
      "bench: %s_main\n"
      "\t./%s_main bench $(ARGS)\n"
      "clean:\n"
      "\trm -f %s_main %s.o %s_unfused.o %s_main.o\n"
      ".PHONY: check bench clean\n",
      p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p, p);
}

char *
tw_emit_readme (TwEmit *emit)
{
  const char *p = emit->prefix;
  TwText *text = tw_text_new ();
  int launches = 0;

  for (guint i = 0; i < emit->plan->kernels->len; i++)
    launches += !((const TwKernel *)g_ptr_array_index (emit->plan->kernels, i))->prepare;
  tw_text_line (text, "# %s", p);
  tw_text_line (text, "%s", "");
  tw_text_line (text,
                "An exported program in C17: %d kernel%s a launch. It needs a C compiler and "
                "libm,",
                launches, launches == 1 ? "" : "s");
  tw_text_line (text, "and OpenMP for several threads. All files: SPDX-License-Identifier: MIT-0.");
  tw_text_line (text, "%s", "");
  tw_text_line (text, "| file | what it is |");
  tw_text_line (text, "|---|---|");
  tw_text_line (text, "| %s.h, %s.c | the program: put these two into yours |", p, p);
  tw_text_line (text, "| %s_unfused.h, %s_unfused.c | the same graph, one kernel a block |", p, p);
  tw_text_line (text, "| %s_main.c | a reference in double; verifies, times, runs on files |", p);
  tw_text_line (text, "| plan.json | kernels, edges, derivation |");
  tw_text_line (text, "%s", "");
  tw_text_raw (text, "```sh\nmake check                 # exit status 6 if an output is wrong\n"
                     "make bench                 # times what it has verified\n");
  tw_text_raw (text, "make check ARGS='--seed 1'  # the same inputs again\n```\n\n");
  tw_text_line (text,
                "Calling it: `%s_plan_init` once, `%s_prepare` where `%s_prepared_size` is not 0,",
                p, p, p);
  tw_text_line (
      text, "then `%s_launch` as often as needed, with a workspace of `%s_workspace_size`", p, p);
  tw_text_line (text, "bytes. The header says what each argument is.");
  return tw_text_steal (text);
}
