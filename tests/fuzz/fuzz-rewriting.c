/* Rewriting against the evaluator: random graphs compute the same as drawn and as rewritten, plain
 * and packed. A histogram shows what was tried; at 10,000 graphs every rule, every kind of refusal
 * and every block must have been met.
 *
 * fuzz-rewriting [--count N] [--seed S] [--nodes N] [--emit DIR] [--verbose] */
#include "composer/evaluate.h"
#include "composer/rewrite.h"
#include "fuzz-graphs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FULL 10000 /* from this count on nothing may be zero */

/* Every kind of refusal, by rule and by words that its reason holds. */
typedef struct
{
  const char *rule, *words;
  gint64 count;
} Kind;

static Kind kinds[] = {
  { "hoist-scale-linear", "leaves the graph at output", 0 },
  { "hoist-scale-linear", "is summed along the rows", 0 },
  { "hoist-scale-linear", "before the two meet", 0 },
  { "hoist-scale-linear", "a bias is carried only", 0 },
  { "hoist-scale-linear", "force point", 0 },
  { "hoist-scale-linear", "gathers a statistic", 0 },
  { "hoist-scale-linear", "no bound is known", 0 },
  { "hoist-scale-linear", "max-rms allows", 0 },
  { "hoist-scale-linear", "does not take", 0 },
  { "hoist-scale-linear", "negative powers meet", 0 },
  { "hoist-scale-homogeneous", "moves only if it is positive", 0 },
  { "hoist-scale-homogeneous", "does not take", 0 },
  { "merge-scales", "does not take", 0 },
  { "merge-scales", "only for a scale that is not 0", 0 },
  { "fold-column-scale", "has no weight whose rows", 0 },
  { "fold-column-scale", "is trainable", 0 },
  { "fold-column-scale", "is no weight", 0 },
  { "fold-column-scale", "is stored by columns", 0 },
  { "fold-column-scale", "is also read by", 0 },
  { "statistic-partials", "in a product's epilogue", 0 },
  { "statistic-partials", "expects whole rows", 0 },
  { "finish-in-consumer", "leaves the graph at output", 0 },
  { "merge-siblings", "their weights differ", 0 },
  { "merge-siblings", "is left over", 0 },
  { "merge-siblings", "as one kernel they would need", 0 },
  { "pack-siblings", "is trainable", 0 },
  { "pack-siblings", "is stored by columns", 0 },
  { "pack-siblings", "not read by one block alone", 0 },
  { "pack-siblings", "takes no pairs", 0 },
};

typedef struct
{
  GHashTable *rules, *blocks; /* name -> count */
  GHashTable *others;         /* refusals of no listed kind -> count */
  gint64 graphs, nodes, compared, skipped, failures;
  gboolean verbose;
} Histogram;

static void
add_to (GHashTable *table, const char *name)
{
  gpointer count = g_hash_table_lookup (table, name);
  g_hash_table_insert (table, g_strdup (name), GINT_TO_POINTER (GPOINTER_TO_INT (count) + 1));
}

static void
count_refusal (Histogram *histogram, const TwRefusal *refusal)
{
  for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++)
    if (strcmp (kinds[k].rule, refusal->rule) == 0 && strstr (refusal->reason, kinds[k].words))
      {
        kinds[k].count++;
        return;
      }
  g_autofree char *text = g_strdup_printf ("%s: %s", refusal->rule, refusal->reason);
  add_to (histogram->others, histogram->verbose ? text : refusal->rule);
}

/* Values */

static gboolean
look_up (const char *name, gint64 *value, gpointer graph)
{
  const TwDimension *dimension = tw_graph_get_dimension (graph, name);
  if (dimension)
    *value = dimension->value;
  return dimension != NULL;
}

static double
draw (GRand *rand)
{
  return g_rand_double_range (rand, 0.25, 1.5) * (g_rand_boolean (rand) ? 1 : -1);
}

/* A tensor for every source: signed, but where a promise says otherwise. */
static GHashTable *
make_inputs (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing, GRand *rand)
{
  GHashTable *inputs
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_tensor_free);
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);
      const TwType *type = tw_typing_get (typing, node->id, "y");
      gint64 dims[3] = { 1, 1, 1 };
      if (!block || block->kind != TW_KIND_SOURCE || !type)
        continue;
      for (int d = 0; d < type->n_dims; d++)
        tw_dim_evaluate (type->dims[d], look_up, (gpointer)graph, &dims[d], NULL);
      TwTensor *tensor = tw_tensor_new (type->n_dims, dims);
      gboolean positive = type->positive || type->role == TW_ROLE_STATISTIC;
      for (gint64 e = 0; e < tw_tensor_get_size (tensor); e++)
        tensor->data[e] = positive ? fabs (draw (rand)) : draw (rand);
      g_hash_table_insert (inputs, g_strdup (node->id), tensor);
    }
  return inputs;
}

/* The largest error of a tensor relative to its largest value; -1 if it holds what cannot be
 * compared. */
static double
compare (const TwTensor *a, const TwTensor *b)
{
  double most = 0, error = 0;
  gint64 n = tw_tensor_get_size (a);
  if (tw_tensor_get_size (b) != n)
    return INFINITY;
  for (gint64 i = 0; i < n; i++)
    {
      if (!isfinite (a->data[i]) || fabs (a->data[i]) > 1e60)
        return -1;
      most = MAX (most, fabs (a->data[i]));
    }
  for (gint64 i = 0; i < n; i++)
    {
      double difference = fabs (a->data[i] - b->data[i]);
      error = isnan (difference) ? INFINITY : MAX (error, difference);
    }
  return most > 0 ? error / most : error;
}

/* One graph */

static void complain (Histogram *histogram, const TwGraph *graph, const TwRewrite *rewrite,
                      const char *format, ...) G_GNUC_PRINTF (4, 5);

static void
complain (Histogram *histogram, const TwGraph *graph, const TwRewrite *rewrite, const char *format,
          ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  fprintf (stderr, "%s: %s\n", tw_graph_get_name (graph), message);
  if (histogram->failures++ > 2)
    return;
  g_autofree char *before = tw_graph_to_xml (graph);
  g_autofree char *after = tw_graph_to_xml (rewrite->graph);
  fprintf (stderr, "%s\n%s\n", before, after);
  for (guint i = 0; i < rewrite->steps->len; i++)
    {
      const TwStep *step = rewrite->steps->pdata[i];
      fprintf (stderr, "%s %s: %s -> %s\n", step->rule, step->node, step->before, step->after);
    }
}

/* Every output of the drawing, as the rewritten graph computes it. */
static void
compare_outputs (Histogram *histogram, const TwGraph *graph, const TwRewrite *rewrite,
                 const TwCatalog *catalog, GHashTable *before, GHashTable *after)
{
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      const TwBlock *block = tw_catalog_get (catalog, node->block);
      if (block->kind != TW_KIND_SINK)
        continue;
      g_autofree char *key = g_strdup_printf ("%s.x", node->id);
      const TwTensor *a = g_hash_table_lookup (before, key);
      const TwTensor *b = g_hash_table_lookup (after, key);
      double error = a && b ? compare (a, b) : INFINITY;
      if (error < 0)
        histogram->skipped++;
      else if (error > 1e-7)
        complain (histogram, graph, rewrite, "output %s differs by %g", node->id, error);
      else
        histogram->compared++;
    }
}

static void
try_one (Histogram *histogram, const TwGraph *graph, const TwCatalog *catalog, GRand *rand,
         gboolean pack)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  TwRewriteOptions options = { .fuse = TRUE, .pack = pack };
  g_autoptr (TwRewrite) rewrite = tw_rewrite (graph, catalog, &options);
  for (guint i = 0; i < rewrite->diagnostics->len; i++)
    {
      const TwDiagnostic *diagnostic = rewrite->diagnostics->pdata[i];
      if (strcmp (diagnostic->code, "rewrite-failed") == 0)
        complain (histogram, graph, rewrite, "%s: %s", diagnostic->node, diagnostic->message);
    }
  for (guint i = 0; i < rewrite->steps->len; i++)
    add_to (histogram->rules, ((const TwStep *)rewrite->steps->pdata[i])->rule);
  for (guint i = 0; i < rewrite->refusals->len; i++)
    count_refusal (histogram, rewrite->refusals->pdata[i]);
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    add_to (histogram->blocks, tw_graph_get_nth_node (graph, i)->block);
  for (int i = 0; i < tw_graph_get_n_nodes (rewrite->graph); i++)
    if (!tw_graph_get_node (graph, tw_graph_get_nth_node (rewrite->graph, i)->id))
      add_to (histogram->blocks, tw_graph_get_nth_node (rewrite->graph, i)->block);
  g_autoptr (GHashTable) inputs = make_inputs (graph, catalog, typing, rand);
  g_autoptr (GHashTable) before
      = tw_evaluate (graph, catalog, typing, inputs, NULL, TW_EVALUATE_EXACT, &error);
  g_autoptr (GHashTable) after = before ? tw_evaluate (rewrite->graph, catalog, rewrite->typing,
                                                       inputs, NULL, TW_EVALUATE_EXACT, &error)
                                        : NULL;
  histogram->graphs++;
  histogram->nodes += tw_graph_get_n_nodes (graph);
  if (!after)
    complain (histogram, graph, rewrite, "%s", error ? error->message : "no value");
  else
    compare_outputs (histogram, graph, rewrite, catalog, before, after);
}

/* The end */

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

static int
print (Histogram *histogram, const TwCatalog *catalog)
{
  int zeros = 0, n_blocks = 0;
  const char *const *rules = tw_rewrite_rules ();
  const TwBlock *const *blocks = tw_catalog_list (catalog, &n_blocks);
  printf ("rules\n");
  for (int i = 0; rules[i]; i++)
    {
      int count = GPOINTER_TO_INT (g_hash_table_lookup (histogram->rules, rules[i]));
      printf ("  %8d  %s\n", count, rules[i]);
      zeros += count == 0;
    }
  printf ("refusals\n");
  for (gsize k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      printf ("  %8" G_GINT64_FORMAT "  %s: ... %s ...\n", kinds[k].count, kinds[k].rule,
              kinds[k].words);
      zeros += kinds[k].count == 0;
    }
  g_autofree gpointer *others = g_hash_table_get_keys_as_array (histogram->others, NULL);
  guint n_others = g_hash_table_size (histogram->others);
  qsort (others, n_others, sizeof *others, compare_names);
  for (guint i = 0; i < n_others; i++)
    printf ("  %8d  %s\n", GPOINTER_TO_INT (g_hash_table_lookup (histogram->others, others[i])),
            (const char *)others[i]);
  printf ("blocks\n");
  for (int i = 0; i < n_blocks; i++)
    {
      int count = GPOINTER_TO_INT (g_hash_table_lookup (histogram->blocks, blocks[i]->id));
      printf ("  %8d  %s\n", count, blocks[i]->id);
      zeros += count == 0;
    }
  printf ("%" G_GINT64_FORMAT " graphs of %.1f nodes, %" G_GINT64_FORMAT
          " outputs agree, %" G_GINT64_FORMAT " not finite as drawn\n",
          histogram->graphs, (double)histogram->nodes / (double)MAX (histogram->graphs, 1),
          histogram->compared, histogram->skipped);
  return zeros;
}

int
main (int argc, char **argv)
{
  gint64 count = 300, seed = 1, nodes = 10;
  g_autofree char *emit = NULL;
  gboolean verbose = FALSE, runnable = FALSE;
  g_autoptr (GError) error = NULL;
  const GOptionEntry entries[] = {
    { "count", 0, 0, G_OPTION_ARG_INT64, &count, "Graphs to try", "N" },
    { "seed", 0, 0, G_OPTION_ARG_INT64, &seed, "Seed of the random numbers", "S" },
    { "nodes", 0, 0, G_OPTION_ARG_INT64, &nodes, "Nodes of a graph, about", "N" },
    { "emit", 0, 0, G_OPTION_ARG_FILENAME, &emit, "Only write the graphs to a folder", "DIR" },
    { "runnable", 0, 0, G_OPTION_ARG_NONE, &runnable, "Without what reaches no output", NULL },
    { "verbose", 0, 0, G_OPTION_ARG_NONE, &verbose, "Refusals of no listed kind in full", NULL },
    { NULL }
  };
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_option_context_add_main_entries (context, entries, NULL);
  g_autoptr (TwCatalog) catalog = g_option_context_parse (context, &argc, &argv, &error)
                                      ? tw_catalog_new (NULL, &error)
                                      : NULL;
  if (!catalog)
    {
      fprintf (stderr, "%s\n", error->message);
      return 1;
    }
  Histogram histogram = { .verbose = verbose };
  histogram.rules = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  histogram.blocks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  histogram.others = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gint64 begin = g_get_monotonic_time ();
  for (gint64 i = 0; i < count && histogram.failures < 20; i++)
    {
      g_autofree char *name = g_strdup_printf ("f%" G_GINT64_FORMAT, i);
      g_autoptr (GRand) rand
          = g_rand_new_with_seed_array ((guint32[]){ (guint32)seed, (guint32)i }, 2);
      GraphFuzz fuzz
          = { .catalog = catalog, .rand = rand, .n_nodes = (int)nodes, .runs = runnable };
      g_autoptr (TwGraph) graph = graph_fuzz_make (&fuzz, name);
      if (emit)
        {
          g_autofree char *path = g_strdup_printf ("%s/%s.xml", emit, name);
          if (!tw_graph_save (graph, path, NULL, &error))
            {
              fprintf (stderr, "%s\n", error->message);
              return 1;
            }
          continue;
        }
      try_one (&histogram, graph, catalog, rand, FALSE);
      try_one (&histogram, graph, catalog, rand, TRUE);
    }
  int zeros = emit ? 0 : print (&histogram, catalog);
  double seconds = (double)(g_get_monotonic_time () - begin) / 1e6;
  gboolean short_of = count >= FULL && zeros > 0;
  if (short_of)
    fprintf (stderr, "%d lines of the histogram are zero\n", zeros);
  printf ("%.1f s\n%" G_GINT64_FORMAT " passed, %" G_GINT64_FORMAT " failed\n", seconds,
          emit ? count : histogram.compared, histogram.failures + short_of);
  g_hash_table_unref (histogram.rules);
  g_hash_table_unref (histogram.blocks);
  g_hash_table_unref (histogram.others);
  return histogram.failures > 0 || short_of ? 1 : 0;
}
