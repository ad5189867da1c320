/* linear_followed_sm90.cu - the entries of linear_sm90.cu whose sums end in registers
 * (linear_followed_tile.h): tiles of 128 x 128 of y alone, and all that do what follows y
 * (linear.h). */
#define LINEAR_FOLLOWED
#include "linear_sm90.cu"
