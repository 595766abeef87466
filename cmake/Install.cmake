# cmake --install: six components, which cmake/Packages.cmake makes Debian packages of.
#   program  the program with its Eigen libraries, the completion and the manual page
#   mpi      the library that `topdnn scale` loads (only with MPI)
#   harness  the harness as a separate library, with its CMake package and pkg-config's file, and
#            the header of its C interface
#   library  libtopdnn.so, the harness for programs in C and Python
#   python   the Python module `topdnn`, which loads it
#   plugin   the header that plug-ins are compiled with
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The program looks for its libraries beside itself. Therefore all are installed into one folder, and
# bin/ has a link. Libraries outside the usual folders (OpenBLAS) stay where they are.
set(program_folder ${CMAKE_INSTALL_LIBEXECDIR}/topdnn)
set_target_properties(topdnn PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS topdnn RUNTIME DESTINATION ${program_folder} COMPONENT program)
foreach(isa IN LISTS TOPDNN_EIGEN_ISAS)
  install(TARGETS topdnn_eigen_${isa} topdnn_eigen_sgemm_${isa}
          LIBRARY DESTINATION ${program_folder} COMPONENT program)
endforeach()
install(TARGETS topdnn_live topdnn_width LIBRARY DESTINATION ${program_folder} COMPONENT program)
install(FILES ${CMAKE_SOURCE_DIR}/bench/live/python/sitecustomize.py
        DESTINATION ${program_folder}/live_python COMPONENT program)
if(TARGET topdnn_mpi)
  install(TARGETS topdnn_mpi LIBRARY DESTINATION ${program_folder} COMPONENT mpi)
endif()
# (gzip -n: without the time, so that a package can be reproduced)
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(MAKE_DIRECTORY \"\${prefix}/${CMAKE_INSTALL_BINDIR}\")
  file(CREATE_LINK \"../${program_folder}/topdnn\" \"\${prefix}/${CMAKE_INSTALL_BINDIR}/topdnn\" SYMBOLIC)
  set(man_page \"${CMAKE_INSTALL_MANDIR}/man1/topdnn.1\")
  foreach(kind_and_path
      \"bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions/topdnn\"
      \"zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions/_topdnn\"
      \"man|\${man_page}\")
    string(REPLACE \"|\" \";\" parts \"\${kind_and_path}\")
    list(GET parts 0 kind)
    list(GET parts 1 path)
    get_filename_component(folder \"\${prefix}/\${path}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:topdnn>\" completion \${kind}
                    OUTPUT_FILE \"\${prefix}/\${path}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND gzip -9nf \"\${prefix}/\${man_page}\" COMMAND_ERROR_IS_FATAL ANY)
" COMPONENT program)

# The harness measures any callable. Counter sources and probes register themselves, so a program
# links the whole archive: the target topdnn::harness, and topdnn-harness.pc, have the flags.
add_library(topdnn_harness_archive STATIC $<TARGET_OBJECTS:topdnn_harness>
            $<TARGET_OBJECTS:topdnn_harness_reports> $<TARGET_OBJECTS:topdnn_harness_sharing>)
set_target_properties(topdnn_harness_archive PROPERTIES OUTPUT_NAME topdnn_harness LINKER_LANGUAGE CXX)
install(TARGETS topdnn_harness_archive
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT harness)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/harness DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topdnn
        COMPONENT harness FILES_MATCHING PATTERN "*.h" PATTERN "c_api" EXCLUDE)
file(RELATIVE_PATH harness_headers ${CMAKE_INSTALL_FULL_LIBDIR}
     ${CMAKE_INSTALL_FULL_INCLUDEDIR}/topdnn)
configure_file(${CMAKE_SOURCE_DIR}/cmake/topdnn-harness.pc.in
               ${CMAKE_BINARY_DIR}/topdnn-harness.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/topdnn-harness.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT harness)
# (in the folder `installed`, because the CMake package in the build folder is for additions to the
# program: cmake/topdnn-config.cmake.in)
set(cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/topdnn)
configure_package_config_file(
  ${CMAKE_SOURCE_DIR}/cmake/harness-config.cmake.in
  ${CMAKE_BINARY_DIR}/installed/topdnn-config.cmake INSTALL_DESTINATION ${cmake_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/installed/topdnn-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/installed/topdnn-config.cmake
              ${CMAKE_BINARY_DIR}/installed/topdnn-config-version.cmake
        DESTINATION ${cmake_folder} COMPONENT harness)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/harness
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtopdnn-harness-dev/examples COMPONENT harness)

# The harness for C and Python: #include <topdnn/harness.h>, -ltopdnn, `import topdnn`. (Debian's
# Python looks for packages' modules in dist-packages.)
install(TARGETS topdnn_shared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT harness)
install(FILES ${CMAKE_SOURCE_DIR}/harness/c_api/topdnn/harness.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topdnn COMPONENT harness)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/harness/c_api/python/topdnn
        DESTINATION lib/python3/dist-packages COMPONENT python FILES_MATCHING PATTERN "*.py")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/python/
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/python3-topdnn/examples COMPONENT python
        FILES_MATCHING PATTERN "*.py")

# The interface of plug-ins: #include <topdnn/plugin.h>.
install(FILES ${CMAKE_SOURCE_DIR}/kernels/plugin/topdnn/plugin.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/topdnn COMPONENT plugin)
install(FILES ${CMAKE_SOURCE_DIR}/examples/conv.c
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libtopdnn-plugin-dev/examples COMPONENT plugin)

# Everything that is installed, without the tests.
add_custom_target(topdnn_installed)
add_dependencies(topdnn_installed topdnn topdnn_eigen_libraries topdnn_harness_archive topdnn_shared)
