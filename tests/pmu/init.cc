// The first and only process of the emulated machine: counts loops of known length through the
// perf_event layer on its PMU, prints each check with the expected and the read value, and powers
// off. The emulation counts instructions exactly; every region besides its loop holds the same few
// instructions of the reading itself, so counts may differ from the known ones by a constant.

#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <thread>

#include "harness/counters/perf_event.h"
#include "harness/counters/schedule.h"

namespace topdnn {
namespace {

constexpr char kSysfs[] = "/sys/bus/event_source/devices";
constexpr double kReading = 100;  // most instructions of user mode in two halves of ReadRaw
int failures = 0;

void Check(bool good, const char* what, double expected, double read) {
  std::printf("PMU %s %-58s expected %14.2f read %14.2f\n", good ? "ok  " : "FAIL", what, expected,
              read);
  if (!good) ++failures;
}

// Exactly 2 * n instructions.
void Loop(std::uint64_t n) { asm volatile("1: subs %0, %0, #1\n b.ne 1b\n" : "+r"(n) : : "cc"); }

ResolvedEvent Named(const char* name) {
  const auto event = ResolveEvent(name, std::nullopt, kSysfs);
  Check(event && event->by == "libpfm4", name, 1, event ? 1 : 0);
  return event.value_or(ResolvedEvent{});
}

ResolvedEvent Raw(std::uint64_t code) { return {"raw", PERF_TYPE_RAW, code, "raw"}; }

EventCount CountOf(const PerfGroup& group, std::uint64_t n, std::size_t member = 0) {
  std::vector<std::uint64_t> first(group.slots()), last(group.slots());
  const bool good = group.ReadRaw(first.data());
  Loop(n);
  if (!good || !group.ReadRaw(last.data())) return {std::nullopt, 0};
  const auto before = group.Decode(first);
  const auto after = group.Decode(last);
  if (before.size() <= member || after.size() <= member) return {std::nullopt, 0};
  return CountBetween(before[member], after[member]);
}

double Value(const EventCount& count) { return count.value.value_or(-1); }

void KnownLoops(const ResolvedEvent& instructions) {
  PerfGroup group(PerfSyscalls::Real());
  Check(group.Open(std::span(&instructions, 1), 0, false).error == 0, "open", 0, 0);
  double constant = -1;
  for (const std::uint64_t n : {1'000u, 1'000'000u, 10'000'000u}) {
    const double read = Value(CountOf(group, n));
    const double extra = read - 2.0 * static_cast<double>(n);
    Check(extra >= 0 && extra < kReading, "instructions of a loop", 2.0 * static_cast<double>(n),
          read);
    if (constant >= 0) Check(extra == constant, "constant besides the loop", constant, extra);
    constant = extra;
  }
}

void Resolvers(const ResolvedEvent& instructions) {
  Check(instructions.config == 0x8, "libpfm4's code is the manual's", 0x8,
        static_cast<double>(instructions.config));
  const auto listed = ResolveEvent("inst_retired", std::nullopt, kSysfs);
  Check(listed && listed->config == 0x8, "sysfs's code is the manual's", 0x8,
        listed ? static_cast<double>(listed->config) : -1);
  const auto raw = ResolveEvent("NO_SUCH_NAME", 0x8, kSysfs);
  Check(raw && raw->by == "raw", "a raw code where no name helps", 1, raw ? 1 : 0);
}

void Oversized(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  // Neoverse N1 has six general counters, and one of its own for cycles.
  std::vector<ResolvedEvent> events = {cycles};
  events.insert(events.end(), 7, instructions);
  PerfGroup group(PerfSyscalls::Real());
  const OpenOutcome outcome = group.Open(events, 0, false);
  Check(outcome.error == EINVAL, "errno of a group too large", EINVAL, outcome.error);
  Check(outcome.member == 7, "member refused", 7, static_cast<double>(outcome.member));
}

// Thirteen events: planned into passes, each of which counts all the time.
void Passes(const ResolvedEvent& cycles, const ResolvedEvent& instructions) {
  std::vector<SchedulableEvent> wanted = {{.name = "cycles", .fixed = true}};
  for (int i = 0; i < 12; ++i) wanted.push_back({.name = "instructions"});
  const std::vector<std::size_t> common = {0};
  const CounterSchedule schedule = PlanPasses(wanted, 6, common);
  Check(schedule.passes.size() == 2, "passes for 12 events on 6 counters", 2,
        static_cast<double>(schedule.passes.size()));
  for (const CounterPass& pass : schedule.passes) {
    std::vector<ResolvedEvent> events;
    for (const std::size_t i : pass.events) events.push_back(i == 0 ? cycles : instructions);
    PerfGroup group(PerfSyscalls::Real());
    const int error = group.Open(events, 0, false).error;
    Check(error == 0, "open a pass", 0, error);
    const EventCount count = CountOf(group, 1'000'000, events.size() - 1);
    Check(Value(count) >= 2e6 && Value(count) < 2e6 + kReading, "instructions in a pass", 2e6,
          Value(count));
    Check(count.running_fraction == 1, "running fraction in a pass", 1, count.running_fraction);
  }
}

// Two full groups share the counters by time: unscaled counts are too small, scaled ones nearly
// right.
void Multiplexing(const ResolvedEvent& instructions) {
  const std::vector<ResolvedEvent> events(6, instructions);
  PerfGroup first(PerfSyscalls::Real());
  PerfGroup second(PerfSyscalls::Real());
  Check(first.Open(events, 0, false).error == 0 && second.Open(events, 0, false).error == 0,
        "open two full groups", 0, 0);
  constexpr double kKnown = 400e6;
  const EventCount count = CountOf(first, 200'000'000);
  Check(count.running_fraction > 0.3 && count.running_fraction < 0.7, "running fraction, shared",
        .5, count.running_fraction);
  const double scaled = Scaled(count).value_or(-1);
  Check(scaled > 0.97 * kKnown && scaled < 1.03 * kKnown, "scaled instructions, shared", kKnown,
        scaled);
  std::printf("PMU note scaled error %.4f %%\n", 100 * (scaled / kKnown - 1));
}

// Threads that existed before the open: a group on each by thread id; inherit misses them.
void Pool(const ResolvedEvent& instructions) {
  constexpr int kThreads = 3;
  std::atomic<int> started{0}, go{0}, done{0};
  std::atomic<pid_t> ids[kThreads] = {};
  std::vector<std::thread> pool;
  for (int t = 0; t < kThreads; ++t) {
    pool.emplace_back([&, t] {
      ids[t] = static_cast<pid_t>(syscall(SYS_gettid));
      ++started;
      go.wait(0);
      Loop(1'000'000 * static_cast<std::uint64_t>(t + 1));
      ++done;
      done.notify_one();
      go.wait(1);
    });
  }
  while (started < kThreads) std::this_thread::yield();
  PerfGroup inherited(PerfSyscalls::Real());
  inherited.Open(std::span(&instructions, 1), 0, true);
  std::vector<std::unique_ptr<PerfGroup>> groups;
  for (const auto& id : ids) {
    groups.push_back(std::make_unique<PerfGroup>(PerfSyscalls::Real()));
    const int error = groups.back()->Open(std::span(&instructions, 1), id, false).error;
    Check(error == 0, "open on a thread of the pool", 0, error);
  }
  go = 1;
  go.notify_all();
  while (done < kThreads) std::this_thread::yield();
  double sum = 0;
  for (int t = 0; t < kThreads; ++t) {
    const auto reading = groups[static_cast<std::size_t>(t)]->Read();
    const double read = reading.empty() ? -1 : static_cast<double>(reading[0].value);
    sum += read;
    Check(read >= 2e6 * (t + 1) && read < 2e6 * (t + 1) + 20000, "a pool thread's instructions",
          2e6 * (t + 1), read);
  }
  Check(sum >= 12e6 && sum < 12e6 + 60000, "sum over the pool", 12e6, sum);
  go = 2;
  go.notify_all();
  for (std::thread& thread : pool) thread.join();
}

void Inherit(const ResolvedEvent& instructions) {
  PerfGroup group(PerfSyscalls::Real());
  const int error = group.Open(std::span(&instructions, 1), 0, true).error;
  Check(error == 0, "open with inherit", 0, error);
  const pid_t child = fork();
  if (child == 0) {
    Loop(5'000'000);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const auto reading = group.Read();
  const double read = reading.empty() ? -1 : static_cast<double>(reading[0].value);
  Check(read >= 10e6 && read < 10e6 + 200000, "a child's instructions through inherit", 10e6, read);
}

void Dead(const ResolvedEvent& instructions) {
  // 0x3F (STALL_SLOT) is no event of this emulation: it opens and stays at 0.
  const std::vector<ResolvedEvent> events = {instructions, Raw(0x3F)};
  const Trial trial = TryGroup(PerfSyscalls::Real(), events, [] { Loop(100'000); });
  Check(trial.verdict == TrialVerdict::kCounts, "verdict on a group with a dead event", 0,
        static_cast<double>(trial.verdict));
  Check(trial.dead == std::vector<std::size_t>{1}, "dead members found", 1,
        static_cast<double>(trial.dead.size()));
}

void Refusals() {
  const ResolvedEvent none{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000, ""};
  PerfGroup group(PerfSyscalls::Real());
  const int error = group.Open(std::span(&none, 1), 0, false).error;
  Check(error == ENOENT, "errno of an event this PMU lacks", ENOENT, error);
}

void RunAll() {
  const ResolvedEvent instructions = Named("arm_n1::INST_RETIRED");
  const ResolvedEvent cycles = Named("arm_n1::CPU_CYCLES");
  Resolvers(instructions);
  KnownLoops(instructions);
  Oversized(cycles, instructions);
  Passes(cycles, instructions);
  Multiplexing(instructions);
  Pool(instructions);
  Inherit(instructions);
  Dead(instructions);
  Refusals();
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
