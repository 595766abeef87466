// Cycles and instructions in user mode, as one group: the two events that every PMU counts.

#include <linux/perf_event.h>

#include <cerrno>

#include "harness/counters/event_group.h"
#include "harness/counters/source.h"
#include "harness/counting.h"

namespace topdnn {

namespace {

const std::vector<PerfEvent>& HardwareEvents() {
  static const std::vector<PerfEvent> events = {
      {"cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}};
  return events;
}

// User mode alone: it is what the unprivileged may count (perf_event_paranoid up to 2), and an
// interrupt's handler is no work of the stage.
constexpr PerfScope kScope = PerfScope::kUser;

class HardwareSource final : public CounterSource {
 public:
  HardwareSource() { Begin(0); }
  void Begin(std::size_t /*pass*/) override {
    group_.Open(HardwareEvents(), kScope, /*all_threads=*/true);
  }
  std::string_view name() const override { return "hardware"; }
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return group_.slots(); }
  void Read(std::uint64_t* raw) noexcept override { group_.Read(raw); }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldGroup(before, after);
  }

 private:
  EventGroup group_;
  std::vector<std::string> events_ = {"cycles:u", "instructions:u"};
};

// Some hypervisors let the events be opened and never count: so count something.
Availability ProbeHardware() {
  EventGroup group;
  const int error = group.Open(HardwareEvents(), kScope, /*all_threads=*/false);
  if (error != 0) return ExplainRefusal(error, PerfSurroundings::Here(), "hardware events");
  std::vector<std::uint64_t> before(group.slots());
  std::vector<std::uint64_t> after(group.slots());
  group.Read(before.data());
  for (int i = 0; i < 100'000; ++i) asm volatile("" ::: "memory");
  group.Read(after.data());
  for (const EventCount& count : FoldGroup(before, after)) {
    if (count.value && *count.value > 0) continue;
    return {.works = false,
            .reason =
                "cycles and instructions can be opened but stay at zero: the PMU is not "
                "really there, or another user holds all its counters",
            .remedy = ""};
  }
  return {.works = true, .reason = "cycles and instructions, user mode, one group", .remedy = ""};
}

const SourceRegistration kHardware({.name = "hardware",
                                    .what = "cycles and instructions of the CPU's PMU",
                                    .probe = ProbeHardware,
                                    .open = []() -> std::unique_ptr<CounterSource> {
                                      return std::make_unique<HardwareSource>();
                                    }});

}  // namespace

}  // namespace topdnn
