/* A block's descriptor: what blocks/<id>/block.xml says, as data.
 *
 * Everything the composer and the exporter know of a block is here; neither has a list of blocks.
 * A TwBlock is immutable and reference-counted; its fields are read-only to users. */
#pragma once

#include "diagnostic.h"
#include "dimension.h"
#include "dtype.h"
#include "formula.h"

G_BEGIN_DECLS

#define TW_BLOCK_ERROR (tw_block_error_quark ())
GQuark tw_block_error_quark (void);
typedef enum
{
  TW_BLOCK_ERROR_READ,   /* cannot be read, too large, DOCTYPE, not well-formed */
  TW_BLOCK_ERROR_SCHEMA, /* against share/block.xsd, or a formula, dimension or law that is wrong */
} TwBlockError;

/* How a block takes part in a kernel. */
typedef enum
{
  TW_KIND_SOURCE,      /* graph input or weight */
  TW_KIND_SINK,        /* graph output */
  TW_KIND_CONTRACTION, /* matrix product: starts a kernel */
  TW_KIND_ELEMENTWISE, /* each output element from one element (or partner pair) of each operand */
  TW_KIND_STATISTIC,   /* reduction along the row, gathered while values pass */
  TW_KIND_FINISH,      /* per-row scalar from a folded statistic */
  TW_KIND_COMPOSITE    /* a graph of blocks */
} TwBlockKind;

typedef enum
{
  TW_PARAM_INTEGER,
  TW_PARAM_REAL,
  TW_PARAM_BOOLEAN,
  TW_PARAM_ENUM,
  TW_PARAM_DIMENSION, /* a dimension expression */
  TW_PARAM_SHAPE,     /* 0-3 dimension expressions, comma-separated */
  TW_PARAM_DTYPE
} TwParamType;

typedef struct
{
  char *id;
  TwParamType type;
  char *doc;
  char *fallback;          /* default value as text, or NULL: required */
  double minimum, maximum; /* integer and real; infinities where open */
  gboolean exclusive_minimum;
  gint64 multiple;   /* integer: 1 if any */
  char **values;     /* enum: value ids; else NULL */
  double *numbers;   /* enum: what each value is in a formula */
  gboolean optional; /* may stay unset though it has no default */
} TwParamSpec;

typedef enum
{
  TW_DIRECTION_IN,
  TW_DIRECTION_OUT
} TwDirection;

/* How the editor draws a port, and what an epilogue does to fetch it. */
typedef enum
{
  TW_ROLE_MATRIX,
  TW_ROLE_PER_ROW,
  TW_ROLE_PER_COLUMN,
  TW_ROLE_STATISTIC, /* partial or final, [M, P] */
  TW_ROLE_ANY        /* sources and sinks: as declared or wired */
} TwRole;

/* Where the two partners of a pair lie in one tensor of twice the columns. */
typedef enum
{
  TW_PARTNER_NONE,
  TW_PARTNER_INTERLEAVED, /* groups of g columns of the first, then g of the second */
  TW_PARTNER_HALVES       /* all columns of the first, then all of the second: a type only, which
                             no port takes; refused with an offer to pack */
} TwPartner;

typedef struct
{
  char *id;
  TwDirection direction;
  TwRole role;
  char *dtype;     /* a dtype name, or a variable ("T") shared by the ports that name it, or
                      "$param" */
  TwDtype *dtypes; /* variable: the dtypes it may take; n_dtypes of them */
  int n_dtypes;
  int n_dims;     /* -1: any shape, from parameter `shape` or the wire */
  char *dims[3];  /* dimension expressions over the block's dimension names */
  char *index[3]; /* name of each dimension in the formula: the expression itself if it is a
                     plain name, else the `index` attribute */
  gboolean optional;
  gboolean column_order_allowed; /* order=column operands accepted (contractions) */
  char *when_param; /* port exists only if this parameter has one of when_values; NULL: always */
  char **when_values;
  TwPartner partner;   /* input packs two operands (or output: what `interleave` makes): */
  char *partner_param; /* interleave="p": columns of each partner in turn = the enum number of
                          this parameter; NULL: partner_group */
  int partner_group;   /* columns of each partner in turn */
  char *operands[2];   /* the operand names of a packed port; [0] == id and [1] NULL otherwise */
  char *statistic;     /* STATISTIC: operation, e.g. "sum-of-squares"; else NULL */
  char *group_param;   /* STATISTIC output: the parameter that holds its group of columns */
  gboolean positive;   /* output: every finite value is > 0 (finish) */
  char *alias;         /* output: the input it may overwrite in place, or NULL */
  char *doc;
} TwPortSpec;

typedef enum
{
  TW_LAW_DEGREE,  /* inputs times s[m] > 0  =>  output times s^degree */
  TW_LAW_LINEAR,  /* output is linear in the inputs taken jointly: any sign, and additive */
  TW_LAW_COLUMN,  /* inputs times c[n] of any sign along the output's last dimension => output
                     times c^degree */
  TW_LAW_FORCE,   /* no degree law holds for this input: owed scales must be paid before it */
  TW_LAW_SHIFT,   /* input plus mu[m]*v[n] => output plus mu[m]*f(v) ("carries") or unchanged
                     ("invariant") */
  TW_LAW_TRANSFER /* a column scale on inputs[0] equals a row scale on inputs[1] (along the
                     contracted dimension) */
} TwLawKind;

typedef struct
{
  TwLawKind kind;
  char **inputs; /* operand names, NULL-terminated */
  char *output;  /* NULL: every output */
  int degree;
  char *degree_param; /* degree is this integer parameter's value; NULL: `degree` */
  char *response;     /* SHIFT */
} TwLaw;

typedef struct
{
  char *when_param; /* condition in terms of parameters and dimensions, see block.xsd */
  char
      *expression; /* formula-language expression over parameters and size(NAME); must be nonzero */
  char *message;   /* may contain {name} of a parameter or dimension: replaced by its value */
} TwRequirement;

typedef struct _TwGraph TwGraph;

typedef struct
{
  int ref_count;
  char *id;
  int version;
  TwBlockKind kind;
  char *label, *category, *doc;
  char **synonyms;
  char *notation; /* "{a} @ {b}": how formulas of a derivation print it */
  TwParamSpec *params;
  int n_params;
  TwPortSpec *ports;
  int n_ports;
  TwLaw *laws;
  int n_laws;
  TwRequirement *requirements;
  int n_requirements;
  char *formula_text; /* NULL for sources, sinks, composites */
  TwFormula *formula; /* inputs in order of operands, then outputs; parameters in order */
  TwFormulaOperand *operands;
  int n_operands; /* inputs of the formula (packed ports give two) */
  TwFormulaOperand *outputs;
  int n_outputs;
  double flops;   /* per output element (contraction: per multiply-add pair 2) */
  char *source;   /* absolute path of the .cuh, or NULL: printed from the formula */
  char *function; /* device function, "tw_<id>" */
  char **targets; /* targets it runs on; NULL-terminated */
  TwGraph *body;  /* COMPOSITE: a graph whose inputs/outputs are nodes named as its ports;
                     "$p" in a parameter stands for the composite's parameter p */
  char *directory;
} TwBlock;

/* Reads and validates `path`. NULL with `error` (code, line) otherwise; never aborts. */
TwBlock *tw_block_load (const char *path, GError **error);
/* The same from memory; `directory` is where source files are looked for. */
TwBlock *tw_block_parse (const char *xml, gsize length, const char *directory, GError **error);
TwBlock *tw_block_ref (TwBlock *block);
void tw_block_unref (TwBlock *block);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TwBlock, tw_block_unref)

const TwParamSpec *tw_block_get_param (const TwBlock *block, const char *id);
const TwPortSpec *tw_block_get_port (const TwBlock *block, const char *id);
int tw_block_get_operand (const TwBlock *block, const char *name); /* index, or -1 */

/* The port that carries operand `name` under the given value of the port's `when` parameter; see
 * tw_node_has_port in graph.h for ports of a node. */
gboolean tw_port_spec_present (const TwPortSpec *port, const char *when_value);

G_END_DECLS
