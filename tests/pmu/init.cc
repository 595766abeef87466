// The first and only process of the emulated machine: counts loops of known length through the
// harness's perf_event layer (sources, plans, groups, folds) on a real PMU, prints each check with
// the expected value and the one it read, and powers off. The emulation counts instructions
// exactly. Two readings of a source add a constant number of instructions, which a loop of one
// round measures.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "harness/c_api/topdnn/harness.h"
#include "harness/counters/perf_group.h"
#include "harness/counters/perf_source.h"
#include "harness/topdown/perf_events.h"

namespace topdnn {
namespace {

constexpr char kSysfs[] = "/sys/bus/event_source/devices";
constexpr std::size_t kCounters =
    6;                             // general counters of a Neoverse N1; cycles have a dedicated one
constexpr double kReading = 2000;  // limit of user-mode instructions in two readings of a source
constexpr double kWaking = 20000;  // limit of a thread that wakes, ends a loop and waits again
int failures = 0;

void Check(bool good, const char* what, double expected, double read) {
  std::printf("PMU %s %-62s expected %14.2f read %14.2f\n", good ? "ok  " : "FAIL", what, expected,
              read);
  if (!good) ++failures;
}

void CheckEqual(const char* what, double expected, double read) {
  Check(expected == read, what, expected, read);
}

void CheckText(const char* what, const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  Check(found, what, 1, found ? 1 : 0);
  std::printf("PMU note %s\n", text.c_str());
}

// Exactly 2 * n instructions.
void Loop(std::uint64_t n) { asm volatile("1: subs %0, %0, #1\n b.ne 1b\n" : "+r"(n) : : "cc"); }

ResolvedEvent Named(const char* name) {
  const auto event = ResolveEvent(name, std::nullopt, kSysfs);
  Check(event && event->by == "libpfm4", name, 1, event ? 1 : 0);
  return event.value_or(ResolvedEvent{});
}

// Two readings of a source around some work, and their fold.
struct Region {
  std::vector<std::uint64_t> before, after;
  std::vector<EventCount> counts;

  Region(CounterSource& source, const std::function<void()>& work)
      : before(source.slots()), after(source.slots()) {
    source.Read(before.data());
    work();
    source.Read(after.data());
    counts = source.Fold(before, after);
  }
  double value(std::size_t event) const { return counts.at(event).value.value_or(-1); }
};

std::size_t IndexOf(const CounterSource& source, const std::string& event) {
  std::size_t at = 0;
  while (at < source.events().size() && source.events()[at] != event) ++at;
  return at;
}

// The count of two readings around a loop. Not inlined: loading a constant length would take one or
// two instructions, depending on its size.
[[gnu::noinline]] EventCount CountOfLoop(CounterSource& source, std::size_t event,
                                         std::uint64_t n) {
  return Region(source, [n] { Loop(n); }).counts.at(event);
}

// The instructions of the readings themselves.
double Beside(CounterSource& source, std::size_t event) {
  return CountOfLoop(source, event, 1).value.value_or(-1) - 2;
}

// Loops of several lengths: the readings add the same few instructions to each.
void KnownLoops(CounterSource& source, std::size_t event) {
  const double beside = Beside(source, event);
  Check(beside >= 0 && beside < kReading, "instructions of two readings", 0, beside);
  for (const std::uint64_t n : {1'000u, 1'000'000u, 10'000'000u}) {
    const EventCount count = CountOfLoop(source, event, n);
    CheckEqual("instructions of a loop, exactly", 2.0 * static_cast<double>(n),
               count.value.value_or(-1) - beside);
    CheckEqual("its running fraction", 1, count.running_fraction);
  }
}

std::unique_ptr<CounterSource> OpenByName(const std::string& name) {
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name != name) continue;
    const Availability availability = offer.probe();
    Check(availability.works, ("the source works: " + name).c_str(), 1, availability.works);
    std::printf("PMU note %s: %s\n", name.c_str(), availability.reason.c_str());
    return offer.open();
  }
  Check(false, ("the source is registered: " + name).c_str(), 1, 0);
  return nullptr;
}

void HardwareSource() {
  const auto source = OpenByName("hardware");
  if (source == nullptr) return;
  source->Begin(0);
  KnownLoops(*source, IndexOf(*source, "instructions:u"));
  source->End();
}

// Software events have no counter, so their times mean nothing, and they include kernel mode.
void SoftwareSource() {
  constexpr std::size_t kPages = 64;
  const auto source = OpenByName("software");
  if (source == nullptr) return;
  source->Begin(0);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Region region(*source, [&] {
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  });
  CheckEqual("page faults of 64 new pages", kPages, region.value(IndexOf(*source, "page-faults")));
  munmap(memory, kPages * page);
  source->End();
}

void Resolvers(const ResolvedEvent& instructions) {
  CheckEqual("libpfm4's code is the manual's", 0x8, static_cast<double>(instructions.config));
  const auto listed = ResolveEvent("inst_retired", std::nullopt, kSysfs);
  CheckEqual("sysfs's code is the manual's", 0x8,
             listed ? static_cast<double>(listed->config) : -1);
  const auto raw = ResolveEvent("NO_SUCH_NAME", 0x8, kSysfs);
  Check(raw && raw->by == "raw", "a raw code if no name is known", 1, raw ? 1 : 0);
}

void Refusals(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  std::vector<ResolvedEvent> events = {cycles};
  events.insert(events.end(), kCounters + 1, instructions);
  PerfGroup group(PerfSyscalls::Real());
  const OpenOutcome outcome = group.Open(events);
  CheckEqual("errno of a group too large", EINVAL, outcome.error);
  CheckEqual("member refused", kCounters + 1, static_cast<double>(outcome.member));
  const ResolvedEvent none{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, ""};
  CheckEqual("errno of an event this PMU lacks", ENOENT, group.Open(std::span(&none, 1)).error);
  // The emulation does not support 0x3F (STALL_SLOT): it opens and stays at 0.
  const std::vector<ResolvedEvent> silent = {instructions, {"raw", PERF_TYPE_RAW, 0x3F, "raw"}};
  const Trial trial = TryGroup(PerfSyscalls::Real(), silent, [] { Loop(100'000); });
  Check(trial.verdict == TrialVerdict::kCounts, "verdict on a group with a silent event", 0,
        static_cast<double>(trial.verdict));
  CheckEqual("its count", 0, trial.counts.size() == 2 ? trial.counts[1].value.value_or(-1) : -1);
}

// One request for cycles, common to all passes, and the given number of requests for instructions.
std::vector<PerfRequest> RequestsOf(const ResolvedEvent& cycles, const ResolvedEvent& instructions,
                                    std::size_t events) {
  std::vector<PerfRequest> requests = {
      {.event = cycles, .needs = {.name = cycles.name, .fixed = true}, .common = true}};
  for (std::size_t i = 0; i < events; ++i) {
    ResolvedEvent event = instructions;
    event.name = "instructions " + std::to_string(i);
    requests.push_back({.event = event, .needs = {.name = event.name}});
  }
  return requests;
}

// More events than counters: they are planned into passes, each of which counts all the time.
void Passes(const std::vector<PerfRequest>& requests, std::size_t free, double passes) {
  const PerfSyscalls calls = PerfSyscalls::Real();
  PerfPlan plan = PlanPerf(calls, requests, SpinForATrial);
  CheckEqual("counters found free", static_cast<double>(free), static_cast<double>(plan.counters));
  CheckEqual("passes", passes, static_cast<double>(plan.passes.size()));
  CheckEqual("events omitted", 0, static_cast<double>(plan.absent.size()));
  PerfSource source(calls, std::move(plan));
  std::size_t counted = 0, instructions = 0;
  for (std::size_t pass = 0; pass < source.passes(); ++pass) {
    source.Begin(pass);
    for (std::size_t e = 0; e < source.events().size(); ++e) {
      if (source.pass_of(e) != pass || !source.events()[e].starts_with("instructions")) continue;
      const double beside = Beside(source, e);
      const EventCount count = CountOfLoop(source, e, 1'000'000);
      ++instructions;
      if (count.value.value_or(-1) - beside == 2e6 && count.running_fraction == 1) ++counted;
    }
    source.End();
  }
  CheckEqual("events that count exactly, of all passes", static_cast<double>(requests.size() - 1),
             static_cast<double>(counted));
  CheckEqual("events of instructions in the passes", static_cast<double>(requests.size() - 1),
             static_cast<double>(instructions));
}

// A plan does not use a counter that another event is pinned to.
void HeldCounter(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  const PerfSyscalls calls = PerfSyscalls::Real();
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = instructions.type;
  attr.config = instructions.config;
  attr.pinned = 1;
  const int held = calls.open(attr, 0, -1, -1);
  Check(held >= 0, "hold a counter", 0, held);
  Passes(RequestsOf(cycles, instructions, 8), kCounters - 1, 2);
  calls.close(held);
}

// Two sources with a full group each share the counters in turns: unscaled counts are too small,
// and scaled counts are nearly correct.
void Multiplexing(const ResolvedEvent& instructions) {
  const PerfPlan plan = {.passes = {std::vector<ResolvedEvent>(kCounters, instructions)},
                         .absent = {}};
  PerfSource first(PerfSyscalls::Real(), plan);
  PerfSource second(PerfSyscalls::Real(), plan);
  first.Begin(0);
  second.Begin(0);
  constexpr double kKnown = 200e6;
  const EventCount count = Region(first, [] { Loop(100'000'000); }).counts[0];
  Check(count.running_fraction > 0.3 && count.running_fraction < 0.7, "running fraction, shared",
        .5, count.running_fraction);
  const double scaled = Scaled(count).value_or(-1);
  Check(scaled > 0.97 * kKnown && scaled < 1.03 * kKnown, "scaled instructions, shared", kKnown,
        scaled);
  Check(count.value.value_or(kKnown) < 0.8 * kKnown, "unscaled instructions, shared", kKnown / 2,
        count.value.value_or(-1));
}

// Threads that each run a loop of a different length when released, and then wait again.
class Pool {
 public:
  explicit Pool(std::vector<std::uint64_t> lengths) : lengths_(std::move(lengths)) {
    for (const std::uint64_t length : lengths_) {
      threads_.emplace_back([this, length] {
        ++started_;
        go_.wait(0);
        Loop(length);
        ++done_;
        go_.wait(1);
      });
    }
    while (started_ < static_cast<int>(lengths_.size())) std::this_thread::yield();
  }
  ~Pool() { End(); }
  void Run() {
    go_ = 1;
    go_.notify_all();
    while (done_ < static_cast<int>(lengths_.size())) std::this_thread::yield();
  }
  void End() {
    go_ = 2;
    go_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  std::vector<std::uint64_t> lengths_;
  std::vector<std::thread> threads_;
  std::atomic<int> started_{0}, go_{0}, done_{0};
};

// Threads that existed before the source began: each is counted in a separate group.
void Threads(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  Pool pool({1'000'000, 3'000'000});
  PerfSource source(PerfSyscalls::Real(), {.passes = {{cycles, instructions}}, .absent = {}});
  source.Begin(0);
  const Region region(source, [&] {
    pool.Run();
    pool.End();  // the counts of a thread remain after it ends
  });
  const auto threads = source.FoldThreads(region.before, region.after);
  CheckEqual("threads counted", 3, static_cast<double>(threads.size()));
  if (threads.size() != 3) return;
  double sum = 0;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const double read = threads[t].counts[1].value.value_or(-1);
    sum += read;
    if (t == 0) continue;  // it yields while it waits for the others
    const double known = t == 1 ? 2e6 : 6e6;
    Check(read >= known && read < known + kWaking, "a worker's instructions", known, read);
  }
  CheckEqual("sum over the threads", sum, region.value(1));
  // A thread that starts later has no group.
  const Region later(source, [] { std::thread([] { Loop(5'000'000); }).join(); });
  Check(later.value(1) < 5e6, "instructions without those of a later thread", 0, later.value(1));
}

int PmuInterrupts() {
  std::ifstream file("/proc/interrupts");
  for (std::string line; std::getline(file, line);) {
    if (line.find("arm-pmu") == std::string::npos) continue;
    return std::stoi(line.substr(line.find(':') + 1));
  }
  return -1;
}

// The counters are narrower than the counts: the kernel presets each so that it overflows after
// `period` events, and continues from there in an interrupt. No count may be lost.
void Overflows(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  for (const std::uint64_t period : {1'000'003u, 100'003u}) {
    PerfSyscalls calls = PerfSyscalls::Real();
    const auto open = calls.open;
    calls.open = [&](perf_event_attr attr, pid_t thread, int cpu, int group) {
      attr.sample_period = period;
      return open(attr, thread, cpu, group);
    };
    PerfSource source(calls, {.passes = {{cycles, instructions}}, .absent = {}});
    source.Begin(0);
    const double beside = Beside(source, 1);
    const int before = PmuInterrupts();
    const EventCount count = CountOfLoop(source, 1, 20'000'000);
    const int interrupts = PmuInterrupts() - before;
    Check(interrupts >= 20, "interrupts of overflowing counters", 20, interrupts);
    CheckEqual("instructions over overflows, exactly", 40e6, count.value.value_or(-1) - beside);
    CheckEqual("their running fraction", 1, count.running_fraction);
  }
}

std::size_t OpenFiles() {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    files += entry.path().empty() ? 0 : 1;
  }
  return files - 1;  // without the folder itself
}

double ValueOf(const topdnn_counts* counts, std::size_t i) {
  double value = -1;
  if (topdnn_counts_value(counts, i, &value) == 0) {
    std::printf("PMU note %s\n", topdnn_counts_reason(counts, i));
  }
  return value;
}

// The C interface counts the threads of the process, with those that start while it counts.
void CInterface() {
  constexpr std::uint64_t kOwn = 1'000'000, kEarlier = 2'000'000, kLater = 3'000'000;
  const char* const events[] = {"instructions", "cycles", "task-clock"};
  topdnn_counters* const counters = topdnn_counters_open(events, std::size(events));
  Check(counters != nullptr, "topdnn_counters_open", 1, counters != nullptr ? 1 : 0);
  if (counters == nullptr) return CheckText("topdnn_error", topdnn_error(), "no error");
  const auto counts_of = [&](bool later) {
    std::atomic<bool> started = false, go = false;
    std::thread earlier([&] {
      started = true;
      while (!go) std::this_thread::yield();
      Loop(kEarlier);
    });
    while (!started) std::this_thread::yield();
    CheckEqual("topdnn_counters_start", 0, topdnn_counters_start(counters));
    go = true;
    Loop(kOwn);
    earlier.join();
    if (later) std::thread([] { Loop(kLater); }).join();
    return topdnn_counters_stop(counters);
  };
  topdnn_counts* counts = counts_of(false);
  double expected = 2 * (kOwn + kEarlier);
  double read = ValueOf(counts, 0);
  Check(read >= expected && read <= expected + kWaking, "C interface: instructions of two threads",
        expected, read);
  Check(ValueOf(counts, 1) > 0, "C interface: cycles of two threads", 1, ValueOf(counts, 1));
  Check(ValueOf(counts, 2) > 0, "C interface: ns of two threads", 1, ValueOf(counts, 2));
  topdnn_counts_free(counts);
  counts = counts_of(true);
  expected += 2 * kLater;
  read = ValueOf(counts, 0);
  Check(read >= expected && read <= expected + 2 * kWaking,
        "C interface: instructions with those of a later thread", expected, read);
  topdnn_counts_free(counts);
  topdnn_counters_close(counters);
}

// A limit of open files that is enough for only some of the threads. It is the hard one, which only
// root can raise again: a source raises the soft one by itself.
void TooManyFiles(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  Pool pool({1, 1, 1});
  rlimit old{};
  getrlimit(RLIMIT_NOFILE, &old);
  const std::size_t open = OpenFiles();
  const auto limit_to = [&](std::size_t more) {
    const rlimit limit{.rlim_cur = open + more, .rlim_max = open + more};
    setrlimit(RLIMIT_NOFILE, &limit);
  };
  PerfSource source(PerfSyscalls::Real(), {.passes = {{cycles, instructions}}, .absent = {}});
  for (const std::size_t more : {0u, 1u, 2u, 5u, 7u}) {
    limit_to(more);
    source.Begin(0);
    const Region region(source, [] { Loop(1000); });
    setrlimit(RLIMIT_NOFILE, &old);
    CheckEqual("absent where files ran out", -1, region.value(1));
    CheckText("the reason names the limit", region.counts[1].reason, "EMFILE");
    CheckEqual("files left open", static_cast<double>(open), static_cast<double>(OpenFiles()));
  }
  for (const char* name : {"hardware", "software"}) {
    for (const SourceOffer& offer : CounterSources()) {
      if (offer.name != name) continue;
      limit_to(5);
      const auto opened = offer.open();
      opened->Begin(0);
      const Region region(*opened, [] { Loop(1000); });
      limit_to(0);
      const Availability availability = offer.probe();
      setrlimit(RLIMIT_NOFILE, &old);
      CheckText(name, region.counts[0].reason, "EMFILE");
      CheckText(name, availability.reason, "EMFILE");
      CheckText(name, availability.remedy, "ulimit -n");
    }
  }
  source.Begin(0);
  CheckEqual(
      "counts again with enough files", 2000,
      Region(source, [] { Loop(1001); }).value(1) - Region(source, [] { Loop(1); }).value(1));
}

// What `--metrics topdown-l2` counts on this core, from the table to the counts.
void TableOfTheCore() {
  PerfSetting setting = PerfSetting::Here();
  setting.cpu.microarchitecture = "neoverse_n1";
  const OpenedPerf perf = OpenPerf({"topdown-l2"}, setting);
  std::printf("PMU note %s\n", perf.availability.reason.c_str());
  for (const std::string& note : perf.notes) std::printf("PMU note %s\n", note.c_str());
  Check(perf.source != nullptr, "the table's events are opened", 1, perf.source != nullptr);
  if (perf.source == nullptr) return;
  perf.source->Begin(0);
  const std::size_t cycles = IndexOf(*perf.source, "CPU_CYCLES");
  const std::size_t instructions = IndexOf(*perf.source, "instructions");
  const bool listed = cycles < perf.source->events().size();
  Check(listed, "cycles are among them", 1, listed ? 1 : 0);
  if (!listed) return;
  KnownLoops(*perf.source, instructions);
  const Region region(*perf.source, [] { Loop(1'000'000); });
  Check(region.value(cycles) >= 2e6, "cycles of a loop", 2e6, region.value(cycles));
  perf.source->End();
}

void RunAll() {
  const ResolvedEvent instructions = Named("arm_n1::INST_RETIRED");
  const ResolvedEvent cycles = Named("arm_n1::CPU_CYCLES");
  Resolvers(instructions);
  HardwareSource();
  SoftwareSource();
  Refusals(cycles, instructions);
  Passes(RequestsOf(cycles, instructions, 13), kCounters, 3);
  HeldCounter(cycles, instructions);
  TableOfTheCore();
  Multiplexing(instructions);
  Threads(cycles, instructions);
  Overflows(cycles, instructions);
  CInterface();
  TooManyFiles(cycles, instructions);
  std::printf("PMU done, %d failed\n", failures);
}

}  // namespace
}  // namespace topdnn

int main() {
  mount("none", "/proc", "proc", 0, nullptr);
  mount("none", "/sys", "sysfs", 0, nullptr);
  topdnn::RunAll();
  std::fflush(stdout);
  sync();
  reboot(RB_POWER_OFF);
  return 0;
}
