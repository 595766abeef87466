// A source of counts: a clock, a software event of the kernel, a group of hardware events, a
// recording.
//
// A region is measured by two readings and a fold: Read is the measured path and only copies raw
// numbers; Fold is pure arithmetic on two such copies, done afterwards. A count that could not be
// taken is absent, never zero.

#ifndef TOPDNN_HARNESS_COUNTERS_SOURCE_H_
#define TOPDNN_HARNESS_COUNTERS_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/counting.h"

namespace topdnn {

// Whether a source works on this machine; if not, why, and what would make it work.
struct Availability {
  bool works = false;
  std::string reason;  // "this virtual machine has no PMU"; what it offers, when it works
  std::string remedy;  // "sysctl kernel.perf_event_paranoid=1"; empty: nothing the user can do
};

// The event under which a source tells floating-point operations, where it counts them.
inline constexpr std::string_view kFlopsEvent = "exact/flops";

// Bytes that the memory controllers of all sockets moved, where a source counts them.
inline constexpr std::string_view kDramReadEvent = "dram/read_bytes";
inline constexpr std::string_view kDramWriteEvent = "dram/write_bytes";

class CounterSource {
 public:
  virtual ~CounterSource() = default;

  // "tsc", "software", "perf".
  virtual std::string_view name() const = 0;
  // The events, by their field's names ("cycles", "page-faults"), in the order of Fold's output.
  virtual const std::vector<std::string>& events() const = 0;
  // Raw numbers per reading.
  virtual std::size_t slots() const = 0;
  // Copies the raw numbers, cumulative since the source was opened, to `slots()` places. It neither
  // allocates, locks nor throws. For the calling thread, and for the worker threads that the source
  // was opened over.
  virtual void Read(std::uint64_t* raw) noexcept = 0;
  // The counts between two readings, one per event.
  virtual std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                                       std::span<const std::uint64_t> after) const = 0;

  // Events that do not fit the counters at once are counted in passes, each over iterations of its
  // own. A reading between Begin(pass) and End() counts the events of that pass alone.
  virtual std::size_t passes() const { return 1; }
  virtual std::size_t pass_of(std::size_t /*event*/) const { return 0; }
  // Starts to count, on every thread that the process has by then (so after the warm-up, when its
  // pools exist). The number of slots may change.
  virtual void Begin(std::size_t /*pass*/) {}
  virtual void End() {}
  // Fold by thread; empty where the source does not tell threads apart.
  virtual std::vector<ThreadCounts> FoldThreads(std::span<const std::uint64_t> /*before*/,
                                                std::span<const std::uint64_t> /*after*/) const {
    return {};
  }

  // Whether the source counts only what goes through its Run. Such a region is slowed down, so it
  // gets an iteration of its own, beside those that are timed and those that others count.
  virtual bool runs_region() const { return false; }
  // Runs region(context) once. What the region throws passes through.
  virtual void Run(void (*region)(void* context), void* context) { region(context); }

 protected:
  CounterSource() = default;
  CounterSource(const CounterSource&) = delete;
  CounterSource& operator=(const CounterSource&) = delete;
};

// How a source is found and opened. Each source's file announces itself by a registration object.
struct SourceOffer {
  std::string name;
  std::string what;  // one phrase for `topdnn machine`
  Availability (*probe)();
  std::unique_ptr<CounterSource> (*open)();  // only when the probe says that it works
};

class SourceRegistration {
 public:
  explicit SourceRegistration(SourceOffer offer);
};

// Every registered source, sorted by name.
const std::vector<SourceOffer>& CounterSources();

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_COUNTERS_SOURCE_H_
