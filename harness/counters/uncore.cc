#include "harness/counters/uncore.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "harness/counters/open_error.h"
#include "harness/counters/perf_group.h"

namespace topdnn {

namespace {

// ---- The available events.

// An event's name in sysfs without the suffix for the sub-channel ("cas_count_read_sch1").
struct Names {
  std::string_view read, write;
};

// Names on servers, then on clients before and since Tiger Lake. The first names found are used,
// since the others would count the same bytes again.
constexpr std::array kIntelNames = {Names{"cas_count_read", "cas_count_write"},
                                    Names{"data_reads", "data_writes"},
                                    Names{"data_read", "data_write"}};

bool Matches(std::string_view name, std::string_view wanted) {
  if (!name.starts_with(wanted) || name.find('.') != std::string_view::npos) return false;
  return name.size() == wanted.size() || name[wanted.size()] == '_';
}

// "6.103515625e-5" "MiB": bytes per count. A cache line if there is no scale.
double BytesOf(const std::filesystem::path& event) {
  double scale = 0;
  std::string unit;
  if (!(std::ifstream(event.string() + ".scale") >> scale) || !(scale > 0)) return 64;
  std::ifstream(event.string() + ".unit") >> unit;
  return unit == "MiB" ? scale * (1 << 20) : unit == "MB" ? scale * 1e6 : scale;
}

void AddOnCpus(const SysfsPmu& pmu, const std::vector<DramEvent>& events,
               std::vector<DramEvent>& all) {
  for (const int cpu : pmu.cpus) {
    for (DramEvent event : events) {
      event.pmu = pmu.name;
      event.type = pmu.type;
      event.cpu = cpu;
      all.push_back(std::move(event));
    }
  }
}

std::vector<DramEvent> IntelEvents(const std::vector<SysfsPmu>& pmus, const Names& names) {
  std::vector<DramEvent> all;
  for (const SysfsPmu& pmu : pmus) {
    if (!pmu.name.starts_with("uncore_imc")) continue;
    std::map<std::string, DramEvent> events;  // by name, for a fixed order
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(pmu.folder / "events", ignored)) {
      const std::string name = entry.path().filename().string();
      const bool write = Matches(name, names.write);
      std::string terms;
      if ((!write && !Matches(name, names.read)) || !(std::ifstream(entry.path()) >> terms)) {
        continue;
      }
      const auto config = ConfigOf(terms, pmu.folder);
      if (!config) continue;
      events[name] = {.config = *config, .write = write, .bytes = BytesOf(entry.path())};
    }
    std::vector<DramEvent> of_pmu;
    of_pmu.reserve(events.size());
    for (auto& [name, event] : events) of_pmu.push_back(std::move(event));
    AddOnCpus(pmu, of_pmu, all);
  }
  return all;
}

std::vector<DramEvent> UmcEvents(const std::vector<SysfsPmu>& pmus) {
  std::vector<DramEvent> all;
  for (const SysfsPmu& pmu : pmus) {
    if (!pmu.name.starts_with("amd_umc")) continue;
    const auto reads = ConfigOf("event=0x0a,rdwrmask=0x1", pmu.folder);
    const auto writes = ConfigOf("event=0x0a,rdwrmask=0x2", pmu.folder);
    if (!reads || !writes) continue;
    AddOnCpus(pmu, {{.config = *reads}, {.config = *writes, .write = true}}, all);
  }
  return all;
}

// The 24 events do not fit the counters of the PMU at once, so writes have a separate pass. Before
// Zen 4 the fields are narrower, and one event counts both reads and writes.
std::vector<DramEvent> DataFabricEvents(const std::vector<SysfsPmu>& pmus) {
  constexpr int kChannels = 12;
  std::vector<DramEvent> all;
  for (const SysfsPmu& pmu : pmus) {
    if (pmu.name != "amd_df") continue;
    std::vector<DramEvent> events;
    for (const bool write : {false, true}) {
      for (int channel = 0; channel < kChannels; ++channel) {
        const auto config = ConfigOf(
            fmt::format("event={:#x},umask={:#x}", 0x1F + 0x40 * channel, write ? 0xFFF : 0xFFE),
            pmu.folder);
        if (!config) return {};
        events.push_back({.config = *config, .write = write, .pass = write ? 1u : 0u});
      }
    }
    AddOnCpus(pmu, events, all);
  }
  return all;
}

// ---- The source.

constexpr const char* kWhat = "the memory controllers' events";

// The events of one PMU and CPU in a pass: one group, read at once.
struct ControllerGroup {
  std::vector<DramEvent> events;
  std::unique_ptr<PerfGroup> group;
};

class UncoreSource final : public CounterSource {
 public:
  UncoreSource(PerfSyscalls calls, const PerfSurroundings& surroundings,
               std::vector<DramEvent> events)
      : calls_(std::move(calls)), surroundings_(surroundings), dram_(std::move(events)) {
    for (const DramEvent& event : dram_) passes_ = std::max(passes_, event.pass + 1);
  }

  const std::vector<std::string>& events() const override { return events_; }
  std::size_t passes() const override { return passes_; }
  std::size_t pass_of(std::size_t event) const override { return event == 0 ? 0 : passes_ - 1; }
  void Begin(std::size_t pass) override {
    const int error = OpenPass(pass);
    refused_ = error == 0 ? "" : RefusalText(error, surroundings_, kWhat, PerfTarget::kSockets);
  }
  void End() override { groups_.clear(); }
  std::size_t slots() const override {
    std::size_t slots = 0;
    for (const ControllerGroup& controller : groups_) slots += controller.group->slots();
    return std::max<std::size_t>(slots, 1);
  }

  // Returns an errno, or 0.
  int OpenPass(std::size_t pass) {
    groups_.clear();
    pass_ = pass;
    for (const DramEvent& event : dram_) {
      if (event.pass != pass) continue;
      if (groups_.empty() || groups_.back().events.front().type != event.type ||
          groups_.back().events.front().cpu != event.cpu) {
        groups_.push_back({.events = {}, .group = std::make_unique<PerfGroup>(calls_)});
      }
      groups_.back().events.push_back(event);
    }
    for (const ControllerGroup& controller : groups_) {
      if (const int error = Open(controller); error != 0) {
        groups_.clear();
        return error;
      }
    }
    return 0;
  }

  void Read(std::uint64_t* raw) noexcept override {
    if (groups_.empty()) *raw = 0;
    for (const ControllerGroup& controller : groups_) {
      // Decode refuses a reading without events.
      if (!controller.group->ReadRaw(raw)) raw[0] = 0;
      raw += controller.group->slots();
    }
  }

  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    std::vector<EventCount> sums = AbsentCounts(2, refused_);
    for (std::size_t e = 0; e < sums.size(); ++e) {
      if (!groups_.empty() && Counts(e)) sums[e] = {.value = 0.0};
    }
    std::size_t at = 0;
    for (const ControllerGroup& controller : groups_) {
      const std::size_t slots = controller.group->slots();
      AddGroup(controller, before.subspan(at, slots), after.subspan(at, slots), sums);
      at += slots;
    }
    return sums;
  }

 private:
  bool Counts(std::size_t event) const {
    return std::any_of(dram_.begin(), dram_.end(), [&](const DramEvent& dram) {
      return dram.pass == pass_ && dram.write == (event == 1);
    });
  }

  // If one controller did not count, the sum becomes and stays absent.
  static void AddGroup(const ControllerGroup& controller, std::span<const std::uint64_t> before,
                       std::span<const std::uint64_t> after, std::vector<EventCount>& sums) {
    const auto from = controller.group->Decode(before);
    const auto to = controller.group->Decode(after);
    for (std::size_t i = 0; i < controller.events.size(); ++i) {
      EventCount& sum = sums[controller.events[i].write ? 1 : 0];
      const EventCount count = from.empty() || to.empty()
                                   ? EventCount{.value = std::nullopt, .running_fraction = 0}
                                   : CountBetween(from[i], to[i]);
      if (!sum.value || !count.value) {
        sum = {.value = std::nullopt, .running_fraction = 0};
        continue;
      }
      *sum.value += *count.value * controller.events[i].bytes;
      sum.running_fraction = std::min(sum.running_fraction, count.running_fraction);
    }
  }

  static int Open(const ControllerGroup& controller) {
    std::vector<ResolvedEvent> events;
    for (const DramEvent& event : controller.events) {
      events.push_back({event.pmu, event.type, event.config, "sysfs"});
    }
    return controller.group->Open(events, PerfScope::Cpu(controller.events.front().cpu)).error;
  }

  PerfSyscalls calls_;
  PerfSurroundings surroundings_;
  std::vector<DramEvent> dram_;
  std::vector<ControllerGroup> groups_;
  std::size_t passes_ = 1;
  std::size_t pass_ = 0;
  std::string refused_;  // why the groups of this pass are not open
  std::vector<std::string> events_ = {std::string(kDramReadEvent), std::string(kDramWriteEvent)};
};

// ---- Whether the source works on this machine.

Availability NoControllers(const UncoreSetting& setting) {
  if (setting.surroundings.virtual_machine) {
    return {
        .works = false,
        .reason = fmt::format("{} lists no memory controller: the hypervisor gives this virtual "
                              "machine none",
                              setting.sysfs),
        .remedy = "measure on the host, or on a bare-metal size"};
  }
  return {
      .works = false,
      .reason = fmt::format("{} lists no supported memory controller (uncore_imc, amd_umc, amd_df "
                            "of Zen 4 and later)",
                            setting.sysfs),
      .remedy = "modprobe intel_uncore, or amd_uncore"};
}

// Xeon Max has memory in the package as well. In some modes it is a cache of the other memory. The
// kernel has PMUs for its controllers, but names no events (uncore_snbep.c, spr_uncore_hbm).
bool HasPackageMemory(const std::string& sysfs) {
  const std::vector<SysfsPmu> pmus = ReadPmus(sysfs);
  return std::any_of(pmus.begin(), pmus.end(),
                     [](const SysfsPmu& pmu) { return pmu.name.starts_with("uncore_hbm"); });
}

// Opens every pass and checks that it counts. Returns 0, an errno, or -1 if a pass never counts.
int Try(UncoreSource& source) {
  constexpr int kNeverRuns = -1;
  for (std::size_t pass = 0; pass < source.passes(); ++pass) {
    if (const int error = source.OpenPass(pass); error != 0) return error;
    std::vector<std::uint64_t> before(source.slots());
    std::vector<std::uint64_t> after(source.slots());
    source.Read(before.data());
    for (int i = 0; i < 100'000; ++i) asm volatile("" ::: "memory");
    source.Read(after.data());
    const auto counts = source.Fold(before, after);
    source.End();
    for (std::size_t e = 0; e < counts.size(); ++e) {
      if (source.pass_of(e) == pass && !counts[e].value) return kNeverRuns;
    }
  }
  return 0;
}

}  // namespace

std::vector<DramEvent> FindDramEvents(const std::string& sysfs) {
  const std::vector<SysfsPmu> pmus = ReadPmus(sysfs);
  for (const Names& names : kIntelNames) {
    if (auto events = IntelEvents(pmus, names); !events.empty()) return events;
  }
  if (auto events = UmcEvents(pmus); !events.empty()) return events;
  return DataFabricEvents(pmus);
}

UncoreSetting UncoreSetting::Here() {
  UncoreSetting here;
  here.surroundings = PerfSurroundings::Here();
  return here;
}

OpenedUncore OpenUncore(const UncoreSetting& setting) {
  OpenedUncore opened;
  const std::vector<DramEvent> events = FindDramEvents(setting.sysfs);
  if (events.empty()) {
    opened.availability = NoControllers(setting);
    return opened;
  }
  if (HasPackageMemory(setting.sysfs)) {
    opened.availability = {
        .works = false,
        .reason = fmt::format("{} lists controllers of the package's own memory (uncore_hbm), "
                              "whose events are not known: the bytes of the others would be only "
                              "a part",
                              setting.sysfs)};
    return opened;
  }
  auto source = std::make_unique<UncoreSource>(setting.calls, setting.surroundings, events);
  if (const int error = Try(*source); error != 0) {
    opened.availability =
        ExplainRefusal(std::max(error, 0), setting.surroundings, kWhat, PerfTarget::kSockets);
    return opened;
  }
  std::set<std::string> pmus;
  std::set<int> cpus;
  for (const DramEvent& event : events) {
    pmus.insert(event.pmu);
    cpus.insert(event.cpu);
  }
  opened.availability = {
      .works = true,
      .reason =
          fmt::format("bytes read and written by {} memory controllers of {} sockets ({}...): "
                      "including those of other programs",
                      pmus.size(), cpus.size(), *pmus.begin())};
  opened.source = std::move(source);
  return opened;
}

namespace {

const SourceRegistration kUncore({.name = "uncore",
                                  .what = "DRAM traffic of whole sockets",
                                  .choice = "perf",
                                  .probe = []() -> Availability {
                                    return OpenUncore(UncoreSetting::Here()).availability;
                                  },
                                  .open = []() -> std::unique_ptr<CounterSource> {
                                    return OpenUncore(UncoreSetting::Here()).source;
                                  }});

}  // namespace

}  // namespace topdnn
