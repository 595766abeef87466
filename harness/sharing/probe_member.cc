#include "harness/sharing/probe_member.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>

#include "harness/counters/clock.h"
#include "harness/machine/machine.h"
#include "harness/machine/topology.h"
#include "harness/probes/ceilings.h"
#include "harness/probes/probe.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

struct Load {
  const char* name;
  const char* what;
  ProbeKind kind;
  const char* type;   // of multiply-adds
  const char* level;  // of the working set (WorkingSet)
};

constexpr Load kLoads[] = {
    {"llc", "reads from the last cache", ProbeKind::kRead, "", "llc"},
    {"dram", "reads from DRAM", ProbeKind::kRead, "", "dram"},
    {"copy", "reads from and writes to DRAM", ProbeKind::kCopy, "", "dram"},
    {"l2", "reads from its own L2", ProbeKind::kRead, "", "l2"},
    {"fma", "multiplies and adds f32 vectors from its own L1", ProbeKind::kFma, "f32", "l1"},
    {"branch", "mispredicts branches", ProbeKind::kBranch, "", "l1"},
};
constexpr const char* kIdle = "idle";

constexpr double kIterationSeconds = 1e-3;

class IdleMember final : public Member {
 public:
  std::vector<MemberStage> stages() const override { return {}; }
  bool runs_here() const override { return false; }
  void Run(const Window& window, IterationLog&) override {
    std::this_thread::sleep_until(window.end);
  }
};

class ProbeMember final : public Member {
 public:
  ProbeMember(const std::string& name, const Probe& probe, int threads, std::size_t working_set)
      : name_(name), probe_(probe), buffers_(static_cast<std::size_t>(threads)) {
    // (a failed allocation throws, and an exception cannot leave a parallel region)
    for (auto& buffers : buffers_) buffers = std::make_unique<ProbeBuffers>(working_set);
#pragma omp parallel num_threads(threads)
    probe_.prepare(probe_, *buffers_[static_cast<std::size_t>(omp_get_thread_num())], Fill::kReals,
                   1);
    Calibrate();
    iteration_seconds_ = WarmUp([this] { Iterate(); });
  }

  std::vector<MemberStage> stages() const override { return {{name_, "probe"}}; }
  double iteration_seconds() const override { return iteration_seconds_; }

  void Run(const Window& window, IterationLog& log) override {
    double seconds = 0;
    RunIterations(
        window, {&seconds, 1},
        [this](std::span<double> time) {
          const std::uint64_t before = clock_.now();
          Iterate();
          time[0] = clock_.SecondsBetween(before, clock_.now()).value_or(0);
        },
        log);
  }

 private:
  void Iterate() {
#pragma omp parallel num_threads(static_cast <int>(buffers_.size()))
    probe_.run(*buffers_[static_cast<std::size_t>(omp_get_thread_num())], iterations_);
  }

  // Doubles iterations_ until an Iterate takes about kIterationSeconds.
  void Calibrate() {
    Iterate();  // the first call is slower
    for (double seconds = 0; seconds < kIterationSeconds / 2; iterations_ *= 2) {
      const std::uint64_t before = clock_.now();
      Iterate();
      seconds = clock_.SecondsBetween(before, clock_.now()).value_or(0);
    }
  }

  std::string name_;
  const Probe& probe_;
  std::vector<std::unique_ptr<ProbeBuffers>> buffers_;  // by thread
  TickClock clock_ = BestClock();
  std::int64_t iterations_ = 1;
  double iteration_seconds_ = 0;
};

const Probe* ProbeOf(const Load& load) {
  // There are several branch probes. Of the other kinds the widest is used.
  if (load.kind == ProbeKind::kBranch) return FindProbe("branch/random");
  return WidestProbe(load.kind, load.type);
}

}  // namespace

std::vector<ProbeLoad> ProbeLoads() {
  std::vector<ProbeLoad> loads;
  for (const Load& load : kLoads) loads.push_back({load.name, load.what});
  loads.push_back({kIdle, "sleeps"});
  return loads;
}

std::unique_ptr<Member> MakeProbeMember(const std::string& name, int threads) {
  if (name == kIdle) return std::make_unique<IdleMember>();
  const Load* const load = std::find_if(std::begin(kLoads), std::end(kLoads),
                                        [&name](const Load& known) { return name == known.name; });
  if (load == std::end(kLoads)) throw InputError(fmt::format("no probe '{}'", name));
  const Probe* const probe = ProbeOf(*load);
  if (probe == nullptr) {
    throw InputError(
        fmt::format("the probe '{}' is not supported on this CPU: take another probe", name));
  }
  std::string note;
  const auto memory = static_cast<std::size_t>(std::max<std::int64_t>(AvailableMemory(), 0));
  const std::size_t bytes = WorkingSet(ReadTopology(), load->level, threads, memory, note);
  if (bytes == 0) throw InputError(fmt::format("{}: take another probe", note));
  return std::make_unique<ProbeMember>(name, *probe, threads, bytes);
}

}  // namespace topdnn
