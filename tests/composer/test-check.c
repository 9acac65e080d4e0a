/* The checker: the twelve broken drawings, and every rule on small graphs. Graphs are written in a
 * short form, one item a line: `dim T dynamic 512`, `x: input | dtype=bf16 | shape=T, D`,
 * `x.y > h.a`. */
#include "composer/check.h"
#include "config.h"

#include <json-glib/json-glib.h>
#include <string.h>

static TwCatalog *catalog;

#define DIMS "dim T dynamic 512\ndim D fixed 512\ndim H fixed 1024\n"
#define X "x: input | dtype=bf16 | shape=T, D\n"
#define OUT "out: output\n"

static char *
to_xml (const char *brief)
{
  GString *xml = g_string_new ("<graph format=\"1\" name=\"t\">\n");
  g_auto (GStrv) lines = g_strsplit (brief, "\n", -1);
  for (int pass = 0; pass < 3; pass++)
    for (int i = 0; lines[i] != NULL; i++)
      {
        const char *line = lines[i];
        const char *colon = strchr (line, ':'), *arrow = strstr (line, " > ");
        if (pass == 0 && g_str_has_prefix (line, "dim "))
          {
            g_auto (GStrv) w = g_strsplit (line, " ", -1);
            g_string_append_printf (xml, "<dimension name=\"%s\" kind=\"%s\" value=\"%s\"", w[1],
                                    w[2], w[3]);
            for (int k = 4; w[k] != NULL; k += 2)
              g_string_append_printf (xml, " %s=\"%s\"", w[k], w[k + 1]);
            g_string_append (xml, "/>\n");
          }
        else if (pass == 1 && colon != NULL)
          {
            g_auto (GStrv) p = g_strsplit (colon + 1, "|", -1);
            g_string_append_printf (xml, "<node id=\"%.*s\" block=\"%s\">", (int)(colon - line),
                                    line, g_strstrip (p[0]));
            for (int k = 1; p[k] != NULL; k++)
              {
                char *value = strchr (p[k], '=');
                *value = '\0';
                g_string_append_printf (xml, "<param name=\"%s\" value=\"%s\"/>", g_strstrip (p[k]),
                                        g_strstrip (value + 1));
              }
            g_string_append (xml, "</node>\n");
          }
        else if (pass == 2 && arrow != NULL)
          g_string_append_printf (xml, "<link from=\"%.*s\" to=\"%s\"/>\n", (int)(arrow - line),
                                  line, arrow + 3);
      }
  g_string_append (xml, "</graph>\n");
  return g_string_free (xml, FALSE);
}

static TwTyping *
check_on (const char *brief, const char *target)
{
  g_autofree char *xml = to_xml (brief);
  g_autoptr (GError) error = NULL;
  g_autoptr (TwGraph) graph = tw_graph_parse (xml, strlen (xml), &error);
  if (graph == NULL)
    g_error ("%s\n%s", error->message, xml);
  TwCheckOptions options = { target };
  return tw_check (graph, catalog, &options);
}

/* "code node.port; ..." of the diagnostics in order; warnings in parentheses. */
static char *
summary (const TwTyping *typing)
{
  GString *text = g_string_new (NULL);
  const GPtrArray *diagnostics = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < diagnostics->len; i++)
    {
      const TwDiagnostic *d = g_ptr_array_index (diagnostics, i);
      g_assert_nonnull (d->fixes);
      g_assert_nonnull (d->fixes[0]);
      g_assert_nonnull (d->found);
      g_assert_nonnull (d->expected);
      g_autofree char *at = d->port != NULL ? g_strdup_printf (" %s.%s", d->node, d->port)
                                            : g_strdup_printf (" %s", d->node ? d->node : "-");
      g_string_append_printf (text, d->severity == TW_SEVERITY_ERROR ? "%s%s%s" : "%s(%s%s)",
                              i > 0 ? "; " : "", d->code, at);
    }
  return g_string_free (text, FALSE);
}

#define expect(brief, wanted)                                                                      \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autoptr (TwTyping) typing_ = check_on (brief, NULL);                                         \
    g_autofree char *got_ = summary (typing_);                                                     \
    g_assert_cmpstr (got_, ==, wanted);                                                            \
  }                                                                                                \
  G_STMT_END

static void
test_broken (void)
{
  g_autofree char *folder = g_build_filename (TW_SOURCE_ROOT, "examples", "broken", NULL);
  g_autofree char *path = g_build_filename (folder, "expected.json", NULL);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) error = NULL;
  g_assert_true (json_parser_load_from_file (parser, path, &error));
  JsonObject *all = json_node_get_object (json_parser_get_root (parser));
  g_autoptr (GList) names = json_object_get_members (all);
  g_assert_cmpuint (g_list_length (names), ==, 12);
  for (GList *l = names; l != NULL; l = l->next)
    {
      JsonObject *want = json_object_get_object_member (all, l->data);
      g_autofree char *file = g_strdup_printf ("%s/%s.xml", folder, (char *)l->data);
      g_autoptr (TwGraph) graph = tw_graph_load (file, &error);
      g_assert_no_error (error);
      g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
      g_autofree char *got = summary (typing);
      const char *port = json_object_get_string_member_with_default (want, "port", NULL);
      g_autofree char *wanted = g_strdup_printf (
          "%s %s%s%s", json_object_get_string_member (want, "code"),
          json_object_get_string_member (want, "node"), port ? "." : "", port ? port : "");
      g_assert_cmpstr (got, ==, wanted);
      const TwDiagnostic *d = g_ptr_array_index (tw_typing_get_diagnostics (typing), 0);
      g_autofree char *fixes = g_strjoinv ("\n", d->fixes);
      g_assert_nonnull (strstr (fixes, json_object_get_string_member (want, "fix")));
      g_assert_cmpint (d->line, >, 0);
    }
}

static void
check_type (const TwTyping *typing, const char *node, const char *port, const char *wanted)
{
  g_autofree char *text = tw_type_to_text (tw_typing_get (typing, node, port));
  g_assert_cmpstr (text, ==, wanted);
}

static void
test_types (void)
{
  g_autoptr (TwTyping) t = check_on (
      DIMS X "w: weight | dtype=bf16 | shape=D, 2*H\nh: gemm\n"
             "g: weight | dtype=f32 | shape=2*H\nn: rms_norm | gamma=plain | eps=1e-6\n"
             "ss: row_sumsq | group=64\nrstd: finish | count=2*H | eps=1e-6\nsc: scale_rows\n" OUT
             "out2: output\nout3: output\n"
             "x.y > h.a\nw.y > h.b\nh.y > n.x\ng.y > n.g\nn.y > out.x\nh.y > ss.x\nss.s > rstd.s\n"
             "h.y > sc.x\nrstd.r > sc.s\nsc.y > out2.x\nss.s > out3.x\n",
      "cpu");
  g_autofree char *got = summary (t);
  g_assert_cmpstr (got, ==, "");
  g_assert_true (tw_typing_is_good (t));
  check_type (t, "h", "y", "bf16[T, 2048]");
  check_type (t, "h", "a", "bf16[T, 512]");
  check_type (t, "n", "g", "f32[2048]");
  check_type (t, "ss", "s", "f32[T, 32] sum-of-squares per 64 columns");
  check_type (t, "rstd", "r", "f32[T]");
  check_type (t, "nobody", "r", "unknown");
  g_assert_cmpint (tw_typing_get (t, "rstd", "r")->role, ==, TW_ROLE_PER_ROW);
  g_assert_cmpint (tw_typing_get (t, "g", "y")->role, ==, TW_ROLE_PER_COLUMN);
  g_assert_true (tw_typing_get (t, "rstd", "r")->positive);
  g_assert_true (tw_typing_get (t, "w", "y")->weight);
  g_assert_false (tw_typing_get (t, "h", "y")->weight);
  g_assert_cmpstr (tw_dim_get_text (tw_typing_get_dim (t, "h", "N")), ==, "2048");
  g_assert_cmpstr (tw_dim_get_text (tw_typing_get_dim (t, "h", "M")), ==, "T");
  g_assert_cmpstr (tw_dim_get_text (tw_typing_get_dim (t, "rstd", "count")), ==, "2048");
  g_assert_null (tw_typing_get_dim (t, "h", "Q"));
}

/* What is computed from weights alone is known at prepare time. */
static void
test_weight_flag (void)
{
  g_autoptr (TwTyping) t = check_on (
      DIMS X "w: weight | dtype=bf16 | shape=D, H\nv: weight | dtype=bf16 | shape=D, H\n"
             "s: add\nh: gemm\n" OUT "w.y > s.a\nv.y > s.b\nx.y > h.a\ns.y > h.b\nh.y > out.x\n",
      NULL);
  g_autofree char *got = summary (t);
  g_assert_cmpstr (got, ==, "");
  g_assert_true (tw_typing_get (t, "s", "y")->weight);
  g_assert_false (tw_typing_get (t, "h", "y")->weight);
  expect (DIMS X "w: weight | dtype=bf16 | shape=T, D\na: add\n" OUT
                 "x.y > a.a\nw.y > a.b\na.y > out.x\n",
          "bad-dimension w");
}

static void
test_dtypes (void)
{
  expect (DIMS X "v: weight | dtype=f16 | shape=H\nw: weight | dtype=f32 | shape=D, H\nh: gemm\n"
                 "b: bias\nc: cast | dtype=f16\n" OUT "x.y > h.a\nw.y > h.b\nh.y > c.x\nc.y > b.x\n"
                 "v.y > b.b\nb.y > out.x\n",
          "dtype-mismatch h.b");
  g_autoptr (TwTyping) t
      = check_on (DIMS X "c: cast | dtype=f16\n" OUT "x.y > c.x\nc.y > out.x\n", NULL);
  check_type (t, "c", "y", "f16[T, 512]");
  check_type (t, "out", "x", "f16[T, 512]");
}

static void
test_many (void)
{
  /* Each mistake once, none hides another, in the order of the drawing. */
  expect (DIMS "x: input | dtype=bf17 | shape=T, D\ny: input | dtype=bf16 | shape=T, D | ordr=row\n"
               "n: rms_norm | eps=-1\nw: weight | dtype=bf16 | shape=H, D\nh: gemm\nq: nosuch\n"
               "r: relu\nz: add\n" OUT
               "y.y > n.x\ny.y > h.a\nw.y > h.b\nh.y > r.x\nq.y > z.a\nx.y > z.b\nz.y > out.x\n",
          "bad-param x; unknown-param y; missing-param n; bad-param n; missing-input n.g; "
          "(unused-node n); dimension-mismatch h.b; unknown-block q; (unused-node r)");
}

static void
test_unknown_is_silent (void)
{
  expect (DIMS X
          "q: mystery\nh: gemm\na: add\ns: swiglu\n" OUT
          "x.y > q.in\nq.out > h.a\nq.out2 > h.b\nh.y > a.a\nx.y > a.b\na.y > s.gate\nq.u > s.up\n"
          "s.y > out.x\n",
          "unknown-block q");
}

static void
test_cycles (void)
{
  g_autoptr (TwTyping) t = check_on (
      DIMS X "a: add\nb: relu\nc: relu\nd: add\ne: relu\nself: relu\n" OUT
             "x.y > a.a\nc.y > a.b\na.y > b.x\nb.y > c.x\nc.y > d.a\ne.y > d.b\nd.y > e.x\n"
             "e.y > out.x\nself.y > self.x\n",
      NULL);
  g_autofree char *got = summary (t);
  g_assert_cmpstr (got, ==, "cycle a.b; cycle d.b; cycle self.x");
  const TwDiagnostic *d = g_ptr_array_index (tw_typing_get_diagnostics (t), 0);
  g_assert_cmpstr (d->found, ==, "a -> b -> c -> a");
}

static void
test_dimensions (void)
{
  expect ("dim T dynamic 512 min 0 max 100\ndim D fixed 0\n" OUT "x: input | dtype=f32 | shape=T\n"
          "x.y > out.x\n",
          "bad-dimension -; bad-dimension -");
  expect ("dim T dynamic 512 min 8 max 4\n" OUT "x: input | dtype=f32 | shape=T\nx.y > out.x\n",
          "bad-dimension -");
  expect ("dim T dynamic 510 min 0 max 4096 multiple 4\n" OUT
          "x: input | dtype=f32 | shape=T\nx.y > out.x\n",
          "bad-dimension -");
  /* T/2 is whole for the default, not for the next T. */
  expect ("dim T dynamic 512 min 0 max 4096\n" OUT
          "x: input | dtype=f32 | shape=T/2\nx.y > out.x\n",
          "bad-dimension x");
  expect ("dim T dynamic 512 min 0 max 4096 multiple 2\n" OUT
          "x: input | dtype=f32 | shape=T/2\nx.y > out.x\n",
          "");
  expect ("dim D fixed 7\n" OUT "x: input | dtype=f32 | shape=D/2\nx.y > out.x\n",
          "bad-dimension x");
  expect ("dim D fixed 7\n" OUT "x: input | dtype=f32 | shape=D-7\nx.y > out.x\n",
          "bad-dimension x");
  expect (OUT "x: input | dtype=f32 | shape=8, +\nx.y > out.x\n", "bad-param x");
  expect (OUT "x: input | dtype=f32 | shape=1,2,3,4\nx.y > out.x\n", "bad-param x");
  /* Equal numbers of different names agree, different dynamic names do not. */
  expect ("dim T dynamic 8\ndim D fixed 512\ndim E fixed 512\nx: input | dtype=f32 | shape=T, D\n"
          "y: input | dtype=f32 | shape=T, E\na: add\n" OUT "x.y > a.a\ny.y > a.b\na.y > out.x\n",
          "");
  expect ("dim T dynamic 8\ndim S dynamic 8\nx: input | dtype=f32 | shape=T, 4\n"
          "y: input | dtype=f32 | shape=S, 4\na: add\n" OUT "x.y > a.a\ny.y > a.b\na.y > out.x\n",
          "dimension-mismatch a.b");
}

static void
test_params (void)
{
  const char *tail = "x.y > s.x\nv.y > s.s\ns.y > out.x\n";
  const char *head = DIMS X "v: input | dtype=f32 | shape=T\n" OUT;
  static const struct
  {
    const char *node, *wanted;
  } cases[] = {
    { "s: scale_rows | degree=2\n", "" },
    { "s: scale_rows | degree=-9\n", "bad-param s" },
    { "s: scale_rows | degree=1.5\n", "bad-param s" },
    { "s: scale_rows | degree=99999999999999999999\n", "bad-param s" },
    { "s: scale_rows | degree=\n", "bad-param s" },
    { "s: scale_rows | degre=1\n", "unknown-param s" },
  };
  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *brief = g_strconcat (head, cases[i].node, tail, NULL);
      expect (brief, cases[i].wanted);
    }
  static const struct
  {
    const char *eps, *wanted;
  } eps[] = { { "1e-6", "" },
              { "0", "eps-zero n" },
              { "-0.0", "eps-zero n" },
              { "-1", "bad-param n" },
              { "nan", "bad-param n" },
              { "inf", "bad-param n" },
              { "1e-39", "bad-param n" },
              { "1e-6x", "bad-param n" },
              { "", "bad-param n" } };
  for (gsize i = 0; i < G_N_ELEMENTS (eps); i++)
    {
      g_autofree char *brief = g_strconcat (
          DIMS X "g: weight | dtype=bf16 | shape=D\n" OUT "n: rms_norm | gamma=plain | eps=",
          eps[i].eps, "\nx.y > n.x\ng.y > n.g\nn.y > out.x\n", NULL);
      expect (brief, eps[i].wanted);
    }
  expect (DIMS X "g: weight | dtype=bf16 | shape=D\n" OUT "n: rms_norm | gamma=oneplus | eps=1\n"
                 "x.y > n.x\ng.y > n.g\nn.y > out.x\n",
          "bad-param n");
}

static void
test_links (void)
{
  expect (DIMS X OUT "o: output\nr: relu\nx.y > r.x\nr.y > out.x\nr.x > o.x\n", "unknown-port r.x");
  expect (DIMS X "r: relu\nx.y > r.x\n", "no-output -");
  expect (DIMS X OUT "r: relu\ns: relu\nx.y > out.x\nx.y > r.x\nr.y > s.x\n", "(unused-node s)");
  expect (DIMS X OUT "r: relu\nr.y > out.x\nx.y > r.xx\n", "unknown-port r.xx");
  expect (DIMS X OUT "r: relu\nr.y > out.x\n", "(unused-node x); missing-input r.x");
}

/* What was left out of a newer format could be what matters. */
static void
test_newer_format (void)
{
  g_autofree char *xml = to_xml (DIMS X OUT "r: relu\nx.y > r.x\nr.y > out.x\n");
  for (int format = 1; format <= 2; format++)
    {
      *(strstr (xml, "format=\"") + strlen ("format=\"")) = (char)('0' + format);
      g_autoptr (TwGraph) graph = tw_graph_parse (xml, strlen (xml), NULL);
      g_autoptr (TwTyping) typing = tw_check (graph, catalog, NULL);
      const GPtrArray *diagnostics = tw_typing_get_diagnostics (typing);
      g_assert_cmpuint (diagnostics->len, ==, (guint)format - 1);
      g_assert_true (tw_typing_is_good (typing) == (format == 1));
      if (format == 2)
        g_assert_cmpstr (((TwDiagnostic *)diagnostics->pdata[0])->code, ==, "newer-format");
    }
}

static void
test_order_in_memory (void)
{
  const char *w = "w: weight | dtype=bf16 | shape=D, H | order=column\n";
  g_autofree char *good
      = g_strconcat (DIMS X OUT "h: gemm\n", w, "x.y > h.a\nw.y > h.b\nh.y > out.x\n", NULL);
  expect (good, "");
  expect (DIMS "x: input | dtype=bf16 | shape=T, D | order=column\nr: relu\n" OUT
               "x.y > r.x\nr.y > out.x\n",
          "layout-mismatch r.x");
  expect (DIMS "x: input | dtype=bf16 | shape=T | order=column\n" OUT "x.y > out.x\n",
          "bad-param x");
}

static void
test_pairs (void)
{
#define PAIR(group, partner, port)                                                                 \
  DIMS X "w0: weight | dtype=bf16 | shape=D, H\nw1: weight | dtype=bf16 | shape=D, H\n"            \
         "p: interleave | group=" group "\nh: gemm\ns: swiglu | partner=" partner "\n" OUT         \
         "w0.y > p.w0\nw1.y > p.w1\nx.y > h.a\np.pair > h.b\nh.y > s." port "\ns.y > out.x\n"
  expect (PAIR ("8", "interleaved-8", "pair"), "");
  expect (PAIR ("1", "interleaved-1", "pair"), "");
  expect (PAIR ("1", "interleaved-8", "pair"), "layout-mismatch s.pair");
  expect (PAIR ("8", "two", "pair"), "layout-mismatch s.pair");
  expect (PAIR ("8", "two", "gate") "h.y > s.up\n", "layout-mismatch s.gate; layout-mismatch s.up");
  expect (DIMS X "p: interleave\n" OUT "x.y > p.w0\nx.y > p.w1\np.pair > out.x\n",
          "layout-mismatch p.w0; layout-mismatch p.w1");
  g_autoptr (TwTyping) t = check_on (PAIR ("8", "interleaved-8", "pair"), NULL);
  check_type (t, "h", "y", "bf16[T, 2048] interleaved(8)");
  check_type (t, "s", "y", "bf16[T, 1024]");
  expect ("dim T dynamic 8\nx: input | dtype=bf16 | shape=T, 7 | partner=interleaved-1\ns: swiglu "
          "| partner=interleaved-1\n" OUT "x.y > s.pair\ns.y > out.x\n",
          "layout-mismatch x; dimension-mismatch s.pair");
}

static void
test_statistics (void)
{
#define FINISH(source, count)                                                                      \
  DIMS source "f: finish | count=" count " | eps=1e-6\n" OUT "s.y > f.s\nf.r > out.x\n"
  expect (FINISH ("s: input | dtype=f32 | shape=T, 8 | statistic=sum-of-squares | group=64\n", "D"),
          "");
  expect (FINISH ("s: input | dtype=f32 | shape=T, ceil(D/64) | statistic=sum-of-squares | "
                  "group=64\n",
                  "D"),
          "");
  expect (FINISH ("s: input | dtype=f32 | shape=T, 1 | statistic=sum-of-squares\n", "H"), "");
  expect (FINISH ("s: input | dtype=f32 | shape=T, 9 | statistic=sum-of-squares | group=64\n", "D"),
          "statistic-mismatch f.s");
  expect (FINISH ("s: input | dtype=f32 | shape=T, 8 | statistic=sum-of-squares\n", "D"),
          "statistic-mismatch s");
  expect (FINISH ("s: input | dtype=bf16 | shape=T, 1 | statistic=sum-of-squares\n", "D"),
          "statistic-mismatch s");
  expect (FINISH ("s: input | dtype=f32 | shape=T, 8\n", "D"), "statistic-mismatch f.s");
  expect (DIMS X "s: row_sumsq | group=96\n" OUT "x.y > s.x\ns.s > out.x\n", "bad-param s");
  expect (DIMS X "s: row_sumsq\nr: relu\n" OUT "x.y > s.x\ns.s > r.x\nr.y > out.x\n",
          "statistic-mismatch r.x");
}

static void
test_vectors (void)
{
  expect (DIMS X "v: input | dtype=f32 | shape=T\ns: scale_columns | offset=0\n" OUT
                 "x.y > s.x\nv.y > s.g\ns.y > out.x\n",
          "dimension-mismatch s.g");
  expect (DIMS X "v: input | dtype=f32 | shape=T, 1\ns: scale_rows\n" OUT
                 "x.y > s.x\nv.y > s.s\ns.y > out.x\n",
          "shape-mismatch s.s");
}

static void
test_targets (void)
{
  const char *brief = DIMS "x: input | dtype=f32 | shape=T, D\nw: weight | dtype=f32 | shape=D, H\n"
                           "h: gemm\n" OUT "x.y > h.a\nw.y > h.b\nh.y > out.x\n";
  g_autoptr (TwTyping) cpu = check_on (brief, "cpu");
  g_assert_true (tw_typing_is_good (cpu));
  g_autoptr (TwTyping) sm80 = check_on (brief, "sm80");
  g_assert_false (tw_typing_is_good (sm80));
}

static int
compare_strings (gconstpointer a, gconstpointer b)
{
  return strcmp (*(char *const *)a, *(char *const *)b);
}

/* The same items in a random order give the same findings. */
static void
test_drawing_order (void)
{
  const char *brief
      = DIMS "x: input | dtype=bf16 | shape=T, D\nv: weight | dtype=bf16 | shape=H\n"
             "w: weight | dtype=f32 | shape=D, H\nh: gemm\nb: bias\nss: row_sumsq\n"
             "f: finish | count=D | eps=1\ns: scale_rows\nw2: weight | dtype=bf16 | "
             "shape=D, H\nz: gemm\nq: nosuch\n" OUT
             "x.y > h.a\nw.y > h.b\nh.y > b.x\nv.y > b.b\nb.y > ss.x\nss.s > f.s\n"
             "b.y > s.x\nf.r > s.s\ns.y > z.a\nw2.y > z.b\nz.y > out.x\nq.z > out.y\n";
  g_autofree char *wanted = NULL;
  for (int run = 0; run < 50; run++)
    {
      g_auto (GStrv) lines = g_strsplit (brief, "\n", -1);
      for (int i = (int)g_strv_length (lines) - 1; i > 0 && run > 0; i--)
        {
          int j = g_test_rand_int_range (0, i + 1);
          char *line = lines[i];
          lines[i] = lines[j];
          lines[j] = line;
        }
      g_autofree char *shuffled = g_strjoinv ("\n", lines);
      g_autoptr (TwTyping) t = check_on (shuffled, NULL);
      g_autofree char *got = summary (t);
      g_auto (GStrv) parts = g_strsplit (got, "; ", -1);
      g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
      for (int i = 0; parts[i] != NULL; i++)
        g_ptr_array_add (sorted, parts[i]);
      g_ptr_array_sort (sorted, compare_strings);
      g_ptr_array_add (sorted, NULL);
      g_autofree char *now = g_strjoinv ("; ", (char **)sorted->pdata);
      if (wanted == NULL)
        wanted = g_steal_pointer (&now);
      else
        g_assert_cmpstr (now, ==, wanted);
    }
  g_assert_cmpstr (wanted, ==,
                   "dimension-mismatch z.b; dtype-mismatch h.b; "
                   "statistic-mismatch f.s; unknown-block q; unknown-port out.y");
}

static double
time_chain (int n)
{
  GString *brief = g_string_new (DIMS X);
  for (int i = 0; i < n; i++)
    g_string_append_printf (brief, "n%d: %s\n", i, i % 2 ? "relu" : "add");
  g_string_append (brief, OUT);
  for (int i = 0; i < n; i++)
    {
      g_autofree char *from = i > 0 ? g_strdup_printf ("n%d.y", i - 1) : g_strdup ("x.y");
      g_string_append_printf (brief, "%s > n%d.%s\n", from, i, i % 2 ? "x" : "a");
      if (i % 2 == 0)
        g_string_append_printf (brief, "x.y > n%d.b\n", i);
    }
  g_string_append_printf (brief, "n%d.y > out.x\n", n - 1);
  g_autofree char *xml = to_xml (brief->str);
  g_string_free (brief, TRUE);
  g_autoptr (TwGraph) graph = tw_graph_parse (xml, strlen (xml), NULL);
  g_assert_nonnull (graph);
  double best = 1e9;
  for (int run = 0; run < 5; run++)
    {
      gint64 start = g_get_monotonic_time ();
      g_autoptr (TwTyping) t = tw_check (graph, catalog, NULL);
      best = MIN (best, (double)(g_get_monotonic_time () - start) / 1e3);
      g_assert_true (tw_typing_is_good (t));
    }
  return best;
}

static void
test_speed (void)
{
  double small = time_chain (1000), large = time_chain (8000);
  g_test_message ("1000 nodes: %.2f ms, 8000 nodes: %.2f ms", small, large);
  /* Generous, as the suite also runs under sanitizers on a busy machine. */
  g_assert_cmpfloat (small, <, 200);
  g_assert_cmpfloat (large, <, 8 * 6 * small);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_autoptr (GError) error = NULL;
  catalog = tw_catalog_new (NULL, &error);
  g_assert_no_error (error);
  g_test_add_func ("/check/broken", test_broken);
  g_test_add_func ("/check/types", test_types);
  g_test_add_func ("/check/weight-flag", test_weight_flag);
  g_test_add_func ("/check/dtypes", test_dtypes);
  g_test_add_func ("/check/many", test_many);
  g_test_add_func ("/check/unknown-is-silent", test_unknown_is_silent);
  g_test_add_func ("/check/cycles", test_cycles);
  g_test_add_func ("/check/dimensions", test_dimensions);
  g_test_add_func ("/check/params", test_params);
  g_test_add_func ("/check/links", test_links);
  g_test_add_func ("/check/order-in-memory", test_order_in_memory);
  g_test_add_func ("/check/newer-format", test_newer_format);
  g_test_add_func ("/check/pairs", test_pairs);
  g_test_add_func ("/check/statistics", test_statistics);
  g_test_add_func ("/check/vectors", test_vectors);
  g_test_add_func ("/check/targets", test_targets);
  g_test_add_func ("/check/drawing-order", test_drawing_order);
  g_test_add_func ("/check/speed", test_speed);
  int status = g_test_run ();
  tw_catalog_unref (catalog);
  return status;
}
