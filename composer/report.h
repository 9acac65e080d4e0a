/* Reports for programs: JSON of check and plan (docs/json.md is the contract). */
#pragma once

#include "plan.h"

G_BEGIN_DECLS

/* {"ok","diagnostics":[{"code","severity","node","port","message","found","expected","fixes",
 * "line"}]}. g_free. */
char *tw_report_check (const GPtrArray *diagnostics);
/* {"kernels":[{"name","mainloop","nodes","reads","writes","bytes","flops"}],
 *  "edges":[{"from","to","where","reason"}],
 *  "steps":[{"rule","before","after","conditions","saves"}],
 *  "refusals":[{"rule","node","reason"}]}. Keys in this order. g_free. */
char *tw_report_plan (const TwPlan *plan);

G_END_DECLS
