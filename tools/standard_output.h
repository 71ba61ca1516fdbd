/*
 * standard_output.h - a command line whose output was not written must not end as if it had been
 */
#ifndef STANDARD_OUTPUT_H
#define STANDARD_OUTPUT_H

#include <stdbool.h>

/** To be called first: a standard descriptor that is closed would be given to a file of the program,
    and that file would get the output. */
void standard_output_start(void);

/** True if all that was printed on stdout is written. */
bool standard_output_end(void);

#endif
