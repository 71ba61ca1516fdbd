# The public header alone, as the oldest C and C++ it promises, with every warning an error
add_library(header_c OBJECT header_c.c)
set_target_properties(header_c PROPERTIES C_STANDARD 99)
add_library(header_cxx OBJECT header_cxx.cc)
set_target_properties(header_cxx PROPERTIES CXX_STANDARD 11 CXX_EXTENSIONS OFF)
foreach(target header_c header_cxx)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Werror)
endforeach()
