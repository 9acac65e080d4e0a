/* Each rule, each guard, formulas and owed links; every case also computes what its drawing does.
 */
#include "composer/evaluate.h"
#include "composer/rewrite.h"
#include "config.h"

#include <math.h>
#include <string.h>

/* Drawings are written a node a line: "id block name=value ... < port=node.port ...". */

static void
add_line (GString *nodes, GString *links, const char *line)
{
  g_auto (GStrv) words = g_strsplit_set (line, " ", -1);
  gboolean wiring = FALSE;
  if (!words[0] || !words[0][0])
    return;
  g_string_append_printf (nodes, "<node id=\"%s\" block=\"%s\">", words[0], words[1]);
  for (int i = 2; words[i]; i++)
    {
      char *equals = strchr (words[i], '=');
      if (strcmp (words[i], "<") == 0)
        wiring = TRUE;
      if (!equals)
        continue;
      *equals = 0;
      if (wiring)
        g_string_append_printf (links, "<link from=\"%s\" to=\"%s.%s\"/>", equals + 1, words[0],
                                words[i]);
      else
        g_string_append_printf (nodes, "<param name=\"%s\" value=\"%s\"/>", words[i], equals + 1);
    }
  g_string_append (nodes, "</node>\n");
}

static TwGraph *
draw (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GString) nodes = g_string_new (NULL);
  g_autoptr (GString) links = g_string_new (NULL);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (int i = 0; lines[i]; i++)
    add_line (nodes, links, lines[i]);
  g_autofree char *xml = g_strdup_printf (
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph format=\"1\" name=\"g\">\n"
      "<dimension name=\"T\" kind=\"dynamic\" value=\"5\" min=\"0\" max=\"100\"/>\n%s%s</graph>\n",
      nodes->str, links->str);
  TwGraph *graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  return graph;
}

static TwCatalog *
open_catalog (void)
{
  g_autoptr (GError) error = NULL;
  TwCatalog *catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  return catalog;
}

static gboolean
look_up (const char *name, gint64 *value, gpointer graph)
{
  const TwDimension *dimension = tw_graph_get_dimension (graph, name);
  *value = dimension ? dimension->value : 0;
  return dimension != NULL;
}

static GHashTable *
make_inputs (const TwGraph *graph, const TwTyping *typing)
{
  GHashTable *inputs
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_tensor_free);
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      gint64 dims[3] = { 1, 1, 1 };
      const TwType *type = tw_typing_get (typing, node->id, "y");
      if (strcmp (node->block, "input") != 0 && strcmp (node->block, "weight") != 0)
        continue;
      for (int d = 0; d < type->n_dims; d++)
        tw_dim_evaluate (type->dims[d], look_up, (gpointer)graph, &dims[d], NULL);
      TwTensor *tensor = tw_tensor_new (type->n_dims, dims);
      for (gint64 e = 0; e < tw_tensor_get_size (tensor); e++)
        {
          double value = g_rand_double_range (rand, -1.5, 1.5);
          tensor->data[e] = type->positive || type->statistic ? fabs (value) + 0.1 : value;
        }
      g_hash_table_insert (inputs, g_strdup (node->id), tensor);
    }
  return inputs;
}

/* Both graphs compute the same at every output of the drawing. */
static void
assert_same_values (const TwGraph *graph, const TwGraph *other, const TwCatalog *catalog)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  g_autoptr (TwTyping) other_typing = tw_check (other, catalog, NULL);
  g_assert_true (tw_typing_is_good (other_typing));
  g_autoptr (GHashTable) inputs = make_inputs (graph, typing);
  g_autoptr (GHashTable) before
      = tw_evaluate (graph, catalog, typing, inputs, NULL, TW_EVALUATE_EXACT, &error);
  g_assert_no_error (error);
  g_autoptr (GHashTable) after
      = tw_evaluate (other, catalog, other_typing, inputs, NULL, TW_EVALUATE_EXACT, &error);
  g_assert_no_error (error);
  int compared = 0;
  for (int i = 0; i < tw_graph_get_n_nodes (graph); i++)
    {
      const TwNode *node = tw_graph_get_nth_node (graph, i);
      g_autofree char *key = g_strdup_printf ("%s.x", node->id);
      if (strcmp (node->block, "output") != 0)
        continue;
      const TwTensor *a = g_hash_table_lookup (before, key), *b = g_hash_table_lookup (after, key);
      g_assert_nonnull (a);
      g_assert_nonnull (b);
      g_assert_cmpint (tw_tensor_get_size (a), ==, tw_tensor_get_size (b));
      for (gint64 e = 0; e < tw_tensor_get_size (a); e++)
        g_assert_cmpfloat_with_epsilon (a->data[e], b->data[e], 1e-9 * (1 + fabs (a->data[e])));
      compared++;
    }
  g_assert_cmpint (compared, >, 0);
}

static TwRewrite *
rewrite (const TwGraph *graph, const TwCatalog *catalog, gboolean fuse, gboolean pack)
{
  g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
  const GPtrArray *found = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < found->len; i++)
    {
      g_autofree char *text = tw_diagnostic_to_text (found->pdata[i], "drawing");
      g_test_message ("%s", text);
    }
  g_assert_true (tw_typing_is_good (typing));
  TwRewriteOptions options = { .fuse = fuse, .pack = pack };
  TwRewrite *result = tw_rewrite (graph, catalog, &options);
  g_assert_true (tw_typing_is_good (result->typing));
  for (guint i = 0; i < result->steps->len; i++)
    {
      const TwStep *step = result->steps->pdata[i];
      g_autoptr (TwGraph) between = tw_rewrite_get_graph (result, (int)i);
      g_test_message ("%s %s: %s -> %s", step->rule, step->node, step->before, step->after);
      g_assert_true (g_strv_contains (tw_rewrite_rules (), step->rule));
      g_assert_cmpint (step->bytes_saved, >=, 0);
      g_assert_true (step->before[0] && step->after[0] && step->proof[0] && step->saves[0]);
      g_assert_nonnull (step->conditions[0]);
      assert_same_values (graph, between, catalog);
    }
  for (guint i = 0; i < result->refusals->len; i++)
    {
      const TwRefusal *refusal = result->refusals->pdata[i];
      g_test_message ("refused %s %s: %s", refusal->rule, refusal->node, refusal->reason);
      g_assert_true (g_strv_contains (tw_rewrite_rules (), refusal->rule));
    }
  for (guint i = 0; i < result->diagnostics->len; i++)
    g_assert_cmpstr (((const TwDiagnostic *)result->diagnostics->pdata[i])->code, !=,
                     "rewrite-failed");
  /* The last step is the result. */
  g_autoptr (TwGraph) last = tw_rewrite_get_graph (result, (int)result->steps->len - 1);
  g_autofree char *one = tw_graph_to_xml (last), *two = tw_graph_to_xml (result->graph);
  g_assert_cmpstr (one, ==, two);
  assert_same_values (graph, result->graph, catalog);
  return result;
}

#define X(dtype) "x input dtype=" dtype " shape=T,40\n"
#define NORM(id, from) id " rms_norm gamma=plain eps=1e-6 < x=" from " g=gamma.y\n"
#define GAMMA "gamma weight dtype=bf16 shape=40\n"
#define BF16 "bf16"
#define W(id, shape) id " weight dtype=bf16 shape=" shape "\n"
#define GEMM(id, a, b) id " gemm < a=" a ".y b=" b ".y\n"
#define OUT(from) "out output < x=" from "\n"

/* Steps */

typedef struct
{
  const char *name, *drawing;
  gboolean pack;
  const char *steps;          /* "rule node" a line */
  const char *before, *after; /* of the last hoist, or NULL */
} Derivation;

static const Derivation derivations[] = {
  { "norm_between",
    X (BF16) W ("w1", "40,70") GEMM ("h", "x", "w1") "gamma weight dtype=bf16 shape=70\n" NORM (
        "n", "h.y") W ("w2", "70,24") GEMM ("z", "n", "w2") OUT ("z.y"),
    FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear z\n"
    "statistic-partials n_ss\nfinish-in-consumer n_rstd\n",
    "(n_rstd * (h * gamma)) @ w2", "n_rstd * ((h * gamma) @ w2)" },
  { "attn_out_to_mlp",
    X (BF16) "r input dtype=bf16 shape=T,40\n" W ("wo", "40,40") GEMM ("o", "x", "wo") GAMMA
    "h add < a=o.y b=r.y\n" NORM ("n", "h.y") W ("wg", "40,24") W ("wu", "40,24")
        GEMM ("gate", "n", "wg")
            GEMM ("up", "n", "wu") "act swiglu < gate=gate.y up=up.y\n" OUT ("act.y"),
    FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear gate\n"
    "hoist-scale-linear up\nmerge-siblings gate_up\nstatistic-partials n_ss\n"
    "finish-in-consumer n_rstd\n",
    "(n_rstd * (h * gamma)) @ wu", "n_rstd * ((h * gamma) @ wu)" },
  { "given_rows", /* x is an input: its statistic is read whole */
    X (BF16) GAMMA NORM ("n", "x.y") W ("w", "40,24") GEMM ("z", "n", "w") OUT ("z.y"), FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear z\n"
    "finish-in-consumer n_rstd\n",
    "(n_rstd * (x * gamma)) @ w", "n_rstd * ((x * gamma) @ w)" },
  { "degree_two",
    X (BF16) GAMMA NORM ("n", "x.y") "act relu2 < x=n.y\n" W ("w", "40,24") GEMM ("z", "act", "w")
        OUT ("z.y"),
    FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-homogeneous act\n"
    "hoist-scale-linear z\nfinish-in-consumer n_rstd\n",
    "(n_rstd^2 * relu2(x * gamma)) @ w", "n_rstd^2 * (relu2(x * gamma) @ w)" },
  { "bias_behind", /* the scale is paid before the bias */
    X (BF16) GAMMA NORM ("n", "x.y") W ("w", "40,24")
        GEMM ("z", "n", "w") "b weight dtype=f32 shape=24\nzb bias < x=z.y b=b.y\nact gelu < "
                             "x=zb.y\n" OUT ("act.y"),
    FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear z\n"
    "finish-in-consumer n_rstd\n",
    NULL, NULL },
  { "both_sides", /* an addition carries what both sides owe */
    X (BF16) "t input dtype=bf16 shape=T,40\ns input dtype=f32 shape=T\n"
             "a scale_rows < x=x.y s=s.y\nb scale_rows < x=t.y s=s.y\nsum add < a=a.y b=b.y\n" W (
                 "w", "40,24") GEMM ("z", "sum", "w") OUT ("z.y"),
    FALSE, "hoist-scale-linear sum\nhoist-scale-linear z\n", "(s * (x + t)) @ w",
    "s * ((x + t) @ w)" },
  { "merge",
    X (BF16) "s input dtype=f32 shape=T positive=true\na scale_rows < x=x.y s=s.y\n"
             "b scale_rows degree=-1 < x=a.y s=s.y\n" OUT ("b.y"),
    FALSE, "merge-scales b\n", NULL, NULL },
  { "merge_later", /* hoisting brings two powers together */
    X (BF16) "s input dtype=f32 shape=T positive=true\na scale_rows < x=x.y s=s.y\n" W (
        "w", "40,24") GEMM ("z", "a", "w") "b scale_rows degree=2 < x=z.y s=s.y\n" OUT ("b.y"),
    FALSE, "hoist-scale-linear z\nmerge-scales b\n", "(s * x) @ w", "s * (x @ w)" },
  { "fold",
    X (BF16) GAMMA "n rms_norm gamma=one-plus eps=1e-6 < x=x.y g=gamma.y\n" W ("w", "40,24")
        GEMM ("z", "n", "w") OUT ("z.y"),
    TRUE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear z\n"
    "fold-column-scale n_weighted\nfinish-in-consumer n_rstd\n",
    NULL, NULL },
  { "fold_in_graph", /* asked for in the drawing */
    X (BF16) GAMMA NORM ("n", "x.y") "w weight dtype=bf16 shape=40,24 storage=packed\n" GEMM (
        "z", "n", "w") OUT ("z.y"),
    FALSE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear z\n"
    "fold-column-scale n_weighted\nfinish-in-consumer n_rstd\n",
    NULL, NULL },
  { "pack",
    X (BF16) GAMMA NORM ("n", "x.y") W ("wg", "40,24") W ("wu", "40,24") GEMM ("gate", "n", "wg")
        GEMM ("up", "n", "wu") "act swiglu < gate=gate.y up=up.y\n" OUT ("act.y"),
    TRUE,
    "expand-composite n\nhoist-scale-linear n_weighted\nhoist-scale-linear gate\n"
    "hoist-scale-linear up\nfold-column-scale n_weighted\npack-siblings act\n"
    "finish-in-consumer n_rstd\n",
    NULL, NULL },
  { "pack_narrow", /* 20 columns: interleaved by 1 */
    X (BF16) W ("wu", "40,20") W ("wg", "40,20") GEMM ("up", "x", "wu")
        GEMM ("gate", "x", "wg") "act swiglu < gate=gate.y up=up.y\n" OUT ("act.y"),
    TRUE, "pack-siblings act\n", NULL, NULL },
  { "siblings_three", /* the pair that meets is merged, whichever is drawn first */
    X (BF16) W ("wq", "40,24") W ("wg", "40,24") W ("wu", "40,24") GEMM ("q", "x", "wq")
        GEMM ("gate", "x", "wg") GEMM (
            "up", "x", "wu") "act multiply < a=gate.y b=up.y\nout2 output < x=q.y\n" OUT ("act.y"),
    FALSE, "merge-siblings gate_up\n", NULL, NULL },
};

static void
test_derivation (gconstpointer data)
{
  const Derivation *derivation = data;
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph = draw (derivation->drawing);
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, derivation->pack);
  g_autoptr (GString) steps = g_string_new (NULL);
  const TwStep *hoist = NULL;
  for (guint i = 0; i < result->steps->len; i++)
    {
      const TwStep *step = result->steps->pdata[i];
      g_string_append_printf (steps, "%s %s\n", step->rule, step->node);
      if (g_str_has_prefix (step->rule, "hoist"))
        hoist = step;
    }
  g_assert_cmpstr (steps->str, ==, derivation->steps);
  if (derivation->before)
    {
      g_assert_cmpstr (hoist->before, ==, derivation->before);
      g_assert_cmpstr (hoist->after, ==, derivation->after);
    }
}

/* Refusals */

typedef struct
{
  const char *name, *drawing;
  gboolean pack;
  const char *rule, *node, *words;
} Guard;

#define S "s input dtype=f32 shape=T\n"
#define SCALE "a scale_rows < x=x.y s=s.y\n"

static const Guard guards[] = {
  { "output",
    X (BF16) GAMMA NORM ("n", "x.y") W ("w", "40,24") GEMM ("z", "n", "w")
        OUT ("z.y") "out2 output < x=n.y\n",
    FALSE, "hoist-scale-linear", "n_scaled", "leaves the graph at output out2" },
  { "force",
    X (BF16) GAMMA NORM ("n", "x.y") "act silu < x=n.y\n" W ("w", "40,24") GEMM ("z", "act", "w")
        OUT ("z.y"),
    FALSE, "hoist-scale-linear", "n_scaled", "force point: act (silu)" },
  { "gate",
    X (BF16) S SCALE "act swiglu < gate=a.y up=x.y\n" W ("w", "40,24") GEMM ("z", "act", "w")
        OUT ("z.y"),
    FALSE, "hoist-scale-linear", "a", "not homogeneous in gate" },
  { "bias",
    X (BF16) S SCALE "b weight dtype=bf16 shape=40\nab bias < x=a.y b=b.y\n" W ("w", "40,24")
        GEMM ("z", "ab", "w") OUT ("z.y"),
    FALSE, "hoist-scale-linear", "a", "ab (bias) is added before s is paid" },
  { "residual",
    X (BF16) S SCALE "sum add < a=a.y b=x.y\n" W ("w", "40,24") GEMM ("z", "sum", "w") OUT ("z.y"),
    FALSE, "hoist-scale-linear", "a", "joins b to a, and b does not owe s" },
  { "statistic",
    X (BF16) S SCALE "ss row_sumsq < x=a.y\n" W ("w", "40,24") GEMM ("z", "a", "w")
        OUT ("z.y") "out2 output < x=ss.s\n",
    FALSE, "hoist-scale-linear", "a", "gathers a statistic" },
  { "right_operand",
    "x input dtype=bf16 shape=T,8\nt input dtype=bf16 shape=8,T\n" S SCALE
    "z gemm < a=t.y b=a.y\n" OUT ("z.y"),
    FALSE, "hoist-scale-linear", "a", "operand b of product z is summed along the rows" },
  { "positive",
    X (BF16) S SCALE "act relu < x=a.y\n" W ("w", "40,24") GEMM ("z", "act", "w") OUT ("z.y"),
    FALSE, "hoist-scale-homogeneous", "a", "only if it is positive" },
  { "power",
    X (BF16) "s input dtype=f32 shape=T positive=true\na scale_rows degree=5 < x=x.y "
             "s=s.y\nact relu2 < x=a.y\n" W ("w", "40,24") GEMM ("z", "act", "w") OUT ("z.y"),
    FALSE, "hoist-scale-homogeneous", "a", "s^10, a power that scale_rows does not take" },
  { "f16",
    X ("f16") GAMMA NORM ("n", "x.y") "w weight dtype=f16 shape=40,24\n" GEMM ("z", "n", "w")
        OUT ("z.y"),
    FALSE, "hoist-scale-linear", "n_scaled", "no bound is known" },
  { "f16_bound",
    X ("f16") GAMMA "n rms_norm gamma=plain eps=1e-6 max-rms=20000 < x=x.y "
                    "g=gamma.y\nw weight dtype=f16 shape=40,24\n" GEMM ("z", "n", "w") OUT ("z.y"),
    FALSE, "hoist-scale-linear", "n_scaled", "max-rms allows values up to 126491" },
  { "f16_power",
    X ("f16") GAMMA "n rms_norm gamma=plain eps=1e-6 max-rms=100 < x=x.y "
                    "g=gamma.y\nact relu2 < x=n.y\nw weight dtype=f16 "
                    "shape=40,24\n" GEMM ("z", "act", "w") OUT ("z.y"),
    FALSE, "hoist-scale-linear", "n_scaled", "max-rms allows values up to 400000" },
  { "negative", X (BF16) S SCALE "b scale_rows degree=-1 < x=a.y s=s.y\n" OUT ("b.y"), FALSE,
    "merge-scales", "b", "only for a scale that is not 0" },
  { "powers",
    X (BF16) "s input dtype=f32 shape=T positive=true\na scale_rows degree=5 < x=x.y "
             "s=s.y\nb scale_rows degree=6 < x=a.y s=s.y\n" OUT ("b.y"),
    FALSE, "merge-scales", "b", "does not take" },
  { "not_in_epilogue", X (BF16) GAMMA NORM ("n", "x.y") OUT ("n.y"), FALSE, "statistic-partials",
    "n_ss", "x is not made in a product's epilogue (it is given)" },
  { "statistic_leaves",
    X (BF16) W ("w", "40,24")
        GEMM ("z", "x", "w") "ss row_sumsq < x=z.y\n" OUT ("z.y") "out2 output < x=ss.s\n",
    FALSE, "statistic-partials", "ss", "read by out2, which expects whole rows" },
  { "finish_leaves",
    X (BF16) "ss row_sumsq < x=x.y\nr finish count=40 eps=1e-6 < s=ss.s\n" OUT ("r.r"), FALSE,
    "finish-in-consumer", "r", "leaves the graph at output out" },
  { "weights_differ",
    X (BF16) W ("w1", "40,24") W ("w2", "40,32") GEMM ("p", "x", "w1") GEMM ("q", "x", "w2")
        OUT ("p.y") "out2 output < x=q.y\n",
    FALSE, "merge-siblings", "q", "their weights differ: bf16[40, 24]" },
  { "left_over",
    X (BF16) W ("w1", "40,24") W ("w2", "40,24") W ("w3", "40,24") GEMM ("p", "x", "w1")
        GEMM ("q", "x", "w2") GEMM ("r", "x", "w3")
            OUT ("p.y") "out2 output < x=q.y\nout3 output < x=r.y\n",
    FALSE, "merge-siblings", "r", "3 products" },
  { "waits",
    X (BF16) W ("w1", "40,24") W ("w2", "40,24") GEMM ("p", "x", "w1")
        GEMM ("q", "x", "w2") "ss row_sumsq < x=p.y\nr finish count=24 eps=1e-6 < s=ss.s\n"
                              "a scale_rows < x=q.y s=r.r\n" OUT ("a.y") "out2 output < x=p.y\n",
    FALSE, "merge-siblings", "q", "r is known only when one of the two has ended" },
  { "fold_trainable",
    X (BF16) GAMMA NORM ("n", "x.y") "w weight dtype=bf16 shape=40,24 "
                                     "mode=trainable\n" GEMM ("z", "n", "w") OUT ("z.y"),
    TRUE, "fold-column-scale", "n_weighted", "weight w is trainable" },
  { "fold_trainable_gamma",
    X (BF16) "gamma weight dtype=bf16 shape=40 mode=trainable\n" NORM ("n", "x.y") W ("w", "40,24")
        GEMM ("z", "n", "w") OUT ("z.y"),
    TRUE, "fold-column-scale", "n_weighted", "weight gamma is trainable" },
  { "fold_given",
    X (BF16) "gamma input dtype=bf16 shape=40\n" NORM ("n", "x.y") W ("w", "40,24")
        GEMM ("z", "n", "w") OUT ("z.y"),
    TRUE, "fold-column-scale", "n_weighted", "gamma is no weight" },
  { "fold_columns",
    X (BF16) GAMMA NORM ("n", "x.y") "w weight dtype=bf16 shape=40,24 "
                                     "order=column\n" GEMM ("z", "n", "w") OUT ("z.y"),
    TRUE, "fold-column-scale", "n_weighted", "stored by columns" },
  { "fold_other_reader",
    X (BF16) GAMMA NORM ("n", "x.y") W ("w", "40,24") GEMM ("z", "n", "w")
        OUT ("z.y") "out2 output < x=n.y\n",
    TRUE, "fold-column-scale", "n_weighted", "has no weight whose rows" },
  { "fold_shared_gamma",
    X (BF16) GAMMA NORM ("n", "x.y") W ("w", "40,24") GEMM ("z", "n", "w")
        OUT ("z.y") "b bias < x=x.y b=gamma.y\nout2 output < x=b.y\n",
    TRUE, "fold-column-scale", "n_weighted", "gamma is also read by b" },
  { "pack_trainable",
    X (BF16) "wg weight dtype=bf16 shape=40,24 mode=trainable\n" W ("wu", "40,24")
        GEMM ("gate", "x", "wg")
            GEMM ("up", "x", "wu") "act swiglu < gate=gate.y up=up.y\n" OUT ("act.y"),
    TRUE, "pack-siblings", "gate", "weight wg is trainable" },
  { "pack_no_pairs",
    X (BF16) W ("w1", "40,24") W ("w2", "40,24") GEMM ("p", "x", "w1")
        GEMM ("q", "x", "w2") "y add < a=p.y b=q.y\n" OUT ("y.y"),
    TRUE, "pack-siblings", "p", "y (add) takes no pairs" },
  { "pack_read_twice",
    X (BF16) W ("wg", "40,24") W ("wu", "40,24") GEMM ("gate", "x", "wg")
        GEMM ("up", "x",
              "wu") "act swiglu < gate=gate.y up=up.y\n" OUT ("act.y") "out2 output < x=up.y\n",
    TRUE, "pack-siblings", "gate", "not read by one block alone" },
  { "pack_scales",
    X (BF16) S "t input dtype=f32 shape=T\n" W ("wg", "40,24") W ("wu", "40,24")
        GEMM ("p", "x", "wg")
            GEMM ("q", "x", "wu") "a scale_rows < x=p.y s=s.y\nb scale_rows < x=q.y s=t.y\n"
                                  "act swiglu < gate=a.y up=b.y\n" OUT ("act.y"),
    TRUE, "pack-siblings", "p", "do not owe the same scale" },
};

static void
test_guard (gconstpointer data)
{
  const Guard *guard = data;
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph = draw (guard->drawing);
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, guard->pack);
  int found = 0;
  for (guint i = 0; i < result->refusals->len; i++)
    {
      const TwRefusal *refusal = result->refusals->pdata[i];
      found += strcmp (refusal->rule, guard->rule) == 0 && strcmp (refusal->node, guard->node) == 0
               && strstr (refusal->reason, guard->words) != NULL;
    }
  g_assert_cmpint (found, ==, 1);
  /* What was refused did not happen. */
  for (guint i = 0; i < result->steps->len; i++)
    {
      const TwStep *step = result->steps->pdata[i];
      if (g_str_has_prefix (guard->rule, "hoist"))
        g_assert_false (g_str_has_prefix (step->rule, "hoist"));
      else
        g_assert_false (strcmp (step->rule, guard->rule) == 0
                        && strcmp (step->node, guard->node) == 0);
    }
}

/* Promises that let a guard pass */

static void
test_promises (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  static const char *const drawings[] = {
    X ("f16") GAMMA "n rms_norm gamma=plain eps=1e-6 max-rms=1000 < x=x.y g=gamma.y\n"
                    "w weight dtype=f16 shape=40,24\n" GEMM ("z", "n", "w") OUT ("z.y"),
    X (BF16) "s input dtype=f32 shape=T positive=true\n" SCALE "act relu < x=a.y\n" W ("w", "40,24")
        GEMM ("z", "act", "w") OUT ("z.y"),
  };
  for (gsize i = 0; i < G_N_ELEMENTS (drawings); i++)
    {
      g_autoptr (TwGraph) graph = draw (drawings[i]);
      g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, FALSE);
      gboolean hoisted = FALSE;
      for (guint s = 0; s < result->steps->len; s++)
        {
          const TwStep *step = result->steps->pdata[s];
          hoisted |= g_str_has_prefix (step->rule, "hoist") && strcmp (step->node, "z") == 0;
        }
      g_assert_true (hoisted);
    }
}

static void
assert_owed (const TwGraph *graph, const char *node, const char *port, const char *scale,
             int degree)
{
  const TwLink *link = tw_graph_get_link_to (graph, node, port);
  g_assert_nonnull (link);
  g_assert_cmpint (link->n_owed, ==, degree ? 1 : 0);
  if (degree)
    {
      g_assert_cmpstr (link->owed[0].node, ==, scale);
      g_assert_cmpint (link->owed[0].degree, ==, degree);
    }
}

/* Links on the way of a scale owe it, with its power; others do not. */
static void
test_owed (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph = draw (X (BF16) GAMMA NORM ("n", "x.y") "act relu2 < x=n.y\n" W (
      "w", "40,24") GEMM ("z", "act", "w") OUT ("z.y"));
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, FALSE);
  const TwGraph *after = result->graph;
  assert_owed (after, "n_weighted", "x", "n_rstd", 1);
  assert_owed (after, "act", "x", "n_rstd", 1);
  assert_owed (after, "z", "a", "n_rstd", 2);
  assert_owed (after, "n_scaled", "x", "n_rstd", 2);
  assert_owed (after, "out", "x", NULL, 0);
  assert_owed (after, "n_ss", "x", NULL, 0);
  g_assert_cmpstr (tw_graph_get_link_to (after, "n_scaled", "x")->from_node, ==, "z");
  g_assert_cmpstr (tw_graph_get_node (after, "n_scaled")->origin, ==, "n");
}

/* Two scales that pass the same product both end behind it, and merged siblings keep what they owe.
 */
static void
test_two_scales (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph
      = draw (X (BF16) S "t input dtype=f32 shape=T\n" SCALE
                         "b scale_rows < x=a.y s=t.y\n" W ("w1", "40,24") W ("w2", "40,24")
                             GEMM ("p", "b", "w1")
                                 GEMM ("q", "b", "w2") "y add < a=p.y b=q.y\n" OUT ("y.y"));
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, FALSE);
  const TwLink *link = tw_graph_get_link_to (result->graph, "p_q", "a");
  g_assert_cmpstr (link->from_node, ==, "x");
  g_assert_cmpint (link->n_owed, ==, 2);
  int scales = 0;
  for (int i = 0; i < tw_graph_get_n_nodes (result->graph); i++)
    scales += strcmp (tw_graph_get_nth_node (result->graph, i)->block, "scale_rows") == 0;
  g_assert_cmpint (scales, ==, 4);
}

static void
test_no_fuse (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph = draw (derivations[1].drawing);
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, FALSE, FALSE);
  g_assert_cmpint (result->steps->len, ==, 1);
  g_assert_cmpint (result->refusals->len, ==, 0);
  g_assert_null (tw_graph_get_node (result->graph, "n"));
}

static void
test_eps (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (TwGraph) graph
      = draw (X (BF16) GAMMA "n rms_norm gamma=plain eps=1e-13 < x=x.y g=gamma.y\n" OUT ("n.y"));
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, FALSE);
  g_assert_cmpint (result->diagnostics->len, ==, 1);
  const TwDiagnostic *diagnostic = result->diagnostics->pdata[0];
  g_assert_cmpstr (diagnostic->code, ==, "eps-small");
  g_assert_cmpstr (diagnostic->node, ==, "n");
  g_assert_cmpint (diagnostic->severity, ==, TW_SEVERITY_WARNING);
}

/* A demand travels with the link it was made on. */
static void
test_demand (void)
{
  g_autoptr (TwCatalog) catalog = open_catalog ();
  g_autoptr (GError) error = NULL;
  g_autoptr (TwGraph) drawn = draw (derivations[4].drawing);
  g_autofree char *xml = tw_graph_to_xml (drawn);
  g_auto (GStrv) parts = g_strsplit (xml, "from=\"z.y\" to=\"zb.x\"", 2);
  g_autofree char *demanding
      = g_strdup_printf ("%sfrom=\"z.y\" to=\"zb.x\" fuse=\"required\"%s", parts[0], parts[1]);
  g_autoptr (TwGraph) graph = tw_graph_parse (demanding, strlen (demanding), &error);
  g_assert_no_error (error);
  g_autoptr (TwRewrite) result = rewrite (graph, catalog, TRUE, FALSE);
  const TwLink *link = tw_graph_get_link_to (result->graph, "zb", "x");
  g_assert_cmpstr (link->from_node, ==, "n_scaled");
  g_assert_true (link->fuse_required);
}

/* The rules' table in docs/design/rewriting.md has the rules there are. */
static void
test_document (void)
{
  g_autofree char *text = NULL;
  g_autofree char *path = g_build_filename (TW_SOURCE_ROOT, "docs", "design", "rewriting.md", NULL);
  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  const char *const *rules = tw_rewrite_rules ();
  guint listed = 0;
  for (int i = 0; lines[i]; i++)
    if (g_str_has_prefix (lines[i], "| `"))
      {
        g_auto (GStrv) parts = g_strsplit (lines[i], "`", 3);
        g_assert_true (g_strv_contains (rules, parts[1]));
        listed++;
      }
  g_assert_cmpint (listed, ==, g_strv_length ((char **)rules));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS (derivations); i++)
    {
      g_autofree char *path = g_strdup_printf ("/rewrite/derivation/%s", derivations[i].name);
      g_test_add_data_func (path, &derivations[i], test_derivation);
    }
  for (gsize i = 0; i < G_N_ELEMENTS (guards); i++)
    {
      g_autofree char *path = g_strdup_printf ("/rewrite/guard/%s", guards[i].name);
      g_test_add_data_func (path, &guards[i], test_guard);
    }
  g_test_add_func ("/rewrite/promises", test_promises);
  g_test_add_func ("/rewrite/owed", test_owed);
  g_test_add_func ("/rewrite/two_scales", test_two_scales);
  g_test_add_func ("/rewrite/no_fuse", test_no_fuse);
  g_test_add_func ("/rewrite/eps", test_eps);
  g_test_add_func ("/rewrite/demand", test_demand);
  g_test_add_func ("/rewrite/document", test_document);
  return g_test_run ();
}
