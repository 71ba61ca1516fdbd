/*
 * capture.h - DLLM_CAPTURE=FILE: the distinct problems of applications, a line each
 *
 * For `dllm-tune tune --capture FILE`. Lines are added by every process that the variable reaches;
 * what stands there already is not added again.
 */
#ifndef DLLM_CAPTURE_H
#define DLLM_CAPTURE_H

#include "log.h"
#include "problem.h"

/**
 * Notes a problem where the variable asks for it; what goes wrong costs a log line, and so does a guided
 * problem, which nothing measures.
 */
void dllm__capture(const dllm_problem *problem, const dllm_log *log);

#endif
