#include "harness/sharing/gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace topdnn {

// (FUTEX_PRIVATE_FLAG would restrict both calls to the threads of one process)
void Gate::Open() {
  turn_.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &turn_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Gate::AwaitAfter(std::uint32_t seen) const {
  while (turn() == seen) {
    syscall(SYS_futex, &turn_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
}

}  // namespace topdnn
