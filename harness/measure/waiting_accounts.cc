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
    : clock_(clock), reader_(options.waiting), pace_(options.pace) {
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
}

double WaitingAccounts::CostSeconds() const noexcept {
  const double accounts = reader_ ? reader_->cost_seconds : 0;
  return pace_ ? 2 * accounts + pace_->cost_seconds : accounts;  // (see Close)
}

double WaitingAccounts::ReadPace() noexcept { return pace_ ? pace_->instructions_per_second() : 0; }

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
  // (waking the workers for the pace may take longer than a part may wait)
  before_ = reader_ && pace_ ? reader_->nanoseconds() : now;
  const std::size_t part = (reading_of_.size() - 1) % parts_.size();
  if (waited <= kMaxWaitedOfSample * seconds) quiet_parts_[part] += samples_;
  opened_at_ = clock_.now();
  open_ = parts_.size() > 1;
  samples_ = 0;
}

bool WaitingAccounts::AreEnough(std::int64_t iterations) const {
  if (!Reads()) return true;
  return std::ranges::all_of(quiet_parts_, [&](std::int64_t quiet) {
    return topdnn::AreEnough(static_cast<std::size_t>(quiet + samples_),
                             static_cast<std::size_t>(iterations));
  });
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
