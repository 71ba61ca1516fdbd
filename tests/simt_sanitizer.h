/* simt_sanitizer.h - what AddressSanitizer is told; nothing where it is not compiled in */
#ifndef DLLM_SIMT_SANITIZER_H
#define DLLM_SIMT_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIMT_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef SIMT_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SIMT_FORBID(memory, bytes) __asan_poison_memory_region(memory, bytes)
#define SIMT_ALLOW(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#else
#define SIMT_FORBID(memory, bytes) ((void)(memory), (void)(bytes))
#define SIMT_ALLOW(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#endif
