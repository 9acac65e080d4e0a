/* The exported folder: which files there are, and the targets. */

#include "emit-private.h"

#include "../../composer/report.h"

#include <string.h>

G_DEFINE_QUARK (tw - emit - error - quark, tw_emit_error)

const char *const *
tw_emit_targets (void)
{
  static const char *const targets[] = { "cpu", NULL };

  return targets;
}

static gboolean
is_identifier (const char *name)
{
  if (name == NULL || !(g_ascii_isalpha (*name) || *name == '_') || strlen (name) > TW_ID_MAX)
    return FALSE;
  for (const char *c = name; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c) && *c != '_')
      return FALSE;
  return TRUE;
}

static void
file_free (gpointer data)
{
  TwEmitFile *file = data;

  g_free (file->name);
  g_free (file->text);
  g_free (file);
}

/* Takes `text`. */
static void
add_file (GPtrArray *files, const char *prefix, const char *suffix, char *text)
{
  TwEmitFile *file = g_new0 (TwEmitFile, 1);

  file->name = g_strconcat (prefix, suffix, NULL);
  file->text = text;
  g_ptr_array_add (files, file);
}

/* Both programs have one interface, so only what both allow is allowed. */
static void
join_aliases (TwEmit *fused, TwEmit *unfused)
{
  g_autoptr (GArray) a = tw_emit_find_aliases (fused);
  g_autoptr (GArray) b = tw_emit_find_aliases (unfused);

  for (guint i = 0; i + 1 < a->len; i += 2)
    for (guint j = 0; j + 1 < b->len; j += 2)
      if (memcmp (&g_array_index (a, int, i), &g_array_index (b, int, j), 2 * sizeof (int)) == 0)
        {
          g_array_append_vals (fused->aliases, &g_array_index (a, int, i), 2);
          g_array_append_vals (unfused->aliases, &g_array_index (a, int, i), 2);
        }
}

/* Does every block of the graph run on the target? */
static gboolean
check_target (const TwGraph *drawn, const TwCatalog *catalog, const char *target, GError **error)
{
  if (!g_strv_contains (tw_emit_targets (), target))
    {
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_TARGET, "unknown target %s; there is: cpu",
                   target);
      return FALSE;
    }
  for (int i = 0; i < tw_graph_get_n_nodes (drawn); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (drawn, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);

      if (block != NULL
          && (block->targets == NULL
              || g_strv_contains ((const char *const *)block->targets, target)))
        continue;
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_TARGET, "%s: block %s does not run on %s",
                   node->id, node->block, target);
      return FALSE;
    }
  return TRUE;
}

GPtrArray *
tw_emit (const TwGraph *drawn, const TwTyping *drawn_typing, const TwPlan *plan,
         const TwCatalog *catalog, const TwEmitOptions *options, GError **error)
{
  const char *target = options != NULL && options->target != NULL ? options->target : "cpu";
  const char *prefix
      = options != NULL && options->prefix != NULL ? options->prefix : tw_graph_get_name (drawn);
  const TwPlanOptions apart = { FALSE, FALSE, 0 };
  g_autoptr (TwPlan) own = NULL;
  const TwPlan *unfused_plan = options != NULL ? options->unfused : NULL;

  if (!check_target (drawn, catalog, target, error))
    return NULL;
  if (!is_identifier (prefix))
    {
      g_set_error (error, TW_EMIT_ERROR, TW_EMIT_ERROR_OPTIONS,
                   "prefix \"%s\": letters, digits and _ are needed, not starting with a digit, at "
                   "most %d",
                   prefix != NULL ? prefix : "", TW_ID_MAX);
      return NULL;
    }
  if (unfused_plan == NULL)
    unfused_plan = own = tw_plan (drawn, catalog, &apart);

  g_autofree char *other = g_strconcat (prefix, "_unfused", NULL);
  g_autoptr (TwEmit) fused = tw_emit_new (drawn, drawn_typing, plan, catalog, prefix);
  g_autoptr (TwEmit) unfused = tw_emit_new (drawn, drawn_typing, unfused_plan, catalog, other);
  GPtrArray *files = g_ptr_array_new_with_free_func (file_free);

  join_aliases (fused, unfused);
  add_file (files, prefix, ".c", tw_emit_source (fused, FALSE));
  add_file (files, prefix, ".h", tw_emit_header (fused));
  add_file (files, prefix, "_unfused.c", tw_emit_source (unfused, TRUE));
  add_file (files, prefix, "_unfused.h", tw_emit_header (unfused));
  add_file (files, prefix, "_main.c", tw_emit_driver (fused, unfused));
  add_file (files, "", "Makefile", tw_emit_makefile (fused));
  add_file (files, "", "plan.json", tw_report_plan (plan));
  add_file (files, "", "README", tw_emit_readme (fused));
  GError *problem = fused->error != NULL ? fused->error : unfused->error;
  if (problem != NULL)
    {
      if (error != NULL)
        *error = g_error_copy (problem);
      g_ptr_array_unref (files);
      return NULL;
    }
  return files;
}
