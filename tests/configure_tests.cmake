# What configuring says without a package
add_test(NAME check_configure COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_configure.sh
  ${PROJECT_SOURCE_DIR})
set_tests_properties(check_configure PROPERTIES LABELS unit TIMEOUT 120)
