/* old_libcuda.c - a libcuda.so.1 that lacks all entry points but the first */

/* NOLINTNEXTLINE(readability-identifier-naming): the driver's own name */
int cuInit(unsigned flags);

/* NOLINTNEXTLINE(readability-identifier-naming): the driver's own name */
int cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}
