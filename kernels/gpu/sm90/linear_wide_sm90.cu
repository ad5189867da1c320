/* linear_wide_sm90.cu - the entries of linear_small_sm90.cu with large tiles: a module of their
 * own, as few batches want them and a driver compiles them for a second. */
#define LINEAR_WIDE
#include "linear_small_sm90.cu"
