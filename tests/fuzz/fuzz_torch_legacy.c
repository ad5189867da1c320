/* fuzz_torch_legacy.c - one PyTorch legacy stream. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_weights("fuzz-legacy.pt", data, size);
}
