/* fake_driver.h - what tests can tell and ask of the fake driver libraries (fake_driver.c). */
#ifndef BI_FAKE_DRIVER_H
#define BI_FAKE_DRIVER_H

struct fake_counts {
    long calls; /* that can fail */
    long copies_in, copies_out, copies_within, launches, graphs, allocations, waits;
    long bytes_in, bytes_out; /* from and to the host */
    long live;                /* objects made and not freed */
    long sets, depth;         /* device current: pushed and not popped */
};

struct fake {
    struct fake_counts counts;
    long fail_at;  /* number of the call that fails, 0 = none */
    int fail_with; /* the error code */
    int sticky;    /* every later call fails with it, too */
    int failed;    /* 1: the call was reached; 2: it made the device current, maybe to free */
    int n_devices;
    const char *arch;        /* HIP */
    int other_until;         /* HIP: devices before this one are integrated ones, gfx1036 */
    int full_until;          /* HIP: devices before this one have next to no memory left */
    void (*note)(long call); /* told of every call, where it is made; NULL = nobody */
};

/* Exported as `fake_driver` by both libraries. */
extern struct fake fake_driver;

#endif
