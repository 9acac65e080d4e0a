/* Reading of cases.xml. */
#include "cases.h"

#include "composer/xml.h"

#include <string.h>

static const char *const all_fills
    = "random rows offset small zeros signed-zeros inf nan huge subnormal";
/* Sizes of up to three dimensions, used in the order of the dimensions' names. */
static const gint64 default_sizes[][3]
    = { { 1, 1, 1 },    { 1, 17, 64 },  { 0, 5, 9 },     { 3, 64, 17 },
        { 17, 63, 65 }, { 16, 65, 63 }, { 35, 130, 100 } };

static void
choice_free (gpointer data)
{
  Choice *choice = data;

  g_free (choice->port);
  g_free (choice->name);
  g_strfreev (choice->values);
  g_free (choice);
}

static void
case_free (gpointer data)
{
  Case *c = data;

  g_free (c->id);
  g_ptr_array_unref (c->choices);
  g_strfreev (c->dims);
  g_array_unref (c->sizes);
  g_strfreev (c->fills);
  g_strfreev (c->guarded);
  g_free (c);
}

/* ---- names of dimensions ---- */

static void
add_name (const char *name, gpointer data)
{
  GPtrArray *names = data;

  for (guint i = 0; i < names->len; i++)
    if (strcmp (names->pdata[i], name) == 0)
      return;
  g_ptr_array_add (names, g_strdup (name));
}

static void
add_names (GPtrArray *names, const char *text)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (int i = 0; parts[i] != NULL; i++)
    {
      g_autoptr (TwDim) dim = tw_dim_parse (g_strstrip (parts[i]), NULL);

      if (dim != NULL)
        tw_dim_foreach_name (dim, add_name, names);
    }
}

/* Of the ports' dimensions, unless a case says the shape itself. */
static void
find_dims (Case *c, const TwBlock *block)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < c->choices->len; i++)
    {
      const Choice *choice = c->choices->pdata[i];
      const TwParamSpec *spec
          = choice->kind == CHOICE_PARAM ? tw_block_get_param (block, choice->name) : NULL;

      if (strcmp (choice->name, "shape") == 0 || (spec && spec->type == TW_PARAM_DIMENSION))
        for (int j = 0; choice->values[j] != NULL; j++)
          add_names (names, choice->values[j]);
    }
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];

      if (port->direction == TW_DIRECTION_OUT
          || cases_find (c, 0, CHOICE_INPUT, port->id, "shape") != NULL)
        continue;
      for (int j = 0; j < port->n_dims; j++)
        add_names (names, port->dims[j]);
      if (port->role == TW_ROLE_ANY)
        add_names (names, "M, N");
    }
  if (block->kind == TW_KIND_SOURCE && cases_find (c, 0, CHOICE_PARAM, NULL, "shape") == NULL)
    add_names (names, "M, N");
  c->n_dims = (int)names->len;
  g_ptr_array_add (names, NULL);
  c->dims = (char **)g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* ---- elements ---- */

static char **
split_words (const char *text)
{
  g_auto (GStrv) parts = g_strsplit_set (text, " \t\n", -1);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();

  for (int i = 0; parts[i] != NULL; i++)
    if (parts[i][0] != '\0')
      g_strv_builder_add (words, parts[i]);
  return g_strv_builder_end (words);
}

static gboolean
fail (const xmlNode *node, GError **error, const char *message)
{
  g_set_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_SCHEMA, "cases.xml:%d: %s", (int)node->line,
               message);
  return FALSE;
}

/* A shape is one value; everything else is a list. */
static gboolean
read_choice (Case *c, const xmlNode *node, ChoiceKind kind, const char *port, GError **error)
{
  g_autofree char *name = tw_xml_get (node, kind == CHOICE_DTYPE ? "id" : "name");
  g_autofree char *value = tw_xml_get (node, "value");

  if (name == NULL || value == NULL)
    return fail (node, error, "a choice needs a name and a value");
  Choice *choice = g_new0 (Choice, 1);
  choice->kind = kind;
  choice->port = g_strdup (port);
  choice->name = g_strdup (name);
  if (strcmp (name, "shape") == 0)
    {
      choice->values = g_new0 (char *, 2);
      choice->values[0] = g_strdup (value);
    }
  else
    choice->values = split_words (value);
  g_ptr_array_add (c->choices, choice);
  return choice->values[0] != NULL ? TRUE : fail (node, error, "a choice lists no value");
}

static gboolean
read_size (Case *c, const xmlNode *node, GError **error)
{
  for (int i = 0; i < c->n_dims; i++)
    {
      g_autofree char *text = tw_xml_get (node, c->dims[i]);
      gint64 value = 0;

      if (text == NULL || !g_ascii_string_to_signed (text, 10, 0, 1 << 20, &value, NULL))
        {
          g_autofree char *message
              = g_strdup_printf ("a size needs a number for dimension %s", c->dims[i]);
          return fail (node, error, message);
        }
      g_array_append_val (c->sizes, value);
    }
  c->n_sizes++;
  return TRUE;
}

static gboolean
read_children (Case *c, const TwBlock *block, const xmlNode *node, GError **error)
{
  for (const xmlNode *child = node->children; child != NULL; child = child->next)
    if (tw_xml_is (child, "dtype") && !read_choice (c, child, CHOICE_DTYPE, NULL, error))
      return FALSE;
    else if (tw_xml_is (child, "param") && !read_choice (c, child, CHOICE_PARAM, NULL, error))
      return FALSE;
    else if (tw_xml_is (child, "input"))
      {
        g_autofree char *port = tw_xml_get (child, "port");

        if (port == NULL || tw_block_get_port (block, port) == NULL)
          return fail (child, error, "an input names no port of the block");
        for (const xmlNode *param = child->children; param != NULL; param = param->next)
          if (tw_xml_is (param, "param") && !read_choice (c, param, CHOICE_INPUT, port, error))
            return FALSE;
      }
  find_dims (c, block);
  for (const xmlNode *child = node->children; child != NULL; child = child->next)
    if (tw_xml_is (child, "size") && !read_size (c, child, error))
      return FALSE;
  return TRUE;
}

/* What was left unsaid. */
static void
complete (Case *c, const TwBlock *block)
{
  for (int i = 0; i < block->n_ports; i++)
    {
      const TwPortSpec *port = &block->ports[i];

      if (port->dtypes == NULL || cases_find (c, 0, CHOICE_DTYPE, NULL, port->dtype) != NULL)
        continue;
      Choice *choice = g_new0 (Choice, 1);
      g_autoptr (GStrvBuilder) values = g_strv_builder_new ();

      for (int j = 0; j < port->n_dtypes; j++)
        g_strv_builder_add (values, tw_dtype_get_name (port->dtypes[j]));
      choice->kind = CHOICE_DTYPE;
      choice->name = g_strdup (port->dtype);
      choice->values = g_strv_builder_end (values);
      g_ptr_array_add (c->choices, choice);
    }
  if (c->sizes->len == 0)
    for (guint i = 0; i < (c->fixed ? 1 : G_N_ELEMENTS (default_sizes)); i++)
      for (int j = 0; j < c->n_dims; j++)
        g_array_append_val (c->sizes, default_sizes[c->fixed ? 4 : i][j % 3]);
  c->n_sizes = c->n_dims > 0 ? (int)c->sizes->len / c->n_dims : 1;
}

static Case *
read_case (const TwBlock *block, const xmlNode *node, GError **error)
{
  Case *c = g_new0 (Case, 1);
  g_autofree char *id = node != NULL ? tw_xml_get (node, "id") : NULL;
  g_autofree char *fills = node != NULL ? tw_xml_get (node, "fills") : NULL;
  g_autofree char *guarded = node != NULL ? tw_xml_get (node, "guarded") : NULL;
  g_autofree char *bound = node != NULL ? tw_xml_get (node, "error") : NULL;
  g_autofree char *fixed = node != NULL ? tw_xml_get (node, "fixed") : NULL;

  c->id = g_strdup (id != NULL ? id : "all");
  c->choices = g_ptr_array_new_with_free_func (choice_free);
  c->sizes = g_array_new (FALSE, FALSE, sizeof (gint64));
  c->fills = split_words (fills != NULL ? fills : all_fills);
  c->guarded = split_words (guarded != NULL ? guarded : "");
  c->error = bound != NULL ? g_ascii_strtod (bound, NULL) : 8;
  c->fixed = fixed != NULL && strcmp (fixed, "true") == 0;
  if (node == NULL)
    find_dims (c, block);
  else if (!read_children (c, block, node, error))
    {
      case_free (c);
      return NULL;
    }
  complete (c, block);
  if (cases_n_settings (c) > CASES_MAX_SETTINGS || (c->fixed && c->n_sizes > 1))
    {
      g_set_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_SCHEMA,
                   c->fixed && c->n_sizes > 1
                       ? "cases.xml: case %s: fixed dimensions have one size"
                       : "cases.xml: case %s has too many settings: list fewer values",
                   c->id);
      case_free (c);
      return NULL;
    }
  return c;
}

GPtrArray *
cases_load (const TwBlock *block, GError **error)
{
  const TwXmlKind kind = {
    TW_BLOCK_ERROR, TW_BLOCK_ERROR_READ, TW_BLOCK_ERROR_SCHEMA, "list of cases", NULL, 1 << 20, 16
  };
  g_autofree char *path = g_build_filename (block->directory, "cases.xml", NULL);
  g_autoptr (GPtrArray) cases = g_ptr_array_new_with_free_func (case_free);
  g_autofree char *text = NULL;
  xmlDoc *doc = NULL;
  gsize length = 0;
  gboolean good = TRUE;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      Case *c = read_case (block, NULL, error);

      if (c == NULL)
        return NULL;
      g_ptr_array_add (cases, c);
      return g_steal_pointer (&cases);
    }
  text = tw_xml_read_file (path, &kind, &length, error);
  doc = text != NULL ? tw_xml_parse (text, length, path, &kind, error) : NULL;
  if (doc == NULL)
    return NULL;
  const xmlNode *root = xmlDocGetRootElement (doc);
  for (const xmlNode *node = root->children; node != NULL && good; node = node->next)
    if (tw_xml_is (node, "case"))
      {
        Case *c = read_case (block, node, error);

        good = c != NULL;
        if (good)
          g_ptr_array_add (cases, c);
      }
  xmlFreeDoc (doc);
  return good ? g_steal_pointer (&cases) : NULL;
}

/* ---- settings ---- */

int
cases_n_settings (const Case *c)
{
  gint64 n = 1;

  for (guint i = 0; i < c->choices->len && n <= CASES_MAX_SETTINGS; i++)
    n *= g_strv_length (((Choice *)c->choices->pdata[i])->values);
  return (int)n;
}

const char *
cases_value (const Case *c, guint choice, int setting)
{
  const Choice *chosen = c->choices->pdata[choice];

  for (guint i = 0; i < choice; i++)
    setting /= (int)g_strv_length (((Choice *)c->choices->pdata[i])->values);
  return chosen->values[setting % (int)g_strv_length (chosen->values)];
}

const char *
cases_find (const Case *c, int setting, ChoiceKind kind, const char *port, const char *name)
{
  for (guint i = 0; i < c->choices->len; i++)
    {
      const Choice *choice = c->choices->pdata[i];

      if (choice->kind == kind && g_strcmp0 (choice->port, port) == 0
          && strcmp (choice->name, name) == 0)
        return cases_value (c, i, setting);
    }
  return NULL;
}
