// Counts that were recorded elsewhere, line by line: what each line is a part of decides whether it
// may be added to another.

#ifndef TOPDNN_HARNESS_TOPDOWN_RECORDED_COUNTS_H_
#define TOPDNN_HARNESS_TOPDOWN_RECORDED_COUNTS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/topdown/event_name.h"

namespace topdnn {

// The largest value of a 64-bit counter.
inline constexpr double kMaxCount = 18446744073709551616.0;

// Where and when a count was taken. Counts of several parts or intervals are parts of one count;
// those of several runs are repetitions, and those of several groups are counts of their own.
struct CountOrigin {
  std::string interval{};              // the time stamp of `perf stat -I`; empty: the whole run
  std::string part{};                  // "CPU0", "S0-D0-C0", "name-1234"; empty: all of them
  std::optional<std::string> group{};  // a control group (--for-each-cgroup); absent: none
  int run = 0;                         // of several recordings in one file (perf stat --append)
  bool operator==(const CountOrigin&) const = default;
  bool operator<(const CountOrigin& other) const {
    return std::tie(interval, part, group, run) <
           std::tie(other.interval, other.part, other.group, other.run);
  }
};

enum class Uncounted { kNotCounted, kNotSupported };

struct RecordedCount {
  std::size_t event = 0;   // in RecordedCounts::events
  std::size_t origin = 0;  // in RecordedCounts::origins
  std::optional<double> value{};
  Uncounted why = Uncounted::kNotCounted;  // if there is no value
  double running_fraction = 1;             // below 1, perf has scaled the count
};

// A metric that the recording program computed: "%  tma_retiring".
struct RecordedMetric {
  std::size_t origin = 0;
  std::string name;  // as in the file
  double value = 0;
};

struct RecordedEvent {
  EventName name;
  std::string spelling;  // as in the file, for messages
};

struct RecordedCounts {
  std::vector<RecordedEvent> events;
  std::vector<CountOrigin> origins;
  std::vector<RecordedCount> counts;  // in the file's order
  std::vector<RecordedMetric> metrics;
  bool smt = false;
  bool means = false;  // of the runs of `perf stat -r`

  // The control groups and the intervals, in the file's order.
  std::vector<std::string> Groups() const;
  std::vector<std::string> Intervals() const;
  // The counts of each interval: to look through all of them for each interval takes hours for a
  // recording of a day.
  std::map<std::string, std::vector<RecordedCount>> CountsByInterval() const;
};

// Collects lines; an event or an origin that occurs again is stored once.
class CountCollector {
 public:
  void Add(const CountOrigin& origin, std::string_view spelling, RecordedCount count);
  void AddMetric(const CountOrigin& origin, std::string_view name, double value);
  RecordedCounts& recorded() { return recorded_; }

 private:
  std::size_t OriginIndex(const CountOrigin& origin);

  RecordedCounts recorded_;
  std::map<std::string, std::size_t, std::less<>> events_;
  std::map<CountOrigin, std::size_t> origins_;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_RECORDED_COUNTS_H_
