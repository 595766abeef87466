// Ranks that mpirun or srun started, through libtopdnn_mpi.so (mpi_functions.h).

#ifndef TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_
#define TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/ranks/transport.h"

namespace topdnn {

// What started this process, from its environment.
struct Launch {
  bool by_mpi = false;              // a launcher that speaks to MPI
  std::optional<int> node_ranks{};  // ranks on this node
  std::string problem{};            // why the ranks cannot communicate; one line, or empty
};

// `variable` returns the value of an environment variable, or null. Pure.
Launch LaunchOf(const std::function<const char*(const char*)>& variable);

// The ranks of this run: MPI's if a launcher started this process, otherwise one rank. Throws
// UsageError if this build or this machine has no MPI, and if the ranks cannot communicate.
std::unique_ptr<Transport> OpenRanks(const Launch& launch);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_
