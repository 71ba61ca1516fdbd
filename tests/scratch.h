/* scratch.h - a folder for one test, and files in it */
#ifndef DLLM_SCRATCH_H
#define DLLM_SCRATCH_H

enum { SCRATCH_BYTES = 256 };

/** Makes an empty folder under the build's own. */
void scratch_make(char folder[SCRATCH_BYTES]);

/** Writes `folder/name`. */
void scratch_write(const char *folder, const char *name, const char *text);

/** Removes the folder and all that is in it. */
void scratch_remove(const char *folder);

#endif
