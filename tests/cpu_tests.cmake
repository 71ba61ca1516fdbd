# The CPU backend: pool, states, both operations on every vector table that the machine runs.
dllm_test(test_cpu_pool LABEL unit SOURCES test_cpu_pool.c)
dllm_test(test_cpu_state LABEL unit SOURCES test_cpu_state.c)
dllm_test(test_cpu_noise LABEL unit SOURCES test_cpu_noise.c cpu_case.c compare.c reference.c
  reference_noise.c ${PROJECT_SOURCE_DIR}/tools/element_type.c LIBRARIES PkgConfig::JANSSON)
dllm_test(test_cpu_merge LABEL unit SOURCES test_cpu_merge.c)
dllm_test(test_cpu_candidates LABEL unit SOURCES test_cpu_candidates.c)
dllm_test(test_cpu_fold LABEL unit SOURCES test_cpu_fold.c cpu_case.c compare.c reference.c reference_noise.c
  ${PROJECT_SOURCE_DIR}/tools/element_type.c)
dllm_test(test_cpu_head LABEL unit SOURCES test_cpu_head.c cpu_case.c compare.c reference.c reference_noise.c
  ${PROJECT_SOURCE_DIR}/tools/element_type.c)
dllm_test(test_cpu_sampler LABEL unit SOURCES test_cpu_sampler.c cpu_case.c compare.c reference.c reference_noise.c
  ${PROJECT_SOURCE_DIR}/tools/element_type.c)
dllm_test(test_cpu_large LABEL unit SOURCES test_cpu_large.c)
