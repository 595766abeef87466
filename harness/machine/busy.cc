#include "harness/machine/busy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <sstream>

#include "harness/files/small_file.h"
#include "harness/machine/cpu_set.h"
#include "harness/text/parse_number.h"

namespace topdnn {

namespace {

// The ticks of "cpuN user nice system idle iowait irq softirq steal ...".
void AddCpuLine(std::istringstream& columns, CpuAccounts& accounts) {
  constexpr std::size_t kColumns = 8;
  std::array<std::uint64_t, kColumns> ticks{};
  for (std::uint64_t& tick : ticks) columns >> tick;
  if (!columns) return;
  for (std::size_t c = 0; c < kColumns; ++c) {
    constexpr std::size_t kIdleField = 3;
    constexpr std::size_t kWaiting = 4;
    accounts.all += ticks[c];
    if (c != kIdleField && c != kWaiting) accounts.busy += ticks[c];
  }
}

}  // namespace

std::optional<CpuAccounts::Process> ParseProcessStat(std::string_view stat) {
  const std::size_t open = stat.find('(');
  const std::size_t close = stat.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return std::nullopt;
  }
  std::istringstream columns{std::string(stat.substr(close + 1))};
  std::string skipped;
  constexpr int kBeforeUserTime = 11;  // from the state on
  for (int i = 0; i < kBeforeUserTime; ++i) columns >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  if (!(columns >> user >> system)) return std::nullopt;
  constexpr int kBeforeThreads = 4, kBeforeProcessor = 18;
  for (int i = 0; i < kBeforeThreads; ++i) columns >> skipped;
  int threads = 0, cpu = -1;
  columns >> threads;
  for (int i = 0; i < kBeforeProcessor; ++i) columns >> skipped;
  // (of several threads, it is the first one's)
  if (!(columns >> cpu) || threads != 1) cpu = -1;
  return CpuAccounts::Process{.name = std::string(stat.substr(open + 1, close - open - 1)),
                              .ticks = user + system,
                              .cpu = cpu};
}

std::optional<CpuAccounts> ReadCpuAccounts(const std::vector<int>& cpus,
                                           const std::filesystem::path& proc) {
  CpuAccounts accounts;
  const std::set<int> wanted(cpus.begin(), cpus.end());
  std::ifstream stat(proc / "stat");
  for (std::string line; std::getline(stat, line);) {
    std::istringstream columns(line);
    std::string name;
    columns >> name;
    if (!name.starts_with("cpu")) break;
    const std::optional<int> cpu = ParseNumber<int>(std::string_view(name).substr(3));
    if (cpu && wanted.contains(*cpu)) AddCpuLine(columns, accounts);
  }
  if (accounts.all == 0) return std::nullopt;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(proc, error)) {
    const std::optional<int> id = ParseNumber<int>(entry.path().filename().string());
    if (!id) continue;
    const std::string text = ReadSmallFile(entry.path() / "stat").text;  // empty: it has ended
    auto process = ParseProcessStat(text);
    if (!process) continue;
    process->elsewhere = process->cpu >= 0 && !wanted.contains(process->cpu);
    accounts.processes[*id] = *std::move(process);
  }
  return accounts;
}

std::optional<Busy> BusyBetween(const CpuAccounts& before, const CpuAccounts& after, int cpus,
                                int own) {
  if (after.all <= before.all || after.busy < before.busy) return std::nullopt;
  const double per_cpu = static_cast<double>(after.all - before.all) / cpus;
  std::map<std::string, Busy::Process> by_name;
  double used = static_cast<double>(after.busy - before.busy);
  for (const auto& [id, process] : after.processes) {
    const auto earlier = before.processes.find(id);
    // (a kernel thread or a program that starts another one changes its name and keeps its ticks)
    const bool known = earlier != before.processes.end() && earlier->second.ticks <= process.ticks;
    const auto ticks =
        static_cast<double>(process.ticks - (known ? earlier->second.ticks : std::uint64_t{0}));
    if (id == own) {
      used -= ticks;
    } else if (ticks > 0 && !process.elsewhere) {
      Busy::Process& named =
          by_name.try_emplace(process.name, Busy::Process{process.name, 0, 0}).first->second;
      named.used += ticks / per_cpu;
      ++named.count;
    }
  }
  Busy busy{.cpus = cpus, .used = std::max(0.0, used / per_cpu), .processes = {}};
  for (const auto& [name, process] : by_name) busy.processes.push_back(process);
  std::stable_sort(busy.processes.begin(), busy.processes.end(),
                   [](const auto& a, const auto& b) { return a.used > b.used; });
  if (busy.processes.size() > kMostNamed) busy.processes.resize(kMostNamed);
  return busy;
}

bool IsBusy(const Busy& busy) { return busy.used > kMaxBusy * busy.cpus; }

std::string TextOf(const Busy& busy) {
  constexpr double kWorthNaming = 0.02;  // of a CPU
  std::vector<std::string> names;
  for (const Busy::Process& process : busy.processes) {
    if (process.used < kWorthNaming) continue;
    const std::string several = process.count > 1 ? fmt::format(" x {}", process.count) : "";
    names.push_back(fmt::format("{}{} {:.1f}", process.name, several, process.used));
  }
  const std::string who = names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "));
  return fmt::format("other programs use {:.1f} of {} CPU{}{}", busy.used, busy.cpus,
                     busy.cpus == 1 ? "" : "s", who);
}

BusyWatch::BusyWatch() : cpus_(AllowedCpus().cpus), before_(ReadCpuAccounts(cpus_)) {}

std::optional<Busy> BusyWatch::Since() {
  std::optional<CpuAccounts> now = ReadCpuAccounts(cpus_);
  if (!before_ || !now) return std::nullopt;
  const auto cpus = static_cast<int>(cpus_.size());
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK)) * kLeastSeconds * cpus;
  if (static_cast<double>(now->all - before_->all) < ticks) return std::nullopt;
  std::optional<Busy> busy = BusyBetween(*before_, *now, cpus, getpid());
  before_ = std::move(now);
  return busy;
}

}  // namespace topdnn
