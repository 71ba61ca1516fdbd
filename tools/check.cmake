# dllm-check, and the part of it that the tests share
if(DLLM_TOOLS)
  add_library(row_check STATIC case_call.c case_reader.c check_ability.c check_rows.c
    device_memory.c element_type.c guarded_memory.c message.c row_answer.c row_cases.c row_output.c
    row_run.c)
  target_include_directories(row_check PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(row_check PUBLIC dllm_static PkgConfig::JANSSON ${CMAKE_DL_LIBS}
    PRIVATE dllm_flags)
  dllm_tool(dllm-check SOURCES dllm_check.c LIBRARIES row_check)
  install(TARGETS dllm-check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
