# The cache, its keys and the driver table.
set(cache_fixture cache_fixture.c scratch.c)

dllm_test(test_log LABEL unit SOURCES test_log.c scratch.c)
dllm_test(test_status LABEL unit SOURCES test_status.c)
dllm_test(test_sha256 LABEL unit SOURCES test_sha256.c)
dllm_test(test_kernel_key LABEL unit SOURCES test_kernel_key.c)
dllm_test(test_entry_file LABEL unit SOURCES test_entry_file.c)
dllm_test(test_cache_dirs LABEL unit SOURCES test_cache_dirs.c ${cache_fixture})
dllm_test(test_cache_layers LABEL unit SOURCES test_cache_layers.c)
dllm_test(test_cache_trim LABEL unit SOURCES test_cache_trim.c ${cache_fixture})
dllm_test(test_entry_lock LABEL unit SOURCES test_entry_lock.c ${cache_fixture})
dllm_test(test_entry_publish LABEL unit SOURCES test_entry_publish.c ${cache_fixture})
dllm_test(test_entry_bad LABEL unit SOURCES test_entry_bad.c ${cache_fixture})
dllm_test(test_entry_store LABEL unit SOURCES test_entry_store.c ${cache_fixture})

# Its own copies of what sits above the compiler, so that the archive's compiler is not drawn in.
set(kernel_fixture ${cache_fixture} kernel_fixture.c fake_compiler.c fake_driver.c fake_memory.c)
foreach(source kernel_cache kernel_fetch kernel_key kernel_spec entry_store entry_publish entry_read
    entry_file entry_bad entry_lock cache_trim cache_dirs cache_layers shared_object sha256 driver log status)
  list(APPEND kernel_fixture ../runtime/${source}.c)
endforeach()
foreach(test test_kernel_cache test_kernel_layers)
  dllm_test(${test} LABEL unit SOURCES ${test}.c ${kernel_fixture}
    LIBRARIES -Wl,--wrap=malloc,--wrap=calloc,--wrap=strdup)
endforeach()

dllm_test(test_pack_file LABEL unit SOURCES test_pack_file.c pack_fixture.c ${cache_fixture})
dllm_test(test_pack_folder LABEL unit SOURCES test_pack_folder.c pack_fixture.c ${cache_fixture})
dllm_test(test_pack_call LABEL unit SOURCES test_pack_call.c fake_driver.c scratch.c
  LIBRARIES -Wl,--wrap=dllm__driver_open)
add_dependencies(test_pack_call fake_nvrtc dllm-jit)

# The shared library, opened and closed as a plugin is; a sanitizer would keep its own threads and files.
if(NOT DLLM_SANITIZE)
  dllm_test(test_host LABEL unit SOURCES test_host.c scratch.c)
  target_compile_definitions(test_host PRIVATE DLLM_SHARED="$<TARGET_FILE:dllm>")
  add_dependencies(test_host dllm)
endif()

# A run path comes before LD_LIBRARY_PATH, so that a real driver is not found first.
add_library(old_libcuda SHARED old_libcuda.c)
set_target_properties(old_libcuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1 NO_SONAME ON
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/old_driver)
dllm_test(test_driver LABEL unit SOURCES test_driver.c fake_driver.c
  LIBRARIES -Wl,--disable-new-dtags,-rpath,${CMAKE_CURRENT_BINARY_DIR}/old_driver)
add_dependencies(test_driver old_libcuda)

find_path(DLLM_CUDA_H cuda.h PATHS /usr/local/cuda/include /opt/cuda/include ENV CUDA_HOME
  PATH_SUFFIXES include)
dllm_test(test_driver_abi LABEL unit SOURCES test_driver_abi.c)
if(DLLM_CUDA_H)
  target_include_directories(test_driver_abi SYSTEM PRIVATE ${DLLM_CUDA_H})
endif()
dllm_test(test_gemm LABEL unit SOURCES test_gemm.c)
dllm_test(test_tensor_map LABEL unit SOURCES test_tensor_map.c fake_driver.c)
dllm_test(test_family_sm90 LABEL unit SOURCES test_family_sm90.c fake_driver.c)
dllm_test(test_family_stream LABEL unit SOURCES test_family_stream.c fake_driver.c)
dllm_test(test_capture LABEL unit SOURCES test_capture.c ${cache_fixture})
dllm_test(test_problem LABEL unit SOURCES test_problem.c)
dllm_test(test_decode_keys LABEL unit SOURCES test_decode_keys.c)
dllm_test(test_decode_rules LABEL unit SOURCES test_decode_rules.c)
dllm_test(test_decode_step LABEL unit SOURCES test_decode_step.c decode_world.c)
dllm_test(test_decode_arguments LABEL unit SOURCES test_decode_arguments.c decode_world.c)
dllm_test(test_decode_loop LABEL unit SOURCES test_decode_loop.c decode_world.c)
dllm_test(test_decode_guidance LABEL unit SOURCES test_decode_guidance.c decode_world.c)
dllm_test(test_families LABEL unit SOURCES test_families.c)

# The public interface over a fake driver and a fake compiler.
dllm_test(test_api LABEL unit SOURCES test_api.c fake_driver.c fake_memory.c scratch.c
  LIBRARIES -Wl,--wrap=dllm__driver_open,--wrap=malloc,--wrap=calloc,--wrap=strdup)
add_dependencies(test_api fake_nvrtc dllm-jit)
dllm_test(test_plan LABEL unit SOURCES test_plan.c fake_driver.c scratch.c
  LIBRARIES -Wl,--wrap=dllm__driver_open)
add_dependencies(test_plan fake_nvrtc dllm-jit)
