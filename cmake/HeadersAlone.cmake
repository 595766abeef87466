# Checks that each header compiles alone, without headers that others happen to include before it.
#
# If a header's own .cc file includes it first, that file is the check. For every other header this
# generates a source file that includes it twice, which also tests its guard, with the ISA flags of
# the header's name. The OBJECT library is part of `all`; headers_alone.txt in the build folder lists
# the headers that it covers.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/kernels/*.h ${CMAKE_SOURCE_DIR}/networks/*.h
     ${CMAKE_SOURCE_DIR}/harness/*.h ${CMAKE_SOURCE_DIR}/datasets/*.h
     ${CMAKE_SOURCE_DIR}/bench/*.h ${CMAKE_SOURCE_DIR}/tests/*.h)
set(alone)
set(sources)
foreach(header IN LISTS headers)
  string(REGEX REPLACE "\\.h$" ".cc" own "${CMAKE_SOURCE_DIR}/${header}")
  if(EXISTS ${own})
    file(STRINGS ${own} first REGEX "^#include" LIMIT_COUNT 1)
    if(first STREQUAL "#include \"${header}\"")
      continue()
    endif()
  endif()
  list(APPEND alone ${header})
  string(REGEX REPLACE "\\.h$" ".cc" source "${CMAKE_BINARY_DIR}/headers_alone/${header}")
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()
list(JOIN alone "\n" lines)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers_alone.txt CONTENT "${lines}\n")

topdnn_apply_isa_flags(${sources})
add_library(headers_alone OBJECT ${sources})
# -O0, because the code is only compiled and never run. kernels/eigen/CMakeLists.txt explains
# -Wno-ignored-attributes.
target_compile_options(headers_alone PRIVATE -O0 -Wno-ignored-attributes)
target_link_libraries(headers_alone PRIVATE topdnn_command topdnn_kernels topdnn_networks
                                            topdnn_harness topdnn_datasets GTest::gtest)
