// The width (number of threads) that a running workload should have.
//
// Any thread may ask for a width, at any time: the program itself, a signal, a client of the
// control socket, the container's limits. The run reads the width between two stages and follows
// it, so a request never waits for the run, and the run never waits for a request.

#ifndef TOPDNN_HARNESS_WIDTH_WIDTH_CONTROL_H_
#define TOPDNN_HARNESS_WIDTH_WIDTH_CONTROL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace topdnn {

class WidthControl {
 public:
  // Wanted widths are `least` to `most`. Throws std::invalid_argument unless 1 <= least <= start <=
  // most.
  WidthControl(int least, int most, int start) : least_(least), most_(most), wanted_(start) {
    if (least < 1 || start < least || most < start) {
      throw std::invalid_argument("a width is at least 1, and between the least and the most");
    }
  }
  WidthControl(const WidthControl&) = delete;
  WidthControl& operator=(const WidthControl&) = delete;

  int least() const { return least_; }
  int most() const { return most_; }

  // Asks for a width. Returns false, and changes nothing, outside `least` to `most`.
  bool SetWidth(int wanted) noexcept {
    if (wanted < least_ || wanted > most_) return false;
    wanted_.store(wanted);
    return true;
  }
  // Asks for `by` threads more (fewer if negative), within `least` to `most`.
  void Widen(int by) noexcept {
    int before = wanted_.load();
    while (!wanted_.compare_exchange_weak(before, std::clamp(before + by, least_, most_))) {
    }
  }
  // What the container allows; it counts even below `least`.
  void SetLimit(int limit) noexcept { limit_.store(std::max(1, limit)); }
  // Asks the run to end after this iteration. `signal`: the one that asked; 0: a client did.
  void Stop(int signal = 0) noexcept {
    signal_.store(signal);
    stopped_.store(true);
  }
  int signal() const noexcept { return signal_.load(); }

  int wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
  int limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  bool stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }
  // The width that the run should have now.
  int width() const noexcept { return std::min(wanted(), limit()); }

  // What the run reports: the width in effect (0 before it starts), and its complete iterations.
  void ReportWidth(int width) noexcept { current_.store(width); }
  void ReportIterations(std::int64_t iterations) noexcept {
    iterations_.store(iterations, std::memory_order_relaxed);
  }
  int current() const noexcept { return current_.load(); }
  std::int64_t iterations() const noexcept { return iterations_.load(std::memory_order_relaxed); }

 private:
  const int least_;
  const int most_;
  std::atomic<int> wanted_;
  std::atomic<int> limit_ = std::numeric_limits<int>::max();
  std::atomic<bool> stopped_ = false;
  std::atomic<int> signal_ = 0;
  std::atomic<int> current_ = 0;
  std::atomic<std::int64_t> iterations_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_WIDTH_WIDTH_CONTROL_H_
