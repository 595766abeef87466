#include "harness/measure/waiting_accounts.h"

#include <algorithm>
#include <numeric>

#include "harness/measure/disturbance.h"

namespace topdnn {

std::vector<std::size_t> PartsOf(std::span<const double> stage_seconds, double least_seconds) {
  const double all = std::accumulate(stage_seconds.begin(), stage_seconds.end(), 0.0);
  std::vector<std::size_t> ends;
  double part = 0;
  for (std::size_t s = 0; all >= kSliceSeconds && s + 1 < stage_seconds.size(); ++s) {
    part += stage_seconds[s];
    if (part < least_seconds) continue;
    ends.push_back(s + 1);
    part = 0;
  }
  // A rest that is too short belongs to the part before it.
  if (!ends.empty() && part + stage_seconds.back() < least_seconds) ends.pop_back();
  ends.push_back(stage_seconds.size());
  return ends;
}

WaitingAccounts::WaitingAccounts(const MeasureOptions& options, const TickClock& clock)
    : clock_(clock), reader_(options.waiting) {
  if (reader_) return;
  watch_ = std::make_unique<SchedulerWatch>();
  if (!watch_->works()) return;
  reader_ = WaitingReader{.nanoseconds = [watch = watch_.get()] { return watch->Waited(); },
                          .cost_seconds = watch_->cost_seconds()};
}

void WaitingAccounts::Prepare(std::span<const double> stage_seconds, std::int64_t iterations) {
  parts_ = {stage_seconds.size()};
  if (!reader_) return;
  parts_ = PartsOf(stage_seconds, reader_->cost_seconds / kReadingShare);
  const auto samples = static_cast<std::size_t>(iterations) * parts_.size();
  reading_of_.reserve(samples);
  waited_.reserve(samples);
  quiet_parts_.assign(parts_.size(), 0);
}

double WaitingAccounts::Elapsed() const noexcept {
  return clock_.SecondsBetween(opened_at_, clock_.now()).value_or(0);
}

void WaitingAccounts::BeginIteration() noexcept {
  iteration_waited_ = 0;
  iteration_seconds_ = 0;
  if (!reader_ || (open_ && parts_.size() == 1)) return;
  before_ = reader_->nanoseconds();
  opened_at_ = clock_.now();
  open_ = true;
}

void WaitingAccounts::EndPart() noexcept {
  if (!reader_) return;
  reading_of_.push_back(static_cast<std::uint32_t>(waited_.size()));
  ++samples_;
  if (parts_.size() > 1 || Elapsed() >= reader_->cost_seconds / kReadingShare) Close();
}

void WaitingAccounts::End() noexcept {
  if (reader_ && samples_ > 0) Close();
}

void WaitingAccounts::Close() noexcept {
  const double seconds = Elapsed();
  const std::uint64_t now = reader_->nanoseconds();
  const double waited = 1e-9 * static_cast<double>(now - std::min(before_, now));
  waited_.push_back(waited);
  const std::size_t part = (reading_of_.size() - 1) % parts_.size();
  if (waited <= kMaxWaitedOfSample * seconds) quiet_parts_[part] += samples_;
  iteration_waited_ += waited;
  iteration_seconds_ += seconds;
  if (part + 1 == parts_.size() && iteration_waited_ <= kMaxWaitedOfSample * iteration_seconds_) {
    quiet_iterations_ += samples_;
  }
  before_ = now;
  opened_at_ = clock_.now();
  open_ = parts_.size() > 1;
  samples_ = 0;
}

bool WaitingAccounts::AreEnough(std::int64_t iterations) const {
  if (!reader_) return true;
  const auto enough = [iterations](std::int64_t quiet) {
    return topdnn::AreEnough(static_cast<std::size_t>(quiet), static_cast<std::size_t>(iterations));
  };
  return enough(quiet_iterations_ + samples_) &&
         std::all_of(quiet_parts_.begin(), quiet_parts_.end(),
                     [&](std::int64_t quiet) { return enough(quiet + samples_); });
}

std::vector<double> WaitingAccounts::SharesOf(std::span<const double> seconds) const {
  if (!reader_) return {};
  std::vector<double> of_reading(waited_.size(), 0);
  for (std::size_t i = 0; i < reading_of_.size(); ++i) of_reading[reading_of_[i]] += seconds[i];
  std::vector<double> shares;
  shares.reserve(reading_of_.size());
  for (const std::uint32_t reading : reading_of_) {
    const double time = of_reading[reading];
    shares.push_back(time > 0 ? waited_[reading] / time : 0);
  }
  return shares;
}

}  // namespace topdnn
