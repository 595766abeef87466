// Makes the kernels of a plan for further numbers of threads (widths), in a thread in the
// background.

#ifndef TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_KERNELS_MAKER_H_
#define TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_KERNELS_MAKER_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "networks/plan/width_kernels.h"

namespace topdnn {

class WidthKernelsMaker {
 public:
  // The plan is allocated, and outlives this object. Widths are 1 to `most`.
  WidthKernelsMaker(const Plan& plan, int most);
  ~WidthKernelsMaker();
  WidthKernelsMaker(const WidthKernelsMaker&) = delete;
  WidthKernelsMaker& operator=(const WidthKernelsMaker&) = delete;

  // The kernels of this width; nullptr if there are none. Unless they cannot be made, or the thread
  // is busy with another width, the thread then makes them: call again until they are there. Does
  // not allocate, lock or wait.
  const WidthKernels* FindOrAsk(int width) noexcept;
  // The same, but waits for them. Throws std::runtime_error, with the reason, if they cannot be
  // made.
  const WidthKernels& Await(int width);

  // One line for each width whose kernels could not be made: "width N: reason".
  std::vector<std::string> Failures() const;
  // The kernels made so far, by width.
  std::vector<const WidthKernels*> All() const;

 private:
  enum class State { kNone, kMade, kFailed };
  struct Width {
    std::atomic<State> state = State::kNone;
    // The thread writes these before `state`.
    std::unique_ptr<WidthKernels> kernels;
    std::string failure;
  };

  void Make();
  void MakeOne(int width);

  const Plan& plan_;
  std::vector<Width> widths_;  // by width; the first one is not used
  static constexpr int kNothing = 0;
  static constexpr int kEnd = -1;
  std::atomic<int> asked_ = kNothing;
  std::thread thread_;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_MALLEABLE_WIDTH_KERNELS_MAKER_H_
