/*
 * tune_report.h - draws what tuning found: every shape's candidates against its floor
 */
#ifndef TUNE_REPORT_H
#define TUNE_REPORT_H

#include <jansson.h>
#include <stdbool.h>

/**
 * Writes a drawing of a document of `tune --json`, as SVG if the path ends with .svg, else as a page
 * that holds it. False with the reason on stderr.
 */
bool tune_report_write(const char *path, json_t *document);

#endif
