#include "diagnostic.h"
