# Links LLVM's OpenMP runtime before libgomp.
#
# libgomp does not show ThreadSanitizer when its threads wait for each other, so every parallel loop
# would be reported as a data race. LLVM's runtime has the functions of libgomp, too. It loads Archer,
# which shows these waits (llvm-project, openmp/tools/archer/README.md).
file(GLOB archers /usr/lib/llvm-*/lib/libarcher.so)
if(NOT archers)
  message(FATAL_ERROR "ThreadSanitizer needs LLVM's OpenMP with Archer: apt-get install libomp-dev")
endif()
list(SORT archers COMPARE NATURAL)
list(GET archers -1 archer)
get_filename_component(llvm_folder ${archer} DIRECTORY)
# LLVM's runtime finds Archer by the program's own path of libraries, which DT_RUNPATH does not pass on.
add_link_options(-Wl,--no-as-needed ${llvm_folder}/libomp.so.5 -Wl,-rpath,${llvm_folder}
                 -Wl,--disable-new-dtags)

add_compile_options(-Wno-tsan)  # Eigen's pool uses fences, which ThreadSanitizer does not see
