// Writes files as perf-stat(1) does, from known counts. It shares no code with the reader: the
// layout of each line is written out here, by version and option (tools/perf/util/stat-display.c).

#ifndef TOPDNN_TESTS_HARNESS_GENERATED_EVENT_FILES_H_
#define TOPDNN_TESTS_HARNESS_GENERATED_EVENT_FILES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace topdnn {

enum class Idle { kNever, kAll, kOneEvent };

struct FileShape {
  bool json = false;
  // perf 5.x; 6.1; 6.6 (metrics as text); 6.13 (metric-threshold, comma before the brace).
  int version = 0;
  char separator = ',';
  bool repeated = false;   // -r: a noise or "variance" on each line
  int intervals = 0;       // -I; 0: without
  bool summary = false;    // --summary after the intervals
  std::string parts = "";  // "cpu", "core", "die", "socket", "node", "thread"; empty: added up
  std::vector<std::string> groups;  // --for-each-cgroup
  std::string pmu;                  // a hybrid CPU: "cpu_core"
  double running = 100;
  bool regrouped = false;    // -M: the first event is opened in a second group
  bool two_a_line = false;   // JSON: a metric's object on the line of its event
  Idle idle = Idle::kNever;  // in the second interval
};

using EventCounts = std::vector<std::pair<std::string, std::uint64_t>>;

struct GeneratedFile {
  std::string text;
  // The counts that a reader may use, by group ("" without groups), in the events' order.
  std::map<std::string, EventCounts> counts;
};

class EventFileWriter {
 public:
  EventFileWriter(FileShape shape, std::uint64_t seed) : shape_(std::move(shape)), random_(seed) {}

  // `counts` of each group (or of ""), which are divided among intervals and parts.
  GeneratedFile Write(const std::map<std::string, EventCounts>& counts);

 private:
  struct Place {
    int interval = 0;  // 1 and up; 0: without
    int part = -1;
    std::string group{};
  };
  enum class Missing { kNo, kNotCounted, kNotSupported };

  std::string Prefix(const Place& place) const;
  void Line(const Place& place, const std::string& event, std::uint64_t count, Missing missing);
  void Metric(const Place& place, const std::string& name, double value);
  std::uint64_t Part(std::uint64_t whole, int index, int count);
  int Parts() const { return shape_.parts.empty() ? 1 : 3; }
  std::string Spelling(const std::string& event) const {
    return shape_.pmu.empty() ? event : shape_.pmu + "/" + event + "/";
  }

  FileShape shape_;
  std::mt19937_64 random_;
  std::string text_;
};

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_GENERATED_EVENT_FILES_H_
