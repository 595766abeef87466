#include "tests/bench/timed_pmu.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/harness/fake_pmu.h"

namespace topdnn {

namespace {

struct TimedPmu {
  FakePmu pmu;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();

  void Pass() {
    const auto now = std::chrono::steady_clock::now();
    pmu.Work(static_cast<std::uint64_t>(std::chrono::nanoseconds(now - last).count()));
    last = now;
  }
};

}  // namespace

OpenedPerf OpenTimedPmu(int refusal) {
  static std::vector<std::unique_ptr<TimedPmu>> all;  // they live as long as the process
  TimedPmu* const timed = all.emplace_back(std::make_unique<TimedPmu>()).get();
  timed->pmu.refuse_all = refusal;
  timed->pmu.rate = {{PERF_COUNT_HW_CPU_CYCLES, 2},
                     {0x76, 2},
                     {0xC1, 6},
                     {0x100001EA0, 3},
                     {0x1000001A0, 2},
                     {0x7AA, 7},
                     {0xA2D6, 1},
                     {0x2D6, 2}};
  PerfSetting setting;
  setting.calls = timed->pmu.Calls();
  setting.calls.read = [timed, read = setting.calls.read](int fd, void* buffer, std::size_t bytes) {
    timed->Pass();
    return read(fd, buffer, bytes);
  };
  setting.cpu.microarchitecture = "zen4";
  setting.sysfs = "/nonexistent";
  setting.threads = [] { return std::vector<pid_t>{0}; };
  return OpenPerf({"topdown-l2"}, setting);
}

}  // namespace topdnn
