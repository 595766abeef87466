#include "tests/harness/generated_event_files.h"

#include <fmt/format.h>

namespace topdnn {

namespace {

std::string PartName(const std::string& kind, int part) {
  if (kind == "cpu") return fmt::format("CPU{}", part);
  if (kind == "core") return fmt::format("S0-D0-C{}", part);
  if (kind == "die") return fmt::format("S0-D{}", part);
  if (kind == "socket") return fmt::format("S{}", part);
  if (kind == "node") return fmt::format("N{}", part);
  return fmt::format("my worker-{}", 1234 + part);
}

bool HasNumberOfCpus(const std::string& kind) {
  return kind == "core" || kind == "die" || kind == "socket" || kind == "node";
}

std::string TimeOf(int interval) { return fmt::format("{}.{:09d}", interval, 103288 + interval); }

}  // namespace

std::string EventFileWriter::Prefix(const Place& place) const {
  const std::string& kind = shape_.parts;
  std::string prefix;
  if (shape_.json) {
    if (place.interval > 0) prefix += fmt::format("\"interval\" : {}, ", TimeOf(place.interval));
    if (place.part < 0) return prefix;
    const std::string name =
        kind == "cpu" ? fmt::format("{}", place.part) : PartName(kind, place.part);
    prefix += fmt::format("\"{}\" : \"{}\", ", kind, name);
    if (HasNumberOfCpus(kind)) {
      prefix += fmt::format("\"{}\" : 2, ", shape_.version > 2 ? "counters" : "aggregate-number");
    }
    return prefix;
  }
  if (place.interval > 0) {
    prefix += fmt::format("{:>16}{}", TimeOf(place.interval), shape_.separator);
  } else if (shape_.intervals > 0) {
    prefix += fmt::format("{:>16}{}", "summary", shape_.separator);
  }
  if (place.part >= 0) {
    prefix += fmt::format("{}{}", PartName(kind, place.part), shape_.separator);
    if (HasNumberOfCpus(kind)) prefix += fmt::format("2{}", shape_.separator);
  }
  return prefix;
}

void EventFileWriter::Line(const Place& place, const std::string& event, std::uint64_t count,
                           Missing missing) {
  const char s = shape_.separator;
  const std::string spelling = Spelling(event);
  std::string value = shape_.json ? fmt::format("{}.000000", count) : fmt::format("{}", count);
  if (missing == Missing::kNotCounted) value = "<not counted>";
  if (missing == Missing::kNotSupported) value = "<not supported>";
  const double running = missing == Missing::kNo ? shape_.running : 100;
  const std::uint64_t time = missing == Missing::kNo ? 351747210 : 0;
  if (!shape_.json) {
    text_ += Prefix(place) + fmt::format("{}{}{}{}", value, s, s, spelling);
    if (!shape_.groups.empty()) text_ += fmt::format("{}{}", s, place.group);
    if (shape_.repeated) text_ += fmt::format("{}{:.2f}%", s, 0.31);
    text_ += fmt::format("{}{}{}{:.2f}", s, time, s, running);
    if (shape_.version > 0) text_ += fmt::format("{}{}", s, s);
    text_ += '\n';
    return;
  }
  text_ += "{" + Prefix(place) +
           fmt::format("\"counter-value\" : \"{}\", \"unit\" : \"\", \"event\" : \"{}\", ", value,
                       spelling);
  if (!shape_.groups.empty()) text_ += fmt::format("\"cgroup\" : \"{}\", ", place.group);
  if (shape_.repeated) text_ += "\"variance\" : 0.31, ";
  text_ += fmt::format("\"event-runtime\" : {}, \"pcnt-running\" : {:.2f}", time, running);
  if (shape_.version == 0) text_ += ", \"metric-value\" : 0.000000, \"metric-unit\" : \"(null)\"";
  if (shape_.version == 1) text_ += ", \"metric-value\" : 0.000000, \"metric-unit\" : \"\"";
  if (shape_.version == 3) text_ += ", ";
  text_ += "}\n";
}

// A metric's own line, as that of the default output.
void EventFileWriter::Metric(const Place& place, const std::string& name, double value) {
  if (!shape_.json) {
    const int empty = 5 + (shape_.groups.empty() ? 0 : 1) + (shape_.repeated ? 1 : 0);
    text_ += Prefix(place) + std::string(static_cast<std::size_t>(empty), shape_.separator) +
             fmt::format("{:.1f}{}%  {}\n", value, shape_.separator, name);
    return;
  }
  if (shape_.two_a_line && text_.ends_with('\n')) text_.back() = ' ';
  text_ += "{" + Prefix(place) +
           (shape_.version >= 2 ? fmt::format("\"metric-value\" : \"{:.6f}\"", value)
                                : fmt::format("\"metric-value\" : {:.6f}", value)) +
           fmt::format(", \"metric-unit\" : \"%  {}\"", name) +
           (shape_.version == 3 ? ", \"metric-threshold\" : \"good\"" : "") + "}\n";
}

// The share of a count for one of `count` intervals and parts: they add up to the whole.
std::uint64_t EventFileWriter::Part(std::uint64_t whole, int index, int count) {
  const auto n = static_cast<std::uint64_t>(count);
  return whole / n + (index == 0 ? whole % n : 0);
}

GeneratedFile EventFileWriter::Write(const std::map<std::string, EventCounts>& counts) {
  GeneratedFile file;
  const int intervals = std::max(1, shape_.intervals);
  const int pieces = intervals * Parts();
  if (random_() % 2 == 0) text_ += "# started on Fri Nov 27 02:24:20 2026\n\n";
  for (const auto& [group, events] : counts) {
    for (const auto& [name, whole] : events) file.counts[group].emplace_back(name, 0);
  }
  for (int interval = 1; interval <= intervals; ++interval) {
    const bool second = shape_.intervals > 1 && interval == 2;
    for (int part = 0; part < Parts(); ++part) {
      for (const auto& [group, events] : counts) {
        const Place place = {.interval = shape_.intervals > 0 ? interval : 0,
                             .part = shape_.parts.empty() ? -1 : part,
                             .group = group};
        for (std::size_t i = 0; i < events.size(); ++i) {
          const std::uint64_t count =
              Part(events[i].second, (interval - 1) * Parts() + part, pieces);
          const bool idle =
              second && (shape_.idle == Idle::kAll || (shape_.idle == Idle::kOneEvent && i == 1));
          Line(place, events[i].first, count, idle ? Missing::kNotCounted : Missing::kNo);
          if (!second || shape_.idle == Idle::kNever) file.counts[group][i].second += count;
          if (shape_.regrouped && i == 2 && !idle) {
            Line(place, events[0].first,
                 Part(events[0].second, (interval - 1) * Parts() + part, pieces) + 17,
                 Missing::kNo);
          }
        }
        Line(place, "instructions", 12345, Missing::kNo);
        Line(place, "branch-loads", 0, Missing::kNotSupported);
        Metric(place, "tma_example", 12.5);
      }
    }
  }
  if (shape_.summary && shape_.intervals > 0) {
    for (const auto& [group, events] : counts) {
      for (const auto& [name, whole] : events) {
        Line({.group = group}, name, whole, Missing::kNo);
      }
    }
  }
  file.text = std::move(text_);
  return file;
}

}  // namespace topdnn
