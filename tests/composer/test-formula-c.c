/* The C that is printed from a formula, compiled and compared with the evaluator. */
#include "composer/formula.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "formula-data.h"

/* A random expression; `dims` are the indices that are bound. */
static void
random_expr (GRand *rand, GString *out, int depth, const char *dims, int locals)
{
  static const char *const unary[]
      = { "abs", "exp", "log",   "sqrt",   "rsqrt", "tanh", "sigmoid", "erf",
          "sin", "cos", "floor", "square", "relu",  "sign", "isnan",   "-" };
  static const char *const binary[] = { "+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=" };
  static const char *const calls[] = { "min", "max", "pow", "mod" };
  if (depth <= 0)
    {
      const TwFormulaOperand *operand = &inputs[g_rand_int_range (rand, 0, N_INPUTS)];
      gboolean bound = TRUE;
      for (int i = 0; i < operand->n_dims; i++)
        bound = bound && strstr (dims, operand->dims[i]);
      switch (g_rand_int_range (rand, 0, 8))
        {
        case 0:
          g_string_append_printf (out, "%.3g", g_rand_double_range (rand, 0, 10));
          return;
        case 1:
          g_string_append (out, params[g_rand_int_range (rand, 0, 3)]);
          return;
        case 2:
          g_string_append_printf (out, "size(%s)", dim_names[g_rand_int_range (rand, 0, 3)]);
          return;
        case 3:
          g_string_append_printf (out, "index(%c)",
                                  dims[g_rand_int_range (rand, 0, (int)strlen (dims))]);
          return;
        case 4:
          if (locals)
            {
              g_string_append_printf (out, "t%d", g_rand_int_range (rand, 0, locals));
              return;
            }
          break;
        case 5:
          g_string_append (out, "x[N = size(N) - 1 - index(N)]");
          return;
        default:
          break;
        }
      g_string_append (out, bound ? operand->name : "x");
      return;
    }
  int which = g_rand_int_range (rand, 0, 12);
  if (which < 6)
    {
      const char *sign
          = binary[which < 5 ? g_rand_int_range (rand, 0, 4) : g_rand_int_range (rand, 4, 10)];
      g_string_append_c (out, '(');
      random_expr (rand, out, depth - 1 - g_rand_int_range (rand, 0, 2), dims, locals);
      g_string_append (out, ")");
      g_string_append_printf (out, " %s ", sign);
      gboolean enclosed = strchr ("*/<>=!", sign[0]) || g_rand_boolean (rand);
      g_string_append (out, enclosed ? "(" : "");
      random_expr (rand, out, depth - 1 - g_rand_int_range (rand, 0, 2), dims, locals);
      g_string_append (out, enclosed ? ")" : "");
    }
  else if (which < 8)
    {
      g_string_append_printf (out, "%s(", unary[g_rand_int_range (rand, 0, 16)]);
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append_c (out, ')');
    }
  else if (which < 9)
    {
      g_string_append_printf (out, "%s(", calls[g_rand_int_range (rand, 0, 4)]);
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append (out, ", ");
      random_expr (rand, out, depth - 2, dims, locals);
      g_string_append_c (out, ')');
    }
  else if (which < 10)
    {
      g_string_append (out, "select(");
      for (int i = 0; i < 3; i++)
        {
          random_expr (rand, out, depth - 2, dims, locals);
          g_string_append (out, i < 2 ? ", " : ")");
        }
    }
  else if (which < 11)
    {
      g_string_append (out, "round_to(");
      random_expr (rand, out, depth - 1, dims, locals);
      g_string_append_printf (out, ", %d)", g_rand_int_range (rand, 0, 3));
    }
  else
    {
      static const char *const reduce[] = { "sum", "mean", "max", "min" };
      const char *dim = dim_names[g_rand_int_range (rand, 0, 3)];
      g_autofree char *inner = g_strconcat (dims, dim, NULL);
      g_string_append_printf (out, "%s(%s%s, ", reduce[g_rand_int_range (rand, 0, 4)], dim,
                              g_rand_int_range (rand, 0, 3) ? "" : ":group");
      random_expr (rand, out, depth - 1, inner, locals);
      g_string_append_c (out, ')');
    }
}

static char *
read_operand (int operand, const char *const *index, gpointer user_data)
{
  GString *text = g_string_new (NULL);
  g_string_append_printf (text, "d->data[%d]", operand);
  g_string_append_c (text, '[');
  if (!inputs[operand].n_dims)
    g_string_append_c (text, '0');
  for (int i = 0; i < inputs[operand].n_dims; i++)
    {
      g_string_append_printf (text, "%s(%s)", i ? " + " : "", index[i]);
      for (int j = i + 1; j < inputs[operand].n_dims; j++)
        g_string_append_printf (text, " * d->%c", g_ascii_tolower (*inputs[operand].dims[j]));
    }
  g_string_append_c (text, ']');
  return g_string_free (text, FALSE);
}

static char *
print_param (int param, gpointer user_data)
{
  /* The group as an integer, the degree as a literal, eps as a real. */
  return param == 1 ? g_strdup ("d->group") : param == 2 ? g_strdup ("-2") : g_strdup ("d->eps");
}

static char *
print_extent (const char *dim, gpointer user_data)
{
  return g_strdup_printf ("d->%c", g_ascii_tolower (*dim));
}

static void
check_columns (const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  for (int i = 0; lines[i]; i++)
    if (strlen (lines[i]) > 100)
      g_error ("a line of %d columns: %s", (int)strlen (lines[i]), lines[i]);
}

typedef struct
{
  gint64 m, k, n, p;
  double *data[N_INPUTS];
  double eps;
  int group;
} CData;

#define N_RANDOM 150

static void
test_c (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);
  g_autoptr (GPtrArray) formulas
      = g_ptr_array_new_with_free_func ((GDestroyNotify)tw_formula_unref);
  g_autofree char *folder = g_dir_make_tmp ("tw-formula-XXXXXX", &error);
  g_assert_no_error (error);
  g_autoptr (GString) source = g_string_new ("#include <math.h>\n#include <stdint.h>\n");
  g_string_append (source, tw_formula_get_helpers ());
  g_string_append_printf (source,
                          "typedef struct { int64_t m, k, n, p; double *data[%d]; double eps; "
                          "int group; } Data;\n",
                          N_INPUTS);
  TwFormulaC spelling = { read_operand, print_param, print_extent, FALSE };
  const char *index[] = { "m", "n" };
  while (formulas->len < N_RANDOM)
    {
      g_autoptr (GString) text = g_string_new (NULL);
      int locals = g_rand_int_range (rand, 0, 3);
      for (int i = 0; i < locals; i++)
        {
          g_string_append_printf (text, "t%d = ", i);
          random_expr (rand, text, 3, "MN", i);
          g_string_append (text, "; ");
        }
      g_string_append (text, "y = ");
      random_expr (rand, text, 5, "MN", locals);
      for (int i = 0; i < locals; i++)
        g_string_append_printf (text, " + t%d", i);
      TwFormula *formula = parse (text->str, outputs, 1, &error);
      if (error)
        g_error ("%s: %s", text->str, error->message);
      g_autofree char *c
          = tw_formula_to_c (formula, 0, index, "y[m * d->n + n]", 6, &spelling, NULL);
      check_columns (c);
      g_string_append_printf (source,
                              "void f%d (const Data *d, double *y)\n{\n"
                              "  for (int64_t m = 0; m < d->m; m++)\n"
                              "    for (int64_t n = 0; n < d->n; n++)\n%s}\n",
                              (int)formulas->len, c);
      g_ptr_array_add (formulas, formula);
    }
  g_autofree char *c_path = g_build_filename (folder, "f.c", NULL);
  g_autofree char *so_path = g_build_filename (folder, "f.so", NULL);
  g_assert_true (g_file_set_contents (c_path, source->str, -1, &error));
  /* The compiler may neither contract nor fold a function that the evaluator calls. */
  const char *argv[] = { "cc",
                         "-std=gnu17",
                         "-O1",
                         "-ffp-contract=off",
                         "-fno-builtin",
                         "-Wall",
                         "-Wno-unused-function",
                         "-Wno-tautological-compare",
                         "-Werror",
                         "-shared",
                         "-fPIC",
                         "-o",
                         so_path,
                         c_path,
                         "-lm",
                         NULL };
  int status = 0;
  g_assert_true (g_spawn_sync (NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL,
                               NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
  void *library = dlopen (so_path, RTLD_NOW);
  g_assert_nonnull (library);
  static const gint64 sizes[][3] = { { 3, 4, 5 }, { 1, 1, 1 }, { 2, 3, 300 } };
  int different = 0, finite = 0;
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      Data data = { sizes[s][0], sizes[s][1], sizes[s][2], 2, { NULL }, { 0.5, 2, -2 } };
      fill (&data, rand);
      CData c_data = { data.m, data.k, data.n, data.p, { NULL }, 0.5, 2 };
      memcpy (c_data.data, data.data, sizeof data.data);
      for (guint i = 0; i < formulas->len; i++)
        {
          if (s == 2 && i % 5)
            continue;
          g_autofree double *y = evaluate (formulas->pdata[i], &data, outputs, 1, 0, &error);
          g_assert_no_error (error);
          g_autofree double *expected = g_new0 (double, data.m *data.n);
          g_autofree char *name = g_strdup_printf ("f%d", (int)i);
          void (*function) (const CData *d, double *out);
          *(void **)&function = dlsym (library, name);
          function (&c_data, expected);
          for (gint64 j = 0; j < data.m * data.n; j++)
            {
              gboolean same = y[j] == expected[j] || (isnan (y[j]) && isnan (expected[j]));
              finite += isfinite (y[j]) && y[j] != 0.0;
              if (!same && !different++)
                g_test_message ("%s at %d: %.17g, C %.17g",
                                tw_formula_get_text (formulas->pdata[i]), (int)j, y[j],
                                expected[j]);
            }
        }
      clear (&data);
    }
  dlclose (library);
  g_remove (c_path);
  g_remove (so_path);
  g_rmdir (folder);
  g_assert_cmpint (different, ==, 0);
  g_assert_cmpint (finite, >, 1000);
}

static void
test_single (void)
{
  TwFormulaC spelling = { read_operand, print_param, print_extent, TRUE };
  const char *index[] = { "m", "n" };
  g_autoptr (TwFormula) formula
      = parse ("u = x*0.1; y = u*sigmoid(u) + select(x < 0, group/2, degree/group) + 16777217",
               outputs, 1, NULL);
  g_autofree char *c = tw_formula_to_c (formula, 0, index, "y", 0, &spelling, NULL);
  g_assert_cmpstr (
      c, ==,
      "{\n"
      "  const float v_u = d->data[2][(m) * d->n + (n)] * 0.1f;\n"
      "  y = v_u * tw_sigmoid (v_u)\n"
      "      + (d->data[2][(m) * d->n + (n)] < 0.0f ? d->group / 2.0f : (float) (-2) / "
      "d->group)\n"
      "      + 16777217.0f;\n"
      "}\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/formula-c/double", test_c);
  g_test_add_func ("/formula-c/single", test_single);
  return g_test_run ();
}
