# dllm-generate: its parts as units, the program against the golden texts and a plain re-implementation
if(DLLM_TOOLS)
  set(parts dllm_generate_parts PkgConfig::JANSSON)
  dllm_test(test_safetensors LABEL unit SOURCES test_safetensors.c tensor_fixture.c scratch.c
    LIBRARIES ${parts})
  dllm_test(test_tokenizer LABEL unit SOURCES test_tokenizer.c scratch.c LIBRARIES ${parts})
  dllm_test(test_exact_split LABEL unit SOURCES test_exact_split.c LIBRARIES ${parts})
  dllm_test(test_model LABEL unit SOURCES test_model.c tensor_fixture.c scratch.c
    LIBRARIES ${parts})
  dllm_test(test_trunk LABEL unit SOURCES test_trunk.c tensor_fixture.c scratch.c
    LIBRARIES ${parts})
  dllm_test(test_decoder LABEL unit SOURCES test_decoder.c tensor_fixture.c scratch.c
    LIBRARIES ${parts})
  dllm_test(e2e_generate LABEL e2e TIMEOUT 600 SOURCES e2e_generate.c generate_run.c
    LIBRARIES ${parts})
  dllm_test(gpu_generate LABEL gpu TIMEOUT 600 EACH naive tiled mma sm90 gemm_chunk
    SOURCES gpu_generate.c generate_run.c LIBRARIES ${parts})
  add_dependencies(e2e_generate dllm-generate)
  add_dependencies(gpu_generate dllm-generate dllm-jit)
  if(DLLM_SANITIZE)
    target_compile_definitions(e2e_generate PRIVATE E2E_GOLDEN_RUNS=2)
  endif()

  # A Python with NumPy: the one that tools/setup.sh brings, or one that is there. Without it both
  # tests are skipped, and say so.
  find_package(Python3 COMPONENTS Interpreter QUIET)
  set(numpy_python python3)
  foreach(python ${PROJECT_SOURCE_DIR}/build/python/bin/python ${Python3_EXECUTABLE}
      /usr/bin/python3)
    execute_process(COMMAND ${python} -c "import numpy" RESULT_VARIABLE lacks OUTPUT_QUIET
      ERROR_QUIET)
    if(lacks STREQUAL "0")
      set(numpy_python ${python})
      break()
    endif()
  endforeach()
  set(few)
  if(DLLM_SANITIZE)
    set(few sglang_joint) # the first letters of the runs that are made
  endif()
  add_test(NAME test_plain_decode
    COMMAND ${numpy_python} -B ${CMAKE_CURRENT_SOURCE_DIR}/test_plain_decode.py)
  add_test(NAME e2e_presets COMMAND ${numpy_python} -B
    ${CMAKE_CURRENT_SOURCE_DIR}/e2e_presets.py $<TARGET_FILE:dllm-generate> ${few})
  set_tests_properties(test_plain_decode PROPERTIES LABELS unit TIMEOUT 60)
  set_tests_properties(e2e_presets PROPERTIES LABELS e2e TIMEOUT 300)
  set_tests_properties(test_plain_decode e2e_presets PROPERTIES SKIP_RETURN_CODE 77
    ENVIRONMENT "OPENBLAS_NUM_THREADS=1")
endif()
