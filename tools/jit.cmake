# jit.cmake - the compile helper and the kernel checker
dllm_tool(dllm-jit INTERNAL SOURCES dllm_jit.c)
install(TARGETS dllm-jit RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/dllm)
# What calls the helper finds it at run time; a build without it would compile in its own process.
add_dependencies(dllm dllm-jit)
if(DLLM_TESTS)
  # Tests hold the library's code themselves, so they look in their own folder.
  add_custom_command(TARGET dllm-jit POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/tests
    COMMAND ${CMAKE_COMMAND} -E create_symlink ../dllm-jit ${PROJECT_BINARY_DIR}/tests/dllm-jit)
endif()

dllm_tool(kernel_check INTERNAL SOURCES kernel_check.c)
