# Code is compiled per ISA and selected at run time, so that one binary runs on any x86-64.
#
# The name of a source file gives the ISA that it needs: NAME.avx2.cc, NAME.avx512.cc,
# NAME.avx512bf16.cc, NAME.avx512fp16.cc, NAME.avx512vnni.cc, NAME.amx.cc. Its code may only run after
# a CPUID test. It must not instantiate inline functions of a shared header under a name that another
# file also instantiates: the linker may keep the copy for the wider ISA.
set(TOPDNN_ISA_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(TOPDNN_ISA_FLAGS_avx512
    ${TOPDNN_ISA_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
set(TOPDNN_ISA_FLAGS_avx512vnni ${TOPDNN_ISA_FLAGS_avx512} -mavx512vnni)
set(TOPDNN_ISA_FLAGS_avx512bf16 ${TOPDNN_ISA_FLAGS_avx512} -mavx512bf16)
set(TOPDNN_ISA_FLAGS_avx512fp16 ${TOPDNN_ISA_FLAGS_avx512} -mavx512fp16)
set(TOPDNN_ISA_FLAGS_amx ${TOPDNN_ISA_FLAGS_avx512} -mamx-tile -mamx-int8 -mamx-bf16)

# Sets the ISA flags of each source in the list whose name contains an ISA.
function(topdnn_apply_isa_flags)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "\\.(avx2|avx512|avx512vnni|avx512bf16|avx512fp16|amx)\\.cc$")
      set_source_files_properties(
        ${source} PROPERTIES COMPILE_OPTIONS "${TOPDNN_ISA_FLAGS_${CMAKE_MATCH_1}}")
    endif()
  endforeach()
endfunction()

# An OBJECT library of every .cc file below the current folder, except those in folders named per_isa,
# which are compiled once per ISA into separate libraries. The paths are relative to the folder, so
# that the folders above it do not change which files a list has.
function(topdnn_floor name)
  file(GLOB_RECURSE sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cc)
  list(FILTER sources EXCLUDE REGEX "/per_isa/")
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    list(FILTER sources EXCLUDE REGEX "\\.(avx|amx)[0-9a-z]*\\.cc$")
  endif()
  topdnn_apply_isa_flags(${sources})
  add_library(${name} OBJECT ${sources})
endfunction()
