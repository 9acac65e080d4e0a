/* NAME.c, one file in reading order: box comment, sources, functions, kernels, launcher. */

#include "emit-private.h"

#include <string.h>

static gboolean
has_mainloop (const TwEmit *emit, TwMainloop mainloop)
{
  for (guint i = 0; i < emit->plan->kernels->len; i++)
    if (((const TwKernel *)g_ptr_array_index (emit->plan->kernels, i))->mainloop == mainloop)
      return TRUE;
  return FALSE;
}

static void
collect_tile (TwEmit *emit, TwSources *sources)
{
  const char *directory = tw_catalog_get_tile_directory (emit->catalog);
  gboolean gemm = has_mainloop (emit, TW_MAINLOOP_GEMM);
  const char *names[] = { "target.h", "math.h", "rows-cpu.h", gemm ? "gemm-cpu.h" : NULL, NULL };

  for (int i = 0; names[i] != NULL; i++)
    {
      g_autofree char *path = g_build_filename (directory, names[i], NULL);
      GError *error = NULL;

      if (!tw_sources_add (sources, path, &error))
        tw_emit_fail (emit, error);
    }
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static void
print_includes (TwText *text, const TwSources *sources, const char *prefix)
{
  const GPtrArray *found = tw_sources_get_system (sources);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  static const char *const always[] = { "<stddef.h>", "<stdint.h>", "<string.h>" };

  for (guint i = 0; i < G_N_ELEMENTS (always); i++)
    g_ptr_array_add (names, (gpointer)always[i]);
  for (guint i = 0; i < found->len; i++)
    if (!g_ptr_array_find_with_equal_func (names, g_ptr_array_index (found, i), g_str_equal, NULL))
      g_ptr_array_add (names, g_ptr_array_index (found, i));
  g_ptr_array_sort (names, compare_names);
  tw_text_line (text, "#include \"%s.h\"", prefix);
  tw_text_line (text, "%s", "");
  for (guint i = 0; i < names->len; i++)
    tw_text_line (text, "#include %s", (const char *)g_ptr_array_index (names, i));
}

static void
print_values (TwEmit *emit, TwText *text)
{
  tw_text_comment (text, "All that kernels read and write.");
  tw_text_line (text, "typedef struct");
  tw_text_open (text);
  tw_text_line (text, "int threads;");
  for (guint i = 0; i < emit->dims->len; i++)
    tw_text_line (text, "int64_t d_%s;",
                  ((const TwDimension *)g_ptr_array_index (emit->dims, i))->name);
  for (guint i = 0; i < emit->plan->buffers->len; i++)
    {
      const TwBuffer *buffer = g_ptr_array_index (emit->plan->buffers, i);
      g_autofree char *name = tw_emit_view_name (emit, (int)i);
      g_autofree char *type = tw_type_to_text (buffer->type);

      if (tw_emit_uses_buffer (emit, (int)i))
        tw_text_noted (text, type, "TwView %s;", name);
    }
  tw_text_close (text, " Values;");
  tw_text_line (text, "%s", "");
}

char *
tw_emit_source (TwEmit *emit, gboolean unfused)
{
  TwText *text = tw_text_new ();
  g_autoptr (TwSources) sources = tw_sources_new ();

  collect_tile (emit, sources);
  tw_emit_collect_functions (emit, sources);
  tw_emit_box (emit, text, unfused);
  print_includes (text, sources, emit->prefix);
  tw_sources_print (sources, text);
  tw_emit_functions (emit, text);
  tw_text_section (text, "kernels");
  tw_text_line (text, "%s", "");
  print_values (emit, text);
  tw_emit_kernels (emit, text);
  tw_emit_launcher (emit, text);
  return tw_text_steal (text);
}
