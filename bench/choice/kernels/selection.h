// `auto`: finds the fastest variant for a problem on this machine by timing all of them in turns,
// and remembers it.
//
// Candidates run in turns, so that disturbance by a neighbour affects all of them. A candidate
// replaces oneDNN's own choice only if it is faster by more than its spread: on a shared machine,
// chance decides which of several equal candidates is fastest.

#ifndef TOPDNN_BENCH_CHOICE_KERNELS_SELECTION_H_
#define TOPDNN_BENCH_CHOICE_KERNELS_SELECTION_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/kernel_benchmarks.h"
#include "bench/cases/kernel_case.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/op.h"

namespace topdnn {

// Whether `auto` can choose a variant: for a convolution, an inner product or a gemm.
bool IsSelectable(const Op& op);

struct SelectedVariant {
  std::optional<Variant> variant;
  std::string reason;   // why no variant was chosen
  std::string against;  // the default candidate; empty if it was the only one
  double gain = 1;      // the default's time over the chosen one's, median of the rounds
  double error = 0;     // of the result, relative to the reference, as in CaseCheck
  bool remembered = false;

  // "auto: onednn-nhwc, 1.12 x onednn, error 3e-07".
  std::string Describe() const;
};

// The best variant of the problem: from the cache, otherwise by measurement, which takes up to some
// seconds. The result is cached unless the machine was disturbed.
SelectedVariant SelectVariant(const KernelProblem& problem, int threads);

// `auto` in the kernels' cases: chooses with SelectVariant.
AutoVariant SelectingAuto();

// One candidate's times, in seconds per run, one per round.
struct CandidateTimes {
  std::string name;
  std::vector<double> seconds;
};

struct Choice {
  std::size_t index = 0;
  double gain = 1;
};

// Pure. The index of the candidate to use: the first, unless another's paired ratio to it is below
// 0.99 and its whole 95 % interval is below 1. Of several such candidates, the one with the
// smallest median ratio. Only rounds in which both ran are compared.
Choice ChooseCandidate(std::span<const CandidateTimes> candidates);

// Times all candidates in turns; those far slower are dropped after the first run or the first
// rounds. All cases must have the same width.
std::vector<CandidateTimes> RaceCandidates(std::span<KernelCase* const> cases,
                                           std::span<const std::string> names, double seconds);

// Every variant for the problem that agrees with the reference, the default first. Variants that
// run the same implementation on the same layouts are listed once. A library's own plain loops are
// included only if there is no other variant.
struct Candidate {
  Variant variant;
  std::unique_ptr<KernelCase> kernel;
  CaseCheck check;
};
std::vector<Candidate> MakeCandidates(const KernelProblem& problem, int threads);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_CHOICE_KERNELS_SELECTION_H_
