/* What reading of graphs shares with block-xml.c. */
#pragma once
#include "graph.h"
#include "xml.h"
TwGraph *tw_graph_from_body (const xmlNode *body, const char *name, GError **error);
