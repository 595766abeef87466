// A gate in memory that processes share. Waiting processes sleep until it opens for the next turn.
// It has no owner, so a process that is killed while it waits leaves it intact.

#ifndef TOPDNN_HARNESS_SHARING_GATE_H_
#define TOPDNN_HARNESS_SHARING_GATE_H_

#include <atomic>
#include <cstdint>

namespace topdnn {

class Gate {
 public:
  // The number of times that it has opened.
  std::uint32_t turn() const { return turn_.load(std::memory_order_acquire); }
  // Begins the next turn, and wakes all that wait.
  void Open();
  // Returns once the turn is another than `seen`.
  void AwaitAfter(std::uint32_t seen) const;

 private:
  std::atomic<std::uint32_t> turn_ = 0;
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free,
                "an atomic with a lock does not work between processes");
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SHARING_GATE_H_
