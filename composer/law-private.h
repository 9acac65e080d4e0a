/* What the parts of the law check share. Not for others: law.h is the interface. */
#pragma once

#include "law.h"

G_BEGIN_DECLS

#define LAW_MAX_OPERANDS 8
#define LAW_MAX_DEGREE 12

typedef guint32 LawSet; /* of operands */

/* One drawing of everything random: a parameter setting, sizes, values. */
typedef struct
{
  const TwBlock *block;
  GRand *rand;
  GPtrArray *names; /* dimension and index names; borrowed */
  gint64 *extents;
  double *params;
  double *data[LAW_MAX_OPERANDS];
  int output; /* the one looked at */
} LawSample;

/* law-sample.c */
int tw_law_count_settings (const TwBlock *block);
/* Parameter setting number `setting`, sizes number `draw`, new values. */
void tw_law_sample_draw (LawSample *sample, int setting, int draw);
void tw_law_sample_clear (LawSample *sample);
gint64 tw_law_get_extent (const LawSample *sample, const char *name);
gint64 tw_law_get_size (const LawSample *sample, const TwFormulaOperand *operand);
/* New values for an operand. g_free. */
double *tw_law_draw_data (LawSample *sample, int operand);
double tw_law_draw_signed (GRand *rand, double least, double most);
/* The output looked at, for the given operands; NULL if the formula has no value there. g_free. */
double *tw_law_evaluate (const LawSample *sample, double *const *data);

/* law-measure.c. `y` is the output for the sample's own data. */
/* The degrees (bit LAW_MAX_DEGREE + d) that fit if `set` is scaled along `dim` by random factors,
 * positive or of both signs. */
guint32 tw_law_try_scale (LawSample *sample, LawSet set, const char *dim, gboolean positive,
                          const double *y);
gboolean tw_law_try_linear (LawSample *sample, LawSet set, const double *y);
/* Clears what does not hold. */
void tw_law_try_shift (LawSample *sample, int operand, const double *y, gboolean *carries,
                       gboolean *invariant);
/* Scaling `from` along `dim` is scaling all of `to` along it. */
gboolean tw_law_try_transfer (LawSample *sample, int from, LawSet to, const char *dim,
                              const double *y);

G_END_DECLS
