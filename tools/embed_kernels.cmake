# embed_kernels.cmake - turns kernel files into one C file of byte arrays with their digests
#   cmake -DOUT=kernel_sources_data.c "-DFILES=a.cu;b.cuh" -P embed_kernels.cmake
# Bytes, not string literals: a compiler need accept no literal longer than 4,095 characters.
list(SORT FILES COMPARE FILE_BASENAME)
list(LENGTH FILES count)
set(arrays "")
set(rows "")
foreach(file IN LISTS FILES)
  get_filename_component(name "${file}" NAME)
  string(MAKE_C_IDENTIFIER "bytes_of_${name}" array)
  file(READ "${file}" bytes HEX)
  file(SIZE "${file}" size)
  file(SHA256 "${file}" digest)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(..)" "0x\\1," digest "${digest}")
  string(APPEND arrays "static const unsigned char ${array}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", ${array}, ${size}, {${digest}}},\n")
endforeach()
file(WRITE "${OUT}" "/* Made from kernel_src/ by tools/embed_kernels.cmake. */\n"
  "#include \"kernel_sources.h\"\n\n${arrays}\n"
  "const dllm_source dllm__embedded_sources[] = {\n${rows}};\n"
  "const int dllm__embedded_source_count = ${count};\n")
