// Ranks that mpirun or srun started, through libtopdnn_mpi.so (mpi_functions.h).

#ifndef TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_
#define TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bench/ranks/transport.h"

namespace topdnn {

// What started this process, from its environment.
struct Launch {
  bool by_mpi = false;              // a launcher that speaks to MPI
  bool old_pmi = false;             // that speaks PMI 1 or 2, not PMIx
  int ranks = 1;                    // that were started
  std::optional<int> node_ranks{};  // ranks on this node
  bool first = true;                // rank 0, or not known: reports what fails before MPI runs
  std::string problem{};            // why the ranks cannot communicate; one line, or empty
};

// The tasks on a node, by Slurm's list for all nodes of a step: "2(x3),1" is 2, 2, 2 and 1. Absent
// if the list is another one.
std::optional<int> TasksOfNode(std::string_view list, int node);

// `variable` returns the value of an environment variable, or null. Pure.
Launch LaunchOf(const std::function<const char*(const char*)>& variable);

// The ranks of this run: MPI's if a launcher started this process, otherwise one rank. Throws
// UsageError if this build or this machine has no MPI, and if the ranks cannot communicate.
std::unique_ptr<Transport> OpenRanks(const Launch& launch);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_RANKS_MPI_TRANSPORT_H_
