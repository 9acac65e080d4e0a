#include "law.h"
