/* What the parts of the launcher share: launcher.c, launcher-parts.c, launch.c. */
#pragma once

#include "emit-private.h"

G_BEGIN_DECLS

/* Is anything computed once, on weights? */
gboolean tw_launcher_has_prepare (const TwEmit *emit);
/* Prints a function that gives each slot's place; the last place is the total. */
void tw_launcher_slots (TwEmit *emit, TwText *text, TwBufferKind kind, const char *name);
/* Views of what changes from launch to launch (`at_launch`), or of the rest. */
void tw_launcher_views (TwEmit *emit, TwText *text, gboolean at_launch);
/* if (condition) return UPPER_ERROR_<code>; */
void tw_launcher_check (TwText *text, const char *condition, const char *upper, const char *code);
/* Ranges of the dimensions in `from` ("max_dims" or "args"). */
void tw_launcher_check_dims (TwEmit *emit, TwText *text, const char *from, gboolean at_launch);
/* Tensor `index` in `from` ("weights" or "args"). */
void tw_launcher_check_tensor (TwEmit *emit, TwText *text, guint index, const char *from);

/* launch.c */
void tw_launcher_launch (TwEmit *emit, TwText *text);

G_END_DECLS
