# `cpack`: a Debian package of each component of cmake/Install.cmake. setup/package builds them, and
# tests/packages checks them. dpkg-shlibdeps finds the libraries that a package links to; what it cannot
# see is listed here. SOURCE_DATE_EPOCH is the time of their files.

# Each Debian has its own packages, since its libraries differ: 0.1.0-1~deb12u1.
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
if(system_ID STREQUAL debian AND system_VERSION_ID)
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1~deb${system_VERSION_ID}u1)
endif()
set(package_version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME topdnn)
set(CPACK_PACKAGE_CONTACT "topdnn maintainers <maintainers@example.org>")  # setup/package sets it
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/PackageFiles.cmake)
set(CPACK_COMPONENTS_ALL program harness library python plugin)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

# OpenBLAS on OpenMP by name, because the library's package accepts any variant. The data set is the
# default input.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME topdnn)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libopenblas0-openmp, dataset-fashion-mnist")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "topdnn-mpi, libtopdnn-harness-dev, libtopdnn-plugin-dev")
# Python makes a cache beside sitecustomize.py if root runs `topdnn trace --live --modules`.
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/program-package/prerm CONTENT
     "#!/bin/sh\nset -e\nrm -rf /usr/libexec/topdnn/live_python/__pycache__\n")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/program-package/prerm)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "benchmark of CNN kernels and networks on CPUs
Times each stage of a training or inference step in the network and by
itself, on oneDNN, Eigen and OpenBLAS. Each result is checked against a
reference first, and each time is compared with ceilings that are measured
on the same machine.")

if(TARGET topdnn_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME topdnn-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "topdnn (= ${package_version})")
  set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS openmpi-bin)
  set(CPACK_DEBIAN_MPI_DESCRIPTION "benchmark of CNNs on CPUs: several processes, by MPI
The library that `topdnn scale` loads: it trains a network on several
processes or nodes, and measures what communication costs.")
endif()

set(CPACK_DEBIAN_HARNESS_PACKAGE_NAME libtopdnn-harness-dev)
set(CPACK_DEBIAN_HARNESS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_HARNESS_PACKAGE_DEPENDS
    "libtopdnn0 (= ${package_version}), libfmt-dev, libhwloc-dev, libpfm4-dev, libzydis-dev, nlohmann-json3-dev")
set(CPACK_DEBIAN_HARNESS_PACKAGE_RECOMMENDS "g++, cmake | pkg-config")
set(CPACK_DEBIAN_HARNESS_DESCRIPTION "library that measures any callable: times, counters, ceilings
The harness of topdnn as a static library, with its headers: clocks, perf
events, an exact instruction counter, steady state, disturbance, Top-Down
tables, measured ceilings and reports. CMake's target topdnn::harness and
pkg-config's topdnn-harness have the flags.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtopdnn0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
# (CPack's own file of shlibs is for all packages or for none)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/shlibs CONTENT
     "libtopdnn 0 libtopdnn0 (>= ${PROJECT_VERSION})\n")
# (dpkg calls ldconfig once after all packages; Debian's policy, section 8.1.1)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/shlibs
                                               ${CMAKE_BINARY_DIR}/triggers)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "library that measures programs in C and Python
Times of stages with a verdict, counters over all threads of a process, and
exact counts of a function: the harness of topdnn with an interface in C.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-topdnn)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
# Python's caches are made at the installation, and removed with the package (as dh_python3 does it).
set(scripts ${CMAKE_BINARY_DIR}/python3-topdnn)
set(script "#!/bin/sh\nset -e\nif command -v %s >/dev/null; then %s -p python3-topdnn; fi\n")
string(REPLACE %s py3compile postinst "${script}")
string(REPLACE %s py3clean prerm "${script}")
file(CONFIGURE OUTPUT ${scripts}/postinst CONTENT "${postinst}")
file(CONFIGURE OUTPUT ${scripts}/prerm CONTENT "${prerm}")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.9), libtopdnn0 (= ${package_version})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "topdnn, python3-numpy")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python module that measures stages of a program
Times of stages with a verdict, counters over all threads of the process,
and exact counts of a function, for any Python program: NumPy, PyTorch or
plain code.")

set(CPACK_DEBIAN_PLUGIN_PACKAGE_NAME libtopdnn-plugin-dev)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PLUGIN_PACKAGE_SUGGESTS topdnn)
set(CPACK_DEBIAN_PLUGIN_DESCRIPTION "header for kernels that topdnn loads as plug-ins
A plug-in is a shared library in C with kernels of its own. topdnn checks
them against its reference and times them as one more backend.")
include(CPack)
