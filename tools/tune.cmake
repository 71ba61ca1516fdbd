if(DLLM_TOOLS)
  dllm_tool(dllm-tune INTERNAL JSON SOURCES dllm_tune.c tune_doctor.c tune_entries.c tune_kernel.c
    tune_prebuild.c tune_store.c tune_targets.c tune_workers.c)
  install(TARGETS dllm-tune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
