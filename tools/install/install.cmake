# install.cmake - what an installed copy holds, and the Debian package of it
#
# Every path in it is relative to where its file lies, so an installed tree may be moved. The tools
# install themselves.
include(CMakePackageConfigHelpers)
set(DLLM_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dllm)
set(DLLM_INSTALL_FROM ${CMAKE_CURRENT_LIST_DIR})

set_target_properties(dllm_static PROPERTIES EXPORT_NAME static)
install(TARGETS dllm dllm_static EXPORT dllm-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES include/dllm.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT dllm-targets NAMESPACE dllm:: DESTINATION ${DLLM_CMAKE_DIR})
configure_package_config_file(${DLLM_INSTALL_FROM}/dllm-config.cmake.in
  ${PROJECT_BINARY_DIR}/dllm-config.cmake INSTALL_DESTINATION ${DLLM_CMAKE_DIR}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# before 1.0 a minor version may change the interface
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dllm-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dllm-config.cmake
  ${PROJECT_BINARY_DIR}/dllm-config-version.cmake DESTINATION ${DLLM_CMAKE_DIR})

file(RELATIVE_PATH DLLM_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${DLLM_INSTALL_FROM}/dllm.pc.in ${PROJECT_BINARY_DIR}/dllm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dllm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- cpack -G DEB, in the build folder
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dllm)
set(CPACK_PACKAGE_CONTACT "the authors of dllm")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "last step of language-model inference, without the logits")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
find_program(DLLM_SHLIBDEPS dpkg-shlibdeps)
if(DLLM_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
