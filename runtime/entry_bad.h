/*
 * entry_bad.h - v1/bad, where the last bad entries are kept for whoever wants to know why
 */
#ifndef DLLM_ENTRY_BAD_H
#define DLLM_ENTRY_BAD_H

#include "cache_dirs.h"

/**
 * Moves a file of the open folder `from`, which lies in `dir`, to v1/bad; the one longest there gives
 * way. Where it cannot be kept (a full disk has no room for the folder) it is removed. So are empty folders;
 * one with something in it is moved, and stays there until its owner removes it: what comes after it is
 * called NAME.1 ... NAME.15.
 * Returns  false with errno if it is still there.
 */
bool dllm__entry_move_aside(const dllm_cache_dir *dir, const dllm_cache_folder *from,
                            const char *name);

#endif
