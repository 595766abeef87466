# Compiles each text file of a folder into the program as a problem set with the file's name. So the
# program needs no files at run time, and a new set is a new file.
function(topdnn_problem_sets target folder)
  file(GLOB texts CONFIGURE_DEPENDS ${folder}/*.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${texts})
  foreach(text IN LISTS texts)
    get_filename_component(name ${text} NAME_WE)
    file(READ ${text} content)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/problems/${name}.cc @ONLY CONTENT
"#include \"bench/cases/problem_sets.h\"\n
namespace {
const topdnn::ProblemSetRegistration kSet(\"@name@\", R\"problems(@content@)problems\");
}\n")
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/problems/${name}.cc)
  endforeach()
endfunction()
