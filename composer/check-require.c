/* Requirements that descriptors state: proved here, refused here, or left to the launcher. */
#include "check-private.h"

void
tw_check_requirements (TwCheck *check, int node)
{
}
