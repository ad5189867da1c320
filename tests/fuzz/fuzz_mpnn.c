/* fuzz_mpnn.c - one file of the .mpnn container. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_weights("fuzz.mpnn", data, size);
}
