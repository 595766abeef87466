# Cross-compiles for arm64 against the libraries that setup/sysroot unpacks (preset `arm64`).
# qemu-user runs what is built: tests, and programs that the build itself needs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
if(NOT DEFINED TOPDNN_SYSROOT)
  set(TOPDNN_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot)
endif()
get_filename_component(CMAKE_SYSROOT ${TOPDNN_SYSROOT} ABSOLUTE)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TOPDNN_SYSROOT)
if(NOT EXISTS ${CMAKE_SYSROOT}/.packages)
  message(FATAL_ERROR "${CMAKE_SYSROOT} has no arm64 libraries: run setup/sysroot")
endif()

set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${CMAKE_SYSROOT}/usr/lib/${triplet}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

find_program(TOPDNN_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(TOPDNN_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TOPDNN_QEMU} -L ${CMAKE_SYSROOT})
endif()
