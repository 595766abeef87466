# topdnn_precompile(TARGET [HEADER...]): precompiles the headers that most files of a target include,
# and the HEADERs, which saves half a second to a second per file. Files include what they use all the
# same: CMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without it.
# Files for another ISA cannot use it.
function(topdnn_precompile target)
  target_precompile_headers(
    ${target} PRIVATE <fmt/format.h> <algorithm> <array> <cmath> <cstdint> <cstdio> <cstring>
    <functional> <map> <memory> <optional> <set> <span> <stdexcept> <string> <string_view> <utility>
    <vector> ${ARGN})
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    get_property(options SOURCE ${source} DIRECTORY ${folder} PROPERTY COMPILE_OPTIONS)
    if(options MATCHES "-m")
      set_property(SOURCE ${source} DIRECTORY ${folder} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
