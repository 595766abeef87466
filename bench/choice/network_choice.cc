#include "bench/choice/network_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/command_line/interrupt.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/measure.h"
#include "harness/statistics/summary.h"
#include "kernels/conv/conv.h"
#include "kernels/thread_width.h"

namespace topdnn {

namespace {

// The backend of the variants: the only one with several.
constexpr std::string_view kBackend = "onednn";
constexpr int kRounds = 7;
// A variant is dropped if its first step takes this much longer than the fastest one's.
constexpr double kHopelessStep = 1.5;
constexpr double kMinLayerGain = 0.02;
constexpr double kMinStepGain = 0.01;

// The variants to request for every convolution in every pass; none: the backend's choice.
using VariantNames = std::vector<std::string>;
// Variants of one family write their results in the same layouts, so a plan can mix them without
// reorders.
const std::vector<std::vector<VariantNames>> kFamilies = {
    {{}, {"onednn-winograd"}},
    {{"onednn-blocked"}, {"onednn-winograd", "onednn-blocked"}},
    {{"onednn-nhwc"}}};

struct Layer {
  std::string name;
  std::string problem;  // without fused operations: equal layers use the same variant
};

std::vector<Layer> Convolutions(const Plan& plan) {
  std::vector<Layer> layers;
  for (const Stage& stage : plan.stages()) {
    const auto* conv = dynamic_cast<const ConvOp*>(stage.op.get());
    if (conv == nullptr || stage.pass != StagePass::kForward) continue;
    layers.push_back({stage.name, ConvOp(conv->extents()).Problem()});
  }
  return layers;
}

std::string SignatureOf(const Plan& plan) {
  std::string signature;
  for (const Stage& stage : plan.stages()) {
    signature += fmt::format("{}:{}", stage.name, stage.kernel->implementation());
    for (const KernelOperand& operand : stage.kernel->operands()) {
      signature += " " + operand.desc.layout.tag();
    }
  }
  return signature;
}

// One of the plans that are compared.
class Contender {
 public:
  Contender(const WorkloadOptions& options, Workload planned)
      : options_(options), workload_(std::move(planned)) {
    PrepareWorkload(options_, workload_);
    calls_.emplace(*workload_.plan);
    TrainingImages(options_, workload_).FillNext(*workload_.plan);
  }

  const Plan& plan() const { return *workload_.plan; }
  const WorkloadOptions& options() const { return options_; }
  const VariantTimes& times() const { return times_; }
  void Forget() { times_ = {}; }

  // One step to refill the caches that the other plans emptied, then a timed step.
  void Step(const std::map<std::string, std::string>& problems, const TickClock& clock) {
    MeasureOptions measure;
    measure.clock = clock;
    measure.iterations = 1;
    measure.most_warmup_iterations = 1;
    const SequenceSamples samples = MeasureSequence(calls_->stages(), measure);
    times_.step.push_back(samples.step.seconds.front());
    std::map<std::string, double> layers;
    for (std::size_t i = 0; i < samples.stages.size(); ++i) {
      const std::string& name = plan().stages()[i].name;
      // "conv2.weights" is a reorder of conv2. Names of layers may contain dots, too.
      auto layer = problems.find(name);
      if (layer == problems.end()) layer = problems.find(name.substr(0, name.rfind('.')));
      if (layer != problems.end()) layers[layer->second] += samples.stages[i].seconds.front();
    }
    for (const auto& [problem, seconds] : layers) times_.layers[problem].push_back(seconds);
  }

 private:
  WorkloadOptions options_;
  Workload workload_;
  std::optional<StageCalls> calls_;  // once the plan is allocated
  VariantTimes times_;
};

class NetworkRace {
 public:
  NetworkRace(const WorkloadOptions& options, bool training)
      : options_(options), training_(training) {
    options_.backend = kBackend;
    Enter({});
    layers_ = Convolutions(contenders_.front()->plan());
    for (const Layer& layer : layers_) problems_[layer.name] = layer.problem;
  }

  // The options of the fastest plan, and a line about them.
  std::pair<WorkloadOptions, std::string> Run() {
    std::vector<Entry> entries = {{0, {}}};  // of the contenders
    for (std::size_t family = 0; family < kFamilies.size(); ++family) {
      for (const VariantNames& candidate : kFamilies[family]) {
        if (candidate.empty()) continue;  // the first contender's
        if (Enter(VariantsBy([&](const Layer&) { return candidate; })))
          entries.push_back({family, candidate});
      }
    }
    Race();
    const std::vector<VariantTimes> times = Times();
    const std::size_t best = FastestStep(times);
    std::vector<VariantTimes> relatives;
    std::vector<VariantNames> candidates;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].family != entries[best].family) continue;
      relatives.push_back(times[i]);
      candidates.push_back(entries[i].candidate);
    }
    const std::map<std::string, std::size_t> fastest = FastestVariants(relatives);
    if (Enter(VariantsBy(
            [&](const Layer& layer) { return candidates[fastest.at(layer.problem)]; }))) {
      KeepForFinal(best);
      Race();
    }
    const std::size_t winner = FastestStep(Times());
    return {contenders_[winner]->options(), Describe(winner)};
  }

 private:
  struct Entry {
    std::size_t family;
    VariantNames candidate;
  };

  template <typename WayOf>
  std::map<LayerPass, VariantNames> VariantsBy(WayOf way_of) const {
    std::map<LayerPass, VariantNames> variants;
    for (const Layer& layer : layers_) {
      for (const Pass pass : kAllPasses) variants[{layer.name, pass}] = way_of(layer);
    }
    return variants;
  }

  // Whether the plan differs from those being compared, and fits in memory with them.
  bool Enter(std::map<LayerPass, VariantNames> variants) {
    WorkloadOptions options = options_;
    options.variants = std::move(variants);
    Workload planned = PlanWorkload(options, training_);
    if (!known_.insert(SignatureOf(*planned.plan)).second) return false;
    // (only the first is certain to fit)
    if (!contenders_.empty() && planned.plan->bytes() > MemoryLimit()) return false;
    contenders_.push_back(std::make_unique<Contender>(options, std::move(planned)));
    return true;
  }

  void Race() {
    const ThreadWidth width(contenders_.front()->plan().threads());
    std::vector<bool> in_race(contenders_.size(), true);
    for (int round = 0; round < kRounds; ++round) {
      if (Interrupted()) throw std::runtime_error("interrupted");
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        // The order alternates, so that no plan always follows the same other plan.
        const std::size_t at = round % 2 == 0 ? i : contenders_.size() - 1 - i;
        if (in_race[at]) contenders_[at]->Step(problems_, clock_);
      }
      if (round > 0) continue;
      double least = contenders_.front()->times().step.back();
      for (const auto& one : contenders_) least = std::min(least, one->times().step.back());
      for (std::size_t i = 1; i < contenders_.size(); ++i) {
        in_race[i] = contenders_[i]->times().step.back() <= kHopelessStep * least;
      }
    }
  }

  // Compares the first, the best and the last plan once more, in turns.
  void KeepForFinal(std::size_t best) {
    std::vector<std::unique_ptr<Contender>> finalists;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (i != 0 && i != best && i + 1 != contenders_.size()) continue;
      contenders_[i]->Forget();
      finalists.push_back(std::move(contenders_[i]));
    }
    contenders_ = std::move(finalists);
  }

  std::vector<VariantTimes> Times() const {
    std::vector<VariantTimes> times;
    for (const auto& one : contenders_) times.push_back(one->times());
    return times;
  }

  // "onednn-winograd for 13 of 53 convolutions, the step 1.21 x as fast as with the backend's own
  // choice"
  std::string Describe(std::size_t winner) const {
    std::map<std::string, int> counts;
    for (const Stage& stage : contenders_[winner]->plan().stages()) {
      if (stage.pass == StagePass::kForward && !stage.variant.empty()) ++counts[stage.variant];
    }
    std::string text = "auto: ";
    for (const auto& [variant, count] : counts) {
      text += fmt::format("{} for {} of {} convolutions, ", variant, count, layers_.size());
    }
    if (counts.empty())
      return text + "the backend's own choice for every convolution, as no other is faster";
    return text + fmt::format("the step {:.2f} x as fast as with the backend's own choice",
                              Median(contenders_.front()->times().step) /
                                  Median(contenders_[winner]->times().step));
  }

  WorkloadOptions options_;
  bool training_;
  TickClock clock_ = BestClock();
  std::vector<std::unique_ptr<Contender>> contenders_;  // the first: the backend's own choice
  std::set<std::string> known_;                         // plans, by their signatures
  std::vector<Layer> layers_;
  std::map<std::string, std::string> problems_;  // by layer
};

// The smallest value; the first one, unless another is smaller by this share.
std::size_t LeastOf(const std::vector<double>& seconds, double gain) {
  const auto least = std::min_element(seconds.begin(), seconds.end());
  if (!(*least < (1 - gain) * seconds.front())) return 0;
  return static_cast<std::size_t>(least - seconds.begin());
}

}  // namespace

std::map<std::string, std::size_t> FastestVariants(std::span<const VariantTimes> candidates) {
  std::map<std::string, std::size_t> fastest;
  for (const auto& [problem, of_first] : candidates.front().layers) {
    std::vector<double> medians;
    for (const VariantTimes& candidate : candidates) {
      const auto found = candidate.layers.find(problem);
      medians.push_back(found == candidate.layers.end() ? std::numeric_limits<double>::infinity()
                                                        : Median(found->second));
    }
    fastest[problem] = LeastOf(medians, kMinLayerGain);
  }
  return fastest;
}

std::size_t FastestStep(std::span<const VariantTimes> candidates) {
  std::vector<double> medians;
  medians.reserve(candidates.size());
  for (const VariantTimes& candidate : candidates) medians.push_back(Median(candidate.step));
  return LeastOf(medians, kMinStepGain);
}

std::string ChooseInNetwork(WorkloadOptions& options, bool training) {
  if (options.backend != kAutoBackend) return "";
  auto [chosen, text] = NetworkRace(options, training).Run();
  options.variants = std::move(chosen.variants);
  return text;
}

}  // namespace topdnn
