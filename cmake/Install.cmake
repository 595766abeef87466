# cmake --install: the program with its Eigen libraries, the completion, the manual page, and the
# harness as a separate library.
include(GNUInstallDirs)

# The program looks for its Eigen libraries beside itself. Therefore both are installed into one
# folder, and bin/ has a link. Libraries outside the usual folders (OpenBLAS) stay where they are.
set(program_folder ${CMAKE_INSTALL_LIBDIR}/topdnn)
set_target_properties(topdnn PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS topdnn RUNTIME DESTINATION ${program_folder})
foreach(isa IN LISTS TOPDNN_EIGEN_ISAS)
  install(TARGETS topdnn_eigen_${isa} topdnn_eigen_sgemm_${isa} LIBRARY DESTINATION ${program_folder})
endforeach()
if(TARGET topdnn_mpi)
  install(TARGETS topdnn_mpi LIBRARY DESTINATION ${program_folder})
endif()
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${prefix}/${CMAKE_INSTALL_BINDIR}\")
  file(CREATE_LINK \"../${program_folder}/topdnn\" \"\${prefix}/${CMAKE_INSTALL_BINDIR}/topdnn\" SYMBOLIC)
  foreach(kind_and_path
      \"bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/topdnn\"
      \"zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_topdnn\"
      \"man|${CMAKE_INSTALL_MANDIR}/man1/topdnn.1\")
    string(REPLACE \"|\" \";\" parts \"\${kind_and_path}\")
    list(GET parts 0 kind)
    list(GET parts 1 path)
    get_filename_component(folder \"\${prefix}/\${path}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:topdnn>\" completion \${kind}
                    OUTPUT_FILE \"\${prefix}/\${path}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
")

# The harness measures any callable. Counter sources and probes register themselves, so a program
# links the whole archive; topdnn-harness.pc has the flags.
add_library(topdnn_harness_archive STATIC $<TARGET_OBJECTS:topdnn_harness>)
set_target_properties(topdnn_harness_archive PROPERTIES OUTPUT_NAME topdnn_harness LINKER_LANGUAGE CXX)
install(TARGETS topdnn_harness_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/harness DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topdnn
        FILES_MATCHING PATTERN "*.h")
# The interface of plug-ins: #include <topdnn/plugin.h>.
install(FILES ${CMAKE_SOURCE_DIR}/kernels/plugin/topdnn/plugin.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topdnn)
file(RELATIVE_PATH harness_headers ${CMAKE_INSTALL_FULL_LIBDIR}
     ${CMAKE_INSTALL_FULL_INCLUDEDIR}/topdnn)
configure_file(${CMAKE_SOURCE_DIR}/cmake/topdnn-harness.pc.in
               ${CMAKE_BINARY_DIR}/topdnn-harness.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/topdnn-harness.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
