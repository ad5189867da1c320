/* stub.c - a library of the right name that is not the driver, or one too old. */
int hipInit(unsigned flags);
int hipInit(unsigned flags)
{
    return (int)flags;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    return (int)flags;
}
