# kernel_tests.cmake - every shipped kernel compiled for every architecture: no spill, no warning
# One test for a file and an architecture; kernel_check asks the families for the -D lists.
set(architectures sm_75 sm_80 sm_86 sm_89 sm_90a sm_100 sm_120)
file(GLOB kernels RELATIVE ${PROJECT_SOURCE_DIR}/kernel_src CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/kernel_src/*.cu)
foreach(arch IN LISTS architectures)
  foreach(kernel IN LISTS kernels)
    # cp.async and bf16 mma begin with sm_80
    if(arch STREQUAL "sm_75" AND kernel STREQUAL "head_mma.cu")
      continue()
    endif()
    # wgmma is sm_90a's alone
    if(kernel STREQUAL "head_sm90.cu" AND NOT arch STREQUAL "sm_90a")
      continue()
    endif()
    get_filename_component(name ${kernel} NAME_WE)
    add_test(NAME kernel_${name}_${arch} COMMAND kernel_check --all ${arch} ${kernel})
    # 4: no compiler on this machine. NVRTC has no option that turns warnings into errors.
    set_tests_properties(kernel_${name}_${arch} PROPERTIES LABELS kernel SKIP_RETURN_CODE 4
      TIMEOUT 600
      FAIL_REGULAR_EXPRESSION "[1-9][0-9]* bytes (spill|stack frame);[Ww]arning")
  endforeach()
endforeach()

# the check itself: it tells how it is called wherever it is asked
add_test(NAME kernel_check_help COMMAND kernel_check --all sm_90a --help)
set_tests_properties(kernel_check_help PROPERTIES LABELS kernel
  PASS_REGULAR_EXPRESSION "^usage: kernel_check")

# a kernel that takes local memory is refused
add_test(NAME kernel_check_refuses_local_memory
  COMMAND kernel_check sm_90a ${CMAKE_CURRENT_SOURCE_DIR}/data/kernels/local_memory.cu)
set_tests_properties(kernel_check_refuses_local_memory PROPERTIES LABELS kernel SKIP_RETURN_CODE 4
  PASS_REGULAR_EXPRESSION "refused: local memory;no compiler")
dllm_test(test_cubin_frame LABEL unit SOURCES test_cubin_frame.c
  ${PROJECT_SOURCE_DIR}/tools/jit/cubin_frame.c)
target_include_directories(test_cubin_frame PRIVATE ${PROJECT_SOURCE_DIR}/tools/jit)
