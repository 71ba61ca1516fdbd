if(DLLM_TOOLS)
  dllm_tool(bench JSON SOURCES bench.c bench_cublas.c bench_exit.c bench_measure.c bench_options.c
    bench_pattern.c bench_reference.c bench_report.c bench_work.c device_memory.c element_type.c)
endif()
