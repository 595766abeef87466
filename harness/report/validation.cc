#include "harness/report/validation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/report/json.h"
#include "harness/text/table.h"

namespace topdnn {

namespace {

constexpr const char* kInstructions = "exact/instructions";
constexpr const char* kPmuInstructions = "instructions:u";
constexpr std::int64_t kFew = 3;
constexpr std::int64_t kMore = 20'000;

bool Within(double counted, double known, const Allowance& allowance) {
  return std::abs(counted - known) <= allowance.absolute + allowance.relative * std::abs(known);
}

// A probe's call, as the sources expect it.
struct Call {
  const Probe* probe;
  ProbeBuffers* buffers;
  std::int64_t iterations;

  static void Run(void* self) {
    const auto* call = static_cast<const Call*>(self);
    call->probe->run(*call->buffers, call->iterations);
  }
};

std::map<std::string, EventCount> CountProbe(const Probe& probe, CounterSource& source,
                                             std::int64_t iterations) {
  ProbeBuffers buffers(ProbeBuffers::kPanelBytes);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 1);
  Call call{&probe, &buffers, iterations};
  return CountRegion(source, Call::Run, &call);
}

// The events of kMore iterations, or the reason why one is absent: a count of a part of the time
// says nothing about the rest.
std::map<std::string, EventCount> Difference(const Probe& probe, CounterSource* source) {
  if (source == nullptr) return {};
  const std::map<std::string, EventCount> few = CountProbe(probe, *source, kFew);
  std::map<std::string, EventCount> many = CountProbe(probe, *source, kFew + kMore);
  for (auto& [name, count] : many) {
    const EventCount& less = few.at(name);
    if (!count.value) continue;
    if (!less.value) {
      count = less;
      continue;
    }
    *count.value -= *less.value;
    count.running_fraction = std::min(count.running_fraction, less.running_fraction);
    if (count.running_fraction >= 1) continue;
    count.value.reset();
    count.reason = fmt::format("not counted completely: on a counter for {:.1f} % of the time",
                               100 * count.running_fraction);
  }
  return many;
}

// The number of bytes from position `from` that are not zero, so that their branch is not taken.
std::int64_t Ones(const ProbeBuffers& buffers, std::int64_t from, std::int64_t count) {
  std::int64_t ones = 0;
  for (std::int64_t i = from; i < from + count; ++i) {
    ones += buffers.memory[static_cast<std::size_t>(i) % buffers.working_set] != std::byte{0};
  }
  return ones;
}

std::string QuantityOf(const std::string& event) { return event.substr(event.find('/') + 1); }

}  // namespace

void Judge(ValidationCase& c) {
  if (!c.exact && !c.pmu) {
    const bool incomplete = c.verdict == Status::kInvalid;
    if (!incomplete) c.verdict = Status::kSkipped;
    if (c.reason.empty()) c.reason = "no source counts it on this machine";
    return;
  }
  std::vector<std::string> wrong;
  if (c.exact && !Within(*c.exact, c.known, c.exact_allowance)) {
    wrong.push_back(fmt::format("the exact count differs by {:+.0f}", *c.exact - c.known));
  }
  if (c.pmu && !Within(*c.pmu, c.known, c.pmu_allowance)) {
    wrong.push_back(fmt::format("the PMU differs by {:+.0f}", *c.pmu - c.known));
  }
  if (!wrong.empty()) {
    c.verdict = Status::kFailed;
    c.reason = fmt::format("{}", fmt::join(wrong, "; "));
  } else if (c.verdict != Status::kInvalid) {
    c.verdict = Status::kOk;
    c.reason.clear();
  }
}

std::map<std::string, EventCount> CountRegion(CounterSource& source, void (*region)(void*),
                                              void* context) {
  source.Begin(0);
  std::vector<std::uint64_t> before(source.slots());
  std::vector<std::uint64_t> after(source.slots());
  source.Read(before.data());
  source.Run(region, context);
  source.Read(after.data());
  const std::vector<EventCount> counts = source.Fold(before, after);
  source.End();
  std::map<std::string, EventCount> named;
  for (std::size_t e = 0; e < counts.size(); ++e) named[source.events()[e]] = counts[e];
  return named;
}

std::map<std::string, double> KnownCounts(const Probe& probe, const ProbeBuffers& buffers,
                                          std::int64_t before, std::int64_t iterations) {
  const ProbeWork& work = probe.work;
  const auto n = static_cast<double>(iterations);
  const bool integer = probe.fma && probe.fma->type == "s8";
  std::map<std::string, double> known = {{kInstructions, n * work.instructions},
                                         {std::string(kFlopsEvent), integer ? 0 : n * work.flops},
                                         {"exact/integer_dot_ops", integer ? n * work.flops : 0},
                                         {"exact/load_bytes", n * work.bytes_loaded},
                                         {"exact/store_bytes", n * work.bytes_stored},
                                         {"exact/conditional_branches", n * work.branches}};
  if (probe.kind != ProbeKind::kCopy) known["exact/loads"] = n * work.loads;
  if (probe.kind != ProbeKind::kBranch) return known;
  const auto ones = static_cast<double>(Ones(buffers, before, iterations));
  known[kInstructions] = 6 * n + ones;  // one more if the branch is not taken
  known["exact/conditional_taken"] = 2 * n - ones;
  return known;
}

std::vector<ValidationCase> ValidateProbe(const Probe& probe, const ValidationSources& sources) {
  const std::string absent = WhyAbsent(probe, MachineIsas());
  if (!absent.empty()) {
    ValidationCase skipped;
    skipped.name = probe.name;
    skipped.quantity = "all";
    skipped.reason = absent;
    return {skipped};
  }
  ProbeBuffers buffers(ProbeBuffers::kPanelBytes);
  probe.prepare(probe, buffers, Fill::kWholeNumbers, 1);
  const std::map<std::string, EventCount> exact = Difference(probe, sources.exact);
  const std::map<std::string, EventCount> pmu = Difference(probe, sources.pmu);
  std::vector<ValidationCase> cases;
  for (const auto& [event, known] : KnownCounts(probe, buffers, kFew, kMore)) {
    ValidationCase c;
    c.name = probe.name;
    c.quantity = QuantityOf(event);
    c.known = known;
    if (const auto found = exact.find(event); found != exact.end()) {
      c.exact = found->second.value;
      c.reason = found->second.reason;
      if (!c.exact) c.verdict = Status::kInvalid;
    }
    const auto read = pmu.find(kPmuInstructions);
    if (event == kInstructions && read != pmu.end()) {
      c.pmu = read->second.value;
      c.pmu_allowance = {0.01, 2000, "the calls that read the counters, and interrupts"};
      if (!c.pmu && read->second.running_fraction > 0) {
        c.verdict = Status::kInvalid;
        if (c.reason.empty()) c.reason = "the PMU: " + read->second.reason;
      }
    }
    Judge(c);
    cases.push_back(std::move(c));
  }
  return cases;
}

std::string ValidationText(const std::vector<ValidationCase>& cases, const Style& style) {
  constexpr Table::Kind kFigure = Table::Kind::kFigure;
  Table table({{.name = "case", .least = 20},
               {.name = "quantity"},
               {.name = "known", .kind = kFigure, .decimals = 0},
               {.name = "exact", .kind = kFigure, .decimals = 0},
               {.name = "PMU", .kind = kFigure, .decimals = 0},
               {.name = "ratio", .kind = kFigure, .rank = 1, .decimals = 4},
               {.name = "verdict", .kind = Table::Kind::kText, .least = 9}});
  for (const ValidationCase& c : cases) {
    if (c.verdict == Status::kOk && c.known == 0) continue;
    const bool counted = c.exact || c.pmu;
    std::optional<double> ratio;
    if (c.exact && c.known > 0) ratio = *c.exact / c.known;
    const bool allowed = c.reason.empty() && c.exact != c.known;
    const std::string& why = allowed ? c.exact_allowance.reason : c.reason;
    table.Add({c.name, c.quantity, counted ? std::optional(c.known) : std::nullopt, c.exact, c.pmu,
               ratio, std::string(NameOf(c.verdict)) + (why.empty() ? "" : " (" + why + ")")});
  }
  return table.Text(style);
}

nlohmann::ordered_json ToJson(const ValidationCase& c) {
  const auto text = [](const std::string& s) {
    return s.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(s);
  };
  const bool ratio = c.exact && c.known > 0;
  return {{"case", c.name},
          {"quantity", c.quantity},
          {"known", JsonNumber(c.known)},
          {"exact", JsonNumber(c.exact)},
          {"pmu", JsonNumber(c.pmu)},
          {"ratio", JsonNumber(ratio ? std::optional(*c.exact / c.known) : std::nullopt)},
          {"tolerance", JsonNumber(c.exact_allowance.relative)},
          {"tolerance_absolute", JsonNumber(c.exact_allowance.absolute)},
          {"tolerance_reason", text(c.exact_allowance.reason)},
          {"pmu_tolerance", c.pmu ? JsonNumber(c.pmu_allowance.relative) : nullptr},
          {"pmu_tolerance_absolute", c.pmu ? JsonNumber(c.pmu_allowance.absolute) : nullptr},
          {"pmu_tolerance_reason", c.pmu ? text(c.pmu_allowance.reason) : nullptr},
          {"verdict", NameOf(c.verdict)},
          {"reason", text(c.reason)}};
}

ValidationCase ValidationCaseOf(const nlohmann::ordered_json& json) {
  const auto number = [&](const char* key) {
    const auto& value = json.at(key);
    return value.is_null() ? std::nullopt : std::optional(value.get<double>());
  };
  const auto text = [&](const char* key) {
    const auto& value = json.at(key);
    return value.is_null() ? std::string() : value.get<std::string>();
  };
  ValidationCase c;
  c.name = text("case");
  c.quantity = text("quantity");
  c.known = number("known").value_or(0);
  c.exact = number("exact");
  c.pmu = number("pmu");
  c.exact_allowance = {number("tolerance").value_or(0), number("tolerance_absolute").value_or(0),
                       text("tolerance_reason")};
  c.reason = text("reason");
  c.verdict = ParseStatus(text("verdict")).value_or(Status::kInvalid);
  return c;
}

}  // namespace topdnn
