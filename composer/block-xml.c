/* From block.xml to TwBlock. The schema has seen the shape of the file; what it cannot say is
 * block-verify.c's. */
#include "block-private.h"
#include "graph-private.h"
#include "xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static TwXmlKind
xml_kind (void)
{
  return (TwXmlKind){ .domain = TW_BLOCK_ERROR,
                      .read = TW_BLOCK_ERROR_READ,
                      .schema = TW_BLOCK_ERROR_SCHEMA,
                      .what = "block",
                      .schema_file = "block.xsd",
                      .max_bytes = TW_BLOCK_MAX_BYTES,
                      .max_depth = TW_BLOCK_MAX_DEPTH };
}

gboolean
tw_block_fail (const TwBlockLines *lines, int line, GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, TW_BLOCK_ERROR, TW_BLOCK_ERROR_SCHEMA, "%s:%d: %s", lines->name, line,
               message);
  return FALSE;
}

/* Words between spaces and commas. */
static char **
get_words (const xmlNode *node, const char *attribute, const char *separators)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  g_auto (GStrv) parts = g_strsplit_set (text != NULL ? text : "", separators, -1);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  for (int i = 0; parts[i] != NULL; i++)
    if (*g_strstrip (parts[i]) != '\0')
      g_strv_builder_add (words, parts[i]);
  return g_strv_builder_end (words);
}

static gboolean
get_flag (const xmlNode *node, const char *attribute)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  return text != NULL && (strcmp (g_strstrip (text), "true") == 0 || strcmp (text, "1") == 0);
}

static double
get_real (const xmlNode *node, const char *attribute, double fallback)
{
  g_autofree char *text = tw_xml_get (node, attribute);
  return text != NULL ? g_ascii_strtod (text, NULL) : fallback;
}

static void
read_param (const xmlNode *node, TwParamSpec *param)
{
  static const char *const types[]
      = { "integer", "real", "boolean", "enum", "dimension", "shape", "dtype" };
  g_autofree char *type = tw_xml_get (node, "type");
  param->id = tw_xml_get (node, "id");
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (strcmp (type, types[i]) == 0)
      param->type = (TwParamType)i;
  param->fallback = tw_xml_get (node, "default");
  param->minimum = get_real (node, "min", -HUGE_VAL);
  param->maximum = get_real (node, "max", HUGE_VAL);
  param->exclusive_minimum = get_flag (node, "exclusive-min");
  param->multiple = (gint64)get_real (node, "multiple", 1);
  param->optional = get_flag (node, "optional");

  g_autoptr (GStrvBuilder) values = g_strv_builder_new ();
  g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (double));
  for (const xmlNode *child = node->children; child != NULL; child = child->next)
    if (tw_xml_is (child, "doc") && param->doc == NULL)
      param->doc = tw_xml_get_text (child);
    else if (tw_xml_is (child, "value"))
      {
        g_autofree char *id = tw_xml_get (child, "id");
        double number = get_real (child, "number", numbers->len);
        g_strv_builder_add (values, id);
        g_array_append_val (numbers, number);
      }
  if (param->doc == NULL)
    param->doc = g_strdup ("");
  if (param->type == TW_PARAM_ENUM)
    {
      param->values = g_strv_builder_end (values);
      param->numbers = (double *)g_array_steal (numbers, NULL);
    }
}

/* "param = a b". FALSE if it does not have this form. */
static gboolean
read_when (const xmlNode *node, TwPortSpec *port)
{
  g_autofree char *when = tw_xml_get (node, "when");
  if (when == NULL)
    return TRUE;
  g_auto (GStrv) sides = g_strsplit (when, "=", 2);
  if (g_strv_length (sides) != 2)
    return FALSE;
  port->when_param = g_strdup (g_strstrip (sides[0]));
  g_auto (GStrv) parts = g_strsplit_set (sides[1], " \t\n,", -1);
  g_autoptr (GStrvBuilder) words = g_strv_builder_new ();
  for (int i = 0; parts[i] != NULL; i++)
    if (*parts[i] != '\0')
      g_strv_builder_add (words, parts[i]);
  port->when_values = g_strv_builder_end (words);
  return *port->when_param != '\0' && port->when_values[0] != NULL;
}

static void
read_dtypes (const xmlNode *dtypes, TwPortSpec *port)
{
  for (const xmlNode *node = dtypes; node != NULL; node = node->next)
    {
      g_autofree char *id = tw_xml_is (node, "dtype") ? tw_xml_get (node, "id") : NULL;
      if (id == NULL || strcmp (id, port->dtype) != 0)
        continue;
      g_auto (GStrv) names = get_words (node, "any", " ,\t\n");
      g_free (port->dtypes);
      port->dtypes = g_new0 (TwDtype, g_strv_length (names) + 1);
      port->n_dtypes = 0;
      for (int i = 0; names[i] != NULL; i++)
        if (tw_dtype_from_name (names[i], &port->dtypes[port->n_dtypes]))
          port->n_dtypes++;
    }
}

static gboolean
read_dims (const xmlNode *node, TwPortSpec *port, const TwBlockLines *lines, GError **error)
{
  g_autofree char *dims = tw_xml_get (node, "dims");
  int line = (int)xmlGetLineNo (node);
  port->n_dims = -1;
  if (dims == NULL)
    return TRUE;
  g_auto (GStrv) parts = get_words (node, "dims", ",");
  g_auto (GStrv) names = get_words (node, "index", ",");
  guint n = g_strv_length (parts);
  if (n > 3)
    return tw_block_fail (lines, line, error, "port %s has %u dimensions; at most 3 are possible",
                          port->id, n);
  if (names[0] != NULL && g_strv_length (names) != n)
    return tw_block_fail (lines, line, error, "port %s: index names %u dimensions, dims has %u",
                          port->id, g_strv_length (names), n);
  port->n_dims = (int)n;
  for (guint i = 0; i < n; i++)
    {
      port->dims[i] = g_strdup (parts[i]);
      port->index[i] = g_strdup (names[0] != NULL ? names[i] : parts[i]);
    }
  return TRUE;
}

static gboolean
read_port (const xmlNode *node, const xmlNode *all, TwPortSpec *port, const TwBlockLines *lines,
           GError **error)
{
  static const char *const roles[] = { "matrix", "per-row", "per-column", "statistic", "any" };
  int line = (int)xmlGetLineNo (node);
  g_autofree char *direction = tw_xml_get (node, "direction");
  g_autofree char *role = tw_xml_get (node, "role");
  port->id = tw_xml_get (node, "id");
  port->direction = strcmp (direction, "in") == 0 ? TW_DIRECTION_IN : TW_DIRECTION_OUT;
  for (guint i = 0; i < G_N_ELEMENTS (roles); i++)
    if (strcmp (role, roles[i]) == 0)
      port->role = (TwRole)i;
  port->dtype = tw_xml_get (node, "dtype");
  if (port->dtype == NULL)
    port->dtype = g_strdup ("");
  read_dtypes (all, port);
  if (!read_dims (node, port, lines, error))
    return FALSE;
  g_autofree char *order = tw_xml_get (node, "order");
  port->column_order_allowed = order != NULL;
  port->optional = get_flag (node, "optional");
  port->positive = get_flag (node, "positive");
  if (!read_when (node, port))
    return tw_block_fail (lines, line, error,
                          "port %s: when has to read \"parameter = value ...\"", port->id);
  port->partner_param = tw_xml_get (node, "interleave");
  port->partner = port->partner_param != NULL ? TW_PARTNER_INTERLEAVED : TW_PARTNER_NONE;
  g_auto (GStrv) operands = get_words (node, "operands", " ,\t\n");
  guint n = g_strv_length (operands);
  if (n != 0 && (n != 2 || port->partner == TW_PARTNER_NONE))
    return tw_block_fail (lines, line, error,
                          "port %s: a packed port names two operands and an interleave parameter",
                          port->id);
  port->operands[0] = g_strdup (n == 2 ? operands[0] : port->id);
  port->operands[1] = n == 2 ? g_strdup (operands[1]) : NULL;
  port->statistic = tw_xml_get (node, "statistic");
  port->group_param = tw_xml_get (node, "group");
  port->alias = tw_xml_get (node, "alias");
  port->doc = tw_xml_get_text (node);
  return TRUE;
}

static gboolean
read_law (const xmlNode *node, TwLaw *law, const TwBlockLines *lines, GError **error)
{
  static const char *const kinds[]
      = { "degree", "linear", "column", "force", "shift", "transfer" };
  g_autofree char *kind = tw_xml_get (node, "kind");
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kind, kinds[i]) == 0)
      law->kind = (TwLawKind)i;
  law->inputs = get_words (node, "inputs", " ,\t\n");
  law->output = tw_xml_get (node, "output");
  law->response = tw_xml_get (node, "response");
  g_autofree char *degree = tw_xml_get (node, "degree");
  law->degree = 1;
  if (degree == NULL)
    return TRUE;
  if (degree[0] == '$')
    {
      law->degree_param = g_strdup (degree + 1);
      return TRUE;
    }
  gint64 value;
  if (!g_ascii_string_to_signed (degree, 10, -8, 8, &value, NULL))
    return tw_block_fail (lines, (int)xmlGetLineNo (node), error,
                          "degree \"%s\" is neither an integer from -8 to 8 nor $parameter",
                          degree);
  law->degree = (int)value;
  return TRUE;
}

/* Text that may stand once. */
static gboolean
read_once (const xmlNode *node, char **target, const TwBlockLines *lines, GError **error)
{
  if (*target != NULL)
    return tw_block_fail (lines, (int)xmlGetLineNo (node), error,
                          "a second <%s>; a block has one", (const char *)node->name);
  *target = tw_xml_get_text (node);
  return TRUE;
}

/* The element `node` into its place. The lists have been allocated. */
static gboolean
read_element (const xmlNode *node, TwBlock *block, GStrvBuilder *targets, TwBlockLines *lines,
              GError **error)
{
  int line = (int)xmlGetLineNo (node);
  const xmlNode *all = node->parent->children;
  const char *name = (const char *)node->name;
  if (strcmp (name, "label") == 0)
    return read_once (node, &block->label, lines, error);
  if (strcmp (name, "notation") == 0)
    return read_once (node, &block->notation, lines, error);
  if (strcmp (name, "doc") == 0)
    return read_once (node, &block->doc, lines, error);
  if (strcmp (name, "formula") == 0)
    {
      lines->formula = line;
      return read_once (node, &block->formula_text, lines, error);
    }
  if (strcmp (name, "synonyms") == 0)
    {
      g_autofree char *text = tw_xml_get_text (node);
      g_strfreev (block->synonyms);
      block->synonyms = g_strsplit (text, ",", -1);
      for (int i = 0; block->synonyms[i] != NULL; i++)
        g_strstrip (block->synonyms[i]);
    }
  else if (strcmp (name, "param") == 0)
    {
      lines->params[block->n_params] = line;
      read_param (node, &block->params[block->n_params++]);
    }
  else if (strcmp (name, "port") == 0)
    {
      lines->ports[block->n_ports] = line;
      return read_port (node, all, &block->ports[block->n_ports++], lines, error);
    }
  else if (strcmp (name, "law") == 0)
    {
      lines->laws[block->n_laws] = line;
      return read_law (node, &block->laws[block->n_laws++], lines, error);
    }
  else if (strcmp (name, "require") == 0)
    {
      TwRequirement *requirement = &block->requirements[block->n_requirements++];
      requirement->when_param = tw_xml_get (node, "when");
      requirement->expression = tw_xml_get (node, "test");
      requirement->message = tw_xml_get_text (node);
    }
  else if (strcmp (name, "cost") == 0)
    block->flops = get_real (node, "flops", 0);
  else if (strcmp (name, "source") == 0)
    {
      g_autofree char *file = tw_xml_get (node, "file");
      if (block->source != NULL)
        return tw_block_fail (lines, line, error, "a second <source>; a block has one");
      lines->source = line;
      block->source = g_build_filename (block->directory, file, NULL);
      block->function = tw_xml_get (node, "function");
    }
  else if (strcmp (name, "target") == 0)
    {
      g_autofree char *id = tw_xml_get (node, "id");
      g_strv_builder_add (targets, id);
    }
  else if (strcmp (name, "body") == 0)
    {
      if (block->body != NULL)
        return tw_block_fail (lines, line, error, "a second <body>; a block has one");
      g_autoptr (GError) inner = NULL;
      block->body = tw_graph_from_body (node, block->id, &inner);
      if (block->body == NULL)
        return tw_block_fail (lines, line, error, "body: %s", inner->message);
    }
  return TRUE;
}

static int
count (const xmlNode *root, const char *name)
{
  int n = 0;
  for (const xmlNode *node = root->children; node != NULL; node = node->next)
    n += tw_xml_is (node, name);
  return n;
}

static gboolean
read_block (const xmlNode *root, TwBlock *block, TwBlockLines *lines, GError **error)
{
  static const char *const kinds[]
      = { "source", "sink", "contraction", "elementwise", "statistic", "finish", "composite" };
  static const struct
  {
    const char *name;
    int limit;
  } limits[] = { { "param", TW_BLOCK_MAX_PARAMS },
                 { "port", TW_BLOCK_MAX_PORTS },
                 { "law", TW_BLOCK_MAX_LAWS } };
  g_autofree char *kind = tw_xml_get (root, "kind");
  g_autofree char *version = tw_xml_get (root, "version");
  lines->block = (int)xmlGetLineNo (root);
  for (guint i = 0; i < G_N_ELEMENTS (limits); i++)
    if (count (root, limits[i].name) > limits[i].limit)
      return tw_block_fail (lines, lines->block, error, "%d <%s>; at most %d are possible",
                            count (root, limits[i].name), limits[i].name, limits[i].limit);
  block->id = tw_xml_get (root, "id");
  block->version = (int)strtol (version, NULL, 10);
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (strcmp (kind, kinds[i]) == 0)
      block->kind = (TwBlockKind)i;
  block->category = tw_xml_get (root, "category");
  block->params = g_new0 (TwParamSpec, count (root, "param") + 1);
  block->ports = g_new0 (TwPortSpec, count (root, "port") + 1);
  block->laws = g_new0 (TwLaw, count (root, "law") + 1);
  block->requirements = g_new0 (TwRequirement, count (root, "require") + 1);

  g_autoptr (GStrvBuilder) targets = g_strv_builder_new ();
  for (const xmlNode *node = root->children; node != NULL; node = node->next)
    if (node->type == XML_ELEMENT_NODE && node->ns == NULL
        && !read_element (node, block, targets, lines, error))
      return FALSE;
  block->targets = g_strv_builder_end (targets);
  if (block->label == NULL)
    block->label = g_strdup (block->id);
  if (block->doc == NULL)
    block->doc = g_strdup ("");
  if (block->synonyms == NULL)
    block->synonyms = g_new0 (char *, 1);
  if (block->function == NULL)
    block->function = g_strconcat ("tw_", block->id, NULL);
  return tw_block_complete (block, lines, error);
}

static TwBlock *
parse (const char *xml, gsize length, const char *name, const char *directory, GError **error)
{
  TwXmlKind kind = xml_kind ();
  TwBlockLines lines = { .name = name };
  xmlDoc *doc = tw_xml_parse (xml, length, name, &kind, error);
  if (doc == NULL)
    return NULL;
  g_autoptr (TwBlock) block = g_new0 (TwBlock, 1);
  block->ref_count = 1;
  block->directory = g_strdup (directory != NULL ? directory : "");
  const xmlNode *root = xmlDocGetRootElement (doc);
  g_autofree char *format = root != NULL ? tw_xml_get (root, "format") : NULL;
  gint64 number = 0;
  gboolean good = FALSE;
  if (format != NULL && tw_xml_is (root, "block")
      && g_ascii_string_to_signed (format, 10, TW_BLOCK_FORMAT + 1, G_MAXINT, &number, NULL))
    tw_block_fail (&lines, (int)xmlGetLineNo (root), error,
                   "format %s is newer than this program's, %d; update the program", format,
                   TW_BLOCK_FORMAT);
  else
    good = tw_xml_validate (doc, name, &kind, error) && read_block (root, block, &lines, error);
  xmlFreeDoc (doc);
  return good ? g_steal_pointer (&block) : NULL;
}

TwBlock *
tw_block_parse (const char *xml, gsize length, const char *directory, GError **error)
{
  return parse (xml, length, "block.xml", directory, error);
}

TwBlock *
tw_block_load (const char *path, GError **error)
{
  TwXmlKind kind = xml_kind ();
  gsize length;
  g_autofree char *text = tw_xml_read_file (path, &kind, &length, error);
  if (text == NULL)
    return NULL;
  g_autofree char *directory = g_path_get_dirname (path);
  return parse (text, length, path, directory, error);
}
