#include "expand.h"
