# Kernels on the host (label simt): each variant of a kernel is a source file made here, with its -D
# values in it; the table of all variants is made from the same list.
enable_language(CXX)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

set(SIMT_SOURCES "")
set(SIMT_DECLARATIONS "")
set(SIMT_POINTERS "")
set(SIMT_COUNT 0)

# simt_variant(kernel suffix [NAME=value ...]) compiles kernel.cu with these -D values
macro(simt_variant kernel_name suffix)
  set(kernel ${kernel_name})
  set(name ${kernel}_${suffix})
  string(REGEX REPLACE "_.*" "" params ${kernel})
  set(defines "")
  set(values "")
  foreach(define ${ARGN})
    string(REPLACE "=" ";" parts ${define})
    list(GET parts 0 define_name)
    list(GET parts 1 define_value)
    string(APPEND defines "#define ${define_name} ${define_value}\n")
    string(APPEND values "{\"${define_name}\", ${define_value}}, ")
  endforeach()
  set(call "simt_kernel_${name}(*static_cast<const dllm_${params}_params *>(params))")
  set(section "")
  set(shared "nullptr, nullptr")
  if(kernel STREQUAL "sampler_finish")
    # two arguments, and shared memory that the blocks of a cluster reach
    set(call "simt_finish(simt_kernel_${name}, params)")
    set(section "#define SIMT_SECTION \"simt_${name}\"
extern \"C\" char __start_simt_${name}[], __stop_simt_${name}[];
")
    set(shared "__start_simt_${name}, __stop_simt_${name}")
  endif()
  configure_file(simt_variant.cc.in ${CMAKE_CURRENT_BINARY_DIR}/simt/${name}.cc @ONLY)
  list(APPEND SIMT_SOURCES ${CMAKE_CURRENT_BINARY_DIR}/simt/${name}.cc)
  string(APPEND SIMT_DECLARATIONS "extern const simt_variant simt_variant_${name};\n")
  string(APPEND SIMT_POINTERS "    &simt_variant_${name},\n")
  math(EXPR SIMT_COUNT "${SIMT_COUNT} + 1")
endmacro()

# Types: 1 bf16, 2 fp16, 3 fp32; every pair once, every alignment and tile shape somewhere.
foreach(pair 1:1:16 1:1:2 2:2:8 3:3:16 3:3:4 1:2:4 1:3:16 3:1:8 2:1:1 2:3:2 3:2:16)
  string(REPLACE ":" ";" parts ${pair})
  list(GET parts 0 hidden)
  list(GET parts 1 weight)
  list(GET parts 2 align)
  simt_variant(head_naive ${hidden}_${weight}_align${align} DLLM_HIDDEN_TYPE=${hidden}
    DLLM_WEIGHT_TYPE=${weight} DLLM_ALIGN_BYTES=${align})
endforeach()
foreach(tile 1:1:16:64:64:16 1:1:2:16:64:8 2:2:8:128:64:16 3:3:16:64:128:16 3:1:4:32:128:32
    1:3:16:64:64:32 2:1:1:16:128:16)
  string(REPLACE ":" ";" parts ${tile})
  list(GET parts 0 hidden)
  list(GET parts 1 weight)
  list(GET parts 2 align)
  list(GET parts 3 rows)
  list(GET parts 4 vocab)
  list(GET parts 5 depth)
  simt_variant(head_tiled ${hidden}_${weight}_align${align}_${rows}x${vocab}x${depth}
    DLLM_HIDDEN_TYPE=${hidden} DLLM_WEIGHT_TYPE=${weight} DLLM_ALIGN_BYTES=${align}
    DLLM_TILE_ROWS=${rows} DLLM_TILE_VOCAB=${vocab} DLLM_TILE_DEPTH=${depth})
endforeach()
foreach(type 1 2 3)
  simt_variant(sampler_stream ${type} DLLM_LOGITS_TYPE=${type})
endforeach()
simt_variant(sampler_stream 1_packets1 DLLM_LOGITS_TYPE=1 DLLM_PACKETS=1)
simt_variant(sampler_stream 3_packets8 DLLM_LOGITS_TYPE=3 DLLM_PACKETS=8)
simt_variant(sampler_stream 1_guided_packets2 DLLM_LOGITS_TYPE=1 DLLM_PACKETS=2 DLLM_TRANSFORMS=4096)
# That finishes its rows: alone and in clusters, each width and id type; its statistics are below.
simt_variant(sampler_finish 1 DLLM_LOGITS_TYPE=1 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=4)
simt_variant(sampler_finish 1_clustered DLLM_LOGITS_TYPE=1 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=4
  DLLM_CLUSTERED=1)
simt_variant(sampler_finish 2_512_clustered DLLM_LOGITS_TYPE=2 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=8
  DLLM_THREADS=512 DLLM_CLUSTERED=1)
simt_variant(sampler_finish 3_256 DLLM_LOGITS_TYPE=3 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=8
  DLLM_PACKETS=2 DLLM_THREADS=256)
simt_variant(sampler_finish 1_guided DLLM_LOGITS_TYPE=1 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=8
  DLLM_PACKETS=2 DLLM_TRANSFORMS=4096)
foreach(transforms 0 1012)
  simt_variant(sampler_finish 3_15_${transforms}_state DLLM_LOGITS_TYPE=3 DLLM_OUTPUTS=8192
    DLLM_STATISTICS=15 DLLM_TRANSFORMS=${transforms} DLLM_PACKETS=1 DLLM_CLUSTERED=1)
endforeach()
simt_variant(combine all_id4 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=4)
simt_variant(combine all_id8 DLLM_OUTPUTS=2063 DLLM_ID_BYTES=8)
foreach(output 1 2 4 8 2048)
  simt_variant(combine only${output} DLLM_OUTPUTS=${output} DLLM_ID_BYTES=4)
endforeach()
# Statistics and transforms: each statistic alone, all of them, and every transform somewhere. Of the
# transforms those of rows reach combine.
set(further 15:0 1:0 2:0 4:0 8:0 15:884 15:892 15:1012 15:1396 7:5 15:258 16:0 31:1012
    0:4096 15:5108 31:4988 7:12293)
foreach(asked ${further})
  string(REPLACE ":" ";" parts ${asked})
  list(GET parts 0 statistics)
  list(GET parts 1 transforms)
  set(request DLLM_STATISTICS=${statistics} DLLM_TRANSFORMS=${transforms})
  simt_variant(sampler_stream 3_${statistics}_${transforms} DLLM_LOGITS_TYPE=3 ${request}
    DLLM_PACKETS=1)
  simt_variant(head_naive 3_3_${statistics}_${transforms} DLLM_HIDDEN_TYPE=3 DLLM_WEIGHT_TYPE=3
    DLLM_ALIGN_BYTES=4 ${request})
endforeach()
# statistics, transforms, outputs, id bytes, clustered
foreach(asked 15:0:4095:4:1 15:884:4095:4:1 15:892:4095:8:0 15:1012:4095:8:1 15:1396:4095:4:0 7:5:2559:4:1 15:258:4095:8:0
    15:5108:4095:8:1 7:12293:2559:4:0)
  string(REPLACE ":" ";" parts ${asked})
  list(GET parts 0 statistics)
  list(GET parts 1 transforms)
  list(GET parts 2 outputs)
  list(GET parts 3 id_bytes)
  list(GET parts 4 clustered)
  simt_variant(sampler_finish 3_${statistics}_${transforms} DLLM_LOGITS_TYPE=3
    DLLM_OUTPUTS=${outputs} DLLM_ID_BYTES=${id_bytes} DLLM_STATISTICS=${statistics}
    DLLM_TRANSFORMS=${transforms} DLLM_PACKETS=1 DLLM_CLUSTERED=${clustered})
endforeach()
foreach(asked 15:884 15:1012 15:1396 31:48 0:4096 15:5108 31:4144)
  string(REPLACE ":" ";" parts ${asked})
  list(GET parts 0 statistics)
  list(GET parts 1 transforms)
  set(request DLLM_STATISTICS=${statistics} DLLM_TRANSFORMS=${transforms})
  simt_variant(sampler_stream 1_${statistics}_${transforms} DLLM_LOGITS_TYPE=1 ${request}
    DLLM_PACKETS=1)
  simt_variant(head_tiled 1_1_${statistics}_${transforms} DLLM_HIDDEN_TYPE=1 DLLM_WEIGHT_TYPE=1
    DLLM_ALIGN_BYTES=2 DLLM_TILE_ROWS=64 DLLM_TILE_VOCAB=64 ${request})
endforeach()
foreach(asked 15:0:4095 15:256:4095 15:384:4095 1:0:2079 2:0:2287 4:0:2319 8:0:3599 7:0:2559
    16:0:6159 31:0:8191 31:384:8191 0:4096:2063 15:4480:4095 31:4352:8191 31:4096:8191
    7:4096:2559)
  string(REPLACE ":" ";" parts ${asked})
  list(GET parts 0 statistics)
  list(GET parts 1 transforms)
  list(GET parts 2 outputs)
  set(request DLLM_STATISTICS=${statistics} DLLM_TRANSFORMS=${transforms})
  simt_variant(combine ${statistics}_${transforms}_id4 DLLM_OUTPUTS=${outputs} DLLM_ID_BYTES=4
    ${request})
  simt_variant(combine ${statistics}_${transforms}_id8 DLLM_OUTPUTS=${outputs} DLLM_ID_BYTES=8
    ${request})
endforeach()
foreach(transforms 0 384)
  set(request DLLM_STATISTICS=15 DLLM_TRANSFORMS=${transforms})
  simt_variant(combine 15_${transforms}_state DLLM_OUTPUTS=8192 ${request})
  simt_variant(merge 15_${transforms} DLLM_OUTPUTS=4095 DLLM_ID_BYTES=8 ${request})
  set(request DLLM_STATISTICS=31 DLLM_TRANSFORMS=${transforms})
  simt_variant(combine 31_${transforms}_state DLLM_OUTPUTS=8192 ${request})
  simt_variant(merge 31_${transforms} DLLM_OUTPUTS=8191 DLLM_ID_BYTES=8 ${request})
endforeach()
foreach(stage start list select)
  simt_variant(decode_${stage} step)
endforeach()
simt_variant(decode_select sorted DLLM_RANKED_MAX=1)
foreach(bytes 2 4)
  simt_variant(gather ${bytes} DLLM_ELEMENT_BYTES=${bytes})
  simt_variant(gather ${bytes}_guided DLLM_ELEMENT_BYTES=${bytes} DLLM_TRANSFORMS=4096)
endforeach()

file(CONFIGURE OUTPUT simt/simt_variants.c CONTENT "/* every variant of this program */
#include \"simt_shim.h\"

@SIMT_DECLARATIONS@
const simt_variant *const simt_variants[] = {
@SIMT_POINTERS@};
const int simt_variant_count = @SIMT_COUNT@;
" @ONLY)

add_library(simt_device OBJECT ${SIMT_SOURCES} ${CMAKE_CURRENT_BINARY_DIR}/simt/simt_variants.c
  simt_shim.c simt_fiber.c)
target_include_directories(simt_device PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/kernel_src)
target_link_libraries(simt_device PUBLIC dllm_flags)
# Kernels ask another compiler to unroll loops, and read memory by words of other types than it was
# written in, as a device allows.
target_compile_options(simt_device PUBLIC
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-pragmas;-fno-strict-aliasing>)

# simt_test(name SOURCES ...) is a suite that runs them
function(simt_test name)
  dllm_test(${name} LABEL simt SOURCES ${ARGN} LIBRARIES simt_device row_check)
  # what links an object library gets its flags; its objects are named here
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:simt_device>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

simt_test(simt_threads simt_threads.c)
simt_test(simt_state simt_state.cc)
simt_test(simt_noise simt_noise.cc)
simt_test(simt_merge simt_merge.c simt_rows.c simt_inputs.c row_driver.c row_shapes.c row_features.c
  reference.c reference_noise.c compare.c)
simt_test(simt_combine simt_combine.c simt_rows.c simt_inputs.c)
simt_test(simt_decode simt_decode.c decode_world.c simt_rows.c simt_inputs.c)
simt_test(simt_decode_device simt_decode_device.c decode_world.c simt_rows.c simt_inputs.c
  fake_driver.c scratch.c)
target_link_options(simt_decode_device PRIVATE -Wl,--wrap=dllm__driver_open)
add_dependencies(simt_decode_device fake_nvrtc dllm-jit)
foreach(suite simt_kernels simt_finish)
  simt_test(${suite} ${suite}.c simt_shapes.c simt_rows.c simt_inputs.c row_driver.c row_shapes.c
    row_features.c reference.c reference_noise.c compare.c)
endforeach()
