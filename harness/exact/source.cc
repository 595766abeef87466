// The exact counter as a counter source: runs each region itself and adds up the counts.

#include "harness/counters/source.h"

#include <string>
#include <vector>

#include "harness/exact/counter.h"
#include "harness/statistics/counting.h"

namespace topdnn {

namespace {

struct Event {
  const char* name;
  std::uint64_t (*count)(const ExactCounts&);
};

#define TOPDNN_FP(element, width) \
  [](const ExactCounts& c) -> std::uint64_t { return c.fp[element][width]; }
#define TOPDNN_COUNT(expression) [](const ExactCounts& c) -> std::uint64_t { return expression; }

constexpr std::uint64_t Sum(const std::uint64_t (&by_width)[kFpWidths]) {
  return by_width[kPacked128] + by_width[kPacked256] + by_width[kPacked512];
}

// If an Intel event has the same meaning, the name contains it (SDM volume 3, chapter 20; half
// precision: Sapphire Rapids).
constexpr Event kEvents[] = {
    {"exact/instructions", TOPDNN_COUNT(c.instructions)},
    {"exact/openmp_instructions", TOPDNN_COUNT(c.openmp_instructions)},
    {"exact/openmp_branches", TOPDNN_COUNT(c.openmp_branches)},
    {"exact/openmp_slow_instructions", TOPDNN_COUNT(c.openmp_slow_instructions)},
    {kFlopsEvent.data(), TOPDNN_COUNT(c.flops())},
    {"exact/FP_ARITH_INST_RETIRED.SCALAR_SINGLE", TOPDNN_FP(kF32, kScalar)},
    {"exact/FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE", TOPDNN_FP(kF32, kPacked128)},
    {"exact/FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE", TOPDNN_FP(kF32, kPacked256)},
    {"exact/FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE", TOPDNN_FP(kF32, kPacked512)},
    {"exact/FP_ARITH_INST_RETIRED.SCALAR_DOUBLE", TOPDNN_FP(kF64, kScalar)},
    {"exact/FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE", TOPDNN_FP(kF64, kPacked128)},
    {"exact/FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE", TOPDNN_FP(kF64, kPacked256)},
    {"exact/FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE", TOPDNN_FP(kF64, kPacked512)},
    {"exact/FP_ARITH_INST_RETIRED2.SCALAR_HALF", TOPDNN_FP(kF16, kScalar)},
    {"exact/FP_ARITH_INST_RETIRED2.128B_PACKED_HALF", TOPDNN_FP(kF16, kPacked128)},
    {"exact/FP_ARITH_INST_RETIRED2.256B_PACKED_HALF", TOPDNN_FP(kF16, kPacked256)},
    {"exact/FP_ARITH_INST_RETIRED2.512B_PACKED_HALF", TOPDNN_FP(kF16, kPacked512)},
    {"exact/x87", TOPDNN_COUNT(c.x87)},
    {"exact/bf16_dot_products", TOPDNN_COUNT(Sum(c.bf16_dot))},
    {"exact/vnni", TOPDNN_COUNT(Sum(c.vnni))},
    {"exact/integer_dot_ops", TOPDNN_COUNT(c.vnni_ops + c.amx_int8_ops)},
    {"exact/amx_bf16", TOPDNN_COUNT(c.amx_bf16)},
    {"exact/amx_int8", TOPDNN_COUNT(c.amx_int8)},
    {"exact/loads", TOPDNN_COUNT(c.loads)},
    {"exact/load_bytes", TOPDNN_COUNT(c.load_bytes)},
    {"exact/stores", TOPDNN_COUNT(c.stores)},
    {"exact/store_bytes", TOPDNN_COUNT(c.store_bytes)},
    {"exact/conditional_branches", TOPDNN_COUNT(c.conditional_branches)},
    {"exact/conditional_taken", TOPDNN_COUNT(c.conditional_taken)},
    {"exact/branches_taken", TOPDNN_COUNT(c.branches_taken())},
    {"exact/indirect_branches", TOPDNN_COUNT(c.indirect_branches)},
    {"exact/minority_branches", TOPDNN_COUNT(c.minority_branches)},
    {"exact/missed_branches", TOPDNN_COUNT(c.missed_branches)},
    {"exact/synchronizing_instructions", TOPDNN_COUNT(c.synchronizing_instructions)},
    {"exact/slow_instructions", TOPDNN_COUNT(c.slow_instructions)},
    {"exact/fusible_instructions", TOPDNN_COUNT(c.fusible_instructions)},
    {"exact/instruction_bytes", TOPDNN_COUNT(c.instruction_bytes)},
    {"exact/system_calls", TOPDNN_COUNT(c.system_calls)},
    {"exact/code_bytes", TOPDNN_COUNT(c.code_bytes)},
    {"exact/code_blocks", TOPDNN_COUNT(c.blocks)},
};

#undef TOPDNN_FP
#undef TOPDNN_COUNT

class ExactSource final : public CounterSource {
 public:
  ExactSource() {
    for (const Event& event : kEvents) events_.emplace_back(event.name);
    totals_.assign(slots(), 0);
  }

  const std::vector<std::string>& events() const override { return events_; }
  // One slot per event, plus one for the number of regions that were not counted completely.
  std::size_t slots() const override { return std::size(kEvents) + 1; }
  void Read(std::uint64_t* raw) noexcept override {
    for (const std::uint64_t total : totals_) *raw++ = total;
  }
  bool runs_region() const override { return true; }

  void Run(void (*region)(void*), void* context) override {
    const ExactCounts counts = ExactCounter::Count(region, context);
    for (std::size_t e = 0; e < std::size(kEvents); ++e) totals_[e] += kEvents[e].count(counts);
    if (counts.complete) return;
    ++totals_.back();
    reasons_.push_back(counts.incomplete_reason);
  }

  // An incomplete count is absent.
  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    const std::size_t n = events_.size();
    std::vector<EventCount> counts = FoldCounts(before.first(n), after.first(n));
    const std::uint64_t missed = before[n];  // regions missed before this reading
    if (after[n] == missed) return counts;
    for (EventCount& count : counts) {
      count = {.value = std::nullopt, .running_fraction = 0, .reason = reasons_.at(missed)};
    }
    return counts;
  }

 private:
  std::vector<std::string> events_;
  std::vector<std::uint64_t> totals_;
  std::vector<std::string> reasons_;  // one reason per region that was not counted completely
};

const SourceRegistration kExact({.name = "exact",
                                 .what = "instructions, FLOPs and bytes, by translating the code",
                                 .probe = ExactCounter::Probe,
                                 .open = []() -> std::unique_ptr<CounterSource> {
                                   return std::make_unique<ExactSource>();
                                 }});

}  // namespace

}  // namespace topdnn
