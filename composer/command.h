/* Commands: the only way to change a graph. Each is named, checked before anything changes, and
 * undoable. The editor, fixes, rewriting rules and programs use the same ones. */
#pragma once

#include "graph.h"

G_BEGIN_DECLS

typedef enum
{
  TW_COMMAND_ADD_NODE,    /* node, block */
  TW_COMMAND_REMOVE_NODE, /* node; takes its links with it */
  TW_COMMAND_RENAME_NODE, /* node, value: the new id */
  TW_COMMAND_SET_LABEL,   /* node, value or NULL */
  TW_COMMAND_SET_PARAM,   /* node, name, value; value NULL: back to the default */
  TW_COMMAND_MOVE_NODE,   /* node, x, y */
  TW_COMMAND_SET_ORIGIN,  /* node, value: the drawn node it stands for */
  TW_COMMAND_CONNECT,     /* node.port -> to_node.to_port; replaces what was wired to the latter */
  TW_COMMAND_DISCONNECT,  /* to_node.to_port */
  TW_COMMAND_SET_FUSE,    /* to_node.to_port, flag */
  TW_COMMAND_SET_OWED,    /* to_node.to_port, owed[] */
  TW_COMMAND_SET_DIMENSION,    /* dimension; adds or replaces by name */
  TW_COMMAND_REMOVE_DIMENSION, /* name */
  TW_COMMAND_SET_NAME,         /* value: the graph's name */
  TW_COMMAND_SET_DOC           /* value */
} TwCommandKind;

/* Unused fields are NULL/0. Strings are copied where the command is applied. */
typedef struct
{
  TwCommandKind kind;
  const char *node, *port, *to_node, *to_port;
  const char *block, *name, *value;
  double x, y;
  gboolean flag;
  TwDimension dimension;
  const TwOwed *owed;
  int n_owed;
} TwCommand;

/* "add-node", ... Static. */
const char *tw_command_get_name (TwCommandKind kind);

/* Applies one command. FALSE with TW_GRAPH_ERROR_COMMAND (or _NEWER) and the graph unchanged if it
 * does not apply: unknown node, bad id, id taken, ... Links to ports a block does not have are
 * allowed (the checker reports them); a graph needs no catalog. */
gboolean tw_graph_apply (TwGraph *graph, const TwCommand *command, GError **error);

/* Undo. A history records what is applied through it. */
typedef struct _TwHistory TwHistory;
TwHistory *tw_history_new (TwGraph *graph); /* borrows the graph */
void tw_history_free (TwHistory *history);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwHistory, tw_history_free)
gboolean tw_history_apply (TwHistory *history, const TwCommand *command, GError **error);
/* Commands between begin and end undo as one, shown as `name`. Nesting counts. */
void tw_history_begin (TwHistory *history, const char *name);
void tw_history_end (TwHistory *history);
/* FALSE if there is nothing to undo/redo. After undo the graph's canonical XML is what it was. */
gboolean tw_history_undo (TwHistory *history);
gboolean tw_history_redo (TwHistory *history);
/* Name of what undo/redo would do, or NULL. Borrowed. */
const char *tw_history_get_undo_name (const TwHistory *history);
const char *tw_history_get_redo_name (const TwHistory *history);

G_END_DECLS
