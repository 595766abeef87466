# Compiles the script, the style and the skeleton of the HTML report into the harness. The script's
# files are joined in the order of `scripts`. Lines with only a comment, and indentation, are left
# out: each page contains the script. The page allows the script and the style by their SHA-256.
function(topdnn_page_texts target folder)
  set(scripts ${ARGN})
  set(page_script "")
  foreach(script IN LISTS scripts)
    file(READ ${folder}/${script} text)
    string(APPEND page_script "${text}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${script})
  endforeach()
  file(READ ${folder}/page.css page_style)
  file(READ ${folder}/page.html page_skeleton)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/page.css
                                         ${folder}/page.html)
  string(REGEX REPLACE "\n *//[^\n]*" "" page_script "\n${page_script}")
  string(REGEX REPLACE "\n[\n ]*" "\n" page_script "${page_script}")
  string(REGEX REPLACE "\n[\n ]*" "\n" page_style "\n${page_style}")
  string(SHA256 page_script_hash "${page_script}")
  string(SHA256 page_style_hash "${page_style}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/page_texts.cc @ONLY CONTENT
"#include \"harness/report/html/page_texts.h\"\n
namespace topdnn {
const char* const kPageScript = R\"page(@page_script@)page\";
const char* const kPageStyle = R\"page(@page_style@)page\";
const char* const kPageSkeleton = R\"page(@page_skeleton@)page\";
const char* const kPageScriptHash = \"@page_script_hash@\";
const char* const kPageStyleHash = \"@page_style_hash@\";
}\n")
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/page_texts.cc)
endfunction()
