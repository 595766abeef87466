#include "bench/profile/interval_rows.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "kernels/kernel/thread_width.h"

namespace topdnn {

IntervalRows::IntervalRows(Plan& plan, std::int64_t interval) : plan_(plan), interval_(interval) {
  for (const Stage& stage : plan.stages()) {
    const std::string_view pass = NameOf(stage.pass);
    groups_.push_back(pass.starts_with("backward") ? kBackward
                      : pass == "update"           ? kUpdate
                      : pass == "forward"          ? kForward
                                                   : kRest);
  }
}

void IntervalRows::PrintHead() const {
  if (interval_ == 0) return;
  fmt::print("{:>9}  {:>9}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", "step", "loss", "ms/step",
             "forward", "backward", "update", "rest");
}

void IntervalRows::RunStep() {
  if (interval_ == 0) {
    plan_.Run();
    return;
  }
  using Clock = std::chrono::steady_clock;
  const ThreadWidth width(plan_.threads());
  auto before = Clock::now();
  for (std::size_t s = 0; s < groups_.size(); ++s) {
    plan_.RunStage(s);
    if (s + 1 < groups_.size() && groups_[s + 1] == groups_[s]) continue;
    const auto after = Clock::now();
    seconds_[groups_[s]] += std::chrono::duration<double>(after - before).count();
    before = after;
  }
}

void IntervalRows::Add(double loss) {
  if (interval_ == 0) return;
  ++steps_;
  loss_ += loss;
  if (++in_row_ < interval_) return;
  const auto n = static_cast<double>(in_row_);
  double step = 0;
  for (const double group : seconds_) step += group;
  fmt::print("{:>9}  {:>9.4f}  {:>10.3f}", steps_, loss_ / n, step / n * 1e3);
  for (const Group group : {kForward, kBackward, kUpdate, kRest}) {
    fmt::print("  {:>10.3f}", seconds_[group] / n * 1e3);
  }
  fmt::print("\n");
  std::fflush(stdout);
  in_row_ = 0;
  loss_ = 0;
  seconds_.fill(0);
}

}  // namespace topdnn
