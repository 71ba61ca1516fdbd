/* old_libcuda.c - a libcuda.so.1 that lacks all entry points but the first */

int cuInit(unsigned flags);

int cuInit(unsigned flags)
{
    return flags ? 1 : 0;
}
