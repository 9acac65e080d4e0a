/* The rewriter: the table of rules, the working graph, steps and refusals.
 *
 * Rules run in the order of the table, each once over the graph: what one rule does never makes an
 * earlier one apply, but for merging scales, which runs before and after hoisting. Every rule works
 * from lists of the nodes it is about, never by scanning the graph until nothing changes, so that
 * the work is about linear in the graph. */
#include "rewrite-private.h"

#include "expand.h"

#include <string.h>

#define MAX_ROUNDS 16    /* composites in composites */
#define MAX_NODES 100000 /* of an expanded graph */

const char *
tw_rewriting_keep (TwRewriting *rewriting, const char *text)
{
  return text ? g_string_chunk_insert_const (rewriting->chunk, text) : NULL;
}

static void
free_command (gpointer data)
{
  TwCommand *command = data;
  g_free ((gpointer)command->owed);
  g_free (command);
}

/* Keeps a command, so that the graph after a step can be made again. */
static void
record (TwRewriting *rewriting, const TwCommand *command)
{
  TwCommand *kept = g_memdup2 (command, sizeof *command);
  const char **texts[] = { &kept->node,  &kept->port, &kept->to_node, &kept->to_port,
                           &kept->block, &kept->name, &kept->value };
  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    *texts[i] = tw_rewriting_keep (rewriting, *texts[i]);
  TwOwed *owed = command->n_owed > 0 ? g_new (TwOwed, command->n_owed) : NULL;
  for (int i = 0; i < command->n_owed; i++)
    {
      owed[i] = command->owed[i];
      owed[i].node = tw_rewriting_keep (rewriting, owed[i].node);
      owed[i].port = tw_rewriting_keep (rewriting, owed[i].port);
    }
  kept->owed = owed;
  g_ptr_array_add (rewriting->commands, kept);
}

gboolean
tw_rewriting_apply (TwRewriting *rewriting, const TwCommand *command)
{
  g_autoptr (GError) error = NULL;
  if (rewriting->failed)
    return FALSE;
  if (tw_graph_apply (rewriting->graph, command, &error))
    {
      record (rewriting, command);
      return TRUE;
    }
  rewriting->failed = TRUE;
  g_ptr_array_add (rewriting->result->diagnostics,
                   tw_diagnostic_new ("rewrite-failed", TW_SEVERITY_WARNING, command->node, NULL, 0,
                                      error->message, tw_command_get_name (command->kind), NULL,
                                      "the graph is used as drawn, with composites expanded"));
  return FALSE;
}

const TwBlock *
tw_rewriting_get_block (const TwRewriting *rewriting, const char *node)
{
  const TwNode *n = tw_graph_get_node (rewriting->graph, node);
  return n ? tw_catalog_get (rewriting->catalog, n->block) : NULL;
}

const TwType *
tw_rewriting_get_type (const TwRewriting *rewriting, const char *node, const char *port)
{
  const TwEnd *like = g_hash_table_lookup (rewriting->likes, node);
  if (like && !like->node)
    return NULL;
  return like ? tw_typing_get (rewriting->typing, like->node, like->port)
              : tw_typing_get (rewriting->typing, node, port);
}

static char *
make_id (const TwRewriting *rewriting, const char *base)
{
  char *id = g_strndup (base, TW_ID_MAX);
  for (int i = 2; tw_graph_get_node (rewriting->graph, id); i++)
    {
      g_autofree char *suffix = g_strdup_printf ("_%d", i);
      g_free (id);
      id = g_strdup_printf ("%.*s%s", (int)(TW_ID_MAX - strlen (suffix)), base, suffix);
    }
  return id;
}

const char *
tw_rewriting_add (TwRewriting *rewriting, const char *base, const char *block, const char *origin,
                  TwEnd like)
{
  g_autofree char *made = make_id (rewriting, base);
  const char *id = tw_rewriting_keep (rewriting, made);
  TwCommand add = { .kind = TW_COMMAND_ADD_NODE, .node = id, .block = block };
  TwCommand set = { .kind = TW_COMMAND_SET_ORIGIN, .node = id, .value = origin };
  if (!tw_rewriting_apply (rewriting, &add) || (origin && !tw_rewriting_apply (rewriting, &set)))
    return id;
  const TwEnd *other = like.node ? g_hash_table_lookup (rewriting->likes, like.node) : NULL;
  TwEnd *kept = g_new (TwEnd, 1);
  *kept = other ? *other : like;
  g_hash_table_insert (rewriting->likes, (gpointer)id, kept);
  return id;
}

void
tw_rewriting_set_param (TwRewriting *rewriting, const char *node, const char *name,
                        const char *value)
{
  TwCommand set = { .kind = TW_COMMAND_SET_PARAM, .node = node, .name = name, .value = value };
  tw_rewriting_apply (rewriting, &set);
}

void
tw_rewriting_connect (TwRewriting *rewriting, TwEnd from, TwEnd to, gboolean fuse_required)
{
  TwCommand connect = { .kind = TW_COMMAND_CONNECT,
                        .node = from.node,
                        .port = from.port,
                        .to_node = to.node,
                        .to_port = to.port };
  TwCommand demand = {
    .kind = TW_COMMAND_SET_FUSE, .to_node = to.node, .to_port = to.port, .flag = fuse_required
  };
  if (tw_rewriting_apply (rewriting, &connect))
    tw_rewriting_apply (rewriting, &demand);
}

void
tw_rewriting_owe (TwRewriting *rewriting, TwEnd to, const TwOwed *owed, int n_owed)
{
  TwCommand owe = { .kind = TW_COMMAND_SET_OWED,
                    .to_node = to.node,
                    .to_port = to.port,
                    .owed = owed,
                    .n_owed = n_owed };
  tw_rewriting_apply (rewriting, &owe);
}

void
tw_rewriting_reconnect (TwRewriting *rewriting, TwEnd from, TwEnd to)
{
  const TwLink *link = tw_graph_get_link_to (rewriting->graph, to.node, to.port);
  int n_owed = link ? link->n_owed : 0;
  gboolean fuse = link && link->fuse_required;
  g_autofree TwOwed *owed = g_new0 (TwOwed, (gsize)n_owed + 1);
  for (int i = 0; i < n_owed; i++)
    {
      owed[i] = link->owed[i];
      owed[i].node = tw_rewriting_keep (rewriting, link->owed[i].node);
      owed[i].port = tw_rewriting_keep (rewriting, link->owed[i].port);
    }
  tw_rewriting_connect (rewriting, from, to, fuse);
  if (n_owed > 0)
    tw_rewriting_owe (rewriting, to, owed, n_owed);
}

void
tw_rewriting_remove (TwRewriting *rewriting, const char *node)
{
  TwCommand remove = { .kind = TW_COMMAND_REMOVE_NODE, .node = node };
  tw_rewriting_apply (rewriting, &remove);
  g_hash_table_remove (rewriting->positions, node);
}

GArray *
tw_rewriting_get_readers (TwRewriting *rewriting, const char *node, const char *port)
{
  GArray *readers = g_array_new (FALSE, FALSE, sizeof (TwEnd));
  g_autoptr (GPtrArray) links = tw_graph_get_links_from (rewriting->graph, node, port);
  for (guint i = 0; links && i < links->len; i++)
    {
      const TwLink *link = links->pdata[i];
      TwEnd end = { tw_rewriting_keep (rewriting, link->to_node),
                    tw_rewriting_keep (rewriting, link->to_port) };
      g_array_append_val (readers, end);
    }
  return readers;
}

TwEnd
tw_rewriting_get_source (TwRewriting *rewriting, const char *node, const char *port)
{
  const TwLink *link = tw_graph_get_link_to (rewriting->graph, node, port);
  TwEnd end = { NULL, NULL };
  if (link)
    end = (TwEnd){ tw_rewriting_keep (rewriting, link->from_node),
                   tw_rewriting_keep (rewriting, link->from_port) };
  return end;
}

/* Order */

static void
sort_positions (TwRewriting *rewriting)
{
  g_autoptr (GPtrArray) ids = tw_graph_sort (rewriting->graph, NULL);
  g_hash_table_remove_all (rewriting->positions);
  for (guint i = 0; i < ids->len; i++)
    {
      double *position = g_new (double, 1);
      *position = i;
      g_hash_table_insert (rewriting->positions,
                           (gpointer)tw_rewriting_keep (rewriting, ids->pdata[i]), position);
    }
}

double
tw_rewriting_get_position (TwRewriting *rewriting, const char *node)
{
  const double *position = g_hash_table_lookup (rewriting->positions, node);
  if (!position)
    {
      sort_positions (rewriting);
      position = g_hash_table_lookup (rewriting->positions, node);
    }
  return position ? *position : 0;
}

void
tw_rewriting_order (TwRewriting *rewriting, const char *node)
{
  const TwBlock *block = tw_rewriting_get_block (rewriting, node);
  double low = -1, high = G_MAXDOUBLE;
  g_hash_table_remove (rewriting->positions, node);
  for (int p = 0; block && p < block->n_ports; p++)
    if (block->ports[p].direction == TW_DIRECTION_IN)
      {
        TwEnd source = tw_rewriting_get_source (rewriting, node, block->ports[p].id);
        const double *position
            = source.node ? g_hash_table_lookup (rewriting->positions, source.node) : NULL;
        if (source.node && !position)
          return; /* found when next asked for */
        low = position ? MAX (low, *position) : low;
      }
  g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, node, NULL);
  for (guint i = 0; i < readers->len; i++)
    {
      const double *position
          = g_hash_table_lookup (rewriting->positions, g_array_index (readers, TwEnd, i).node);
      if (!position)
        return;
      high = MIN (high, *position);
    }
  double middle = high == G_MAXDOUBLE ? low + 1 : low + (high - low) / 2;
  if (!(middle > low && middle < high))
    return;
  double *kept = g_new (double, 1);
  *kept = middle;
  g_hash_table_insert (rewriting->positions, (gpointer)tw_rewriting_keep (rewriting, node), kept);
}

static int
compare_positions (gconstpointer a, gconstpointer b, gpointer data)
{
  GHashTable *positions = data;
  const double *x = g_hash_table_lookup (positions, *(const char *const *)a);
  const double *y = g_hash_table_lookup (positions, *(const char *const *)b);
  double left = x ? *x : 0, right = y ? *y : 0;
  return (left > right) - (left < right);
}

void
tw_rewriting_sort (TwRewriting *rewriting, GPtrArray *ids)
{
  gboolean known = TRUE;
  for (guint i = 0; i < ids->len; i++)
    known &= g_hash_table_contains (rewriting->positions, ids->pdata[i]);
  if (!known)
    sort_positions (rewriting);
  g_ptr_array_sort_with_data (ids, compare_positions, rewriting->positions);
}

GPtrArray *
tw_rewriting_list (TwRewriting *rewriting, gboolean (*wanted) (const TwBlock *block))
{
  GPtrArray *ids = g_ptr_array_new ();
  for (int i = 0; i < tw_graph_get_n_nodes (rewriting->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (rewriting->graph, i);
      const TwBlock *block = tw_catalog_get (rewriting->catalog, node->block);
      if (block && wanted (block))
        g_ptr_array_add (ids, (gpointer)tw_rewriting_keep (rewriting, node->id));
    }
  tw_rewriting_sort (rewriting, ids);
  return ids;
}

/* Sizes */

gint64
tw_rewriting_get_extent (const TwRewriting *rewriting, const TwDim *dim)
{
  return dim != NULL ? tw_graph_get_extent (rewriting->drawn, dim) : 0;
}

gint64
tw_rewriting_get_bytes (const TwRewriting *rewriting, const TwType *type)
{
  gint64 bytes = type ? (gint64)tw_dtype_get_size (type->dtype) : 0;
  for (int d = 0; type && d < type->n_dims; d++)
    if (__builtin_mul_overflow (bytes, tw_rewriting_get_extent (rewriting, type->dims[d]), &bytes))
      return 0;
  return bytes;
}

/* Steps and refusals */

GPtrArray *
tw_conditions_new (void)
{
  return g_ptr_array_new_with_free_func (g_free);
}

void
tw_conditions_add (GPtrArray *conditions, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_ptr_array_add (conditions, g_strdup_vprintf (format, args));
  va_end (args);
}

static char *
describe_saving (gint64 bytes, int launches)
{
  g_autofree char *size = g_format_size_full ((guint64)bytes, G_FORMAT_SIZE_IEC_UNITS);
  /* GLib puts a no-break space between number and unit. */
  g_auto (GStrv) parts = g_strsplit (size, "\302\240", -1);
  g_autofree char *plain = g_strjoinv (" ", parts);
  const char *launch = launches == 1 ? "launch" : "launches";
  if (bytes > 0 && launches > 0)
    return g_strdup_printf ("%s of memory traffic and %d %s", plain, launches, launch);
  if (bytes > 0)
    return g_strdup_printf ("%s of memory traffic", plain);
  if (launches > 0)
    return g_strdup_printf ("%d %s", launches, launch);
  return g_strdup ("nothing by itself");
}

void
tw_rewriting_step (TwRewriting *rewriting, const char *rule, const char *node, char *before,
                   char *after, const char *proof, GPtrArray *conditions, gint64 bytes,
                   int launches, char *saves)
{
  if (rewriting->failed)
    {
      g_free (before);
      g_free (after);
      g_free (saves);
      g_ptr_array_unref (conditions);
      return;
    }
  TwStep *step = g_new0 (TwStep, 1);
  step->rule = rule;
  step->node = g_strdup (node);
  step->before = before;
  step->after = after;
  step->proof = g_strdup (proof);
  g_ptr_array_add (conditions, NULL);
  step->conditions = (char **)g_ptr_array_free (conditions, FALSE);
  step->bytes_saved = MAX (bytes, 0);
  step->launches_saved = launches;
  step->saves = saves ? saves : describe_saving (step->bytes_saved, launches);
  step->commands = rewriting->commands;
  rewriting->commands = g_ptr_array_new_with_free_func (free_command);
  g_ptr_array_add (rewriting->result->steps, step);
}

void
tw_rewriting_refuse (TwRewriting *rewriting, const char *rule, const char *node, const char *format,
                     ...)
{
  TwRefusal *refusal = g_new0 (TwRefusal, 1);
  va_list args;
  va_start (args, format);
  refusal->rule = rule;
  refusal->node = g_strdup (node);
  refusal->reason = g_strdup_vprintf (format, args);
  va_end (args);
  g_ptr_array_add (rewriting->result->refusals, refusal);
}

static void
free_step (gpointer data)
{
  TwStep *step = data;
  g_free (step->node);
  g_free (step->before);
  g_free (step->after);
  g_free (step->proof);
  g_strfreev (step->conditions);
  g_free (step->saves);
  tw_graph_free (step->snapshot);
  g_ptr_array_unref (step->commands);
  g_free (step);
}

static void
free_refusal (gpointer data)
{
  TwRefusal *refusal = data;
  g_free (refusal->node);
  g_free (refusal->reason);
  g_free (refusal);
}

/* Composites */

static gboolean
is_composite (const TwBlock *block)
{
  return block->kind == TW_KIND_COMPOSITE && block->body;
}

/* Replaces one composite; a step shows its output before and after. */
static void
expand_one (TwRewriting *rewriting, const char *id, const TwTyping *typing)
{
  g_autoptr (GError) error = NULL;
  const TwBlock *block = tw_rewriting_get_block (rewriting, id);
  const TwNode *node = tw_graph_get_node (rewriting->graph, id);
  const char *origin = tw_rewriting_keep (rewriting, node->origin ? node->origin : id);
  g_autofree char *before = NULL;
  TwEnd reader = { NULL, NULL };
  for (int p = 0; p < block->n_ports && !before; p++)
    if (block->ports[p].direction == TW_DIRECTION_OUT)
      {
        g_autoptr (GArray) readers = tw_rewriting_get_readers (rewriting, id, block->ports[p].id);
        before = tw_rewriting_print (rewriting, id, block->ports[p].id, NULL);
        if (readers->len > 0)
          reader = g_array_index (readers, TwEnd, 0);
      }
  if (!tw_expand_node (rewriting->graph, rewriting->catalog, typing, id, &error))
    {
      rewriting->failed = TRUE;
      g_ptr_array_add (rewriting->result->diagnostics,
                       tw_diagnostic_new ("rewrite-failed", TW_SEVERITY_WARNING, id, NULL, 0,
                                          error->message, NULL, NULL, NULL));
      return;
    }
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  int made = 0;
  for (int i = tw_graph_get_n_nodes (rewriting->graph) - 1; i >= 0; i--)
    {
      const TwNode *inner = tw_graph_get_nth_node (rewriting->graph, i);
      if (g_strcmp0 (inner->origin, origin) != 0)
        break;
      g_hash_table_add (open, (gpointer)tw_rewriting_keep (rewriting, inner->id));
      made++;
    }
  TwEnd value
      = reader.node ? tw_rewriting_get_source (rewriting, reader.node, reader.port) : reader;
  char *after = value.node ? tw_rewriting_print (rewriting, value.node, value.port, open)
                           : g_strdup (before);
  GPtrArray *conditions = tw_conditions_new ();
  tw_conditions_add (conditions, "%s is a composite: its body is a graph of %d blocks", block->id,
                     made);
  tw_rewriting_step (rewriting, "expand-composite", id, g_steal_pointer (&before), after,
                     "A composite means its body, so that replacing one by the other changes "
                     "nothing.",
                     conditions, 0, 0, g_strdup ("nothing by itself: the parts can now move"));
  TwStep *step = g_ptr_array_index (rewriting->result->steps, rewriting->result->steps->len - 1);
  step->snapshot = tw_graph_copy (rewriting->graph);
}

static void
expand_composites (TwRewriting *rewriting)
{
  for (int round = 0; round <= MAX_ROUNDS && !rewriting->failed; round++)
    {
      g_autoptr (GPtrArray) ids = tw_rewriting_list (rewriting, is_composite);
      g_clear_pointer (&rewriting->typing, tw_typing_free);
      rewriting->typing = tw_check (rewriting->graph, rewriting->catalog, NULL);
      if (round == MAX_ROUNDS || tw_graph_get_n_nodes (rewriting->graph) > MAX_NODES)
        rewriting->failed = ids->len > 0;
      for (guint i = 0; i < ids->len && !rewriting->failed; i++)
        expand_one (rewriting, ids->pdata[i], rewriting->typing);
      if (!ids->len)
        return;
      g_hash_table_remove_all (rewriting->positions);
    }
}

/* A finish with a very small eps: a row of zeros has a scale of 1/sqrt(eps). */
static void
warn_eps (TwRewriting *rewriting)
{
  for (int i = 0; i < tw_graph_get_n_nodes (rewriting->graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (rewriting->graph, i);
      const TwBlock *block = tw_catalog_get (rewriting->catalog, node->block);
      double eps = 0;
      if (!block || block->kind != TW_KIND_FINISH || !tw_node_get_number (node, block, "eps", &eps)
          || eps >= 1e-12)
        continue;
      const char *drawn = node->origin ? node->origin : node->id;
      g_autofree char *found = g_strdup_printf ("%g", eps);
      g_autofree char *message = g_strdup_printf (
          "eps of %s is %g: a row of zeros is scaled by %.3g, which magnifies rounding", drawn, eps,
          eps > 0 ? 1 / __builtin_sqrt (eps) : G_MAXDOUBLE);
      const TwNode *at = tw_graph_get_node (rewriting->drawn, drawn);
      g_ptr_array_add (rewriting->result->diagnostics,
                       tw_diagnostic_new ("eps-small", TW_SEVERITY_WARNING, drawn, NULL,
                                          at ? at->line : 0, message, found, "eps >= 1e-12",
                                          "set eps=1e-6 (or what the model was trained with)"));
    }
}

/* The table */

typedef struct
{
  const char *name;
  void (*run) (TwRewriting *rewriting);
} TwRule;

static const TwRule rules[] = {
  { "merge-scales", tw_rewrite_merge_scales },
  { "hoist-scale-linear", tw_rewrite_hoist_scales }, /* and hoist-scale-homogeneous */
  { "merge-scales", tw_rewrite_merge_scales },
  { "fold-column-scale", tw_rewrite_fold_columns },
  { "pack-siblings", tw_rewrite_pack_siblings },
  { "merge-siblings", tw_rewrite_merge_siblings },
  { "statistic-partials", tw_rewrite_split_statistics },
  { "finish-in-consumer", tw_rewrite_place_finishes },
};

const char *const *
tw_rewrite_rules (void)
{
  static const char *const names[] = { "expand-composite",        "hoist-scale-linear",
                                       "hoist-scale-homogeneous", "merge-scales",
                                       "fold-column-scale",       "statistic-partials",
                                       "finish-in-consumer",      "merge-siblings",
                                       "pack-siblings",           NULL };
  return names;
}

/* What is returned if a rule failed halfway: composites expanded, nothing else. */
static void
fall_back (TwRewriting *rewriting)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwTyping) typing = tw_check (rewriting->drawn, rewriting->catalog, NULL);
  TwRewrite *result = rewriting->result;
  TwGraph *expanded = tw_expand (rewriting->drawn, rewriting->catalog, typing, &error);
  g_ptr_array_set_size (result->steps, 0);
  g_clear_pointer (&rewriting->graph, tw_graph_free);
  rewriting->graph = expanded ? expanded : tw_graph_copy (rewriting->drawn);
  g_clear_pointer (&result->typing, tw_typing_free);
  result->typing = tw_check (rewriting->graph, rewriting->catalog, NULL);
}

TwRewrite *
tw_rewrite (const TwGraph *graph, const TwCatalog *catalog, const TwRewriteOptions *options)
{
  static const TwRewriteOptions defaults = { .fuse = TRUE };
  TwRewrite *result = g_new0 (TwRewrite, 1);
  result->steps = g_ptr_array_new_with_free_func (free_step);
  result->refusals = g_ptr_array_new_with_free_func (free_refusal);
  result->diagnostics = tw_diagnostics_new ();
  TwRewriting rewriting = { .result = result,
                            .graph = tw_graph_copy (graph),
                            .drawn = graph,
                            .catalog = catalog,
                            .options = options ? options : &defaults };
  result->drawn = tw_graph_copy (graph);
  result->strings = rewriting.chunk = g_string_chunk_new (4096);
  rewriting.commands = g_ptr_array_new_with_free_func (free_command);
  rewriting.likes = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  rewriting.positions = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, g_free);
  rewriting.settled = g_hash_table_new (g_str_hash, g_str_equal);
  expand_composites (&rewriting);
  warn_eps (&rewriting);
  for (gsize i = 0; i < G_N_ELEMENTS (rules) && rewriting.options->fuse && !rewriting.failed; i++)
    {
      g_clear_pointer (&rewriting.places, g_hash_table_unref);
      rules[i].run (&rewriting);
    }
  if (!rewriting.failed)
    result->typing = tw_check (rewriting.graph, catalog, NULL);
  if (!rewriting.failed && !tw_typing_is_good (result->typing)
      && tw_typing_is_good (rewriting.typing))
    {
      const GPtrArray *found = tw_typing_get_diagnostics (result->typing);
      rewriting.failed = TRUE;
      for (guint i = 0; i < found->len; i++)
        {
          const TwDiagnostic *diagnostic = found->pdata[i];
          if (diagnostic->severity == TW_SEVERITY_ERROR)
            g_ptr_array_add (result->diagnostics,
                             tw_diagnostic_new ("rewrite-failed", TW_SEVERITY_WARNING,
                                                diagnostic->node, diagnostic->port, 0,
                                                diagnostic->message, diagnostic->found,
                                                diagnostic->expected, NULL));
        }
    }
  if (rewriting.failed)
    fall_back (&rewriting);
  result->graph = rewriting.graph;
  g_clear_pointer (&rewriting.places, g_hash_table_unref);
  g_clear_pointer (&rewriting.typing, tw_typing_free);
  g_hash_table_unref (rewriting.likes);
  g_hash_table_unref (rewriting.positions);
  g_hash_table_unref (rewriting.settled);
  g_ptr_array_unref (rewriting.commands);
  return result;
}

void
tw_rewrite_free (TwRewrite *rewrite)
{
  if (!rewrite)
    return;
  tw_graph_free (rewrite->graph);
  tw_typing_free (rewrite->typing);
  g_ptr_array_unref (rewrite->steps);
  g_ptr_array_unref (rewrite->refusals);
  g_ptr_array_unref (rewrite->diagnostics);
  tw_graph_free (rewrite->drawn);
  g_string_chunk_free (rewrite->strings);
  g_free (rewrite);
}

TwGraph *
tw_rewrite_get_graph (const TwRewrite *rewrite, int step)
{
  int last = MIN (step, (int)rewrite->steps->len - 1), first = last;
  while (first >= 0 && !((const TwStep *)rewrite->steps->pdata[first])->snapshot)
    first--;
  const TwStep *base = first >= 0 ? rewrite->steps->pdata[first] : NULL;
  TwGraph *graph = tw_graph_copy (base ? base->snapshot : rewrite->drawn);
  for (int i = first + 1; i <= last; i++)
    {
      const TwStep *next = rewrite->steps->pdata[i];
      for (guint c = 0; c < next->commands->len; c++)
        tw_graph_apply (graph, next->commands->pdata[c], NULL);
    }
  return graph;
}
