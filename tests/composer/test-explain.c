/* What a reader is told: the steps with their formulas, the kernels, and a reason for every trip
 * through memory; in lines that fit a terminal. */
#include "composer/explain.h"
#include "drawing.h"

#include <string.h>

static const char *const examples[]
    = { "first_steps", "norm_between", "attn_out_to_mlp", "llama_mlp", "biased_mlp", "relu2_mlp" };

typedef struct
{
  TwCatalog *catalog;
  TwGraph *graph;
  TwTyping *typing;
  TwPlan *plan;
  TwMachine *machine;
} Explained;

static Explained
explain (TwGraph *graph, gboolean fuse)
{
  TwPlanOptions options = { .fuse = fuse };
  Explained e = { .catalog = drawing_open_catalog (), .graph = graph };
  drawing_assert_good (graph, e.catalog);
  e.typing = tw_check (graph, e.catalog, NULL);
  e.plan = tw_plan (graph, e.catalog, &options);
  e.machine = tw_machine_load ("cpu", NULL);
  g_assert_nonnull (e.machine);
  return e;
}

static void
explained_clear (Explained *e)
{
  tw_machine_free (e->machine);
  tw_plan_free (e->plan);
  tw_typing_free (e->typing);
  tw_graph_free (e->graph);
  tw_catalog_unref (e->catalog);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Explained, explained_clear)

/* Lines broken between words become one again. */
static char *
unwrap (const char *text)
{
  g_auto (GStrv) words = g_strsplit_set (text, " \n", -1);
  GString *out = g_string_new (NULL);
  for (int i = 0; words[i] != NULL; i++)
    if (*words[i] != '\0')
      g_string_append_printf (out, "%s%s", out->len > 0 ? " " : "", words[i]);
  return g_string_free (out, FALSE);
}

static void
assert_says (const char *text, const char *wanted)
{
  g_autofree char *line = unwrap (text);
  if (strstr (line, wanted) == NULL)
    g_error ("\"%s\" is not said in:\n%s", wanted, text);
}

static void
assert_readable (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  g_assert_true (g_str_has_suffix (text, "\n"));
  g_assert_null (strstr (text, "(null)"));
  g_assert_null (strstr (text, "\n\n\n"));
  for (int i = 0; lines[i] != NULL; i++)
    {
      g_assert_cmpint (g_utf8_strlen (lines[i], -1), <=, 100);
      g_assert_false (g_str_has_suffix (lines[i], " "));
    }
}

static void
test_lines (void)
{
  for (guint i = 0; i < 2 * G_N_ELEMENTS (examples); i++)
    {
      g_auto (Explained) e = explain (drawing_load_example (examples[i / 2]), i % 2 == 0);
      g_autofree char *graph = tw_explain_graph (e.graph, e.catalog, e.typing);
      g_autofree char *steps = tw_explain_derivation (e.plan, e.catalog);
      g_autofree char *plan = tw_explain_plan (e.plan, e.catalog, e.machine);
      g_autofree char *unmodelled = tw_explain_plan (e.plan, e.catalog, NULL);
      assert_readable (graph);
      assert_readable (steps);
      assert_readable (plan);
      assert_readable (unmodelled);
      g_assert_nonnull (strstr (plan, "odelled"));
      g_assert_null (strstr (unmodelled, "odelled"));
    }
}

/* Every step, with its formulas and conditions; every refusal. */
static void
test_derivation (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_auto (Explained) e = explain (drawing_load_example (examples[i]), TRUE);
      g_autofree char *text = tw_explain_derivation (e.plan, e.catalog);
      const TwRewrite *rewrite = e.plan->rewrite;
      for (guint k = 0; k < rewrite->steps->len; k++)
        {
          const TwStep *step = rewrite->steps->pdata[k];
          g_autofree char *head = g_strdup_printf ("%u. %s at %s", k + 1, step->rule, step->node);
          g_autofree char *before = g_strdup_printf ("before %s", step->before);
          g_autofree char *after = g_strdup_printf ("after %s", step->after);
          assert_says (text, head);
          assert_says (text, before);
          assert_says (text, after);
          assert_says (text, step->proof);
          for (int c = 0; step->conditions[c] != NULL; c++)
            assert_says (text, step->conditions[c]);
        }
      for (guint k = 0; k < rewrite->refusals->len; k++)
        assert_says (text, ((TwRefusal *)rewrite->refusals->pdata[k])->reason);
    }
}

static void
test_nothing_applies (void)
{
  g_auto (Explained) e = explain (drawing_load_example ("first_steps"), TRUE);
  g_autofree char *text = tw_explain_derivation (e.plan, e.catalog);
  assert_says (text, "No rule applies: what runs is what is drawn.");
}

/* Every kernel, and every edge through memory with its reason. */
static void
test_plan (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (examples); i++)
    {
      g_auto (Explained) e = explain (drawing_load_example (examples[i]), TRUE);
      g_autofree char *text = tw_explain_plan (e.plan, e.catalog, e.machine);
      for (guint k = 0; k < e.plan->kernels->len; k++)
        {
          const TwKernel *kernel = e.plan->kernels->pdata[k];
          g_autofree char *head = g_strdup_printf ("%s: ", kernel->name);
          assert_says (text, head);
          for (guint n = 0; n < kernel->nodes->len; n++)
            assert_says (text, kernel->nodes->pdata[n]);
        }
      for (guint k = 0; k < e.plan->edges->len; k++)
        {
          const TwEdge *edge = e.plan->edges->pdata[k];
          g_autofree char *line
              = g_strdup_printf ("%s -> %s: %s", edge->from, edge->to, edge->reason);
          if (strcmp (edge->where, "memory") == 0 || strcmp (edge->where, "prologue") == 0)
            assert_says (text, line);
        }
    }
}

/* Why the norm costs no pass of its own. */
static void
test_norm_between (void)
{
  g_auto (Explained) e = explain (drawing_load_example ("norm_between"), TRUE);
  g_autofree char *graph = tw_explain_graph (e.graph, e.catalog, e.typing);
  g_autofree char *text = tw_explain_plan (e.plan, e.catalog, NULL);
  assert_says (graph, "n rms_norm (x = h, g = gamma) -> bf16[T, 1024]");
  assert_says (text, "2 kernels a launch.");
  assert_says (text, "n_ss.s -> n_rstd.s: each tile of k1_gemm sees 64 columns of a row and stores "
                     "its partial");
  assert_says (text, "n_weighted.y -> z.a: the product z sums over whole rows of n_weighted");
  assert_says (text, "n_scaled.y -> out.x: the caller wants out");
  assert_says (text, "in the prologue of k2_gemm");
}

static void
test_row_pass (void)
{
  g_auto (Explained) e = explain (drawing_load_example ("llama_mlp"), TRUE);
  g_autofree char *text = tw_explain_plan (e.plan, e.catalog, NULL);
  assert_says (text, "3 kernels a launch.");
  assert_says (text, "the product gate_up reads each row of n_weighted once for every tile of its "
                     "columns; k1_rows makes the rows once, before");
}

static void
test_prepare (void)
{
  g_auto (Explained) e
      = explain (drawing_parse ("x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\n"
                                "v relu < x=w.y\nh gemm < a=x.y b=v.y\nout output < x=h.y\n"),
                 TRUE);
  g_autofree char *text = tw_explain_plan (e.plan, e.catalog, NULL);
  assert_says (text, "1 kernel a launch, 1 once on weights.");
  assert_says (text, "v.y -> h.b: v is computed from weights once, by prepare, and kept");
}

/* The share saved is that of the bytes. */
static void
test_saved (void)
{
  g_auto (Explained) e = explain (drawing_load_example ("attn_out_to_mlp"), TRUE);
  g_auto (Explained) apart = explain (drawing_load_example ("attn_out_to_mlp"), FALSE);
  g_autofree char *text = tw_explain_plan (e.plan, e.catalog, NULL);
  g_autofree char *none = tw_explain_plan (apart.plan, apart.catalog, NULL);
  double saved
      = 100.0 * (double)(e.plan->unfused_bytes - e.plan->bytes) / (double)e.plan->unfused_bytes;
  g_autofree char *share = g_strdup_printf ("(%.0f %% saved)", saved);
  assert_says (text, share);
  g_assert_null (strstr (none, "saved"));
  assert_says (none, "--fuse none");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/explain/lines", test_lines);
  g_test_add_func ("/explain/derivation", test_derivation);
  g_test_add_func ("/explain/nothing-applies", test_nothing_applies);
  g_test_add_func ("/explain/plan", test_plan);
  g_test_add_func ("/explain/norm-between", test_norm_between);
  g_test_add_func ("/explain/row-pass", test_row_pass);
  g_test_add_func ("/explain/prepare", test_prepare);
  g_test_add_func ("/explain/saved", test_saved);
  return g_test_run ();
}
