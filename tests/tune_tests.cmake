dllm_test(test_heads LABEL unit SOURCES test_heads.c)
if(DLLM_TOOLS)
  add_test(NAME e2e_tune COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/e2e_tune.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(e2e_tune PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
dllm_test(test_candidates LABEL unit SOURCES test_candidates.c)
dllm_test(test_search LABEL unit SOURCES test_search.c)
dllm_test(test_tuning LABEL unit SOURCES test_tuning.c timed_device.c fake_driver.c scratch.c
  LIBRARIES -Wl,--wrap=dllm__driver_open,--wrap=dllm__cublas_open)
add_dependencies(test_tuning fake_nvrtc dllm-jit)
dllm_test(test_tuned LABEL unit SOURCES test_tuned.c)
dllm_test(test_plan_file LABEL unit SOURCES test_plan_file.c cache_fixture.c scratch.c)
dllm_test(test_tuned_table LABEL unit
  SOURCES test_tuned_table.c timed_device.c fake_driver.c scratch.c
  LIBRARIES -Wl,--wrap=dllm__driver_open,--wrap=dllm__cublas_open)
add_dependencies(test_tuned_table fake_nvrtc dllm-jit)

# The subcommand with its own folder of the cache and a device that takes what time it is told.
set(tune ${PROJECT_SOURCE_DIR}/tools/tune)
dllm_test(test_tune_search LABEL unit
  SOURCES test_tune_search.c timed_device.c fake_driver.c scratch.c ${tune}/tune_search.c
    ${tune}/tune_shapes.c ${tune}/tune_results.c ${tune}/tune_report.c ${tune}/tune_targets.c
  LIBRARIES -Wl,--wrap=dllm__driver_open,--wrap=dllm__cublas_open PkgConfig::JANSSON)
target_include_directories(test_tune_search PRIVATE ${tune})
add_dependencies(test_tune_search fake_nvrtc dllm-jit)
dllm_test(gpu_tune LABEL gpu TIMEOUT 900 SOURCES gpu_tune.c scratch.c)
add_dependencies(gpu_tune dllm-jit)

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  add_test(NAME test_judge
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/test_judge.py)
  set_tests_properties(test_judge PROPERTIES LABELS unit TIMEOUT 60)
endif()
