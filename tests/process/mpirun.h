// How tests start ranks with Open MPI's mpirun.

#ifndef TOPDNN_TESTS_PROCESS_MPIRUN_H_
#define TOPDNN_TESTS_PROCESS_MPIRUN_H_

#include <string_view>

namespace topdnn {

// Variables before `mpirun`. There may be more ranks than CPUs, and root may start them. They run
// on this machine, so TCP, which a container may lack, is not needed. For the placement, Open MPI 4
// reads OMPI_MCA_ variables, and Open MPI 5 reads PRTE_MCA_ ones (PRRTE 3, "Mapping, ranking and
// binding").
inline constexpr std::string_view kMpirunVariables =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^tcp "
    "OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none "
    "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
    "PRTE_MCA_hwloc_default_binding_policy=none ";

}  // namespace topdnn

#endif  // TOPDNN_TESTS_PROCESS_MPIRUN_H_
