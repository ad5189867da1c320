/* fuzz_safetensors.c - one safetensors file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_weights("fuzz.safetensors", data, size);
}
