option(TOPDNN_BATCHES "Compile several files of a folder at once, which takes a third of the time" ON)

# topdnn_batches(TARGET [EXCEPT REGEX]): compiles up to 16 files of a folder as one, so that the
# compiler reads their headers once. Names with internal linkage must therefore differ within a folder.
# Files with options of their own are compiled separately, and so are those whose path in the list
# of the target matches REGEX.
# The preset dev compiles each file separately, so files include what they use.
function(topdnn_batches target)
  cmake_parse_arguments(PARSE_ARGV 1 batches "" "EXCEPT" "")
  if(NOT TOPDNN_BATCHES)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  if(batches_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "${batches_EXCEPT}")
  endif()
  list(SORT sources)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} ABSOLUTE)
    get_filename_component(folder ${folder} DIRECTORY)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    math(EXPR batch "(${count_${folder}} - 1) / 16")
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP "${folder}_${batch}")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes a file of a batch for a header, whose anonymous namespace would be in several files.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
