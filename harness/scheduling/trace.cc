#include "harness/scheduling/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/text/errors.h"
#include "harness/text/one_line.h"
#include "harness/text/parse_number.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

constexpr std::size_t kFields = 8;
constexpr std::array<std::string_view, kFields> kNames = {
    "network", "pass", "batch", "steps", "arrival", "priority", "min_width", "max_width"};

struct Line {
  const std::string& file;
  std::size_t number;

  [[noreturn]] void Refuse(const std::string& why) const {
    throw InputError(fmt::format("{}:{}: {}", OneLine(file), number, why));
  }
};

std::vector<std::string_view> FieldsOf(std::string_view line) {
  std::vector<std::string_view> fields = SplitText(line, ",");
  std::transform(fields.begin(), fields.end(), fields.begin(), Trimmed);
  return fields;
}

// The text of a field for a message; a long one is cut.
std::string Shown(std::string_view text) {
  constexpr std::size_t kMost = 40;
  return OneLine(text.size() <= kMost ? std::string(text)
                                      : fmt::format("{}...", text.substr(0, kMost)));
}

std::int64_t WholeNumber(const Line& line, std::string_view name, std::string_view text,
                         std::int64_t least, std::int64_t most) {
  const auto value = ParseNumber<std::int64_t>(text);
  if (!(value >= least && value <= most)) {
    line.Refuse(
        fmt::format("{} '{}': write a whole number of {} to {}", name, Shown(text), least, most));
  }
  return *value;
}

double ArrivalOf(const Line& line, std::string_view text) {
  const auto value = ParseNumber<double>(text);
  if (!(value >= 0 && value <= kLastArrival)) {
    line.Refuse(fmt::format("arrival '{}': write seconds of 0 to {:.0f}, such as 1.5", Shown(text),
                            kLastArrival));
  }
  return *value;
}

TraceJob JobOf(const Line& line, const std::vector<std::string_view>& fields, int cpus,
               const std::function<std::string(const std::string&)>& refuse) {
  if (fields.size() != kFields) {
    line.Refuse(fmt::format("{} fields: write {}, as in the header: {}", fields.size(), kFields,
                            kTraceHeader));
  }
  TraceJob job;
  job.network = fields[0];
  const std::string why = refuse(job.network);
  if (!why.empty()) line.Refuse(why);
  if (fields[1] != "train" && fields[1] != "infer") {
    line.Refuse(fmt::format("pass '{}': write train or infer", Shown(fields[1])));
  }
  job.training = fields[1] == "train";
  const auto whole = [&](std::size_t field, std::int64_t least, std::int64_t most) {
    return WholeNumber(line, kNames[field], fields[field], least, most);
  };
  job.batch = static_cast<int>(whole(2, 1, 65536));
  job.steps = whole(3, 1, 1'000'000'000);
  job.arrival = ArrivalOf(line, fields[4]);
  job.priority = static_cast<int>(whole(5, -1000, 1000));
  job.min_width = static_cast<int>(whole(6, 1, kMostTraceWidth));
  job.max_width = static_cast<int>(whole(7, 1, kMostTraceWidth));
  if (job.min_width > job.max_width) {
    line.Refuse(fmt::format("min_width {} is above max_width {}: write at most {}", job.min_width,
                            job.max_width, job.max_width));
  }
  if (job.min_width > cpus) {
    line.Refuse(fmt::format("min_width {} is above the {} CPUs: write at most {}", job.min_width,
                            cpus, cpus));
  }
  job.max_width = std::min(job.max_width, cpus);
  return job;
}

}  // namespace

std::string_view PassOf(const TraceJob& job) { return job.training ? "train" : "infer"; }

std::vector<TraceJob> ParseTrace(
    std::string_view text, const std::string& name, int cpus,
    const std::function<std::string(const std::string& network)>& refuse) {
  std::vector<TraceJob> jobs;
  bool header = false;
  Line line{.file = name, .number = 0};
  while (!text.empty()) {
    ++line.number;
    const std::size_t end = text.find('\n');
    const std::string_view words = Trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.empty() || words.front() == '#') continue;
    const auto fields = FieldsOf(words);
    if (!header) {
      if (!std::equal(fields.begin(), fields.end(), kNames.begin(), kNames.end())) {
        line.Refuse(fmt::format("the header '{}': write {}", Shown(words), kTraceHeader));
      }
      header = true;
      continue;
    }
    if (jobs.size() == kMostTraceJobs) {
      line.Refuse(fmt::format("more than {} jobs: divide the trace", kMostTraceJobs));
    }
    jobs.push_back(JobOf(line, fields, cpus, refuse));
  }
  if (jobs.empty()) {
    line.Refuse(header ? "no job: write a line for each job below the header"
                       : fmt::format("no header: write {} as its first line", kTraceHeader));
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.arrival < b.arrival; });
  return jobs;
}

std::string TraceText(const std::vector<TraceJob>& jobs) {
  std::string text = fmt::format("{}\n", kTraceHeader);
  for (const TraceJob& job : jobs) {
    text += fmt::format("{},{},{},{},{},{},{},{}\n", job.network, PassOf(job), job.batch, job.steps,
                        job.arrival, job.priority, job.min_width, job.max_width);
  }
  return text;
}

}  // namespace topdnn
