# The interface of the shared library against the committed text
add_test(NAME check_abi COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_abi.sh $<TARGET_FILE:dllm>)
set_tests_properties(check_abi PROPERTIES LABELS unit TIMEOUT 60
  ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
