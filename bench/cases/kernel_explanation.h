// Why a kernel takes its time: `topdnn bench --explain` and `--hot`.

#ifndef TOPDNN_BENCH_CASES_KERNEL_EXPLANATION_H_
#define TOPDNN_BENCH_CASES_KERNEL_EXPLANATION_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "bench/profile/hot_stages.h"
#include "harness/measure/measure.h"
#include "harness/results/record.h"

namespace topdnn {

// What is known of a kernel that was timed.
struct KernelExplanation {
  Record record;
  RegionBlocks blocks;
  std::optional<double> seconds;  // undisturbed
  double hertz = 0;
  int threads = 1;
};

// Counts what the kernel executes, or replaces the times if it was the last one added.
void AddExplanation(KernelCase& kernel, const Record& record, const SequenceSamples& samples,
                    std::vector<KernelExplanation>& explanations);

// For each kernel: what binds it, its hot loop, what that executes per multiply-add, and its chain
// of dependent multiply-adds; and the instructions of `listed` loops.
std::string ExplanationText(std::vector<KernelExplanation>& explanations,
                            const std::string& code_names, std::size_t listed);

// The lines about one region. `measured`: its cycles on all threads together; 0: unknown.
std::string ExplanationOf(const std::string& name, const std::string& implementation,
                          const HotLoops& hot, double measured);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CASES_KERNEL_EXPLANATION_H_
