/* local_memory.cu - a kernel that cannot keep its array in registers: kernel_check must refuse it */
extern "C" __global__ void local_memory(float *values, const unsigned *order, int count)
{
    float kept[256];
    for (int i = 0; i < count; i++)
        kept[order[i] % 256] = values[i];
    for (int i = 0; i < count; i++)
        values[i] = kept[order[count + i] % 256];
}
