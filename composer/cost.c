/* The model: a kernel takes the longer of its memory and its arithmetic, and a launch. */
#include "cost.h"
#include "xml.h"

#include <string.h>

static TwXmlKind
xml_kind (void)
{
  return (TwXmlKind){ .domain = TW_BLOCK_ERROR,
                      .read = TW_BLOCK_ERROR_READ,
                      .schema = TW_BLOCK_ERROR_SCHEMA,
                      .what = "machine description",
                      .schema_file = "machine.xsd",
                      .max_bytes = 65536,
                      .max_depth = 8 };
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* "cpu, h200" */
static char *
list_machines (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  for (const char *name; dir != NULL && (name = g_dir_read_name (dir)) != NULL;)
    if (g_str_has_suffix (name, ".xml"))
      g_ptr_array_add (names, g_strndup (name, strlen (name) - strlen (".xml")));
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return g_strjoinv (", ", (char **)names->pdata);
}

static double
get_number (const xmlNode *node, const char *attribute)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  return g_ascii_strtod (text, NULL);
}

TwMachine *
tw_machine_load (const char *name, GError **error)
{
  TwXmlKind kind = xml_kind ();
  gsize length;
  gboolean plain
      = *name != '\0' && strspn (name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen (name);
  g_autofree char *folder = g_build_filename (tw_share_directory (), "gpu", NULL);
  g_autofree char *file = g_strconcat (name, ".xml", NULL);
  g_autofree char *path = g_build_filename (folder, file, NULL);
  if (!plain || !g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_autofree char *names = list_machines (folder);
      g_set_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ,
                   "there is no machine \"%s\"; those described are: %s", name, names);
      return NULL;
    }
  g_autofree char *text = tw_xml_read_file (path, &kind, &length, error);
  xmlDoc *doc = text != NULL ? tw_xml_parse (text, length, path, &kind, error) : NULL;
  TwMachine *machine = NULL;
  if (doc != NULL && tw_xml_validate (doc, path, &kind, error))
    {
      const xmlNode *root = xmlDocGetRootElement (doc);
      machine = g_new0 (TwMachine, 1);
      machine->name = g_strdup (name);
      machine->bandwidth = get_number (root, "bandwidth");
      machine->flops = get_number (root, "flops");
      machine->flops_f32 = get_number (root, "flops-f32");
      machine->launch = get_number (root, "launch");
      for (const xmlNode *node = root->children; node != NULL; node = node->next)
        if (tw_xml_is (node, "label"))
          machine->label = tw_xml_get_text (node);
    }
  if (doc != NULL)
    xmlFreeDoc (doc);
  return machine;
}

void
tw_machine_free (TwMachine *machine)
{
  if (machine == NULL)
    return;
  g_free (machine->name);
  g_free (machine->label);
  g_free (machine);
}

double
tw_cost_kernel (const TwKernel *kernel, const TwPlan *plan, const TwMachine *machine)
{
  gboolean f32 = kernel->mainloop == TW_MAINLOOP_GEMM && kernel->operands == TW_DTYPE_F32;
  double rate = f32 && machine->flops_f32 > 0 ? machine->flops_f32 : machine->flops;
  double memory = machine->bandwidth > 0 ? (double)kernel->bytes / machine->bandwidth : 0;
  double arithmetic = rate > 0 ? (double)kernel->flops / rate : 0;
  return MAX (memory, arithmetic) + machine->launch;
}

double
tw_cost_plan (const TwPlan *plan, const TwMachine *machine)
{
  double seconds = 0;
  for (guint i = 0; i < plan->kernels->len; i++)
    {
      const TwKernel *kernel = plan->kernels->pdata[i];
      if (!kernel->prepare)
        seconds += tw_cost_kernel (kernel, plan, machine);
    }
  return seconds;
}
