/* What the two halves of hoisting share: the region that a scale owes through, and the moves in it.
 * Not for others. */
#pragma once

#include "rewrite-private.h"

G_BEGIN_DECLS

#define TW_STOP_OUTPUTS 4

/* A link of the region: what it owes while the scale is on its way. */
typedef struct
{
  const char *port; /* of the node at its end */
  int degree;
  double bound; /* of the stored absolute value where one is promised, else infinity */
} TwOwedPort;

typedef struct
{
  const char *id;
  double position;
  const TwBlock *block;
  GArray *ports;      /* TwOwedPort; empty at a scale that is not reached by another */
  GHashTable *scales; /* ids of the scales that come this way */
  gboolean member;    /* one of the scales that move */
  gboolean nonlinear;
  double bound;
  int degrees[TW_STOP_OUTPUTS]; /* per output, in order; 0: owes nothing */
} TwStop;

typedef struct
{
  TwRewriting *rewriting;
  TwEnd s;
  gboolean positive;
  char *words;         /* of the condition s > 0 */
  GHashTable *members; /* ids */
  GHashTable *stops;   /* id -> TwStop */
  GPtrArray *pending;  /* TwStop, not yet looked at */
  GPtrArray *order;    /* TwStop, looked at */
  GHashTable *credit;  /* scale -> gint64*: bytes that moving it saves; taken once */
} TwHoist;

/* rewrite-move.c: moves all members of a region that has been looked at. */
void tw_hoist_move (TwHoist *hoist);

G_END_DECLS
