#include "bench/validation/network_validation.h"

#include <fmt/format.h>

#include "bench/command_line/command.h"
#include "bench/validation/kernel_validation.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// Counts every stage that multiplies and adds; runs the other stages in their order.
void CountStages(Plan& plan, CounterSource& exact, ValidationCase& c) {
  double executed = 0;
  const StageCalls calls(plan);
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    const Work work = plan.stages()[i].work();
    if (work.macs == 0) {
      plan.RunStage(i);
      continue;
    }
    c.known += static_cast<double>(work.flops);
    const Action& run = calls.stages()[i].run;
    const EventCount count =
        CountRegion(exact, run.function, run.context).at(std::string(kFlopsEvent));
    if (count.value) {
      executed += *count.value;
      continue;
    }
    c.verdict = Status::kInvalid;
    if (c.reason.empty()) c.reason = fmt::format("{}: {}", plan.stages()[i].name, count.reason);
  }
  if (c.verdict != Status::kInvalid) c.exact = executed;
}

}  // namespace

ValidationCase ValidateStep(const ValidationSources& sources, const WorkloadOptions& options) {
  ValidationCase c;
  c.name =
      fmt::format("{} training step n{} {} {}{}", options.network, options.batch.value(),
                  options.dtype, options.backend, options.fallback.empty() ? "" : " (or fallback)");
  c.quantity = "flops";
  c.exact_allowance = {
      0.05, 0, "biases, ReLUs, partial sums and masked lanes; skipped padding is subtracted"};
  if (sources.exact == nullptr) {
    Judge(c);
    return c;
  }
  try {
    Workload workload = MakeWorkload(options, /*training=*/true);
    TrainingImages images(options, workload);
    images.FillNext(*workload.plan);
    const ThreadWidth width(workload.plan->threads());
    workload.plan->Run();
    images.FillNext(*workload.plan);
    LetPoolsPark();
    CountStages(*workload.plan, *sources.exact, c);
    Judge(c);
  } catch (const UsageError& e) {
    c.reason = e.what();
  } catch (const KernelFailed& e) {
    c.verdict = Status::kFailed;
    c.reason = e.what();
  }
  return c;
}

}  // namespace topdnn
