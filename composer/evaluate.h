/* What a graph computes, in double: the meaning against which everything else is compared. */
#pragma once

#include "check.h"

G_BEGIN_DECLS

#define TW_EVALUATE_ERROR (tw_evaluate_error_quark ())
GQuark tw_evaluate_error_quark (void);
typedef enum
{
  TW_EVALUATE_ERROR_INPUT,  /* an input is missing or has the wrong shape */
  TW_EVALUATE_ERROR_SIZE,   /* more than TW_EVALUATE_MAX_ELEMENTS in one tensor, or a bad extent */
  TW_EVALUATE_ERROR_FORMULA
} TwEvaluateError;

#define TW_EVALUATE_MAX_ELEMENTS (G_GINT64_CONSTANT (1) << 28)

typedef struct
{
  int n_dims;
  gint64 dims[3];
  double *data; /* row-major, index order of the port's dimensions */
} TwTensor;

TwTensor *tw_tensor_new (int n_dims, const gint64 *dims);
void tw_tensor_free (TwTensor *tensor);
gint64 tw_tensor_get_size (const TwTensor *tensor);

typedef enum
{
  TW_EVALUATE_EXACT,  /* double throughout */
  TW_EVALUATE_ROUNDED /* every drawn edge rounded to its dtype: what an unfused program computes.
                         Edges inside a composite are not drawn and stay exact */
} TwEvaluateMode;

/* Evaluates every node. `inputs`: node id of each input and weight -> TwTensor (borrowed).
 * `dims`: dimension name -> gint64* overriding the graph's values; may be NULL. Returns a table
 * "node.port" -> TwTensor (owned) of every output port and of every sink's input (under the sink's
 * "node.x"); g_hash_table_unref. */
GHashTable *tw_evaluate (const TwGraph *graph, const TwCatalog *catalog, const TwTyping *typing,
                         GHashTable *inputs, GHashTable *dims, TwEvaluateMode mode, GError **error);

G_END_DECLS
