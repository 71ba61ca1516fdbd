# compile_tests.cmake - from kernel file to cubin: sources, messages, helper process, compiler
foreach(fake
    "fake_nvrtc|FAKE_MAJOR=13;FAKE_MINOR=9;FAKE_BUILD=42"
    "fake_nvrtc_12|FAKE_MAJOR=12;FAKE_MINOR=3;FAKE_BUILD=7"
    "fake_nvrtc_leaves|FAKE_MAJOR=13;FAKE_MINOR=9;FAKE_BUILD=42;FAKE_LEAVES_PROCESS=1"
    "fake_nvrtc_no_builtins|FAKE_MAJOR=13;FAKE_MINOR=9;FAKE_BUILD=42;FAKE_NO_BUILTINS=1")
  string(REPLACE "|" ";" fake "${fake}")
  list(POP_FRONT fake name)
  add_library(${name} MODULE fake_nvrtc.c)
  target_compile_definitions(${name} PRIVATE ${fake})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/runtime
    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE dllm_flags)
endforeach()

add_executable(fake_jit fake_jit.c)
target_include_directories(fake_jit PRIVATE ${PROJECT_SOURCE_DIR}/runtime)
target_compile_definitions(fake_jit PRIVATE DLLM_BINARY_DIR="${PROJECT_BINARY_DIR}")
target_link_libraries(fake_jit PRIVATE dllm_flags dllm_static m)

dllm_test(test_kernel_sources LABEL unit SOURCES test_kernel_sources.c scratch.c)
dllm_test(test_compile_message LABEL unit SOURCES test_compile_message.c)
dllm_test(test_compiler_build LABEL unit SOURCES test_compiler_build.c scratch.c)
dllm_test(test_helper_process LABEL unit SOURCES test_helper_process.c scratch.c)
dllm_test(test_compiler LABEL unit SOURCES test_compiler.c compiler_fixture.c scratch.c)
dllm_test(test_compiler_failures LABEL unit
  SOURCES test_compiler_failures.c compiler_fixture.c fake_memory.c scratch.c
  LIBRARIES -Wl,--wrap=dlopen,--wrap=malloc,--wrap=calloc,--wrap=strdup)
foreach(test test_helper_process test_compiler test_compiler_failures)
  add_dependencies(${test} dllm-jit fake_jit fake_nvrtc fake_nvrtc_12 fake_nvrtc_no_builtins)
endforeach()
