#include "emit.h"
