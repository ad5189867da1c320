/* fuzz_torch_zip.c - one PyTorch zip archive; CRCs are ignored in fuzzing builds. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_weights("fuzz.pt", data, size);
}
