# CPack runs this on the installed files before it writes the packages. It adds what only a Debian
# package has: copyright, changelog, and the reasons for lintian's tags that do not apply.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH, if set
set(sources ${CMAKE_CURRENT_LIST_DIR}/debian)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(documents ${share}/doc/${package})
  configure_file(${sources}/copyright ${documents}/copyright COPYONLY)
  file(WRITE ${documents}/changelog.Debian
"topdnn (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Package of topdnn ${CPACK_PACKAGE_VERSION}, made from its source tree.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  execute_process(COMMAND gzip -9nf ${documents}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
  if(EXISTS ${sources}/${package}.lintian-overrides)
    file(MAKE_DIRECTORY ${share}/lintian/overrides)
    configure_file(${sources}/${package}.lintian-overrides ${share}/lintian/overrides/${package}
                   COPYONLY)
  endif()
  # Debian's zsh looks for completions of packages in another folder.
  if(EXISTS ${share}/zsh/site-functions)
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
  endif()
  # Debian's Open MPI is in the usual folder, too.
  set(mpi ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/libexec/topdnn/libtopdnn_mpi.so)
  if(EXISTS ${mpi})
    file(RPATH_REMOVE FILE ${mpi})
  endif()
endforeach()
