/* The library as a list, and a block's reference page. */
#include "cli.h"

#include <json-glib/json-glib.h>
#include <string.h>

static const char *const kinds[] = { "source",    "sink",   "contraction", "elementwise",
                                     "statistic", "finish", "composite" };
static const char *const roles[] = { "matrix", "per row", "per column", "statistic", "any" };

static int
compare_categories (gconstpointer a, gconstpointer b)
{
  const TwBlock *left = *(const TwBlock *const *)a, *right = *(const TwBlock *const *)b;
  int order = strcmp (left->category, right->category);
  return order != 0 ? order : strcmp (left->id, right->id);
}

static void
print_list (const TwCatalog *catalog)
{
  int n;
  const TwBlock *const *list = tw_catalog_list (catalog, &n);
  g_autoptr (GPtrArray) sorted = g_ptr_array_new ();
  const char *category = "";
  for (int i = 0; i < n; i++)
    g_ptr_array_add (sorted, (gpointer)list[i]);
  g_ptr_array_sort (sorted, compare_categories);
  for (int i = 0; i < n; i++)
    {
      const TwBlock *block = sorted->pdata[i];
      if (strcmp (category, block->category) != 0)
        g_print ("%s%s\n", i > 0 ? "\n" : "", block->category);
      category = block->category;
      g_print ("  %-14s %s\n", block->id, block->label);
    }
  g_print ("\n`tilewright blocks NAME` says all about one.\n");
}

static void
print_params (const TwBlock *block)
{
  static const char *const types[]
      = { "integer", "real", "boolean", "enum", "dimension", "shape", "dtype" };
  if (block->n_params > 0)
    g_print ("\nParameters\n");
  for (int i = 0; i < block->n_params; i++)
    {
      const TwParamSpec *param = &block->params[i];
      g_autofree char *values = param->values != NULL ? g_strjoinv (" | ", param->values) : NULL;
      g_print ("  %s: %s%s%s%s\n", param->id, values != NULL ? values : types[param->type],
               param->fallback != NULL   ? ", default "
               : param->optional ? ", optional"
                                 : ", required",
               param->fallback != NULL ? param->fallback : "", "");
      if (*param->doc != '\0')
        g_print ("      %s\n", param->doc);
    }
}

static void
print_ports (const TwBlock *block, TwDirection direction)
{
  g_print ("\n%s\n", direction == TW_DIRECTION_IN ? "Inputs" : "Outputs");
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];
      if (port->direction != direction)
        continue;
      g_autoptr (GString) dims = g_string_new (NULL);
      for (int d = 0; d < port->n_dims; d++)
        g_string_append_printf (dims, "%s%s", d > 0 ? ", " : "", port->dims[d]);
      g_autofree char *values
          = port->when_values != NULL ? g_strjoinv (" or ", port->when_values) : NULL;
      g_print ("  %s: %s%s%s%s", port->id, roles[port->role], dims->len > 0 ? " [" : "", dims->str,
               dims->len > 0 ? "]" : "");
      if (values != NULL)
        g_print (", if %s is %s", port->when_param, values);
      g_print ("\n");
      if (port->doc != NULL && *port->doc != '\0')
        g_print ("      %s\n", port->doc);
    }
}

static void
print_laws (const TwBlock *block)
{
  if (block->n_laws > 0)
    g_print ("\nLaws\n");
  for (int i = 0; i < block->n_laws; i++)
    {
      const TwLaw *law = &block->laws[i];
      g_autofree char *inputs = g_strjoinv (" and ", law->inputs);
      g_autofree char *degree
          = law->degree_param != NULL ? g_strdup (law->degree_param)
                                      : g_strdup_printf ("%d", law->degree);
      switch (law->kind)
        {
        case TW_LAW_DEGREE:
          g_print ("  a row scale s > 0 on %s comes out as s^%s\n", inputs, degree);
          break;
        case TW_LAW_LINEAR:
          g_print ("  linear in %s\n", inputs);
          break;
        case TW_LAW_COLUMN:
          g_print ("  a column scale c on %s comes out as c^%s\n", inputs, degree);
          break;
        case TW_LAW_FORCE:
          g_print ("  no row scale passes from %s: it is paid before\n", inputs);
          break;
        case TW_LAW_SHIFT:
          g_print ("  a shift of the rows of %s %s\n", inputs,
                   strcmp (law->response, "carries") == 0 ? "carries through"
                                                          : "changes nothing");
          break;
        case TW_LAW_TRANSFER:
          g_print ("  a column scale on %s is a row scale on the other\n", law->inputs[0]);
          break;
        }
    }
}

static void
print_page (const TwBlock *block)
{
  g_print ("%s: %s (%s)\n\n%s\n", block->id, block->label, kinds[block->kind], block->doc);
  if (block->formula_text != NULL)
    g_print ("\nFormula\n  %s\n", block->formula_text);
  print_params (block);
  if (block->kind != TW_KIND_SOURCE)
    print_ports (block, TW_DIRECTION_IN);
  if (block->kind != TW_KIND_SINK)
    print_ports (block, TW_DIRECTION_OUT);
  print_laws (block);
}

static void
print_json (const TwCatalog *catalog, const TwBlock *only)
{
  int n;
  const TwBlock *const *list = tw_catalog_list (catalog, &n);
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  json_builder_begin_object (builder);
  json_builder_set_member_name (builder, "blocks");
  json_builder_begin_array (builder);
  for (int i = 0; i < n; i++)
    {
      const TwBlock *block = list[i];
      const char *fields[] = { "id", block->id, "kind", kinds[block->kind], "category",
                               block->category, "label", block->label, "doc", block->doc,
                               "formula", block->formula_text };
      if (only != NULL && block != only)
        continue;
      json_builder_begin_object (builder);
      for (guint k = 0; k < G_N_ELEMENTS (fields); k += 2)
        {
          json_builder_set_member_name (builder, fields[k]);
          if (fields[k + 1] != NULL)
            json_builder_add_string_value (builder, fields[k + 1]);
          else
            json_builder_add_null_value (builder);
        }
      json_builder_set_member_name (builder, "ports");
      json_builder_begin_array (builder);
      for (int p = 0; p < block->n_ports; p++)
        {
          json_builder_begin_object (builder);
          json_builder_set_member_name (builder, "id");
          json_builder_add_string_value (builder, block->ports[p].id);
          json_builder_set_member_name (builder, "direction");
          json_builder_add_string_value (
              builder, block->ports[p].direction == TW_DIRECTION_IN ? "in" : "out");
          json_builder_set_member_name (builder, "role");
          json_builder_add_string_value (builder, roles[block->ports[p].role]);
          json_builder_end_object (builder);
        }
      json_builder_end_array (builder);
      json_builder_set_member_name (builder, "params");
      json_builder_begin_array (builder);
      for (int p = 0; p < block->n_params; p++)
        json_builder_add_string_value (builder, block->params[p].id);
      json_builder_end_array (builder);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  g_autofree char *text = json_to_string (root, TRUE);
  g_print ("%s\n", text);
}

static Status
show (Session *session)
{
  Status status = session_open_catalog (session);
  if (status != STATUS_GOOD)
    return status;
  const TwBlock *block
      = session->path != NULL ? tw_catalog_get (session->catalog, session->path) : NULL;
  if (session->path != NULL && block == NULL)
    {
      int n;
      const TwBlock *const *list = tw_catalog_list (session->catalog, &n);
      g_autofree const char **names = g_new0 (const char *, n + 1);
      for (int i = 0; i < n; i++)
        names[i] = list[i]->id;
      const char *near = tw_nearest_name (session->path, names);
      complain (near != NULL ? "there is no block \"%s\"; did you mean %s?"
                             : "there is no block \"%s\"%s; `tilewright blocks` lists them",
                session->path, near != NULL ? near : "");
      return STATUS_USAGE;
    }
  if (session->json)
    print_json (session->catalog, block);
  else if (block != NULL)
    print_page (block);
  else
    print_list (session->catalog);
  return STATUS_GOOD;
}

Status
command_blocks (int argc, char **argv)
{
  Session session;
  Status status = session_parse (&session, argc, argv, NO_GRAPH, "[BLOCK]",
                                 "Lists the blocks there are, or says all about one.");
  if (status == STATUS_GOOD)
    status = show (&session);
  session_clear (&session);
  return status;
}
