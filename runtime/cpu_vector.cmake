# The CPU backend's inner loops, compiled once an instruction set; sets DLLM_VECTOR_OBJECTS.
set(DLLM_VECTOR_OBJECTS)

function(dllm_vector name)
  add_library(dllm_vector_${name} OBJECT ${PROJECT_SOURCE_DIR}/runtime/cpu_vector_${name}.c)
  target_include_directories(dllm_vector_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/runtime ${PROJECT_SOURCE_DIR}/kernel_src)
  # -O3 whatever the build type: the sums of a tile stay in registers only when loops are unrolled;
  # with sanitizers there is no speed to keep, and their checks in unrolled loops compile for minutes
  set(level -O3)
  if(DLLM_SANITIZE)
    set(level -O1)
  endif()
  target_compile_options(dllm_vector_${name} PRIVATE -fvisibility=hidden ${level} ${ARGN})
  target_link_libraries(dllm_vector_${name} PRIVATE dllm_flags)
  set(DLLM_VECTOR_OBJECTS ${DLLM_VECTOR_OBJECTS} $<TARGET_OBJECTS:dllm_vector_${name}> PARENT_SCOPE)
endfunction()

dllm_vector(generic)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  dllm_vector(avx2 -mavx2 -mfma -mf16c)
  dllm_vector(avx512 -mavx512f -mavx512bw -mavx512vl -mavx2 -mfma -mf16c)
endif()
