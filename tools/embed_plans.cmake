# embed_plans.cmake - writes plan files, one behind the other, as the bytes of one text
# cmake -DOUT=file.c "-DFILES=a.plan;b.plan" -P embed_plans.cmake
set(bytes "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," text "${hex}")
  string(APPEND bytes "${text}\n")
endforeach()
file(WRITE ${OUT} "/* made by embed_plans.cmake */\n#include \"tuned_table.h\"\n\n"
  "const char dllm__builtin_plans[] = {\n${bytes}0};\n")
