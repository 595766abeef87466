#include "kernels/kernel/run_failure.h"

#include <fmt/format.h>

#include <atomic>

#include "kernels/kernel/failed_kernel.h"

namespace topdnn {

namespace {

struct Failure {
  std::atomic<bool> claimed = false;  // by the thread that records it
  std::atomic<const char*> call = nullptr;
  std::atomic<int> status = 0;
};

Failure& TheFailure() {
  static constinit Failure failure;
  return failure;
}

}  // namespace

void RecordRunFailure(const char* call, int status) noexcept {
  Failure& failure = TheFailure();
  if (failure.claimed.exchange(true)) return;
  failure.status = status;
  failure.call = call;
}

std::string TakeRunFailure() {
  Failure& failure = TheFailure();
  const char* const call = failure.call.exchange(nullptr);
  if (call == nullptr) return {};
  const int status = failure.status;
  failure.claimed = false;
  return fmt::format("{} failed with status {} while it ran: its result was not computed", call,
                     status);
}

void ThrowOnRunFailure() {
  if (const std::string failure = TakeRunFailure(); !failure.empty()) {
    throw KernelFailed(failure);
  }
}

}  // namespace topdnn
