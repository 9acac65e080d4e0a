/* Dimension expressions: the extents of tensors, symbolic until a value is known.
 *
 *   expr   := term { ('+' | '-') term }
 *   term   := factor { '*' factor | '/' integer }
 *   factor := integer | name | 'ceil' '(' expr '/' integer ')' | '(' expr ')'
 *
 * `/` is exact: evaluation fails where a remainder is left. `ceil(e/n)` rounds up. A TwDim is
 * immutable and reference-counted, kept in a canonical form, so that equal polynomials in the same
 * names compare equal however they were written (2*H and H+H; H*D and D*H). */
#pragma once

#include <glib.h>

G_BEGIN_DECLS

#define TW_DIM_ERROR (tw_dim_error_quark ())
GQuark tw_dim_error_quark (void);

typedef enum
{
  TW_DIM_ERROR_SYNTAX,   /* the text is no dimension expression */
  TW_DIM_ERROR_UNBOUND,  /* a name has no value */
  TW_DIM_ERROR_REMAINDER,/* an exact division leaves a remainder */
  TW_DIM_ERROR_RANGE     /* the value is negative or does not fit 64 bits */
} TwDimError;

typedef struct _TwDim TwDim;

/* Parses `text`. NULL and TW_DIM_ERROR_SYNTAX with the offset in the message otherwise. Nesting is
 * bounded. Transfer: the caller owns a reference. */
TwDim *tw_dim_parse (const char *text, GError **error);
TwDim *tw_dim_new_integer (gint64 value);
TwDim *tw_dim_new_name (const char *name);
TwDim *tw_dim_ref (TwDim *dim);
void tw_dim_unref (TwDim *dim);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwDim, tw_dim_unref)

/* Canonical equality of expressions. */
gboolean tw_dim_equal (const TwDim *a, const TwDim *b);

/* TRUE and *value if the expression holds no name. */
gboolean tw_dim_is_constant (const TwDim *dim, gint64 *value);

/* Canonical text, e.g. "2*H", "ceil(N/64)"; parses back to an equal expression. Borrowed. */
const char *tw_dim_get_text (const TwDim *dim);

/* The expression as a C expression of type int64_t, each name N printed as `prefix`N. Free with
 * g_free. */
char *tw_dim_to_c (const TwDim *dim, const char *prefix);

/* Value with names taken from `lookup` (return FALSE for an unknown name). */
typedef gboolean (*TwDimLookup) (const char *name, gint64 *value, gpointer user_data);
gboolean tw_dim_evaluate (const TwDim *dim, TwDimLookup lookup, gpointer user_data, gint64 *value,
                          GError **error);

/* `dim` with every name replaced by the expression `lookup` returns (borrowed; NULL keeps the
 * name). Transfer: the caller owns the result. */
typedef TwDim *(*TwDimReplace) (const char *name, gpointer user_data);
TwDim *tw_dim_substitute (const TwDim *dim, TwDimReplace replace, gpointer user_data);

/* Calls `func` with each distinct name, sorted. */
void tw_dim_foreach_name (const TwDim *dim, void (*func) (const char *name, gpointer user_data),
                          gpointer user_data);

/* Solves `pattern` (which holds exactly the one name `name`, as c, V, c*V or c*V+d with integers c,
 * d) for that name so that it equals `dim`. NULL if the pattern has another form or the division
 * is not exact. The way port dimensions such as "2*N" bind N. */
TwDim *tw_dim_solve (const TwDim *pattern, const char *name, const TwDim *dim);

G_END_DECLS
