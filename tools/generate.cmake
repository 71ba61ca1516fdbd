# dllm-generate and its parts, which the tests link too.
if(DLLM_TOOLS)
  add_library(dllm_generate_parts STATIC canvas.c device_memory.c exact_split.c generate_options.c
    llada.c message.c model.c model_head.c panel.c parallel.c safetensors.c tensor_type.c
    tokenizer.c trunk.c)
  target_include_directories(dllm_generate_parts PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(dllm_generate_parts PUBLIC dllm_static PkgConfig::JANSSON Threads::Threads m
    ${CMAKE_DL_LIBS} PRIVATE dllm_flags)
  dllm_tool(dllm-generate SOURCES dllm_generate.c LIBRARIES dllm_generate_parts)
  install(TARGETS dllm-generate RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
