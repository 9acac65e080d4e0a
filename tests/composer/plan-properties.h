/* What holds for every plan of every graph. */
#pragma once

#include "composer/plan.h"

G_BEGIN_DECLS

/* NULL if all of it holds; else what does not. g_free. */
char *plan_find_fault (const TwPlan *plan, const TwCatalog *catalog, gboolean fuse);

G_END_DECLS
