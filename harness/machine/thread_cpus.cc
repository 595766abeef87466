#include "harness/machine/thread_cpus.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "harness/machine/thread_list.h"

namespace topdnn {

namespace {

// Masks as the kernel has them, in words: cpu_set_t ends at 1,024 CPUs.
constexpr std::size_t kMaskWords = 1024;  // 65,536 CPUs
constexpr std::size_t kBitsOfWord = 8 * sizeof(unsigned long);

// Returns 0 or an errno.
int GetMask(int thread, std::vector<unsigned long>* mask) {
  mask->assign(kMaskWords, 0);
  const auto bytes =
      syscall(SYS_sched_getaffinity, thread, mask->size() * sizeof(unsigned long), mask->data());
  return bytes < 0 ? errno : 0;
}

int SetMask(int thread, const std::vector<unsigned long>& mask) {
  const auto result =
      syscall(SYS_sched_setaffinity, thread, mask.size() * sizeof(unsigned long), mask.data());
  return result < 0 ? errno : 0;
}

std::vector<unsigned long> MaskOf(std::span<const int> cpus) {
  std::vector<unsigned long> mask(kMaskWords, 0);
  for (const int cpu : cpus) {
    const auto bit = static_cast<std::size_t>(cpu);
    if (bit / kBitsOfWord < mask.size()) mask[bit / kBitsOfWord] |= 1UL << bit % kBitsOfWord;
  }
  return mask;
}

// The calling thread's number first.
std::vector<int> OwnThreadNumbers() {
  const int own = static_cast<int>(syscall(SYS_gettid));
  std::error_code ignored;
  std::vector<int> threads = ThreadsIn("/proc/self/task", ignored);
  std::erase(threads, own);
  threads.insert(threads.begin(), own);
  return threads;
}

}  // namespace

int BindThisThread(int cpu) { return SetMask(0, MaskOf(std::span(&cpu, 1))); }

void BindProcess(pid_t process, std::span<const int> cpus) {
  const std::vector<unsigned long> mask = MaskOf(cpus);
  for (int pass = 0; pass < 2; ++pass) {
    std::error_code ended;
    for (const int thread : ThreadsIn(fmt::format("/proc/{}/task", process), ended)) {
      SetMask(thread, mask);
    }
  }
}

CpuDivision DivideCpus(const std::vector<std::vector<int>>& cores, int threads) {
  CpuDivision division;
  std::vector<std::size_t> used(cores.size(), 0);  // CPUs of each core that are measured
  std::size_t most = 0;
  for (const std::vector<int>& core : cores) most = std::max(most, core.size());
  for (std::size_t sibling = 0; sibling < most; ++sibling) {
    for (std::size_t core = 0; core < cores.size(); ++core) {
      if (static_cast<int>(division.measured.size()) == threads) break;
      if (sibling >= cores[core].size()) continue;
      division.measured.push_back(cores[core][sibling]);
      ++used[core];
    }
  }
  for (std::size_t core = 0; core < cores.size(); ++core) {
    if (used[core] == 0 && !cores[core].empty()) division.others.push_back(cores[core].front());
  }
  if (!division.others.empty()) return division;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    for (std::size_t k = used[core]; k < cores[core].size(); ++k) {
      division.others.push_back(cores[core][k]);
      division.share_cores = true;
    }
  }
  return division;
}

ProcessOnCpus::ProcessOnCpus(std::span<const int> cpus) {
  const std::vector<unsigned long> mask = MaskOf(cpus);
  for (const int thread : OwnThreadNumbers()) {
    ThreadMask before{.thread = thread, .mask = {}};
    int error = GetMask(thread, &before.mask);
    if (error == 0) error = SetMask(thread, mask);
    if (error == ESRCH) continue;  // the thread has ended
    if (error != 0) {
      failure_ = fmt::format("threads cannot be kept on some CPUs: {}", std::strerror(error));
      continue;
    }
    before_.push_back(std::move(before));
  }
}

ProcessOnCpus::~ProcessOnCpus() {
  if (before_.empty()) return;
  for (const int thread : OwnThreadNumbers()) {
    const auto known = std::find_if(before_.begin(), before_.end(),
                                    [thread](const ThreadMask& m) { return m.thread == thread; });
    SetMask(thread, known == before_.end() ? before_.front().mask : known->mask);
  }
}

}  // namespace topdnn
