# bench: its methods, the script that writes tables from what it measured, scripts without their packages
if(DLLM_TOOLS)
  dllm_test(test_bench_measure LABEL unit SOURCES test_bench_measure.c
    ${PROJECT_SOURCE_DIR}/tools/bench/bench_bursts.c ${PROJECT_SOURCE_DIR}/tools/bench/bench_clock.c
    ${PROJECT_SOURCE_DIR}/tools/bench/bench_host.c ${PROJECT_SOURCE_DIR}/tools/bench/bench_launches.c
    ${PROJECT_SOURCE_DIR}/tools/bench/bench_measure.c LIBRARIES tool_parts)
  dllm_test(test_bench_reference LABEL unit SOURCES test_bench_reference.c
    ${PROJECT_SOURCE_DIR}/tools/bench/bench_exit.c ${PROJECT_SOURCE_DIR}/tools/bench/bench_pattern.c
    ${PROJECT_SOURCE_DIR}/tools/bench/bench_reference.c LIBRARIES tool_parts)
  foreach(test test_bench_measure test_bench_reference)
    target_include_directories(${test} PRIVATE ${PROJECT_SOURCE_DIR}/tools/bench)
  endforeach()
endif()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
  foreach(test test_report test_bench_scripts)
    add_test(NAME ${test}
      COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${test}.py)
    set_tests_properties(${test} PROPERTIES LABELS unit TIMEOUT 60)
  endforeach()
endif()
