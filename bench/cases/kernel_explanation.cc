#include "bench/cases/kernel_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/report/tables/tables.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

std::string BindingText(const HotLoops& hot) {
  if (!hot.binding) return fmt::format("not named: {}", hot.binding_reason);
  return fmt::format("{} {:.0f} %", hot.binding->what, 100 * hot.binding->share);
}

// "1.2 instructions, 4.5 loaded bytes, 0.01 spills per multiply-add".
std::string PerFma(const HotLoop& loop) {
  if (loop.fmas <= 0) {
    return loop.flops > 0 ? "it has no fused multiply-adds of vectors" : "it has no multiply-adds";
  }
  return fmt::format("{:.3g} instructions, {:.3g} loaded bytes, {:.2g} spills",
                     loop.instructions / loop.fmas, loop.load_bytes / loop.fmas,
                     loop.spills / loop.fmas);
}

// "3 of 24 multiply-adds x 4.0 cycles = 12.0 cycles an iteration, 85 % of the measured time".
std::string ChainText(const HotLoop& loop, double measured) {
  if (!loop.cycles) return "n/a: no core model";
  std::string text;
  if (loop.chain_fmas > 0) {
    text = fmt::format("{:.0f} of {:.0f} multiply-adds x {:.1f} cycles = ", loop.chain_fmas,
                       loop.fmas, loop.chain_cycles / loop.chain_fmas);
  }
  text += fmt::format("{:.1f} cycles an iteration", loop.chain_cycles);
  if (measured <= 0) return text;
  const double chained = loop.chain_cycles * static_cast<double>(loop.iterations);
  return text + fmt::format(", {:.0f} % of the measured time", 100 * chained / measured);
}

}  // namespace

void AddExplanation(KernelCase& kernel, const Record& record, const SequenceSamples& samples,
                    std::vector<KernelExplanation>& explanations) {
  if (explanations.empty() || explanations.back().record.name != record.name) {
    KernelExplanation& added = explanations.emplace_back();
    const ThreadWidth width(kernel.threads());
    auto run = [&kernel]() noexcept { kernel.Run(); };
    added.blocks = CountBlocks(Action::Of(run));
  }
  KernelExplanation& own = explanations.back();
  own.record = record;
  own.seconds = FirstDecile(samples.stages.front().seconds);
  own.hertz = HertzOf(samples.disturbance);
  own.threads = kernel.threads();
}

std::string ExplanationOf(const std::string& name, const std::string& implementation,
                          const HotLoops& hot, double measured) {
  std::string text = fmt::format("\n{} ({})\n", name, implementation);
  text += fmt::format("  bound by  {}\n", BindingText(hot));
  if (hot.loops.empty()) return text + "  hot loop  none\n";
  const HotLoop& loop = hot.loops.front();
  text += fmt::format("  hot loop  {}: {:.1f} % of the instructions", loop.place,
                      100 * loop.instruction_share);
  if (loop.flop_share) text += fmt::format(", {:.1f} % of the FLOPs", 100 * *loop.flop_share);
  text += fmt::format("\n  per FMA   {}\n", PerFma(loop));
  text += fmt::format("  chain     {}\n", ChainText(loop, measured));
  return text;
}

std::string ExplanationText(std::vector<KernelExplanation>& explanations,
                            const std::string& code_names, std::size_t listed) {
  constexpr std::size_t kListedLines = 40;
  std::string text;
  for (KernelExplanation& one : explanations) {
    std::vector<Record> records = {one.record};
    AddHotLoops({std::move(one.blocks)}, {one.seconds},
                {.code_names = code_names,
                 .detail = {.loops = listed, .lines = kListedLines},
                 .threads = one.threads,
                 .hertz = one.hertz},
                records);
    const Record& record = records.front();
    if (!record.hot) {
      text += fmt::format("\n{} ({})\n  no loops: {}\n", record.name, record.implementation,
                          record.hot_reason);
      continue;
    }
    const double measured = one.seconds.value_or(0) * one.hertz * one.threads;
    text += ExplanationOf(record.name, record.implementation, *record.hot, measured);
    text += ListedLoopsText(*record.hot);
  }
  return text;
}

}  // namespace topdnn
