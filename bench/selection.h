// `auto`: the fastest way to compute a problem on this machine, found by timing the ways against
// each other, and remembered.
//
// Candidates run in turns, so that a neighbour's disturbance meets all of them, and a challenger
// replaces oneDNN's own choice only when it wins by more than its spread: on a shared machine the
// fastest of several equal ones is whoever was lucky.

#ifndef TOPDNN_BENCH_SELECTION_H_
#define TOPDNN_BENCH_SELECTION_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/kernel_case.h"
#include "kernels/op.h"
#include "kernels/variant.h"

namespace topdnn {

// Whether a choice is offered: of a convolution, an inner product or a gemm.
bool IsSelectable(const Op& op);

struct SelectedVariant {
  std::optional<Variant> variant;
  std::string reason;   // why there is none
  std::string against;  // the default candidate; empty when there was one alone
  double gain = 1;      // the default's time over the chosen one's, median of the rounds
  double error = 0;     // of its result against the reference, as CaseCheck has it
  bool remembered = false;

  // "auto: onednn-nhwc, 1.12 x onednn, error 3e-07".
  std::string Describe() const;
};

// The best variant of the problem: from the cache, else by measurement, which is then kept there
// unless the machine was disturbed. Takes up to some seconds.
SelectedVariant SelectVariant(const KernelProblem& problem, int threads);

// One candidate's times, in seconds per run, one a round.
struct CandidateTimes {
  std::string name;
  std::vector<double> seconds;
};

struct Choice {
  std::size_t index = 0;
  double gain = 1;
};

// Pure. Which candidate to take: the first, unless another's paired ratio to it lies below 0.99
// with its whole 95 % interval below 1; of several such, the one of the least median ratio. Only
// the rounds that both ran are compared.
Choice ChooseCandidate(std::span<const CandidateTimes> candidates);

// Times all of them in turns; those far behind drop out after the first run or the first rounds.
// The cases must be of one width.
std::vector<CandidateTimes> RaceCandidates(std::span<KernelCase* const> cases,
                                           std::span<const std::string> names, double seconds);

// Every way to compute the problem that agrees with the reference, those that run the same
// implementation on the same layouts once; the default first. A library's own plain loops are left
// out unless there is nothing else.
struct Candidate {
  Variant variant;
  std::unique_ptr<KernelCase> kernel;
  CaseCheck check;
};
std::vector<Candidate> MakeCandidates(const KernelProblem& problem, int threads);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_SELECTION_H_
