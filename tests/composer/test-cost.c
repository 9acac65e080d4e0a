/* Machine descriptions, and the model by hand. */
#include "composer/cost.h"
#include "drawing.h"

#include <string.h>

static TwPlan *
make_plan (const char *drawing)
{
  TwPlanOptions options = { .fuse = TRUE };
  g_autoptr (TwGraph) graph = drawing_parse (drawing);
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  drawing_assert_good (graph, catalog);
  return tw_plan (graph, catalog, &options);
}

static void
test_machines (void)
{
  static const char *const names[] = { "cpu", "h200" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TwMachine) machine = tw_machine_load (names[i], &error);
      g_assert_no_error (error);
      g_assert_cmpstr (machine->name, ==, names[i]);
      g_assert_cmpuint (strlen (machine->label), >, 3);
      g_assert_cmpfloat (machine->bandwidth, >, 1e9);
      g_assert_cmpfloat (machine->flops, >, 1e9);
      g_assert_cmpfloat (machine->flops_f32, >=, 0);
      g_assert_cmpfloat (machine->launch, >=, 0);
    }
}

/* A copy measured both ways, and the larger products. */
static void
test_h200 (void)
{
  g_autoptr (TwMachine) machine = tw_machine_load ("h200", NULL);
  g_assert_nonnull (machine);
  g_assert_cmpfloat (machine->bandwidth, ==, 4.30e12);
  g_assert_cmpfloat (machine->flops, >=, 6.63e14);
  g_assert_cmpfloat (machine->flops, <=, 6.98e14);
}

static void
test_unknown (void)
{
  static const char *const names[] = { "abacus", "", "../gpu/cpu", "cpu.xml", "H200", "a b" };
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (TwMachine) machine = tw_machine_load (names[i], &error);
      g_assert_null (machine);
      g_assert_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ);
      g_assert_nonnull (strstr (error->message, "cpu, h200"));
    }
}

static const char *const product
    = "x input dtype=%s shape=T,64\nw weight dtype=%s shape=64,32\nh gemm < a=x.y b=w.y\n"
      "out output < x=h.y\n";

/* The longer of memory and arithmetic, and a launch. */
static void
test_kernel (void)
{
  g_autofree char *drawing = g_strdup_printf (product, "bf16", "bf16");
  g_autoptr (TwPlan) plan = make_plan (drawing);
  const TwKernel *kernel = plan->kernels->pdata[0];
  const double bytes = 2 * (5 * 64 + 64 * 32 + 5 * 32), flops = 2 * 5 * 64 * 32;
  g_assert_cmpint (kernel->bytes, ==, (gint64)bytes);
  g_assert_cmpint (kernel->flops, ==, (gint64)flops);
  TwMachine slow_memory = { .bandwidth = 10, .flops = 1e9, .launch = 3 };
  TwMachine slow_units = { .bandwidth = 1e9, .flops = 10, .flops_f32 = 1e9 };
  TwMachine nothing_known = { .launch = 2 };
  g_assert_cmpfloat_with_epsilon (tw_cost_kernel (kernel, plan, &slow_memory), bytes / 10 + 3,
                                  1e-9 * bytes);
  g_assert_cmpfloat_with_epsilon (tw_cost_kernel (kernel, plan, &slow_units), flops / 10,
                                  1e-9 * flops);
  g_assert_cmpfloat (tw_cost_kernel (kernel, plan, &nothing_known), ==, 2);
}

/* Products of f32 have their own rate, where it is offered. */
static void
test_f32 (void)
{
  g_autofree char *drawing = g_strdup_printf (product, "f32", "f32");
  g_autoptr (TwPlan) plan = make_plan (drawing);
  const TwKernel *kernel = plan->kernels->pdata[0];
  const double flops = 2 * 5 * 64 * 32;
  TwMachine offered = { .bandwidth = 1e12, .flops = 100, .flops_f32 = 10 };
  TwMachine refused = { .bandwidth = 1e12, .flops = 100, .flops_f32 = 0 };
  g_assert_cmpfloat_with_epsilon (tw_cost_kernel (kernel, plan, &offered), flops / 10, 1e-6);
  g_assert_cmpfloat_with_epsilon (tw_cost_kernel (kernel, plan, &refused), flops / 100, 1e-6);
}

/* A product of 16-bit operands stays one, though what its prologue reads is f32. */
static void
test_prologue (void)
{
  g_autoptr (TwCatalog) catalog = drawing_open_catalog ();
  g_autoptr (TwGraph) graph = drawing_load_example ("norm_between");
  g_autoptr (TwPlan) plan = tw_plan (graph, catalog, &(TwPlanOptions){ .fuse = TRUE });
  const TwKernel *kernel = plan->kernels->pdata[1];
  const TwBuffer *first = plan->buffers->pdata[g_array_index (kernel->reads, int, 0)];
  TwMachine machine = { .bandwidth = 1e30, .flops = 1, .flops_f32 = 1e30 };
  g_assert_cmpint (first->type->dtype, ==, TW_DTYPE_F32);
  g_assert_cmpfloat (tw_cost_kernel (kernel, plan, &machine), >=, (double)kernel->flops);
}

/* The kernels of a launch; what prepare does is not part of it. */
static void
test_plan (void)
{
  g_autoptr (TwPlan) plan
      = make_plan ("x input dtype=f32 shape=T,8\nw weight dtype=f32 shape=8,8\n"
                   "v relu < x=w.y\nh gemm < a=x.y b=v.y\nz gemm < a=h.y b=w.y\n"
                   "out output < x=z.y\n");
  TwMachine launches = { .bandwidth = 1e30, .flops = 1e30, .flops_f32 = 1e30, .launch = 1 };
  g_assert_cmpuint (plan->kernels->len, ==, 3);
  g_assert_true (((TwKernel *)plan->kernels->pdata[0])->prepare);
  g_assert_cmpfloat_with_epsilon (tw_cost_plan (plan, &launches), 2, 1e-9);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cost/machines", test_machines);
  g_test_add_func ("/cost/h200", test_h200);
  g_test_add_func ("/cost/unknown", test_unknown);
  g_test_add_func ("/cost/kernel", test_kernel);
  g_test_add_func ("/cost/f32", test_f32);
  g_test_add_func ("/cost/prologue", test_prologue);
  g_test_add_func ("/cost/plan", test_plan);
  return g_test_run ();
}
