/* What graphs compute: against loops written here, exact and rounded. */
#include "composer/evaluate.h"

#include <math.h>
#include <string.h>

typedef struct
{
  TwCatalog *catalog;
  TwGraph *graph;
  TwTyping *typing;
  GHashTable *inputs;
  GRand *rand;
} Case;

static void
open_case (Case *c, const char *dims, const char *body)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *xml
      = g_strdup_printf ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graph format=\"1\" "
                         "name=\"g\">\n%s%s</graph>\n",
                         dims, body);
  c->catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  c->graph = tw_graph_parse (xml, strlen (xml), &error);
  g_assert_no_error (error);
  c->typing = tw_check (c->graph, c->catalog, NULL);
  for (guint i = 0; i < tw_typing_get_diagnostics (c->typing)->len; i++)
    {
      const TwDiagnostic *diagnostic = tw_typing_get_diagnostics (c->typing)->pdata[i];
      g_test_message ("%s: %s", diagnostic->node, diagnostic->message);
    }
  c->inputs
      = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify)tw_tensor_free);
  c->rand = g_rand_new_with_seed (5);
}

static void
close_case (Case *c)
{
  g_hash_table_unref (c->inputs);
  tw_typing_free (c->typing);
  tw_graph_free (c->graph);
  tw_catalog_unref (c->catalog);
  g_rand_free (c->rand);
}

/* Fills an input; borrowed. */
static TwTensor *
give (Case *c, const char *id, int n_dims, gint64 a, gint64 b)
{
  gint64 dims[] = { a, b };
  TwTensor *tensor = tw_tensor_new (n_dims, dims);
  for (gint64 i = 0; i < tw_tensor_get_size (tensor); i++)
    tensor->data[i] = g_rand_double_range (c->rand, -2, 2);
  g_hash_table_insert (c->inputs, g_strdup (id), tensor);
  return tensor;
}

static GHashTable *
run (Case *c, GHashTable *dims, TwEvaluateMode mode)
{
  g_autoptr (GError) error = NULL;
  GHashTable *values = tw_evaluate (c->graph, c->catalog, c->typing, c->inputs, dims, mode, &error);
  g_assert_no_error (error);
  return values;
}

static const TwTensor *
get (GHashTable *values, const char *key)
{
  const TwTensor *tensor = g_hash_table_lookup (values, key);
  if (!tensor)
    g_error ("no value of %s", key);
  return tensor;
}

#define DIM(name, kind, value)                                                                     \
  "<dimension name=\"" name "\" kind=\"" kind "\" value=\"" value "\"/>\n"
#define ROWS(value)                                                                                \
  "<dimension name=\"T\" kind=\"dynamic\" value=\"" value "\" min=\"0\" "                          \
  "max=\"1000000000000\"/>\n"
#define INPUT(id, dtype, shape)                                                                    \
  "<node id=\"" id "\" block=\"input\"><param name=\"dtype\" value=\"" dtype                       \
  "\"/><param name=\"shape\" value=\"" shape "\"/></node>\n"
#define NODE(id, block, params) "<node id=\"" id "\" block=\"" block "\">" params "</node>\n"
#define PARAM(name, value) "<param name=\"" name "\" value=\"" value "\"/>"
#define LINK(from, to) "<link from=\"" from "\" to=\"" to "\"/>\n"

static const char norm_dims[] = ROWS ("3") DIM ("D", "fixed", "8") DIM ("H", "fixed", "16");
static const char norm_body[] = INPUT ("x", "bf16", "T, D") INPUT ("w", "bf16", "D, H")
    INPUT ("g", "bf16", "H") NODE ("h", "gemm", "")
        NODE ("n", "rms_norm", PARAM ("gamma", "one-plus") PARAM ("eps", "0.01"))
            NODE ("out", "output", "") LINK ("x.y", "h.a") LINK ("w.y", "h.b") LINK ("h.y", "n.x")
                LINK ("g.y", "n.g") LINK ("n.y", "out.x");

static double
store (double x, gboolean rounded)
{
  return rounded ? tw_dtype_round (TW_DTYPE_BF16, x) : x;
}

static void
check_norm (gboolean rounded)
{
  Case c;
  open_case (&c, norm_dims, norm_body);
  const TwTensor *x = give (&c, "x", 2, 3, 8), *w = give (&c, "w", 2, 8, 16);
  const TwTensor *g = give (&c, "g", 1, 16, 0);
  g_autoptr (GHashTable) values = run (&c, NULL, rounded ? TW_EVALUATE_ROUNDED : TW_EVALUATE_EXACT);
  const TwTensor *h = get (values, "h.y"), *n = get (values, "n.y"), *out = get (values, "out.x");
  g_assert_cmpint (out->dims[0], ==, 3);
  g_assert_cmpint (out->dims[1], ==, 16);
  for (int m = 0; m < 3; m++)
    {
      double row[16], square = 0;
      for (int j = 0; j < 16; j++)
        {
          double dot = 0;
          for (int k = 0; k < 8; k++)
            dot += store (x->data[m * 8 + k], rounded) * store (w->data[k * 16 + j], rounded);
          row[j] = store (dot, rounded);
          square += row[j] * row[j];
          g_assert_cmpfloat (h->data[m * 16 + j], ==, row[j]);
        }
      for (int j = 0; j < 16; j++)
        {
          /* Inside the norm nothing is rounded. */
          double y
              = row[j] * (1.0 / sqrt (square / 16 + 0.01)) * (1.0 + store (g->data[j], rounded));
          g_assert_cmpfloat (fabs (n->data[m * 16 + j] - store (y, rounded)), <=,
                             rounded ? 0.0 : 1e-14 * fabs (y));
          g_assert_cmpfloat (out->data[m * 16 + j], ==, n->data[m * 16 + j]);
        }
    }
  close_case (&c);
}

static void
test_exact (void)
{
  check_norm (FALSE);
}

static void
test_rounded (void)
{
  check_norm (TRUE);
}

/* Drawn statistics: partials of 64 columns, ragged, folded by finish; f32 edges are rounded. */
static void
test_statistic (void)
{
  Case c;
  open_case (&c, ROWS ("2") DIM ("H", "fixed", "100"),
             INPUT ("x", "bf16", "T, H") NODE ("s", "row_sumsq", PARAM ("group", "64"))
                 NODE ("r", "finish", PARAM ("count", "H") PARAM ("eps", "1e-6"))
                     NODE ("y", "scale_rows", "") NODE ("out", "output", "") LINK ("x.y", "s.x")
                         LINK ("s.s", "r.s") LINK ("x.y", "y.x") LINK ("r.r", "y.s")
                             LINK ("y.y", "out.x"));
  const TwTensor *x = give (&c, "x", 2, 2, 100);
  g_autoptr (GHashTable) exact = run (&c, NULL, TW_EVALUATE_EXACT);
  g_autoptr (GHashTable) rounded = run (&c, NULL, TW_EVALUATE_ROUNDED);
  const TwTensor *s = get (exact, "s.s"), *low = get (rounded, "s.s");
  g_assert_cmpint (s->dims[1], ==, 2);
  for (int m = 0; m < 2; m++)
    {
      double total = 0;
      for (int p = 0; p < 2; p++)
        {
          double sum = 0, low_sum = 0;
          for (int j = p * 64; j < MIN (100, p * 64 + 64); j++)
            {
              sum += x->data[m * 100 + j] * x->data[m * 100 + j];
              low_sum += pow (store (x->data[m * 100 + j], TRUE), 2.0);
            }
          g_assert_cmpfloat (s->data[m * 2 + p], ==, sum);
          g_assert_cmpfloat (low->data[m * 2 + p], ==, (float)low_sum);
          total += sum;
        }
      g_assert_cmpfloat (get (exact, "r.r")->data[m], ==, 1.0 / sqrt (total / 100 + 1e-6));
    }
  close_case (&c);
}

/* The same values as two tensors and interleaved. */
static void
test_packed (void)
{
  static const char *const partner[] = { "interleaved-1", "interleaved-8" };
  static const int groups[] = { 1, 8 };
  for (int v = 0; v < 2; v++)
    {
      Case c;
      g_autofree char *body = g_strdup_printf (
          INPUT ("gate", "f32", "T, H") INPUT ("up", "f32", "T, H") NODE ("pair", "input",
                    PARAM ("dtype", "f32") PARAM ("shape", "T, 2*H") PARAM ("partner", "%s"))
              NODE ("a", "swiglu", "") NODE ("b", "swiglu", PARAM ("partner", "%s"))
                  NODE ("o", "output", "") NODE ("q", "output", "") LINK ("gate.y", "a.gate")
                      LINK ("up.y", "a.up") LINK ("pair.y", "b.pair") LINK ("a.y", "o.x")
                          LINK ("b.y", "q.x"),
          partner[v], partner[v]);
      open_case (&c, ROWS ("3") DIM ("H", "fixed", "16"), body);
      const TwTensor *gate = give (&c, "gate", 2, 3, 16), *up = give (&c, "up", 2, 3, 16);
      TwTensor *pair = give (&c, "pair", 2, 3, 32);
      for (int m = 0; m < 3; m++)
        for (int n = 0; n < 16; n++)
          {
            int at = n / groups[v] * 2 * groups[v] + n % groups[v];
            pair->data[m * 32 + at] = gate->data[m * 16 + n];
            pair->data[m * 32 + at + groups[v]] = up->data[m * 16 + n];
          }
      g_autoptr (GHashTable) values = run (&c, NULL, TW_EVALUATE_EXACT);
      const TwTensor *a = get (values, "o.x"), *b = get (values, "q.x");
      for (int i = 0; i < 48; i++)
        {
          double g = gate->data[i];
          g_assert_cmpfloat (b->data[i], ==, g * (1.0 / (1.0 + exp (-g))) * up->data[i]);
          g_assert_cmpfloat (a->data[i], ==, b->data[i]);
        }
      close_case (&c);
    }
}

static void
assert_fails (Case *c, GHashTable *dims, int code)
{
  g_autoptr (GError) error = NULL;
  g_assert_null (
      tw_evaluate (c->graph, c->catalog, c->typing, c->inputs, dims, TW_EVALUATE_EXACT, &error));
  g_assert_error (error, TW_EVALUATE_ERROR, code);
}

static void
test_dims (void)
{
  Case c;
  gint64 rows = 5, columns = 24, huge = G_GINT64_CONSTANT (1) << 40, negative = -1, none = 0;
  open_case (&c, norm_dims, norm_body);
  give (&c, "x", 2, 5, 8);
  give (&c, "w", 2, 8, 24);
  give (&c, "g", 1, 24, 0);
  g_autoptr (GHashTable) dims = g_hash_table_new (g_str_hash, g_str_equal);
  g_hash_table_insert (dims, (gpointer) "T", &rows);
  assert_fails (&c, dims, TW_EVALUATE_ERROR_INPUT);
  g_hash_table_insert (dims, (gpointer) "H", &columns);
  g_autoptr (GHashTable) values = run (&c, dims, TW_EVALUATE_EXACT);
  g_assert_cmpint (get (values, "out.x")->dims[1], ==, 24);
  g_assert_cmpint (get (values, "n.y")->dims[0], ==, 5);
  g_hash_table_insert (dims, (gpointer) "T", &huge);
  assert_fails (&c, dims, TW_EVALUATE_ERROR_SIZE);
  g_hash_table_insert (dims, (gpointer) "T", &negative);
  assert_fails (&c, dims, TW_EVALUATE_ERROR_SIZE);
  g_hash_table_insert (dims, (gpointer) "T", &none);
  give (&c, "x", 2, 0, 8);
  g_autoptr (GHashTable) empty = run (&c, dims, TW_EVALUATE_ROUNDED);
  g_assert_cmpint (tw_tensor_get_size (get (empty, "out.x")), ==, 0);
  g_hash_table_remove (c.inputs, "g");
  assert_fails (&c, dims, TW_EVALUATE_ERROR_INPUT);
  close_case (&c);
}

static void
test_bad_graphs (void)
{
  Case c;
  open_case (&c, norm_dims,
             NODE ("a", "add", "") NODE ("b", "add", "") LINK ("a.y", "b.a") LINK ("b.y", "a.a")
                 LINK ("b.y", "a.b") LINK ("a.y", "b.b"));
  assert_fails (&c, NULL, TW_EVALUATE_ERROR_INPUT);
  close_case (&c);
  open_case (&c, norm_dims, INPUT ("x", "bf16", "T, D") NODE ("h", "gemm", "") LINK ("x.y", "h.a"));
  give (&c, "x", 2, 3, 8);
  assert_fails (&c, NULL, TW_EVALUATE_ERROR_INPUT);
  close_case (&c);
  open_case (&c, norm_dims, NODE ("h", "no_such_block", ""));
  assert_fails (&c, NULL, TW_EVALUATE_ERROR_INPUT);
  close_case (&c);
}

static void
test_tensor (void)
{
  gint64 huge[] = { 1 << 20, 1 << 20, 1 << 30 }, empty[] = { 0, G_MAXINT64, G_MAXINT64 };
  gint64 negative[] = { -1 };
  g_assert_null (tw_tensor_new (3, huge));
  g_assert_null (tw_tensor_new (1, negative));
  TwTensor *tensor = tw_tensor_new (3, empty);
  g_assert_cmpint (tw_tensor_get_size (tensor), ==, 0);
  tw_tensor_free (tensor);
  tensor = tw_tensor_new (0, NULL);
  g_assert_cmpint (tw_tensor_get_size (tensor), ==, 1);
  tw_tensor_free (tensor);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/evaluate/exact", test_exact);
  g_test_add_func ("/evaluate/rounded", test_rounded);
  g_test_add_func ("/evaluate/statistic", test_statistic);
  g_test_add_func ("/evaluate/packed", test_packed);
  g_test_add_func ("/evaluate/dims", test_dims);
  g_test_add_func ("/evaluate/bad-graphs", test_bad_graphs);
  g_test_add_func ("/evaluate/tensor", test_tensor);
  return g_test_run ();
}
