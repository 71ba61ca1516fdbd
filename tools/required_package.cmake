# required_package(JANSSON jansson libjansson-dev "-DDLLM_TOOLS=OFF"): the target PkgConfig::JANSSON from
# pkg-config, or an end that names the Debian package and the switches that do without it
function(required_package prefix module debian without)
  if(NOT PKG_CONFIG_EXECUTABLE)
    message(FATAL_ERROR "pkg-config was not found, which finds ${module}: install pkg-config and ${debian} "
      "(their names in Debian), or configure with ${without}")
  endif()
  pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    message(FATAL_ERROR "${module} was not found by pkg-config: install ${debian} (its name in Debian), "
      "or configure with ${without}")
  endif()
endfunction()
