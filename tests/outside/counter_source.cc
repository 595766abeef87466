// Adds a counter source, `outside`, which counts its own readings.

#include <memory>

#include "harness/counters/source.h"

namespace topdnn {

namespace {

class OutsideSource final : public CounterSource {
 public:
  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return 1; }
  void Read(std::uint64_t* raw) noexcept override { *raw = ++readings_; }
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    return FoldCounts(before, after);
  }

 private:
  std::vector<std::string> events_ = {"outside/readings"};
  std::uint64_t readings_ = 0;
};

const SourceRegistration kOutside(
    {.name = "outside",
     .what = "counts its own readings",
     .probe = []() -> Availability {
       return {.works = true, .reason = "a number that grows with each reading", .remedy = ""};
     },
     .open = []() -> std::unique_ptr<CounterSource> { return std::make_unique<OutsideSource>(); }});

}  // namespace

}  // namespace topdnn
