/* header_cxx.cc - dllm.h is clean as C++11: the same uses as in C */
#include "header_c.c"
