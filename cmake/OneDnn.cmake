# Finds oneDNN as the target `dnnl`: the system's, or the build in the folder DNNL_ROOT. By name,
# because Debian's CMake package of oneDNN 2.6.3 requires OpenCL, which the CPU build does not use.

# Ends the configuration if topdnn cannot use the oneDNN of these headers.
function(topdnn_check_onednn include_dir)
  file(STRINGS ${include_dir}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_M(AJ|IN)OR ")
  string(REGEX MATCH "MAJOR +([0-9]+)" _ "${lines}")
  set(major ${CMAKE_MATCH_1})
  string(REGEX MATCH "MINOR +([0-9]+)" _ "${lines}")
  set(version ${major}.${CMAKE_MATCH_1})
  if(version VERSION_LESS 2.6)
    message(FATAL_ERROR "oneDNN ${version} in ${include_dir} is too old: install 2.6 or newer "
                        "(libdnnl-dev), or name another build with -DDNNL_ROOT=FOLDER")
  endif()
  file(STRINGS ${include_dir}/oneapi/dnnl/dnnl_config.h line
       REGEX "define DNNL_CPU_THREADING_RUNTIME ")
  string(REGEX REPLACE ".*DNNL_RUNTIME_" "" runtime "${line}")
  if(NOT runtime STREQUAL OMP)
    message(FATAL_ERROR "oneDNN in ${include_dir} uses the threading runtime ${runtime}: use a build "
                        "with OpenMP (-DDNNL_CPU_RUNTIME=OMP), whose threads the other backends share")
  endif()
endfunction()

set(DNNL_ROOT "" CACHE PATH "Folder of a oneDNN build with include/ and lib/; empty: the system's")
if(DNNL_ROOT)
  set(only_there PATHS ${DNNL_ROOT} NO_DEFAULT_PATH)
endif()
find_library(DNNL_LIBRARY dnnl ${only_there} PATH_SUFFIXES lib REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl_version.h ${only_there} PATH_SUFFIXES include REQUIRED)
topdnn_check_onednn(${DNNL_INCLUDE_DIR})
add_library(dnnl INTERFACE)
target_link_libraries(dnnl INTERFACE ${DNNL_LIBRARY})
target_include_directories(dnnl INTERFACE ${DNNL_INCLUDE_DIR})
