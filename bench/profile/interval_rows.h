// Rows of a long training: the mean loss and the time of each phase, for every `interval` steps.

#ifndef TOPDNN_BENCH_PROFILE_INTERVAL_ROWS_H_
#define TOPDNN_BENCH_PROFILE_INTERVAL_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "networks/plan/plan.h"

namespace topdnn {

class IntervalRows {
 public:
  // `interval`: steps per row; 0: no rows. The plan must outlive it.
  IntervalRows(Plan& plan, std::int64_t interval);

  void PrintHead() const;
  // Runs one step of the plan; with rows, reads the clock between two phases.
  void RunStep();
  // Call after each step; prints a row once it is complete.
  void Add(double loss);

 private:
  enum Group : std::size_t { kForward, kBackward, kUpdate, kRest, kGroups };

  Plan& plan_;
  std::int64_t interval_;
  std::vector<Group> groups_;              // of each stage
  std::array<double, kGroups> seconds_{};  // of the row
  std::int64_t steps_ = 0;
  std::int64_t in_row_ = 0;
  double loss_ = 0;
};

}  // namespace topdnn

#endif  // TOPDNN_BENCH_PROFILE_INTERVAL_ROWS_H_
