#include "rewrite.h"
