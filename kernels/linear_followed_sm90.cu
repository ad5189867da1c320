/* linear_followed_sm90.cu - the entries of linear_sm90.cu that do what follows y (linear.h): a module
 * of their own, as only models with convolutions want them and a driver compiles them for a second. */
#define LINEAR_FOLLOWED
#include "linear_sm90.cu"
