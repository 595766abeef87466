#include "harness/experiments/denormals.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "harness/experiments/experiment_error.h"
#include "harness/machine/thread_list.h"

namespace topdnn {

namespace {

template <typename Bits>
std::size_t CountBlock(const Bits* elements, std::size_t count, Bits exponent, Bits mantissa) {
  std::size_t denormals = 0;
  for (std::size_t i = 0; i < count; ++i) {
    denormals += (elements[i] & exponent) == 0 && (elements[i] & mantissa) != 0 ? 1 : 0;
  }
  return denormals;
}

template <typename Bits>
double ShareOf(const void* data, std::size_t count, std::size_t most, Bits exponent,
               Bits mantissa) {
  constexpr std::size_t kBlock = 1024;
  const auto* const elements = static_cast<const Bits*>(data);
  const std::size_t blocks = (count + kBlock - 1) / kBlock;
  const std::size_t step = most == 0 ? 1 : std::max<std::size_t>(1, count / std::max(most, kBlock));
  std::size_t denormals = 0;
  std::size_t read = 0;
  for (std::size_t block = 0; block < blocks; block += step) {
    const std::size_t here = std::min(kBlock, count - block * kBlock);
    denormals += CountBlock<Bits>(elements + block * kBlock, here, exponent, mantissa);
    read += here;
  }
  return read == 0 ? 0 : static_cast<double>(denormals) / static_cast<double>(read);
}

}  // namespace

double DenormalShare(FloatFormat format, const void* data, std::size_t count, std::size_t most) {
  switch (format) {
    case FloatFormat::kF16:
      return ShareOf<std::uint16_t>(data, count, most, 0x7c00, 0x03ff);
    case FloatFormat::kBF16:
      return ShareOf<std::uint16_t>(data, count, most, 0x7f80, 0x007f);
    case FloatFormat::kF32:
      return ShareOf<std::uint32_t>(data, count, most, 0x7f800000, 0x007fffff);
    case FloatFormat::kF64:
      return ShareOf<std::uint64_t>(data, count, most, 0x7ff0000000000000, 0x000fffffffffffff);
  }
  return 0;
}

#if defined(__x86_64__) && defined(__linux__)

namespace {

constexpr std::uint32_t kFlushBits = 0x8040;  // FTZ and DAZ of MXCSR (Intel SDM volume 1, 10.2.3)

// What one thread is asked to do: keep the bits of `keep`, then set those of `set`.
struct Request {
  std::uint32_t keep = ~0U;
  std::uint32_t set = 0;
  std::uint32_t found = 0;
  std::atomic<bool> done = false;
};

void OnSignal(int, siginfo_t* info, void* context) {
  if (info->si_code != SI_QUEUE || info->si_pid != getpid()) return;  // someone else's SIGURG
  auto* const request = static_cast<Request*>(info->si_value.sival_ptr);
  std::uint32_t& mxcsr = static_cast<ucontext_t*>(context)->uc_mcontext.fpregs->mxcsr;
  request->found = mxcsr;
  mxcsr = (mxcsr & request->keep) | request->set;
  request->done.store(true, std::memory_order_release);
}

// Absent: the thread has ended.
std::optional<bool> Blocks(pid_t thread, int signal) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return std::nullopt;
}

bool Send(pid_t thread, Request& request) {
  siginfo_t info = {};
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = &request;
  return syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGURG, &info) == 0;
}

// Sends each thread its request, and waits for the answers. A thread that ends meanwhile is left
// out. Returns the words that the threads had.
template <typename RequestFor>
std::map<pid_t, std::uint32_t> AskThreads(const RequestFor& fill) {
  constexpr auto kPatience = std::chrono::seconds(10);
  std::vector<pid_t> threads;
  std::error_code error;
  const std::vector<pid_t> all = ThreadsIn("/proc/self/task", error);
  if (error) throw ExperimentError("/proc/self/task: " + error.message());
  for (const pid_t thread : all) {
    const std::optional<bool> blocks = Blocks(thread, SIGURG);
    if (blocks.value_or(false)) {
      throw ExperimentError(fmt::format(
          "thread {} blocks the signal SIGURG, so its denormals cannot be switched", thread));
    }
    if (blocks) threads.push_back(thread);
  }
  struct sigaction ours = {};
  struct sigaction before = {};
  ours.sa_sigaction = OnSignal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&ours.sa_mask);
  sigaction(SIGURG, &ours, &before);
  std::map<pid_t, std::unique_ptr<Request>> sent;
  for (const pid_t thread : threads) {
    auto request = std::make_unique<Request>();
    fill(thread, *request);
    if (Send(thread, *request)) sent[thread] = std::move(request);
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::map<pid_t, std::uint32_t> found;
  std::string missing;
  for (auto& [thread, request] : sent) {
    bool ended = false;
    while (!request->done.load(std::memory_order_acquire) && !ended &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      ended = syscall(SYS_tgkill, getpid(), thread, 0) != 0;
    }
    if (request->done.load(std::memory_order_acquire)) {
      found[thread] = request->found;
    } else if (!ended) {
      missing = fmt::format("thread {} did not answer a signal within 10 s", thread);
      static_cast<void>(request.release());  // (it may still answer)
    }
  }
  if (!missing.empty()) throw ExperimentError(missing);
  sigaction(SIGURG, &before, nullptr);
  return found;
}

}  // namespace

std::string WhyNoFlushing() { return ""; }

FlushMode::FlushMode() : found_(AskThreads([](pid_t, Request&) {})) {}

FlushMode::~FlushMode() {
  try {
    AsFound();
  } catch (const ExperimentError&) {  // the caller has seen that a thread does not answer
  }
}

void FlushMode::Flush() {
  AskThreads([](pid_t, Request& request) { request.set = kFlushBits; });
}

void FlushMode::AsFound() {
  AskThreads([this](pid_t thread, Request& request) {
    // (a thread that was started since has the mode of the main one)
    const auto known = found_.find(thread);
    const std::uint32_t before = known != found_.end() ? known->second : found_.begin()->second;
    request.keep = ~kFlushBits;
    request.set = before & kFlushBits;
  });
}

std::size_t FlushMode::flushed_before() const {
  return static_cast<std::size_t>(std::count_if(found_.begin(), found_.end(), [](const auto& word) {
    return (word.second & kFlushBits) != 0;
  }));
}

#else

std::string WhyNoFlushing() { return "denormals are flushed by the MXCSR of x86-64 Linux only"; }
FlushMode::FlushMode() { throw ExperimentError(WhyNoFlushing()); }
FlushMode::~FlushMode() = default;
void FlushMode::Flush() {}
void FlushMode::AsFound() {}
std::size_t FlushMode::flushed_before() const { return 0; }

#endif

}  // namespace topdnn
