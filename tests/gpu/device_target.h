/* device_target.h - entries on a real device, for checkkernel_gpu --device=NAME. */
#ifndef DEVICE_TARGET_H
#define DEVICE_TARGET_H

#include "kernels/gpu_entries_sm90.h"

struct device_target;

/* name: "cuda:0". NULL after a message to stderr. */
struct device_target *device_open(const char *name);
void device_close(struct device_target *d);
int device_is_hopper(const struct device_target *d);
/* Memory of the host with a copy on the device: device_run gives the entry the copy's addresses and
 * copies all of it there and back. */
void *device_take(struct device_target *d, size_t size);
void device_give(struct device_target *d, void *p);
/* Launches and waits; params: BI_PARAMS_SIZE bytes. NULL, or what went wrong. */
const char *device_run(struct device_target *d, const struct bi_gpu_entry *e, const void *params,
                       const struct bi_counts *bucket);
/* Seconds of a launch: the median of replays of a graph of launches. */
const char *device_time(struct device_target *d, const struct bi_gpu_entry *e,
                        const void *params, const struct bi_counts *bucket, double *seconds);

#endif
