#include "dimension.h"
