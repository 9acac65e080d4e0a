/* make-case BLOCK-FOLDER DIRECTORY [--blocks DIR] [--seed N]: for each case of the block's
 * cases.xml a folder DIRECTORY/<case> with the exported program (program.c, program.h), glue.c
 * (harness.h) and data.bin (the runs). Prints the cases' names, one a line. Exit: 0 good, 1 usage,
 * 2 a block or its cases cannot be read, 3 type errors, 5 output. */
#include "cases.h"

#include "export/emit/emit-private.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

static const char *const dtype_names[] = { "HARNESS_F32", "HARNESS_BF16", "HARNESS_F16" };

/* ---- glue.c ---- */

static void
put_tensors (GString *out, const CaseProgram *p)
{
  g_string_append (out, "const HarnessTensor harness_tensors[] = {\n");
  for (guint s = 0; s < p->drawn->settings->len; s++)
    {
      const CaseSetting *setting = p->drawn->settings->pdata[s];

      for (int side = 0; side < 2; side++)
        {
          GPtrArray *tensors = side == 0 ? setting->inputs : setting->outputs;

          for (guint i = 0; i < tensors->len; i++)
            {
              const CaseTensor *tensor = tensors->pdata[i];
              const TwType *type = tw_typing_get (p->typing, tensor->id, side == 0 ? "y" : "x");

              g_string_append_printf (out, "  { \"%s\", %s, %d },\n", tensor->port,
                                      dtype_names[type->dtype], type->column_order);
            }
        }
    }
  g_string_append (out, "};\n");
}

/* A parameter as the oracle gets it: a number, or the name of a dimension. */
static char *
param_text (const CaseProgram *p, const TwNode *node, const TwParamSpec *spec)
{
  char number[G_ASCII_DTOSTR_BUF_SIZE];
  double value = NAN;
  TwDtype dtype;
  const char *text = tw_node_get_param (node, p->block, spec->id);

  if (text != NULL && spec->type == TW_PARAM_DTYPE && tw_dtype_from_name (text, &dtype))
    value = dtype;
  else if (spec->type == TW_PARAM_DIMENSION)
    return g_strdup (text);
  else if (!tw_node_get_number (node, p->block, spec->id, &value))
    return g_strdup ("nan");
  return g_strdup (g_ascii_dtostr (number, sizeof number, value));
}

static void
put_settings (GString *out, const CaseProgram *p)
{
  g_autoptr (GString) table = g_string_new ("const HarnessSetting harness_settings[] = {\n");
  int first = 0;

  g_string_append (out, "static const char *const param_names[] = { ");
  for (int i = 0; i < p->block->n_params; i++)
    g_string_append_printf (out, "\"%s\", ", p->block->params[i].id);
  g_string_append (out, "0 };\n");
  for (guint s = 0; s < p->drawn->settings->len; s++)
    {
      const CaseSetting *setting = p->drawn->settings->pdata[s];
      const TwNode *node = tw_graph_get_node (p->graph, setting->node);
      const int n_inputs = (int)setting->inputs->len, n_outputs = (int)setting->outputs->len;

      g_string_append_printf (out, "static const char *const values%u[] = { ", s);
      for (int i = 0; i < p->block->n_params; i++)
        {
          g_autofree char *text = param_text (p, node, &p->block->params[i]);
          g_string_append_printf (out, "\"%s\", ", text);
        }
      g_string_append (out, "0 };\n");
      g_string_append_printf (table, "  { \"%s\", %d, %d, %d, %d, param_names, values%u, %d },\n",
                              setting->label, first, n_inputs, first + n_inputs, n_outputs, s,
                              p->block->n_params);
      first += n_inputs + n_outputs;
    }
  g_string_append_printf (out, "%s};\n", table->str);
  g_string_append (out, "const char *const harness_dims[] = { ");
  for (int i = 0; i < p->c->n_dims; i++)
    g_string_append_printf (out, "\"%s\", ", p->c->dims[i]);
  g_string_append_printf (out,
                          "0 };\nconst int harness_n_tensors = %d, harness_n_settings = %u, "
                          "harness_n_dims = %d;\n",
                          first, p->drawn->settings->len, p->c->n_dims);
}

/* Assignments of the tensors to the public structs. */
static void
put_fields (GString *out, const CaseProgram *p)
{
  int index = 0;

  for (guint s = 0; s < p->drawn->settings->len; s++)
    {
      const CaseSetting *setting = p->drawn->settings->pdata[s];

      for (int side = 0; side < 2; side++)
        {
          GPtrArray *tensors = side == 0 ? setting->inputs : setting->outputs;

          for (guint i = 0; i < tensors->len; i++, index++)
            {
              const CaseTensor *tensor = tensors->pdata[i];
              const TwType *type = tw_typing_get (p->typing, tensor->id, side == 0 ? "y" : "x");
              const char *owner = tensor->weight ? "weights" : "args";

              g_string_append_printf (out, "  %s.%s = data[%d];\n", owner, tensor->id, index);
              if (tw_type_has_ld (type))
                g_string_append_printf (out, "  %s.%s_ld = ld[%d];\n", owner, tensor->id, index);
            }
        }
    }
}

static char *
make_glue (const CaseProgram *p)
{
  g_autoptr (GString) out = g_string_new ("#include \"harness.h\"\n#include \"program.h\"\n\n"
                                          "#include <stdlib.h>\n#include <string.h>\n\n");

  put_tensors (out, p);
  put_settings (out, p);
  g_string_append (out, "\nint\nharness_launch (const int64_t *dims, void *const *data, "
                        "const int64_t *ld, int threads, const char **step)\n{\n"
                        "  program_dims most;\n  program_weights weights;\n  program_args args;\n"
                        "  void *plan = malloc (program_plan_size ()), *prepared = 0, *space = 0;\n"
                        "  int code;\n\n"
                        "  memset (&most, 0, sizeof most);\n"
                        "  memset (&weights, 0, sizeof weights);\n"
                        "  memset (&args, 0, sizeof args);\n"
                        "  most.struct_size = sizeof most;\n"
                        "  weights.struct_size = sizeof weights;\n"
                        "  args.struct_size = sizeof args;\n"
                        "  (void) dims;\n  (void) ld;\n");
  for (int i = 0; i < p->c->n_dims && !p->c->fixed; i++)
    g_string_append_printf (out, "  most.%s = args.%s = dims[%d];\n", p->c->dims[i], p->c->dims[i],
                            i);
  put_fields (out, p);
  g_string_append (
      out, "  *step = \"plan_init\";\n"
           "  code = program_plan_init (plan, program_plan_size (), threads, &most, &weights);\n"
           "  if (code == 0 && program_prepared_size (plan) > 0)\n    {\n"
           "      const size_t bytes = (program_prepared_size (plan) + 63) / 64 * 64;\n\n"
           "      *step = \"prepare\";\n"
           "      prepared = aligned_alloc (64, bytes);\n"
           "      code = program_prepare (plan, prepared, bytes);\n    }\n"
           "  if (code == 0)\n    {\n"
           "      const size_t bytes = (program_workspace_size (plan) + 64) / 64 * 64;\n\n"
           "      *step = \"launch\";\n"
           "      space = aligned_alloc (64, bytes);\n"
           "      memset (space, 0xff, bytes);\n"
           "      code = program_launch (plan, &args, space, bytes);\n    }\n"
           "  free (plan);\n  free (prepared);\n  free (space);\n  return code;\n}\n");
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* ---- files ---- */

static gboolean
write_file (const char *folder, const char *name, const void *text, gssize length, GError **error)
{
  g_autofree char *path = g_build_filename (folder, name, NULL);

  return g_file_set_contents (path, text, length, error);
}

static int
fail (int status, const char *what, const GError *error)
{
  g_printerr ("%s: %s\n", what, error != NULL ? error->message : "failed");
  return status;
}

static int
make (const TwCatalog *catalog, const TwBlock *block, const Case *c, const char *directory,
      guint32 seed)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (CaseGraph) drawn = case_graph_new (block, c);
  g_autoptr (TwGraph) graph = tw_graph_parse (drawn->xml, strlen (drawn->xml), &error);
  g_autofree char *folder = g_build_filename (directory, c->id, NULL);

  g_mkdir_with_parents (folder, 0777);
  if (!write_file (folder, "graph.xml", drawn->xml, -1, &error))
    return fail (5, folder, error);
  if (graph == NULL)
    return fail (2, c->id, error);
  const TwCheckOptions check = { "cpu" };
  g_autoptr (TwTyping) typing = tw_check (graph, (TwCatalog *)catalog, &check);
  const GPtrArray *diagnostics = tw_typing_get_diagnostics (typing);
  for (guint i = 0; i < diagnostics->len && !tw_typing_is_good (typing); i++)
    {
      g_autofree char *line = tw_diagnostic_to_text (g_ptr_array_index (diagnostics, i), c->id);
      g_printerr ("%s\n", line);
    }
  if (!tw_typing_is_good (typing))
    return 3;
  const CaseProgram program = { graph, catalog, typing, block, c, drawn };
  g_autoptr (GByteArray) data = case_data_new (&program, seed, &error);
  if (data == NULL)
    return fail (3, c->id, error);
  const TwPlanOptions fused = { TRUE, FALSE, 0 }, apart = { FALSE, FALSE, 0 };
  g_autoptr (TwPlan) plan = tw_plan (graph, (TwCatalog *)catalog, &fused);
  g_autoptr (TwPlan) unfused = tw_plan (graph, (TwCatalog *)catalog, &apart);
  const TwEmitOptions options = { "cpu", "program", unfused };
  g_autoptr (GPtrArray) files = plan != NULL && unfused != NULL
                                    ? tw_emit (graph, typing, plan, catalog, &options, &error)
                                    : NULL;
  if (files == NULL)
    return fail (5, c->id, error);
  for (guint i = 0; i < files->len; i++)
    {
      const TwEmitFile *file = files->pdata[i];

      if ((strcmp (file->name, "program.c") == 0 || strcmp (file->name, "program.h") == 0)
          && !write_file (folder, file->name, file->text, -1, &error))
        return fail (5, folder, error);
    }
  g_autofree char *glue = make_glue (&program);
  if (!write_file (folder, "glue.c", glue, -1, &error)
      || !write_file (folder, "data.bin", data->data, data->len, &error))
    return fail (5, folder, error);
  g_print ("%s\n", c->id);
  return 0;
}

int
main (int argc, char **argv)
{
  g_auto (GStrv) blocks = NULL;
  int seed = 1, status = 0;
  GOptionEntry entries[] = {
    { "blocks", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &blocks, "another folder of blocks", "DIR" },
    { "seed", 0, 0, G_OPTION_ARG_INT, &seed, "of the random values", "N" },
    { NULL, 0, 0, 0, NULL, NULL, NULL },
  };
  g_autoptr (GOptionContext) context = g_option_context_new ("BLOCK-FOLDER DIRECTORY");
  g_autoptr (GError) error = NULL;

  g_option_context_add_main_entries (context, entries, NULL);
  if (!g_option_context_parse (context, &argc, &argv, &error) || argc != 3)
    return fail (1, "usage", error);
  g_autoptr (TwCatalog) catalog = tw_catalog_new ((const char *const *)blocks, &error);
  if (catalog == NULL)
    return fail (5, "blocks", error);
  g_autofree char *path = g_build_filename (argv[1], "block.xml", NULL);
  g_autoptr (TwBlock) read = tw_block_load (path, &error);
  const TwBlock *block = read != NULL ? tw_catalog_get (catalog, read->id) : NULL;
  if (block == NULL)
    return fail (2, path, error);
  g_autoptr (GPtrArray) cases = cases_load (block, &error);
  if (cases == NULL)
    return fail (2, argv[1], error);
  for (guint i = 0; i < cases->len && status == 0; i++)
    status = make (catalog, block, cases->pdata[i], argv[2], (guint32)seed);
  return status;
}
