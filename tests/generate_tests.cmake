# dllm-generate: its parts as units, the program against the golden texts
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
  dllm_test(gpu_generate LABEL gpu TIMEOUT 900 SOURCES gpu_generate.c generate_run.c
    LIBRARIES ${parts})
  add_dependencies(e2e_generate dllm-generate)
  add_dependencies(gpu_generate dllm-generate dllm-jit)
  if(DLLM_SANITIZE)
    target_compile_definitions(e2e_generate PRIVATE E2E_GOLDEN_RUNS=2)
  endif()
endif()
