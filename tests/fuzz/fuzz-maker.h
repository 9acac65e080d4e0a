/* What the generator of graphs is made of: a graph that grows by nodes of any block. */
#pragma once

#include "fuzz-graphs.h"

G_BEGIN_DECLS

typedef struct
{
  char *node, *port;
  const TwType *type; /* of the maker's typing */
  const char *block;
} Value;

typedef struct
{
  const GraphFuzz *fuzz;
  TwGraph *graph;
  TwHistory *history;
  TwTyping *typing;
  GPtrArray *values; /* Value, in the order they were made */
  int made;
  TwDtype dtype; /* of most values */
  gboolean bad;  /* a command did not apply */
} Maker;

int maker_below (Maker *maker, int n);
gboolean maker_chance (Maker *maker, double p);
void maker_apply (Maker *maker, const TwCommand *command);
void maker_set (Maker *maker, const char *node, const char *name, const char *value);
void maker_wire (Maker *maker, const Value *from, const char *node, const char *port);
char *maker_add (Maker *maker, const char *block);
void maker_begin (Maker *maker);
gboolean maker_end (Maker *maker);
const Value *maker_find_value (Maker *maker, TwRole role, const TwDim *const *dims, int n_dims,
                               const TwDtype *dtype);
char *maker_choose_dim (Maker *maker);
char *maker_add_source (Maker *maker, TwRole role, const char *shape, const char *dtype,
                        gboolean weight);
gboolean maker_grow (Maker *maker, const TwBlock *block, const Value *first, char **id);
void maker_free_value (gpointer data);

G_END_DECLS
