/* Commands and undo. A command is checked as a whole, then changes records. An undo step is a pair
 * of copies, which share all records the step did not touch. */
#include "command.h"
#include "graph-private.h"

#include <math.h>
#include <string.h>

#define MAX_TEXT 255
#define MAX_DOC 65536

const char *
tw_command_get_name (TwCommandKind kind)
{
  static const char *const names[] = {
    [TW_COMMAND_ADD_NODE] = "add-node",
    [TW_COMMAND_REMOVE_NODE] = "remove-node",
    [TW_COMMAND_RENAME_NODE] = "rename-node",
    [TW_COMMAND_SET_LABEL] = "set-label",
    [TW_COMMAND_SET_PARAM] = "set-param",
    [TW_COMMAND_MOVE_NODE] = "move-node",
    [TW_COMMAND_SET_ORIGIN] = "set-origin",
    [TW_COMMAND_CONNECT] = "connect",
    [TW_COMMAND_DISCONNECT] = "disconnect",
    [TW_COMMAND_SET_FUSE] = "set-fuse",
    [TW_COMMAND_SET_OWED] = "set-owed",
    [TW_COMMAND_SET_DIMENSION] = "set-dimension",
    [TW_COMMAND_REMOVE_DIMENSION] = "remove-dimension",
    [TW_COMMAND_SET_NAME] = "set-name",
    [TW_COMMAND_SET_DOC] = "set-doc",
  };
  return (guint)kind < G_N_ELEMENTS (names) ? names[kind] : "unknown";
}

static gboolean fail (const TwCommand *command, GError **error, const char *format, ...)
    G_GNUC_PRINTF (3, 4);

static gboolean
fail (const TwCommand *command, GError **error, const char *format, ...)
{
  va_list args;
  va_start (args, format);
  g_autofree char *message = g_strdup_vprintf (format, args);
  va_end (args);
  g_set_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_COMMAND, "%s: %s",
               tw_command_get_name (command->kind), message);
  return FALSE;
}

static gboolean
need_id (const TwCommand *command, const char *text, const char *what, GError **error)
{
  if (text != NULL && tw_is_id (text))
    return TRUE;
  return fail (command, error,
               "\"%s\" is no %s: letters, digits and _ are allowed, at most %d, no digit first",
               text != NULL ? text : "", what, TW_ID_MAX);
}

/* Text of one line that XML can hold. */
static gboolean
need_text (const TwCommand *command, const char *text, gsize most, gboolean lines, const char *what,
           GError **error)
{
  if (!g_utf8_validate (text, -1, NULL))
    return fail (command, error, "the %s is not UTF-8", what);
  if (strlen (text) > most)
    return fail (command, error, "the %s has more than %" G_GSIZE_FORMAT " bytes", what, most);
  for (const char *at = text; *at != '\0'; at = g_utf8_next_char (at))
    {
      gunichar c = g_utf8_get_char (at);
      if ((c < 0x20 && !(lines && (c == '\n' || c == '\t'))) || c == 0xfffe || c == 0xffff)
        return fail (command, error, "the %s holds a control character", what);
    }
  return TRUE;
}

static gboolean
need_param_name (const TwCommand *command, GError **error)
{
  const char *name = command->name != NULL ? command->name : "";
  return tw_is_param_name (name) || fail (command, error, "\"%s\" is no name of a parameter", name);
}

static TwNodeRecord *
need_node (const TwGraph *graph, const TwCommand *command, const char *id, GError **error)
{
  const TwNode *node = id != NULL ? tw_graph_get_node (graph, id) : NULL;
  if (node == NULL)
    fail (command, error, "there is no node \"%s\"", id != NULL ? id : "");
  return (TwNodeRecord *)node;
}

static TwLinkRecord *
find_link (const TwGraph *graph, const TwCommand *command)
{
  if (command->to_node == NULL || command->to_port == NULL)
    return NULL;
  return (TwLinkRecord *)tw_graph_get_link_to (graph, command->to_node, command->to_port);
}

static TwLinkRecord *
need_link (const TwGraph *graph, const TwCommand *command, GError **error)
{
  TwLinkRecord *link = find_link (graph, command);
  if (link == NULL)
    fail (command, error, "no link leads into \"%s.%s\"",
          command->to_node != NULL ? command->to_node : "",
          command->to_port != NULL ? command->to_port : "");
  return link;
}

/* ---- commands on nodes ---- */
static gboolean
add_node (TwGraph *graph, const TwCommand *command, GError **error)
{
  if (!need_id (command, command->node, "node id", error)
      || !need_id (command, command->block, "block id", error))
    return FALSE;
  if (tw_graph_get_node (graph, command->node) != NULL)
    return fail (command, error, "there is a node %s already", command->node);
  TwNodeRecord *record = tw_node_record_new (command->node, command->block);
  tw_graph_claim_place (graph, record);
  tw_graph_exchange_node (graph, NULL, record);
  return TRUE;
}

/* Most ids differ early, and a call costs more than that. */
static inline gboolean
is_same (const char *a, const char *b)
{
  while (*a == *b && *a != '\0')
    a++, b++;
  return *a == *b;
}

static gboolean
remove_node (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwNodeRecord *node = need_node (graph, command, command->node, error);
  if (node == NULL)
    return FALSE;
  for (guint i = graph->links->len; i-- > 0;)
    {
      TwLinkRecord *link = graph->links->pdata[i];
      if (is_same (link->view.from_node, node->view.id)
          || is_same (link->view.to_node, node->view.id))
        tw_graph_exchange_link (graph, link, NULL);
    }
  tw_graph_exchange_node (graph, node, NULL);
  return TRUE;
}

static gboolean
rename_text (const char **target, const char *old, const char *new)
{
  if (*target == NULL || strcmp (*target, old) != 0)
    return FALSE;
  tw_set_text (target, new);
  return TRUE;
}

static gboolean
mentions (const TwLink *link, const char *id)
{
  gboolean found = strcmp (link->from_node, id) == 0 || strcmp (link->to_node, id) == 0
                   || g_strcmp0 (link->shift_mu_node, id) == 0
                   || g_strcmp0 (link->shift_v_node, id) == 0;
  for (int i = 0; i < link->n_owed; i++)
    found |= strcmp (link->owed[i].node, id) == 0;
  return found;
}

static gboolean
rename_node (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwNodeRecord *node = need_node (graph, command, command->node, error);
  if (node == NULL || !need_id (command, command->value, "node id", error))
    return FALSE;
  g_autofree char *old = g_strdup (command->node), *new = g_strdup (command->value);
  if (strcmp (old, new) == 0)
    return TRUE;
  if (tw_graph_get_node (graph, new) != NULL)
    return fail (command, error, "there is a node %s already", new);
  TwNodeRecord *renamed = tw_node_record_copy (node);
  tw_set_text (&renamed->view.id, new);
  tw_graph_claim_place (graph, renamed);
  tw_graph_exchange_node (graph, node, renamed);
  for (guint i = 0; i < graph->links->len; i++)
    {
      TwLinkRecord *link = graph->links->pdata[i];
      if (!mentions (&link->view, old))
        continue;
      TwLinkRecord *copy = tw_link_record_copy (link);
      rename_text (&copy->view.from_node, old, new);
      rename_text (&copy->view.to_node, old, new);
      rename_text (&copy->view.shift_mu_node, old, new);
      rename_text (&copy->view.shift_v_node, old, new);
      for (int k = 0; k < copy->view.n_owed; k++)
        rename_text ((const char **)&copy->view.owed[k].node, old, new);
      tw_graph_exchange_link (graph, link, copy);
    }
  return TRUE;
}

/* Label, origin, parameter, place. */
static gboolean
change_node (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwNodeRecord *node = need_node (graph, command, command->node, error);
  if (node == NULL)
    return FALSE;
  if (command->value != NULL && command->kind != TW_COMMAND_SET_ORIGIN
      && !need_text (command, command->value, MAX_TEXT, FALSE, "text", error))
    return FALSE;
  if (command->value != NULL && command->kind == TW_COMMAND_SET_ORIGIN
      && !need_id (command, command->value, "node id", error))
    return FALSE;
  if (command->kind == TW_COMMAND_SET_PARAM && !need_param_name (command, error))
    return FALSE;
  if (command->kind == TW_COMMAND_MOVE_NODE
      && !(fabs (command->x) <= 1e15 && fabs (command->y) <= 1e15))
    return fail (command, error, "the place is not within 1e15 of the origin");
  TwNodeRecord *copy = tw_node_record_copy (node);
  if (command->kind == TW_COMMAND_SET_LABEL)
    tw_set_text (&copy->view.label, command->value);
  else if (command->kind == TW_COMMAND_SET_ORIGIN)
    tw_set_text (&copy->view.origin, command->value);
  else if (command->kind == TW_COMMAND_SET_PARAM)
    tw_node_record_set_param (copy, command->name, command->value);
  else
    {
      copy->view.placed = TRUE;
      copy->view.x = command->x;
      copy->view.y = command->y;
    }
  tw_graph_exchange_node (graph, node, copy);
  return TRUE;
}

/* ---- commands on links ---- */
static gboolean
connect_ports (TwGraph *graph, const TwCommand *command, GError **error)
{
  if (need_node (graph, command, command->node, error) == NULL
      || need_node (graph, command, command->to_node, error) == NULL
      || !need_id (command, command->port, "port", error)
      || !need_id (command, command->to_port, "port", error))
    return FALSE;
  TwLinkRecord *old = find_link (graph, command);
  TwLinkRecord *link
      = tw_link_record_new (command->node, command->port, command->to_node, command->to_port);
  if (old != NULL)
    {
      link->view.fuse_required = old->view.fuse_required;
      tw_extra_copy (&link->extra, &old->extra);
    }
  tw_graph_exchange_link (graph, old, link);
  return TRUE;
}

static gboolean
disconnect_port (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwLinkRecord *link = need_link (graph, command, error);
  if (link == NULL)
    return FALSE;
  tw_graph_exchange_link (graph, link, NULL);
  return TRUE;
}

static gboolean
change_link (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwLinkRecord *link = need_link (graph, command, error);
  if (link == NULL)
    return FALSE;
  for (int i = 0; command->kind == TW_COMMAND_SET_OWED && i < command->n_owed; i++)
    {
      const TwOwed *owed = &command->owed[i];
      if (!need_id (command, owed->node, "node id", error)
          || !need_id (command, owed->port, "port", error))
        return FALSE;
      if (owed->degree < -64 || owed->degree > 64 || owed->first_column < 0 || owed->n_columns < 0)
        return fail (command, error,
                     "degree %d of %s is not within -64 ... 64, or its columns are "
                     "negative",
                     owed->degree, owed->node);
    }
  TwLinkRecord *copy = tw_link_record_copy (link);
  if (command->kind == TW_COMMAND_SET_OWED)
    tw_link_record_set_owed (copy, command->owed, command->n_owed);
  else
    copy->view.fuse_required = command->flag;
  tw_graph_exchange_link (graph, link, copy);
  return TRUE;
}

/* ---- commands on the graph ---- */
static gboolean
find_dimension (const TwGraph *graph, const char *name, guint *at)
{
  for (*at = 0; *at < graph->dimensions->len; ++*at)
    if (strcmp (((TwDimensionRecord *)graph->dimensions->pdata[*at])->view.name, name) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
set_dimension (TwGraph *graph, const TwCommand *command, GError **error)
{
  TwDimension dimension = command->dimension;
  guint at;
  if (!need_id (command, dimension.name, "dimension", error))
    return FALSE;
  if (!dimension.dynamic)
    {
      dimension.minimum = 0;
      dimension.maximum = TW_DIMENSION_MAX;
      dimension.multiple = 1;
    }
  if (dimension.value < 0 || dimension.minimum < 0 || dimension.maximum > TW_DIMENSION_MAX
      || dimension.value < dimension.minimum || dimension.value > dimension.maximum
      || dimension.multiple < 1 || dimension.value % dimension.multiple != 0)
    return fail (command, error,
                 "%s = %" G_GINT64_FORMAT " is not in %" G_GINT64_FORMAT " ... %" G_GINT64_FORMAT
                 " or no multiple of %" G_GINT64_FORMAT,
                 dimension.name, dimension.value, dimension.minimum, dimension.maximum,
                 dimension.multiple);
  TwDimensionRecord *record = tw_dimension_record_new (&dimension);
  if (!find_dimension (graph, dimension.name, &at))
    {
      g_ptr_array_add (graph->dimensions, record);
      return TRUE;
    }
  TwDimensionRecord *old = graph->dimensions->pdata[at];
  tw_extra_copy (&record->extra, &old->extra);
  graph->dimensions->pdata[at] = record;
  tw_dimension_record_unref (old);
  return TRUE;
}

static gboolean
remove_dimension (TwGraph *graph, const TwCommand *command, GError **error)
{
  guint at;
  if (command->name == NULL || !find_dimension (graph, command->name, &at))
    return fail (command, error, "there is no dimension \"%s\"",
                 command->name != NULL ? command->name : "");
  g_ptr_array_remove_index (graph->dimensions, at);
  return TRUE;
}

static gboolean
set_name (TwGraph *graph, const TwCommand *command, GError **error)
{
  if (!need_id (command, command->value, "name of a graph", error))
    return FALSE;
  tw_set_text ((const char **)&graph->name, command->value);
  return TRUE;
}

static gboolean
set_doc (TwGraph *graph, const TwCommand *command, GError **error)
{
  if (command->value != NULL && !need_text (command, command->value, MAX_DOC, TRUE, "text", error))
    return FALSE;
  g_autofree char *text = command->value != NULL ? g_strstrip (g_strdup (command->value)) : NULL;
  tw_set_text ((const char **)&graph->doc, text != NULL && *text != '\0' ? text : NULL);
  return TRUE;
}

gboolean
tw_graph_apply (TwGraph *graph, const TwCommand *command, GError **error)
{
  static gboolean (*const actions[]) (TwGraph *, const TwCommand *, GError **) = {
    [TW_COMMAND_ADD_NODE] = add_node,
    [TW_COMMAND_REMOVE_NODE] = remove_node,
    [TW_COMMAND_RENAME_NODE] = rename_node,
    [TW_COMMAND_SET_LABEL] = change_node,
    [TW_COMMAND_SET_PARAM] = change_node,
    [TW_COMMAND_MOVE_NODE] = change_node,
    [TW_COMMAND_SET_ORIGIN] = change_node,
    [TW_COMMAND_CONNECT] = connect_ports,
    [TW_COMMAND_DISCONNECT] = disconnect_port,
    [TW_COMMAND_SET_FUSE] = change_link,
    [TW_COMMAND_SET_OWED] = change_link,
    [TW_COMMAND_SET_DIMENSION] = set_dimension,
    [TW_COMMAND_REMOVE_DIMENSION] = remove_dimension,
    [TW_COMMAND_SET_NAME] = set_name,
    [TW_COMMAND_SET_DOC] = set_doc,
  };
  if ((guint)command->kind >= G_N_ELEMENTS (actions))
    return fail (command, error, "%d is no command", (int)command->kind);
  if (tw_graph_is_read_only (graph))
    {
      g_set_error (error, TW_GRAPH_ERROR, TW_GRAPH_ERROR_NEWER,
                   "graph %s has format %d, newer than this program's, %d: it can be read only",
                   graph->name, graph->format, TW_GRAPH_FORMAT);
      return FALSE;
    }
  return actions[command->kind](graph, command, error);
}

/* ---- undo ---- */
typedef struct
{
  char *name;
  TwGraph *before, *after;
} Step;

struct _TwHistory
{
  TwGraph *graph;
  GPtrArray *steps; /* Step */
  guint done;       /* steps in force; those behind can be redone */
  int nesting;
  Step *open;       /* between begin and end */
  gboolean changed; /* something was applied since begin */
};

static void
step_free (Step *step)
{
  g_free (step->name);
  tw_graph_free (step->before);
  tw_graph_free (step->after);
  g_free (step);
}

static Step *
step_new (const TwHistory *history, const char *name)
{
  Step *step = g_new0 (Step, 1);
  step->name = g_strdup (name);
  step->before = tw_graph_copy (history->graph);
  return step;
}

static void
push (TwHistory *history, Step *step)
{
  step->after = tw_graph_copy (history->graph);
  g_ptr_array_set_size (history->steps, (int)history->done);
  g_ptr_array_add (history->steps, step);
  history->done++;
}

TwHistory *
tw_history_new (TwGraph *graph)
{
  TwHistory *history = g_new0 (TwHistory, 1);
  history->graph = graph;
  history->steps = g_ptr_array_new_with_free_func ((GDestroyNotify)step_free);
  return history;
}

void
tw_history_free (TwHistory *history)
{
  if (history == NULL)
    return;
  g_ptr_array_unref (history->steps);
  g_clear_pointer (&history->open, step_free);
  g_free (history);
}

gboolean
tw_history_apply (TwHistory *history, const TwCommand *command, GError **error)
{
  Step *step
      = history->nesting == 0 ? step_new (history, tw_command_get_name (command->kind)) : NULL;
  gboolean good = tw_graph_apply (history->graph, command, error);
  if (good && step != NULL)
    push (history, g_steal_pointer (&step));
  history->changed |= good;
  g_clear_pointer (&step, step_free);
  return good;
}

void
tw_history_begin (TwHistory *history, const char *name)
{
  if (history->nesting++ > 0)
    return;
  history->open = step_new (history, name);
  history->changed = FALSE;
}

void
tw_history_end (TwHistory *history)
{
  if (history->nesting == 0 || --history->nesting > 0)
    return;
  if (history->changed)
    push (history, g_steal_pointer (&history->open));
  g_clear_pointer (&history->open, step_free);
}

gboolean
tw_history_undo (TwHistory *history)
{
  if (history->nesting > 0 || history->done == 0)
    return FALSE;
  Step *step = history->steps->pdata[--history->done];
  tw_graph_restore (history->graph, step->before);
  return TRUE;
}

gboolean
tw_history_redo (TwHistory *history)
{
  if (history->nesting > 0 || history->done == history->steps->len)
    return FALSE;
  Step *step = history->steps->pdata[history->done++];
  tw_graph_restore (history->graph, step->after);
  return TRUE;
}

const char *
tw_history_get_undo_name (const TwHistory *history)
{
  return history->done > 0 ? ((Step *)history->steps->pdata[history->done - 1])->name : NULL;
}

const char *
tw_history_get_redo_name (const TwHistory *history)
{
  return history->done < history->steps->len ? ((Step *)history->steps->pdata[history->done])->name
                                             : NULL;
}
