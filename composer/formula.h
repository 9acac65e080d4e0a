/* The formula language: what a block means, in one place.
 *
 *   formula    := { statement ';' } statement [';']
 *   statement  := name '=' expr                      an output, or a local for later statements
 *   expr       := sum [ ('<'|'<='|'>'|'>='|'=='|'!=') sum ]   1 or 0
 *   sum        := product { ('+'|'-') product }
 *   product    := unary { ('*'|'/') unary }
 *   unary      := '-' unary | primary
 *   primary    := number | name | name '[' dim '=' expr ']' | call | reduction | '(' expr ')'
 *   call       := function '(' expr { ',' expr } ')'
 *   reduction  := ('sum'|'mean'|'max'|'min') '(' dim [':' group] ',' expr ')'
 *
 * A name is an operand (its value at the indices of the dimensions it has), a parameter (a number;
 * an enum is its value's number), a dimension in `size(N)` or `index(N)`, or a local. Indices are
 * implied by the operands' named dimensions: with a[M,K], b[K,N], y[M,N] the product of matrices is
 * `y = sum(K, a*b)`. `x[N = e]` reads x at column e instead. `sum(N:g, x)` reduces within the group
 * of g columns that the output's index on the grouped dimension selects: for x[M,N] and an output
 * whose last dimension is ceil(N/g) (named P, say), element p sums columns p*g ... min(N, p*g+g)-1;
 * g is an expression of parameters, 0 meaning the whole row.
 *
 * Functions: abs exp log sqrt rsqrt tanh sigmoid erf sin cos floor min max pow mod square relu
 * sign isnan select(c,a,b) round_to(x, dtype number). min and max propagate NaN; relu(NaN) is NaN.
 *
 * A TwFormula is immutable and reference-counted. */
#pragma once

#include "dtype.h"

G_BEGIN_DECLS

#define TW_FORMULA_ERROR (tw_formula_error_quark ())
GQuark tw_formula_error_quark (void);
typedef enum
{
  TW_FORMULA_ERROR_SYNTAX, /* message has the offset and what was expected */
  TW_FORMULA_ERROR_NAME,   /* a name is unknown, or used as what it is not */
  TW_FORMULA_ERROR_SHAPE   /* an operand has a dimension that neither output nor reduction binds */
} TwFormulaError;

/* The names a formula may use. */
typedef struct
{
  const char *name;
  int n_dims;           /* 0 for a parameter */
  const char *dims[3];  /* the block's dimension names; a dimension that is an expression of others
                           has its own index name, chosen by the descriptor ("P", or "N2") */
} TwFormulaOperand;

typedef struct
{
  const TwFormulaOperand *inputs;  int n_inputs;
  const TwFormulaOperand *outputs; int n_outputs;
  const char *const *params;       int n_params;
} TwFormulaNames;

typedef struct _TwFormula TwFormula;

/* Parses and resolves `text`. Depth and length are bounded. NULL with `error` otherwise. */
TwFormula *tw_formula_parse (const char *text, const TwFormulaNames *names, GError **error);
TwFormula *tw_formula_ref (TwFormula *formula);
void tw_formula_unref (TwFormula *formula);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwFormula, tw_formula_unref)

/* The text as written. Borrowed. */
const char *tw_formula_get_text (const TwFormula *formula);

/* Row-major tensors in double. `dims[i]` belongs to the operand's i-th dimension name. */
typedef struct
{
  int n_dims;
  gint64 dims[3];
  double *data;
} TwFormulaTensor;

/* Evaluates every output over its whole index space, in double, each reduction in index order.
 * `inputs`, `outputs` and `params` are in the order of the names given to parse; outputs' data is
 * the caller's, of the right size. `dim_names`/`dim_values` give each dimension's extent.
 * Contractions of the form sum(K, a*b) take a fast path with the same order of summation. */
gboolean tw_formula_evaluate (const TwFormula *formula, const TwFormulaTensor *inputs,
                              const double *params, const char *const *dim_names,
                              const gint64 *dim_values, int n_dims, TwFormulaTensor *outputs,
                              GError **error);

/* How names are spelled when a formula is printed as C. */
typedef struct
{
  /* C expression that reads input `operand` with the index expressions `index[0..n)` (C text). */
  char *(*read) (int operand, const char *const *index, gpointer user_data);
  /* C expression of a parameter, of a dimension's extent. */
  char *(*param) (int param, gpointer user_data);
  char *(*extent) (const char *dim, gpointer user_data);
  gboolean single; /* TRUE: float arithmetic with tw_* math of blocks/tile/math.h; FALSE: double
                      with the C library's functions and the helpers of the printed reference */
} TwFormulaC;

/* The statements that compute output `output` at the index variables `index[0..n)` (C text, one per
 * dimension of the output) and assign it to the lvalue `target`. Locals and reductions are declared
 * in a block of their own. Lines are indented by `indent` spaces, at most 100 columns. g_free. */
char *tw_formula_to_c (const TwFormula *formula, int output, const char *const *index,
                       const char *target, int indent, const TwFormulaC *spelling,
                       gpointer user_data);

/* The helper functions of the double spelling (ref_max, ref_sigmoid, ...) as C text: static inline,
 * over <math.h>. With single = TRUE every function f of the language but select is tw_f (float...)
 * of blocks/tile/math.h, round_to and mod included. Static. */
const char *tw_formula_get_helpers (void);

/* TRUE if `formula` is elementwise: no reduction, no shifted index, no size() or index(): a
 * function of operands and parameters at one element. */
gboolean tw_formula_is_elementwise (const TwFormula *formula);
/* TRUE if the text names the parameter, the input (by its place in the names given to parse). */
gboolean tw_formula_uses_param (const TwFormula *formula, int param);
gboolean tw_formula_uses_input (const TwFormula *formula, int input);
/* TRUE if the value of `output` is computed from `input`. */
gboolean tw_formula_output_uses_input (const TwFormula *formula, int output, int input);

G_END_DECLS
