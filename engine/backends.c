/* backends.c - the table of backends, and names of devices. */
#include <string.h>

#include "backend.h"

static const struct bi_backend_ops *const backends[] = {
    &bi_backend_cpu, &bi_backend_cuda, &bi_backend_hip, &bi_backend_reference, &bi_backend_null};

const struct bi_backend_ops *bi_backend(int index)
{
    return index >= 0 && index < (int)BI_COUNT(backends) ? backends[index] : NULL;
}

int bi_backend_find(const struct bi_backend_ops **out, int *ordinal, const char *device,
                    struct bioinfer_error *err)
{
    size_t n, digits;
    if (!device || !*device || !strcmp(device, "auto"))
        device = "cpu";
    *out = NULL;
    *ordinal = 0;
    n = strcspn(device, ":");
    if (device[n]) {
        const char *number = device + n + 1;
        digits = strspn(number, "0123456789");
        if (number[digits] || digits < 1 || digits > 2 || (digits == 2 && *number == '0'))
            n = 0; /* no device is called so */
        for (size_t i = 0; n && i < digits; i++)
            *ordinal = 10 * *ordinal + (number[i] - '0');
    }
    for (int i = 0; !*out && bi_backend(i); i++)
        if (n == strlen(bi_backend(i)->name) && !memcmp(bi_backend(i)->name, device, n))
            *out = bi_backend(i);
    if (!*out)
        return bi_fail(err, BIOINFER_DEVICE,
                       "device '%.40s': expected auto, cpu, cuda:N or hip:N, N from 0 to %d",
                       device, BI_MAX_ORDINAL);
    return 0;
}
