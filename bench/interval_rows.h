// Rows of a long training: every so many steps their mean loss, and where their time went.

#ifndef TOPDNN_BENCH_INTERVAL_ROWS_H_
#define TOPDNN_BENCH_INTERVAL_ROWS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "networks/plan.h"

namespace topdnn {

class IntervalRows {
 public:
  // `interval`: steps a row; 0: no rows. The plan must outlive it.
  IntervalRows(Plan& plan, std::int64_t interval);

  void PrintHead() const;
  // One step of the plan; with rows, a reading of the clock between two phases.
  void RunStep();
  // After each step; prints the row that it completes.
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

#endif  // TOPDNN_BENCH_INTERVAL_ROWS_H_
