/* The checker's driver and its results. See check-private.h for how the work is split. */
#include "check-private.h"

#include <string.h>

TwDiagnostic *
tw_check_add (TwCheck *check, TwSeverity severity, const char *code, int node, const char *port,
              int line, const char *found, const char *expected, const char *fix,
              const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  const char *id = node < 0 ? NULL : check->typing->nodes[node].id;
  TwFinding finding
      = { tw_diagnostic_new (code, severity, id, port, line, message, found, expected, fix), node,
          (int)check->findings->len };
  g_array_append_val (check->findings, finding);
  return finding.diagnostic;
}

static int
compare_findings (gconstpointer a, gconstpointer b)
{
  const TwFinding *x = a, *y = b;
  if (x->node != y->node)
    return x->node < y->node ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

static void
free_facts (gpointer data)
{
  TwBlockFacts *facts = data;
  for (int p = 0; p < facts->block->n_ports; p++)
    for (int d = 0; d < 3; d++)
      g_clear_pointer (&facts->patterns[p][d].dim, tw_dim_unref);
  g_free (facts->patterns);
  g_strfreev (facts->names);
  g_free (facts);
}

static void
free_guard (gpointer data)
{
  TwGuard *guard = data;
  g_free (guard->node);
  g_free (guard->expression);
  g_free (guard->message);
  g_free (guard);
}

static void
make_nodes (TwCheck *check, const TwCatalog *catalog)
{
  TwTyping *typing = check->typing;
  typing->n_nodes = tw_graph_get_n_nodes (check->graph);
  typing->nodes = g_new0 (TwNodeTyping, (gsize)typing->n_nodes + 1);
  for (int i = 0; i < typing->n_nodes; i++)
    {
      TwNodeTyping *n = &typing->nodes[i];
      n->node = tw_graph_get_nth_node (check->graph, i);
      n->id = g_strdup (n->node->id);
      g_hash_table_insert (typing->index, n->id, GINT_TO_POINTER (i + 1));
    }
  for (int i = 0; i < typing->n_nodes; i++)
    {
      TwNodeTyping *n = &typing->nodes[i];
      const TwBlock *block = tw_catalog_get (catalog, n->node->block);
      if (block == NULL)
        {
          const char *near
              = tw_nearest_name (n->node->block, (const char *const *)check->block_names);
          g_autofree char *fix
              = near != NULL ? g_strdup_printf ("did you mean %s?", near)
                             : g_strdup ("\"tilewright blocks\" lists the blocks there are; "
                                         "--blocks DIR adds a folder of blocks");
          tw_check_add (check, TW_SEVERITY_ERROR, "unknown-block", i, NULL, n->node->line,
                        n->node->block, "a block of the library", fix, "there is no block %s",
                        n->node->block);
          continue;
        }
      n->facts = tw_check_facts (check, block);
      gsize n_ports = (gsize)block->n_ports;
      n->types = g_new0 (TwType, n_ports + 1);
      n->known = g_new0 (guint8, 3 * n_ports + 1);
      n->plain = n->known + n_ports;
      n->present = n->plain + n_ports;
      n->bindings = g_new0 (TwDim *, (gsize)n->facts->n_names + (gsize)block->n_params + 1);
      n->links = g_new0 (const TwLink *, n_ports + 1);
      n->sources = g_new0 (int, 2 * n_ports + 1);
      n->source_ports = n->sources + n_ports;
      for (int p = 0; p < block->n_ports; p++)
        n->present[p] = block->ports[p].when_param == NULL
                        || tw_node_has_port (n->node, block, &block->ports[p]);
      const char *target = check->options != NULL ? check->options->target : NULL;
      if (target != NULL && block->targets != NULL
          && !g_strv_contains ((const char *const *)block->targets, target))
        {
          g_autofree char *targets = g_strjoinv (", ", block->targets);
          tw_check_add (check, TW_SEVERITY_ERROR, "target-unsupported", i, NULL, n->node->line,
                        target, targets, "choose another target or another block",
                        "block %s does not run on target %s", block->id, target);
        }
      tw_check_params (check, i);
    }
}

static void
make_names (TwCheck *check, const TwCatalog *catalog)
{
  int n_blocks = 0;
  const TwBlock *const *blocks = tw_catalog_list (catalog, &n_blocks);
  check->block_names = g_new0 (char *, (gsize)n_blocks + 1);
  for (int i = 0; i < n_blocks; i++)
    check->block_names[i] = blocks[i]->id;
  int n_dims = tw_graph_get_n_dimensions (check->graph);
  check->dim_names = g_new0 (char *, (gsize)n_dims + 1);
  for (int i = 0; i < n_dims; i++)
    check->dim_names[i] = (char *)tw_graph_get_nth_dimension (check->graph, i)->name;
}

/* What points into the graph goes, what the typing answers from stays. */
static void
finish_nodes (TwTyping *typing)
{
  for (int i = 0; i < typing->n_nodes; i++)
    {
      TwNodeTyping *n = &typing->nodes[i];
      n->node = NULL;
      n->present = NULL;
      n->source_ports = NULL;
      g_clear_pointer (&n->links, g_free);
      g_clear_pointer (&n->sources, g_free);
      g_clear_pointer (&n->width, tw_dim_unref);
    }
}

TwTyping *
tw_check (const TwGraph *graph, const TwCatalog *catalog, const TwCheckOptions *options)
{
  TwTyping *typing = g_new0 (TwTyping, 1);
  typing->catalog = tw_catalog_ref ((TwCatalog *)catalog);
  typing->index = g_hash_table_new (g_str_hash, g_str_equal);
  typing->facts = g_hash_table_new_full (NULL, NULL, NULL, free_facts);
  typing->diagnostics = tw_diagnostics_new ();
  typing->guards = g_ptr_array_new_with_free_func (free_guard);

  TwCheck check = { .graph = graph, .options = options, .typing = typing };
  check.findings = g_array_new (FALSE, FALSE, sizeof (TwFinding));
  check.dims = g_hash_table_new (g_str_hash, g_str_equal);
  check.fixed = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, (GDestroyNotify)tw_dim_unref);
  check.texts
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_dim_unref);
  make_names (&check, catalog);
  /* The reader left out what it does not know, and no rule may change the rest. */
  if (tw_graph_is_read_only (graph))
    tw_check_add (&check, TW_SEVERITY_ERROR, "newer-format", -1, NULL, 0, NULL, NULL,
                  "update tilewright, or write the graph in the older format",
                  "the graph has format %d and this program knows format %d: parts may be missing",
                  tw_graph_get_format (graph), TW_GRAPH_FORMAT);
  tw_check_dimensions (&check);
  make_nodes (&check, catalog);
  tw_check_links (&check);
  int n_sorted = 0;
  g_autofree int *sorted = tw_check_sort (&check, &n_sorted);
  for (int i = 0; i < n_sorted; i++)
    if (typing->nodes[sorted[i]].facts != NULL)
      {
        tw_check_node_types (&check, sorted[i]);
        tw_check_requirements (&check, sorted[i]);
      }
  tw_check_liveness (&check);

  g_array_sort (check.findings, compare_findings);
  for (guint i = 0; i < check.findings->len; i++)
    g_ptr_array_add (typing->diagnostics, g_array_index (check.findings, TwFinding, i).diagnostic);
  finish_nodes (typing);
  g_array_unref (check.findings);
  g_hash_table_unref (check.dims);
  g_hash_table_unref (check.fixed);
  g_hash_table_unref (check.texts);
  g_free (check.dim_names);
  g_free (check.block_names);
  return typing;
}

void
tw_typing_free (TwTyping *typing)
{
  if (typing == NULL)
    return;
  for (int i = 0; i < typing->n_nodes; i++)
    {
      TwNodeTyping *n = &typing->nodes[i];
      if (n->facts != NULL)
        {
          for (int p = 0; p < n->facts->block->n_ports; p++)
            for (int d = 0; d < 3; d++)
              g_clear_pointer (&n->types[p].dims[d], tw_dim_unref);
          for (int b = 0; b < n->facts->n_names + n->facts->block->n_params; b++)
            g_clear_pointer (&n->bindings[b], tw_dim_unref);
        }
      g_free (n->types);
      g_free (n->known);
      g_free (n->bindings);
      g_free (n->id);
    }
  g_free (typing->nodes);
  g_hash_table_unref (typing->index);
  g_hash_table_unref (typing->facts);
  g_ptr_array_unref (typing->diagnostics);
  g_ptr_array_unref (typing->guards);
  tw_catalog_unref (typing->catalog);
  g_free (typing);
}

gboolean
tw_typing_is_good (const TwTyping *typing)
{
  return !tw_diagnostics_have_error (typing->diagnostics);
}

const GPtrArray *
tw_typing_get_diagnostics (const TwTyping *typing)
{
  return typing->diagnostics;
}

const GPtrArray *
tw_typing_get_guards (const TwTyping *typing)
{
  return typing->guards;
}

static const TwNodeTyping *
get_node (const TwTyping *typing, const char *id)
{
  int i = id == NULL ? 0 : GPOINTER_TO_INT (g_hash_table_lookup (typing->index, id));
  return i == 0 || typing->nodes[i - 1].facts == NULL ? NULL : &typing->nodes[i - 1];
}

const TwType *
tw_typing_get (const TwTyping *typing, const char *node, const char *port)
{
  const TwNodeTyping *n = get_node (typing, node);
  if (n == NULL || port == NULL)
    return NULL;
  for (int p = 0; p < n->facts->block->n_ports; p++)
    if (n->known[p] && strcmp (n->facts->block->ports[p].id, port) == 0)
      return &n->types[p];
  return NULL;
}

const TwDim *
tw_typing_get_dim (const TwTyping *typing, const char *node, const char *name)
{
  const TwNodeTyping *n = get_node (typing, node);
  if (n == NULL || name == NULL)
    return NULL;
  const TwBlock *block = n->facts->block;
  for (int i = 0; i < n->facts->n_names; i++)
    if (strcmp (n->facts->names[i], name) == 0)
      return n->bindings[i];
  for (int i = 0; i < block->n_params; i++)
    if (strcmp (block->params[i].id, name) == 0)
      return n->bindings[n->facts->n_names + i];
  return NULL;
}

char *
tw_type_to_text (const TwType *type)
{
  if (type == NULL)
    return g_strdup ("unknown");
  GString *text = g_string_new (tw_dtype_get_name (type->dtype));
  g_string_append_c (text, '[');
  for (int d = 0; d < type->n_dims; d++)
    g_string_append_printf (text, "%s%s", d > 0 ? ", " : "", tw_dim_get_text (type->dims[d]));
  g_string_append_c (text, ']');
  if (type->statistic != NULL && type->group > 0)
    g_string_append_printf (text, " %s per %" G_GINT64_FORMAT " columns", type->statistic,
                            type->group);
  else if (type->statistic != NULL)
    g_string_append_printf (text, " %s of the row", type->statistic);
  if (type->partner == TW_PARTNER_INTERLEAVED)
    g_string_append_printf (text, " interleaved(%d)", type->partner_group);
  else if (type->partner == TW_PARTNER_HALVES)
    g_string_append (text, " halves");
  if (type->column_order)
    g_string_append (text, " column order");
  return g_string_free (text, FALSE);
}
