/* What the parts of the formula language share. Not for others: formula.h is the interface.
 *
 * The text is parsed into one flat tree of terms (children before parents) for all statements. For
 * each output the tree is compiled into a program: nodes in evaluation order, sorted into scopes.
 * A scope is the output's index space or the body of one reduction; a node stands in the outermost
 * scope that binds every index it depends on, so nothing is computed twice in a loop. Locals are
 * abbreviations: one is compiled anew where a reduction binds an index that it depends on.
 * Evaluator and C printer walk the same program, so they agree to the bit. */
#pragma once

#include "formula.h"

G_BEGIN_DECLS

#define TW_FORMULA_MAX_LENGTH 16384
#define TW_FORMULA_MAX_DEPTH 200     /* nesting of terms, through locals */
#define TW_FORMULA_MAX_DIMS 30       /* distinct dimension names */
#define TW_FORMULA_MAX_REDUCTIONS 12 /* nested in one another */
#define TW_FORMULA_MAX_NODES 4096    /* of one program */

typedef enum
{
  OP_NUMBER,
  OP_PARAM,
  OP_SIZE,
  OP_INDEX,
  OP_READ,
  OP_LOCAL,
  OP_REDUCE,
  OP_NEGATE,
  OP_ADD,
  OP_SUBTRACT,
  OP_MULTIPLY,
  OP_DIVIDE,
  OP_LESS,
  OP_LESS_EQUAL,
  OP_GREATER,
  OP_GREATER_EQUAL,
  OP_EQUAL,
  OP_NOT_EQUAL,
  OP_ABS, /* from here on in the order of tw_formula_functions */
  OP_EXP,
  OP_LOG,
  OP_SQRT,
  OP_RSQRT,
  OP_TANH,
  OP_SIGMOID,
  OP_ERF,
  OP_SIN,
  OP_COS,
  OP_FLOOR,
  OP_SQUARE,
  OP_RELU,
  OP_SIGN,
  OP_ISNAN,
  OP_MIN,
  OP_MAX,
  OP_POW,
  OP_MOD,
  OP_ROUND_TO,
  OP_SELECT
} Op;

typedef enum
{
  REDUCE_SUM,
  REDUCE_MEAN,
  REDUCE_MAX,
  REDUCE_MIN
} Reduction;

typedef struct
{
  const char *name;
  int n_args;
} FormulaFunction;
extern const FormulaFunction tw_formula_functions[]; /* OP_ABS + i; ends with a NULL name */

/* A node of the tree. */
typedef struct
{
  Op op;
  int item; /* parameter, operand, local (statement) or Reduction */
  int dim;  /* SIZE, INDEX, REDUCE; READ: the shifted dimension or -1 */
  double number;
  int args[3]; /* terms, -1 where none. REDUCE: body, group. READ: shifted index */
  int depth;
  int offset; /* in the text */
} Term;

typedef struct
{
  char *name;
  int output; /* or -1: a local */
  int term;
  gboolean used;
} Statement;

/* A node of a program. */
typedef struct
{
  Op op;
  int item, dim;
  double number;
  int args[3]; /* nodes */
  int scope;   /* where it is computed */
  guint32
      deps;    /* indices it depends on: bit 0-2 the output's, bit 2 + d a reduction's at depth d */
  int bind[3]; /* READ: the bit number that each dimension takes its index from; -1: the shift.
                  INDEX: bind[0]. REDUCE with a group: bind[0] selects the group */
  gboolean own; /* REDUCE: group selected by the index on the reduced dimension itself */
  int body;     /* REDUCE: its scope */
  int local;    /* the statement whose value it is, or -1 */
  int vector;   /* the bit number along which it is evaluated in chunks, or -1: one value */
} Node;

typedef struct
{
  int parent, depth; /* depth 0: the output */
  int dim;           /* dimension bound, -1 for the output */
  int bit;
  int result;    /* node */
  int vector;    /* bit number along which nodes here are evaluated in chunks, or -1 */
  int chunk;     /* largest chunk */
  GArray *nodes; /* int, in order */
} Scope;

typedef struct
{
  GArray *nodes;  /* Node */
  GArray *scopes; /* Scope; parents first */
} Program;

typedef struct
{
  char *name;
  int n_dims;
  int dims[3]; /* indices of dimension names */
} Operand;

struct _TwFormula
{
  int ref_count;
  char *text;
  Operand *inputs;
  int n_inputs;
  Operand *outputs;
  int n_outputs;
  char **params;
  int n_params;
  char **dims; /* distinct dimension names, NULL-terminated */
  int n_dims;
  GArray *terms;      /* Term */
  GArray *statements; /* Statement */
  Program *programs;  /* per output */
};

#define FORMULA_CHUNK 256

#define TERM(f, i) (&g_array_index ((f)->terms, Term, i))
#define STATEMENT(f, i) (&g_array_index ((f)->statements, Statement, i))
#define NODE(p, i) (&g_array_index ((p)->nodes, Node, i))
#define SCOPE(p, i) (&g_array_index ((p)->scopes, Scope, i))

/* formula-compile.c. FALSE with an error of the SHAPE kind. */
gboolean tw_formula_compile (TwFormula *formula, int output, GError **error);

G_END_DECLS
