#include "harness/counters/energy/energy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>

namespace topdnn {

namespace {

constexpr std::uint64_t kUnread = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kPackage = 0, kCores = 1, kDram = 2, kIdle = 3;

// One counter of one package.
struct EnergyCounter {
  std::size_t event = kPackage;  // in kEnergyEvents
  int fd = -1;
  bool text = false;        // powercap: a decimal number, and not the 8 bytes of perf
  double joules = 0;        // per count
  std::uint64_t range = 0;  // it restarts at 0 above this count; 0: never
};

void CloseCounter(const PerfSyscalls& calls, const EnergyCounter& counter) {
  counter.text ? static_cast<void>(close(counter.fd)) : calls.close(counter.fd);
}

// An event counts all packages or none: the sum of a part of them would be taken for that of all.
void DropEvents(const PerfSyscalls& calls, const std::set<std::size_t>& events,
                std::vector<EnergyCounter>& counters) {
  std::erase_if(counters, [&](const EnergyCounter& counter) {
    if (!events.contains(counter.event)) return false;
    CloseCounter(calls, counter);
    return true;
  });
}

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::size_t> EventOfZone(const std::string& name) {
  if (name.starts_with("package")) return kPackage;
  if (name == "core") return kCores;
  if (name == "dram") return kDram;
  return std::nullopt;  // psys, uncore
}

class EnergySource final : public CounterSource {
 public:
  EnergySource(const EnergySetting& setting, std::vector<EnergyCounter> counters)
      : setting_(setting), counters_(std::move(counters)) {
    for (const std::string_view event : kEnergyEvents) events_.emplace_back(event);
    std::vector<std::uint64_t> before(slots()), after(slots());
    Read(before.data());
    setting_.idle();
    Read(after.data());
    const double seconds = SecondsBetween(before, after);
    const auto joules = JoulesBetween(before, after, kPackage);
    if (joules && seconds > 0) idle_watts_ = *joules / seconds;
  }
  ~EnergySource() override {
    for (const EnergyCounter& counter : counters_) CloseCounter(setting_.calls, counter);
  }

  const std::vector<std::string>& events() const override { return events_; }
  std::size_t slots() const override { return counters_.size() + 1; }

  void Read(std::uint64_t* raw) noexcept override {
    raw[0] = setting_.clock();
    for (std::size_t i = 0; i < counters_.size(); ++i) raw[i + 1] = ReadOne(counters_[i]);
  }

  std::vector<EventCount> Fold(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) const override {
    std::vector<EventCount> counts(kEnergyEvents.size(), {.value = std::nullopt});
    const double seconds = SecondsBetween(before, after);
    if (seconds < kLeastEnergySeconds) {
      for (EventCount& count : counts) {
        count.reason = "energy: shorter than 10 ms, which the counters do not resolve";
      }
      return counts;
    }
    for (const std::size_t event : {kPackage, kCores, kDram}) {
      counts[event].value = JoulesBetween(before, after, event);
    }
    if (idle_watts_) counts[kIdle].value = *idle_watts_ * seconds;
    return counts;
  }

 private:
  std::uint64_t ReadOne(const EnergyCounter& counter) noexcept {
    if (!counter.text) {
      std::uint64_t value = 0;
      return setting_.calls.read(counter.fd, &value, sizeof value) == sizeof value ? value
                                                                                   : kUnread;
    }
    char text[32];
    const ssize_t length = pread(counter.fd, text, sizeof text, 0);
    std::uint64_t value = 0;
    if (length <= 0) return kUnread;
    const auto parsed = std::from_chars(text, text + length, value);
    return parsed.ec == std::errc() ? value : kUnread;
  }

  static double SecondsBetween(std::span<const std::uint64_t> before,
                               std::span<const std::uint64_t> after) {
    return after[0] > before[0] ? static_cast<double>(after[0] - before[0]) * 1e-9 : 0;
  }

  // The sum over the packages; absent if the machine has no such counter, or one was not read. A
  // counter restarts at most once in a region: at 200 W after 20 minutes or more.
  std::optional<double> JoulesBetween(std::span<const std::uint64_t> before,
                                      std::span<const std::uint64_t> after,
                                      std::size_t event) const {
    std::optional<double> joules;
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      const EnergyCounter& counter = counters_[i];
      if (counter.event != event) continue;
      const std::uint64_t from = before[i + 1], to = after[i + 1];
      if (from == kUnread || to == kUnread) return std::nullopt;
      if (to < from && (counter.range == 0 || from > counter.range)) return std::nullopt;
      const std::uint64_t counts = to >= from ? to - from : counter.range - from + to + 1;
      joules = joules.value_or(0) + static_cast<double>(counts) * counter.joules;
    }
    return joules;
  }

  EnergySetting setting_;
  std::vector<EnergyCounter> counters_;
  std::vector<std::string> events_;
  std::optional<double> idle_watts_;
};

// perf's events of the PMU `power`, on one CPU of each package. `error`: of the first refusal.
std::vector<EnergyCounter> OpenPerfCounters(const EnergySetting& setting, int& error) {
  constexpr std::array<const char*, 3> kNames = {"energy-pkg", "energy-cores", "energy-ram"};
  std::vector<EnergyCounter> counters;
  std::set<std::size_t> refused;
  for (const SysfsPmu& pmu : ReadPmus(setting.sysfs)) {
    if (pmu.name != "power") continue;
    for (std::size_t event = 0; event < kNames.size(); ++event) {
      const std::filesystem::path file = pmu.folder / "events" / kNames[event];
      const auto config = ConfigOf(FirstLine(file), pmu.folder);
      double scale = 0;
      std::ifstream(file.string() + ".scale") >> scale;
      if (!std::filesystem::exists(file) || !config || !(scale > 0)) continue;
      for (const int cpu : pmu.cpus) {
        perf_event_attr attr{};
        attr.size = sizeof attr;
        attr.type = pmu.type;
        attr.config = *config;
        const int fd = setting.calls.open(attr, -1, cpu, -1);
        if (fd < 0 && error == 0) error = -fd;
        if (fd < 0) refused.insert(event);
        if (fd >= 0) counters.push_back({.event = event, .fd = fd, .joules = scale});
      }
    }
  }
  DropEvents(setting.calls, refused, counters);
  return counters;
}

// The zones intel-rapl:0 (a package) and intel-rapl:0:1 (its cores or memory), of AMD, too.
std::vector<EnergyCounter> OpenZones(const PerfSyscalls& calls, const std::string& powercap,
                                     int& error) {
  std::vector<EnergyCounter> counters;
  std::set<std::size_t> refused;
  std::vector<std::filesystem::path> zones;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, ignored)) {
    if (entry.path().filename().string().starts_with("intel-rapl:")) zones.push_back(entry.path());
  }
  std::sort(zones.begin(), zones.end());
  for (const std::filesystem::path& zone : zones) {
    const auto event = EventOfZone(FirstLine(zone / "name"));
    if (!event) continue;
    const int fd = open((zone / "energy_uj").c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      if (error == 0) error = errno;
      refused.insert(*event);
      continue;
    }
    std::uint64_t range = 0;
    std::ifstream(zone / "max_energy_range_uj") >> range;
    counters.push_back({.event = *event, .fd = fd, .text = true, .joules = 1e-6, .range = range});
  }
  DropEvents(calls, refused, counters);
  return counters;
}

bool CountsPackages(const std::vector<EnergyCounter>& counters) {
  return std::any_of(counters.begin(), counters.end(),
                     [](const EnergyCounter& counter) { return counter.event == kPackage; });
}

Availability Unavailable(int perf_error, int file_error) {
  if (file_error == EACCES || file_error == EPERM || perf_error == EACCES || perf_error == EPERM) {
    return {.works = false,
            .reason = "only root may read the CPU's energy counters",
            .remedy = "run topdnn as root, or sysctl kernel.perf_event_paranoid=0"};
  }
  return {.works = false,
          .reason =
              "this machine has no energy counters that Linux offers (no PMU power, no "
              "intel-rapl zone in powercap)",
          .remedy = "use an external meter: profile --energy CSV"};
}

const SourceRegistration kEnergy({.name = "energy",
                                  .what = "energy of packages, cores and memory (RAPL)",
                                  .choice = "perf",
                                  .probe = []() -> Availability {
                                    EnergySetting setting = EnergySetting::Here();
                                    setting.idle = [] {};
                                    return OpenEnergy(setting).availability;
                                  },
                                  .open = []() -> std::unique_ptr<CounterSource> {
                                    return OpenEnergy(EnergySetting::Here()).source;
                                  }});

}  // namespace

EnergySetting EnergySetting::Here() {
  EnergySetting here;
  here.surroundings = PerfSurroundings::Here();
  here.idle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(250)); };
  here.clock = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  return here;
}

OpenedEnergy OpenEnergy(const EnergySetting& setting) {
  int perf_error = 0, file_error = 0;
  std::vector<EnergyCounter> counters = OpenPerfCounters(setting, perf_error);
  const bool perf = CountsPackages(counters);
  if (!perf) {
    for (const EnergyCounter& counter : counters) CloseCounter(setting.calls, counter);
    counters = OpenZones(setting.calls, setting.powercap, file_error);
  }
  OpenedEnergy opened;
  if (!CountsPackages(counters)) {
    for (const EnergyCounter& counter : counters) CloseCounter(setting.calls, counter);
    opened.availability = Unavailable(perf_error, file_error);
    return opened;
  }
  opened.availability.works = true;
  opened.availability.reason = fmt::format("{} counters of packages, cores and memory, through {}",
                                           counters.size(), perf ? "perf" : "powercap");
  opened.source = std::make_unique<EnergySource>(setting, std::move(counters));
  return opened;
}

}  // namespace topdnn
