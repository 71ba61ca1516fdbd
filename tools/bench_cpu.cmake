# bench-cpu: the CPU head against OpenBLAS; built only where OpenBLAS is.
if(DLLM_TOOLS)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
  endif()
  if(OPENBLAS_FOUND)
    dllm_tool(bench-cpu JSON SOURCES bench_cpu.c bench_cpu_options.c bench_exit.c element_type.c parallel.c
      LIBRARIES PkgConfig::OPENBLAS)
  endif()
endif()
