#include "graph.h"
