// A source of counts: a clock, a software event of the kernel, a group of hardware events, a
// recording.
//
// A region is measured by two readings and a fold. Read is the measured path and only copies raw
// numbers; Fold is pure arithmetic on two such copies, done afterwards. A count that could not be
// taken is absent, never zero.

#ifndef TOPDNN_HARNESS_COUNTERS_SOURCE_H_
#define TOPDNN_HARNESS_COUNTERS_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/statistics/counting.h"

namespace topdnn {

// Whether a source works on this machine; if not, why, and what would make it work.
struct Availability {
  bool works = false;
  std::string reason;       // "this virtual machine has no PMU"; if it works: what it counts
  std::string remedy = {};  // "sysctl kernel.perf_event_paranoid=1"; empty: nothing the user can do
};

// The name of the event for floating-point operations, if a source counts them.
inline constexpr std::string_view kFlopsEvent = "exact/flops";

// The names of the events for bytes that the memory controllers of all sockets moved, if a source
// counts them.
inline constexpr std::string_view kDramReadEvent = "dram/read_bytes";
inline constexpr std::string_view kDramWriteEvent = "dram/write_bytes";

class CounterSource {
 public:
  virtual ~CounterSource() = default;

  // The events, by their usual names ("cycles", "page-faults"), in the order of Fold's output.
  virtual const std::vector<std::string>& events() const = 0;
  // Raw numbers per reading.
  virtual std::size_t slots() const = 0;
  // Copies `slots()` raw numbers, cumulative since the source was opened, for the calling thread
  // and the worker threads that the source was opened for. Does not allocate, lock or throw.
  virtual void Read(std::uint64_t* raw) noexcept = 0;
  // The counts between two readings, one per event.
  virtual std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                                       std::span<const std::uint64_t> after) const = 0;

  // Events that do not fit the counters at once are counted in passes, each over separate
  // iterations. A reading between Begin(pass) and End() counts only the events of that pass.
  virtual std::size_t passes() const { return 1; }
  virtual std::size_t pass_of(std::size_t /*event*/) const { return 0; }
  // Starts to count on every thread that the process has at this time (so call it after the
  // warm-up, when the thread pools exist). The number of slots may change.
  virtual void Begin(std::size_t /*pass*/) {}
  virtual void End() {}
  // Fold by thread; empty if the source does not count threads separately.
  virtual std::vector<ThreadCounts> FoldThreads(std::span<const std::uint64_t> /*before*/,
                                                std::span<const std::uint64_t> /*after*/) const {
    return {};
  }

  // Whether the source counts only regions that its Run executes. Such a region runs slower, so it
  // gets a separate iteration, in addition to the timed ones and those of other sources.
  virtual bool runs_region() const { return false; }
  // Runs region(context) once. Exceptions of the region pass through.
  virtual void Run(void (*region)(void* context), void* context) { region(context); }

 protected:
  CounterSource() = default;
  CounterSource(const CounterSource&) = delete;
  CounterSource& operator=(const CounterSource&) = delete;
};

// Whether one of the sources runs the regions itself.
bool AnyRunsRegion(std::span<CounterSource* const> sources);

// How a source is found and opened. Each source's file has a registration object.
struct SourceOffer {
  std::string name;
  std::string what;  // one phrase for `topdnn machine`
  // The choice of `--counters` that opens the source: "perf", "clock"; empty: its own name. `auto`
  // opens every source that works, except those of "clock".
  std::string choice = {};
  Availability (*probe)();
  std::unique_ptr<CounterSource> (*open)();  // call it only if the probe says that the source works
};

class SourceRegistration {
 public:
  // Throws std::logic_error if a source of this name is registered already.
  explicit SourceRegistration(SourceOffer offer);
};

// Every registered source, sorted by name.
const std::vector<SourceOffer>& CounterSources();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SOURCE_H_
