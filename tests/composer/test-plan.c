/* Plans that are known, and what holds for the plan of any graph: random ones, as many as fit a
 * quick suite, each fused, packed and a kernel a node. */
#include "composer/report.h"
#include "drawing.h"
#include "plan-properties.h"
#include "tests/fuzz/fuzz-graphs.h"

#include <string.h>

#define RANDOM_GRAPHS 200

static TwPlan *
make_plan (const TwGraph *graph, const TwCatalog *catalog, gboolean fuse)
{
  TwPlanOptions options = { .fuse = fuse };
  drawing_assert_good (graph, catalog);
  TwPlan *plan = tw_plan (graph, catalog, &options);
  g_autofree char *fault = plan_find_fault (plan, catalog, fuse);
  g_assert_cmpstr (fault, ==, NULL);
  return plan;
}

/* "k1_gemm: h | x w | out", a kernel a line. */
static char *
print_plan (const TwPlan *plan)
{
  GString *out = g_string_new (NULL);
  for (guint k = 0; k < plan->kernels->len; k++)
    {
      const TwKernel *kernel = plan->kernels->pdata[k];
      g_string_append_printf (out, "%s%s:", kernel->name, kernel->prepare ? " once" : "");
      for (guint i = 0; i < kernel->nodes->len; i++)
        g_string_append_printf (out, " %s", (char *)kernel->nodes->pdata[i]);
      g_string_append (out, " |");
      for (guint i = 0; i < kernel->reads->len; i++)
        {
          const TwBuffer *buffer = plan->buffers->pdata[g_array_index (kernel->reads, int, i)];
          g_string_append_printf (out, " %s", buffer->name);
        }
      g_string_append (out, " |");
      for (guint i = 0; i < kernel->stores->len; i++)
        {
          int buffer = g_array_index (kernel->stores, TwStore, i).buffer;
          g_string_append_printf (out, " %s", ((TwBuffer *)plan->buffers->pdata[buffer])->name);
        }
      g_string_append_c (out, '\n');
    }
  return g_string_free (out, FALSE);
}

static void
assert_plan (const TwPlan *plan, const char *wanted)
{
  g_autofree char *text = print_plan (plan);
  g_assert_cmpstr (text, ==, wanted);
}

static const TwEdge *
find_edge (const TwPlan *plan, const char *from, const char *to)
{
  for (guint i = 0; i < plan->edges->len; i++)
    {
      const TwEdge *edge = plan->edges->pdata[i];
      if (strcmp (edge->from, from) == 0 && strcmp (edge->to, to) == 0)
        return edge;
    }
  g_error ("no edge %s -> %s", from, to);
}

static void
assert_drawing (const char *drawing, gboolean fuse, const char *wanted)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (drawing);
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, fuse);
  assert_plan (plan, wanted);
}

/* ---- examples ---- */
static void
test_examples (void)
{
  static const struct
  {
    const char *name, *plan;
  } known[] = {
    { "first_steps", "k1_gemm: h biased act | x w b | out\n" },
    { "norm_between", "k1_gemm: h n_ss n_weighted | x w1 gamma | n_ss n_weighted\n"
                      "k2_gemm: n_rstd z n_scaled | n_ss n_weighted w2 | out\n" },
    { "attn_out_to_mlp",
      "k1_gemm: o h n_ss n_weighted | heads w_o x gamma | h_out n_ss n_weighted\n"
      "k2_gemm: n_rstd gate_up n_scaled n_scaled_gate act | n_ss n_weighted w_gate w_up | "
      "act_out\n" },
    { "llama_mlp",
      "k1_rows: n_ss n_weighted | x gamma | n_ss n_weighted\n"
      "k2_gemm: n_rstd gate_up n_scaled n_scaled_gate act | n_ss n_weighted w_gate w_up | act\n"
      "k3_gemm: down y | act w_down x | out\n" },
    { "biased_mlp", "k1_rows: n_ss n_weighted | x gamma | n_ss n_weighted\n"
                    "k2_gemm: n_rstd up n_scaled biased act | n_ss n_weighted w_up b_up | act\n"
                    "k3_gemm: down shifted y | act w_down b_down x | out\n" },
    { "relu2_mlp", "k1_gemm: up n_ss n_weighted act | x w_up gamma | n_ss act\n"
                   "k2_gemm: n_rstd down n_scaled biased | n_ss act w_down b | out\n" },
  };
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    {
      g_autoptr (TwGraph) graph = drawing_load_example (known[i].name);
      g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
      g_autoptr (TwPlan) apart = make_plan (graph, catalog, FALSE);
      int drawn = 0;
      g_test_message ("%s", known[i].name);
      assert_plan (plan, known[i].plan);
      g_assert_cmpint (plan->bytes, <, apart->bytes + 1);
      g_assert_cmpint (plan->unfused_bytes, ==, apart->bytes);
      for (int n = 0; n < tw_graph_get_n_nodes (graph); n++)
        {
          const TwBlock *block = tw_catalog_get (catalog, tw_graph_get_nth_node (graph, n)->block);
          drawn += block->kind != TW_KIND_SOURCE && block->kind != TW_KIND_SINK;
        }
      g_assert_cmpint (apart->kernels->len, ==, drawn);
    }
}

/* Two products, and no pass over a full-width matrix beside them. */
static void
test_two_products (void)
{
  static const char *const names[] = { "norm_between", "attn_out_to_mlp" };
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (TwGraph) graph = drawing_load_example (names[i]);
      g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
      g_assert_cmpuint (plan->kernels->len, ==, 2);
      for (guint k = 0; k < 2; k++)
        g_assert_cmpint (((TwKernel *)plan->kernels->pdata[k])->mainloop, ==, TW_MAINLOOP_GEMM);
      const TwKernel *second = plan->kernels->pdata[1];
      g_assert_true (tw_kernel_has_node (second, "n_rstd"));
      g_assert_false (tw_kernel_has_node (second, "n_ss"));
      g_assert_cmpstr (find_edge (plan, "n_ss.s", "n_rstd.s")->where, ==, "memory");
    }
}

/* ---- rules ---- */
/* An operand that a later kernel makes moves the node to that kernel. */
static void
test_latest_kernel (void)
{
  assert_drawing ("x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\n"
                  "v weight dtype=f32 shape=8,8\nh gemm < a=x.y b=w.y\n"
                  "r relu < x=h.y\nz gemm < a=r.y b=v.y\ny add < a=h.y b=z.y\n"
                  "out output < x=y.y\n",
                  TRUE, "k1_gemm: h r | x w | h r\nk2_gemm: z y | r v h | out\n");
}

/* Two products that need nothing of each other: the sum sits in one and reads the other. */
static void
test_independent (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nu input dtype=f32 shape=T,4\nw weight dtype=f32 shape=8,8\n"
      "v weight dtype=f32 shape=4,8\nh gemm < a=x.y b=w.y\ng gemm < a=u.y b=v.y\n"
      "y add < a=h.y b=g.y\nout output < x=y.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  g_assert_cmpuint (plan->kernels->len, ==, 2);
  g_assert_cmpint (plan->n_slots, ==, 1);
  int memory = 0, registers = 0;
  memory += strcmp (find_edge (plan, "h.y", "y.a")->where, "memory") == 0;
  memory += strcmp (find_edge (plan, "g.y", "y.b")->where, "memory") == 0;
  registers += strcmp (find_edge (plan, "h.y", "y.a")->where, "register") == 0;
  registers += strcmp (find_edge (plan, "g.y", "y.b")->where, "register") == 0;
  g_assert_cmpint (memory, ==, 1);
  g_assert_cmpint (registers, ==, 1);
}

/* What reads the same stored matrix is one pass over it. */
static void
test_shared_rows (void)
{
  assert_drawing ("x input dtype=f32 shape=T,8\na relu < x=x.y\nb silu < x=x.y\n"
                  "s row_sumsq < x=x.y\na_out output < x=a.y\nb_out output < x=b.y\n"
                  "s_out output < x=s.s\n",
                  TRUE, "k1_rows: a b s | x | a_out b_out s_out\n");
}

/* A finish that the caller wants and that readers behind a product need. */
static void
test_finish_wanted (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\nh gemm < a=x.y b=w.y\n"
      "s row_sumsq group=64 < x=h.y\nr finish count=8 eps=1e-6 < s=s.s\ny scale_rows < x=h.y "
      "s=r.r\n"
      "r_out output < x=r.r\nout output < x=y.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  int finishes = 0;
  for (guint i = 0; i < plan->kernels->len; i++)
    finishes += ((TwKernel *)plan->kernels->pdata[i])->mainloop == TW_MAINLOOP_FINISH;
  g_assert_cmpint (finishes, ==, 1);
  assert_plan (plan, "k1_gemm: h s | x w | h s\nk2_finish: r | s | r_out\n"
                     "k3_rows: y | h r_out | out\n");
}

/* A finish that two kernels compute, one of them the kernel that has the statistic. */
static void
test_finish_twice (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,4\nh gemm < a=x.y b=w.y\n"
      "s row_sumsq < x=x.y\nr finish count=8 eps=1e-6 < s=s.s\n"
      "n scale_rows < x=x.y s=r.r\nz scale_rows < x=h.y s=r.r\n"
      "n_out output < x=n.y\nz_out output < x=z.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  assert_plan (plan, "k1_rows: s r n | x | s n_out\nk2_gemm: r h z | s x w | z_out\n");
  g_assert_cmpstr (find_edge (plan, "s.s", "r.s")->where, ==, "memory");
  g_assert_cmpstr (find_edge (plan, "r.r", "n.s")->where, ==, "register");
  g_assert_cmpstr (find_edge (plan, "r.r", "z.s")->where, ==, "prologue");
}

/* Weights alone: once, before any launch. */
static void
test_prepare (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\ng weight dtype=f32 shape=8\n"
      "v scale_columns < x=w.y g=g.y\nh gemm < a=x.y b=v.y\nout output < x=h.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  assert_plan (plan, "k1_rows once: v | w g | v\nk2_gemm: h | x v | out\n");
  g_assert_cmpint (plan->n_prepared_slots, ==, 1);
  g_assert_cmpint (plan->n_slots, ==, 0);
  g_assert_cmpint (plan->bytes, ==, ((TwKernel *)plan->kernels->pdata[1])->bytes);
}

/* What a launch adds to it is not computed by prepare, though it walks the same matrix. */
static void
test_prepare_apart (void)
{
  assert_drawing ("x input dtype=f32 shape=8,8\nw weight dtype=f32 shape=8,8\nv relu < x=w.y\n"
                  "y add < a=v.y b=x.y\nout output < x=y.y\n",
                  TRUE, "k1_rows once: v | w | v\nk2_rows: y | v x | out\n");
}

static void
test_several_outputs (void)
{
  assert_drawing ("x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\n"
                  "h gemm < a=x.y b=w.y\nr relu < x=h.y\none output < x=r.y\n"
                  "two output < x=r.y\nthree output < x=x.y\n",
                  TRUE, "k1_gemm: h r | x w | one two\nk2_rows: three | x | three\n");
}

/* What reaches no output is not computed. */
static void
test_dead (void)
{
  assert_drawing ("x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\n"
                  "h gemm < a=x.y b=w.y\nlost relu < x=h.y\nout output < x=h.y\n",
                  TRUE, "k1_gemm: h | x w | out\n");
}

/* A kernel a drawn node; a composite is one. */
static void
test_apart (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_load_example ("norm_between");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, FALSE);
  assert_plan (plan, "k1_gemm: h | x w1 | h\nk2_rows: n_ss n_rstd n_scaled n_weighted | h gamma | "
                     "n_weighted\nk3_gemm: z | n_weighted w2 | out\n");
  g_assert_cmpstr (find_edge (plan, "h.y", "n_ss.x")->where, ==, "memory");
  g_assert_cmpint (plan->bytes, ==, plan->unfused_bytes);
}

/* A chain of products alternates between two slots. */
static void
test_slots (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (GString) text = g_string_new ("x input dtype=f32 shape=T,8\n");
  for (int i = 0; i < 6; i++)
    g_string_append_printf (text, "w%d weight dtype=f32 shape=8,8\nh%d gemm < a=%s%d.y b=w%d.y\n",
                            i, i, "h", i - 1, i);
  g_string_append (text, "out output < x=h5.y\n");
  g_autoptr (GString) drawing = g_string_new (text->str);
  g_string_replace (drawing, "h-1.y", "x.y", 0);
  g_autoptr (TwGraph) graph = drawing_parse (drawing->str);
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  g_assert_cmpuint (plan->kernels->len, ==, 6);
  g_assert_cmpint (plan->n_slots, ==, 2);
}

/* ---- demands ---- */
static const TwDiagnostic *
find_error (const TwPlan *plan, const char *code)
{
  for (guint i = 0; i < plan->diagnostics->len; i++)
    {
      const TwDiagnostic *d = plan->diagnostics->pdata[i];
      if (strcmp (d->code, code) == 0)
        {
          g_assert_cmpint (d->severity, ==, TW_SEVERITY_ERROR);
          return d;
        }
    }
  return NULL;
}

static void
test_fuse_demand (void)
{
  static const char *const text
      = "x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\nv weight dtype=f32 shape=8,8\n"
        "h gemm < a=x.y b=w.y\nr relu < x%s=h.y\nz gemm < a%s=r.y b=v.y\nout output < x=z.y\n";
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autofree char *met = g_strdup_printf (text, "!", "");
  g_autofree char *broken = g_strdup_printf (text, "", "!");
  g_autoptr (TwGraph) met_graph = drawing_parse (met);
  g_autoptr (TwGraph) broken_graph = drawing_parse (broken);
  g_autoptr (TwPlan) good = make_plan (met_graph, catalog, TRUE);
  g_autoptr (TwPlan) bad = make_plan (broken_graph, catalog, TRUE);
  g_assert_true (find_edge (good, "h.y", "r.x")->fuse_required);
  g_assert_null (find_error (good, "fuse-demand"));
  const TwDiagnostic *error = find_error (bad, "fuse-demand");
  g_assert_nonnull (error);
  g_assert_cmpstr (error->node, ==, "z");
  g_assert_cmpstr (error->port, ==, "a");
  g_assert_nonnull (strstr (error->message, "sums over whole rows of r"));
  g_assert_cmpint (error->line, >, 0);
}

/* The demand was drawn at a composite: that is what is named, not its parts. */
static void
test_demand_of_composite (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\ng weight dtype=f32 shape=8\n"
      "h gemm < a=x.y b=w.y\nn rms_norm gamma=plain eps=1e-6 < x!=h.y g=g.y\n"
      "out output < x=n.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, FALSE);
  const TwDiagnostic *error = find_error (plan, "fuse-demand");
  g_assert_nonnull (error);
  g_assert_cmpstr (error->node, ==, "n");
  g_assert_null (error->port);
  g_assert_nonnull (strstr (error->message, "--fuse none"));
}

static void
test_max_kernels (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_load_example ("llama_mlp");
  for (int most = 0; most <= 3; most++)
    {
      TwPlanOptions options = { .fuse = TRUE, .max_kernels = most };
      g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &options);
      const TwDiagnostic *error = find_error (plan, "too-many-kernels");
      g_assert_cmpint (error != NULL, ==, most == 1 || most == 2);
      if (error == NULL)
        continue;
      g_assert_nonnull (strstr (error->found, "3: k1_rows, k2_gemm, k3_gemm"));
      g_assert_nonnull (strstr (error->message, "k1_rows"));
      g_assert_nonnull (strstr (error->message, "k2_gemm"));
    }
}

/* ---- costs ---- */
static void
test_counts (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_parse (
      "x input dtype=f32 shape=T,8\nw weight dtype=bf16 shape=8,6\nc cast dtype=bf16 < x=x.y\n"
      "h gemm < a=c.y b=w.y\nout output < x=h.y\n");
  g_autoptr (TwPlan) plan = make_plan (graph, catalog, TRUE);
  assert_plan (plan, "k1_rows: c | x | c\nk2_gemm: h | c w | out\n");
  const TwKernel *rows = plan->kernels->pdata[0], *gemm = plan->kernels->pdata[1];
  g_assert_cmpint (rows->bytes, ==, 5 * 8 * 4 + 5 * 8 * 2);
  g_assert_cmpint (gemm->bytes, ==, 5 * 8 * 2 + 8 * 6 * 2 + 5 * 6 * 2);
  g_assert_cmpint (gemm->flops, ==, 2 * 5 * 8 * 6);
}

/* ---- any graph ---- */
static void
test_random (void)
{
  static const TwPlanOptions options[]
      = { { .fuse = TRUE }, { .fuse = TRUE, .pack = TRUE }, { .fuse = FALSE } };
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  int loops[3] = { 0 }, prepares = 0, shared = 0;
  for (guint32 i = 0; i < RANDOM_GRAPHS; i++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed_array ((guint32[]){ 4, i }, 2);
      GraphFuzz fuzz = { .catalog = catalog, .rand = rand, .n_nodes = 4 + (int)(i % 24) };
      g_autoptr (TwGraph) graph = graph_fuzz_make (&fuzz, "random");
      for (guint k = 0; k < G_N_ELEMENTS (options); k++)
        {
          g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &options[k]);
          g_autoptr (TwPlan) again = tw_plan (graph, catalog, &options[k]);
          g_autofree char *fault = plan_find_fault (plan, catalog, options[k].fuse);
          g_autofree char *report = tw_report_plan (plan), *same = tw_report_plan (again);
          if (fault != NULL)
            {
              g_autofree char *xml = tw_graph_to_xml (graph);
              g_error ("graph %u, options %u: %s\n%s", i, k, fault, xml);
            }
          g_assert_cmpstr (report, ==, same);
          int scratch = 0;
          for (guint n = 0; n < plan->buffers->len; n++)
            scratch += ((TwBuffer *)plan->buffers->pdata[n])->kind == TW_BUFFER_WORKSPACE;
          shared += scratch > plan->n_slots;
          for (guint n = 0; n < plan->kernels->len; n++)
            {
              const TwKernel *kernel = plan->kernels->pdata[n];
              loops[kernel->mainloop]++;
              prepares += kernel->prepare;
            }
        }
    }
  g_test_message ("gemm %d, rows %d, finish %d, prepare %d, slots shared in %d", loops[0], loops[1],
                  loops[2], prepares, shared);
  for (int i = 0; i < 3; i++)
    g_assert_cmpint (loops[i], >, 20);
  g_assert_cmpint (prepares, >, 20);
  g_assert_cmpint (shared, >, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/examples", test_examples);
  g_test_add_func ("/plan/two-products", test_two_products);
  g_test_add_func ("/plan/latest-kernel", test_latest_kernel);
  g_test_add_func ("/plan/independent", test_independent);
  g_test_add_func ("/plan/shared-rows", test_shared_rows);
  g_test_add_func ("/plan/finish-wanted", test_finish_wanted);
  g_test_add_func ("/plan/finish-twice", test_finish_twice);
  g_test_add_func ("/plan/prepare", test_prepare);
  g_test_add_func ("/plan/prepare-apart", test_prepare_apart);
  g_test_add_func ("/plan/several-outputs", test_several_outputs);
  g_test_add_func ("/plan/dead", test_dead);
  g_test_add_func ("/plan/apart", test_apart);
  g_test_add_func ("/plan/slots", test_slots);
  g_test_add_func ("/plan/fuse-demand", test_fuse_demand);
  g_test_add_func ("/plan/demand-of-composite", test_demand_of_composite);
  g_test_add_func ("/plan/max-kernels", test_max_kernels);
  g_test_add_func ("/plan/counts", test_counts);
  g_test_add_func ("/plan/random", test_random);
  return g_test_run ();
}
