/* device_target.h - entries on a real device, for checkkernel_gpu --device=NAME and for
 * kernels_bench.c. */
#ifndef DEVICE_TARGET_H
#define DEVICE_TARGET_H

#include "kernels/gpu/gpu_entries_sm90.h"

struct device_target;
struct device_graph;
struct bi_gpu_facts;

/* name: "cuda:0". pool_size: bytes that device_take can give at a time. NULL after a message to
 * stderr. */
struct device_target *device_open(const char *name, size_t pool_size);
void device_close(struct device_target *d);
const struct bi_gpu_facts *device_facts(const struct device_target *d);
/* Plain device memory; NULL after a message to stderr. */
void *device_alloc(struct device_target *d, uint64_t size);
void device_free(struct device_target *d, void *ptr);
/* Memory of the host with a copy on the device: device_run gives the entry the copy's addresses and
 * copies all of it there and back. */
void *device_take(struct device_target *d, size_t size);
void device_give(struct device_target *d, void *p);
/* Launches and waits; params: BI_PARAMS_SIZE bytes. NULL, or what went wrong. */
const char *device_run(struct device_target *d, const struct bi_gpu_entry *e, const void *params,
                       const struct bi_counts *bucket);
/* Records `launches` of an entry, runs them once, and replays them: seconds from the first to the
 * end of the last. */
const char *device_record(struct device_target *d, const struct bi_gpu_entry *e, const void *params,
                          const struct bi_counts *bucket, int launches,
                          struct device_graph **graph);
const char *device_replay(struct device_target *d, struct device_graph *graph, double *seconds);
void device_forget(struct device_target *d, struct device_graph *graph);

#endif
