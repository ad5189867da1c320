/* unchecked_test.c - check_floats() of kernels/cpu/unchecked.h under the address sanitizer says
 * nothing of a range that may be read, and ends the process for one float more. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../kernels/cpu/unchecked.h"
#include "../test.h"

/* Whether a process of its own lives through the check of floats [0, n) of 37. */
static bool lives(int64_t n)
{
    int status = -1;
    const pid_t child = fork();
    if (!child) {
        float *p = malloc(37 * sizeof *p);
        close(STDERR_FILENO); /* the report is expected */
        check_floats(p, n);
        free(p);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void)
{
    CHECK(lives(0));
    CHECK(lives(37));
    CHECK(!lives(38));
    CHECK(!lives(100));
    return test_report();
}
