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
    : clock_(clock),
      reader_(options.waiting),
      pace_(options.pace),
      best_pace_(options.best_speeds.instructions_per_second.value_or(0)) {
  if (reader_) return;
  watch_ = std::make_unique<SchedulerWatch>();
  if (!watch_->works()) return;
  reader_ = WaitingReader{.nanoseconds = [watch = watch_.get()] { return watch->Waited(); },
                          .cost_seconds = watch_->cost_seconds()};
}

void WaitingAccounts::Prepare(std::span<const double> stage_seconds, std::int64_t iterations) {
  parts_ = {stage_seconds.size()};
  if (!Reads()) return;
  parts_ = PartsOf(stage_seconds, CostSeconds() / kReadingShare);
  const auto samples = static_cast<std::size_t>(iterations) * parts_.size();
  reading_of_.reserve(samples);
  waited_.reserve(samples);
  paces_.reserve(samples);
  quiet_parts_.assign(parts_.size(), 0);
  unwaited_ = quiet_parts_;
}

double WaitingAccounts::CostSeconds() const noexcept {
  return (reader_ ? reader_->cost_seconds : 0) + (pace_ ? pace_->cost_seconds : 0);
}

double WaitingAccounts::ReadPace() noexcept {
  if (!pace_) return 0;
  const double pace = pace_->instructions_per_second();
  full_pace_ = std::max(full_pace_, pace);
  return pace;
}

// Until now. If the machine does not come near its best known pace, waiting for it is in vain.
double WaitingAccounts::FullPaceNow() const noexcept {
  return full_pace_ >= kMinPace * best_pace_ ? std::max(full_pace_, best_pace_) : full_pace_;
}

double WaitingAccounts::Elapsed() const noexcept {
  return clock_.SecondsBetween(opened_at_, clock_.now()).value_or(0);
}

void WaitingAccounts::BeginIteration() noexcept {
  if (!Reads() || (open_ && parts_.size() == 1)) return;
  pace_before_ = ReadPace();
  before_ = reader_ ? reader_->nanoseconds() : 0;
  opened_at_ = clock_.now();
  open_ = true;
}

void WaitingAccounts::EndPart() noexcept {
  if (!Reads()) return;
  reading_of_.push_back(static_cast<std::uint32_t>(waited_.size()));
  ++samples_;
  if (parts_.size() > 1 || Elapsed() >= CostSeconds() / kReadingShare) Close();
}

void WaitingAccounts::End() noexcept {
  if (Reads() && samples_ > 0) Close();
}

void WaitingAccounts::Close() noexcept {
  const double seconds = Elapsed();
  const std::uint64_t now = reader_ ? reader_->nanoseconds() : 0;
  const double waited = 1e-9 * static_cast<double>(now - std::min(before_, now));
  waited_.push_back(waited);
  const double pace = ReadPace();
  paces_.push_back(std::min(pace_before_, pace));
  pace_before_ = pace;
  const std::size_t part = (reading_of_.size() - 1) % parts_.size();
  const bool slow = paces_.back() < kMinPace * FullPaceNow();
  if (waited <= kMaxWaitedOfSample * seconds) {
    unwaited_[part] += samples_;
    quiet_parts_[part] += slow ? 0 : samples_;
  }
  before_ = now;
  opened_at_ = clock_.now();
  open_ = parts_.size() > 1;
  samples_ = 0;
}

double WaitingAccounts::Patience(std::int64_t iterations) const {
  if (!Reads()) return 1;
  const auto enough = [&](const std::vector<std::int64_t>& by_part) {
    return std::ranges::all_of(by_part, [&](std::int64_t undisturbed) {
      return AreEnough(static_cast<std::size_t>(undisturbed + samples_),
                       static_cast<std::size_t>(iterations));
    });
  };
  if (enough(quiet_parts_)) return 1;
  return enough(unwaited_) ? kPacePatience : kPatience;
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

std::vector<double> WaitingAccounts::Paces() const {
  if (!pace_) return {};
  std::vector<double> paces;
  paces.reserve(reading_of_.size());
  for (const std::uint32_t reading : reading_of_) paces.push_back(paces_[reading]);
  return paces;
}

}  // namespace topdnn
