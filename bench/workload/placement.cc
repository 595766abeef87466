#include "bench/workload/placement.h"

#include <fmt/format.h>
#include <omp.h>

#include <atomic>
#include <cstddef>
#include <cstring>

#include "bench/command_line/command.h"
#include "harness/machine/topology.h"

namespace topdnn {

namespace {

constexpr const char* kShared = "shared";
constexpr const char* kPrivate = "private";

CpuDivision DivideFor(int threads) {
  const Topology topology = ReadTopology();
  CpuDivision cpus = DivideCpus(topology.cpus_of_cores, threads);
  if (!cpus.others.empty()) return cpus;
  const std::size_t all = topology.allowed.size();
  throw UsageError(fmt::format(
      "--placement private: the input pipeline needs a CPU beside the {} computing threads, and {} "
      "CPUs may be used: {}",
      threads, all, all > 1 ? fmt::format("set --threads {} or less", all - 1) : "add a CPU"));
}

// Binds each thread of the team to its own CPU. Returns 0 or an errno.
int BindTeam(const std::vector<int>& cpus) {
  std::atomic<int> failure = 0;
#pragma omp parallel num_threads(static_cast <int>(cpus.size()))
  {
    const int error = BindThisThread(cpus[static_cast<std::size_t>(omp_get_thread_num())]);
    if (error != 0) failure = error;
  }
  return failure;
}

}  // namespace

std::vector<std::string> PlacementNames() { return {kShared, kPrivate}; }

Placement::Placement(const std::string& name, int threads) : name_(name) {
  if (name != kPrivate) return;
  cpus_ = DivideFor(threads);
  // The team starts before the masks are saved, so that every thread gets its own mask back.
#pragma omp parallel num_threads(threads)
  {}
  computing_ = std::make_unique<ProcessOnCpus>(cpus_.measured);
  std::string failure = computing_->failure();
  if (const int error = BindTeam(cpus_.measured); failure.empty() && error != 0) {
    failure = std::strerror(error);
  }
  if (!failure.empty()) {
    throw UsageError(fmt::format(
        "--placement private: the threads cannot be bound to CPUs: {}: take --placement shared",
        failure));
  }
}

std::function<void()> Placement::LoaderStart() const {
  if (cpus_.others.empty()) return {};
  const auto started = std::make_shared<std::atomic<std::size_t>>(0);
  return [started, cpus = cpus_.others] { BindThisThread(cpus[(*started)++ % cpus.size()]); };
}

}  // namespace topdnn
