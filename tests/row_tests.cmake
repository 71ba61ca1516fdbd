# Rows: the case files, random shapes and the model's own rows, on the CPU and on a GPU
if(TARGET row_check)
  set(suite row_suite.c row_bits.c row_fixture.c row_driver.c row_shards.c row_draws.c row_shapes.c
    row_features.c compare.c reference.c reference_noise.c)

  dllm_test(test_row_cases LABEL unit SOURCES test_row_cases.c compare.c reference.c reference_noise.c
    LIBRARIES row_check)
  dllm_test(test_cpu_rows LABEL unit SOURCES test_cpu_rows.c ${suite} LIBRARIES row_check)
  dllm_test(test_head_rows LABEL unit SOURCES test_head_rows.c head_rows.c ${suite}
    LIBRARIES row_check dllm_generate_parts)

  # one test a family, for most of their time goes into compiling
  set(heads naive tiled mma sm90 gemm_chunk)
  dllm_test(gpu_rows LABEL gpu TIMEOUT 600 EACH stream ${heads} SOURCES gpu_rows.c head_rows.c ${suite}
    LIBRARIES row_check dllm_generate_parts)
  dllm_test(gpu_head LABEL gpu TIMEOUT 600 EACH ${heads} --shapes --draws
    SOURCES gpu_head.c head_shapes.c large_head.c ${suite} LIBRARIES row_check)
  dllm_test(gpu_cache LABEL gpu TIMEOUT 300 SOURCES gpu_cache.c scratch.c LIBRARIES row_check)
  dllm_test(gpu_graph LABEL gpu TIMEOUT 600 SOURCES gpu_graph.c LIBRARIES row_check)
  dllm_test(gpu_decode LABEL gpu TIMEOUT 600 SOURCES gpu_decode.c LIBRARIES row_check)
  dllm_test(gpu_sampler LABEL gpu TIMEOUT 600 EACH stream --draws SOURCES gpu_sampler.c ${suite}
    LIBRARIES row_check)

  add_test(NAME check_exit_codes COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_exit_codes.sh
    $<TARGET_FILE:dllm-check> ${CMAKE_CURRENT_SOURCE_DIR}/cases/row_cases.json)
  set_tests_properties(check_exit_codes PROPERTIES LABELS unit TIMEOUT 120)
endif()
