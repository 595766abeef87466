#include "bench/choice/network_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "bench/choice/quiet_race.h"
#include "bench/choice/selection_cache.h"
#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/formats/checksum.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/measure.h"
#include "harness/statistics/summary.h"
#include "kernels/conv/conv.h"
#include "kernels/thread_width.h"

namespace topdnn {

namespace {

// The only backend with several variants.
constexpr std::string_view kBackend = "onednn";
constexpr int kRounds = 7;
// A plan is dropped if its first timed step takes more than this many times the fastest one's.
constexpr double kHopelessStep = 1.5;
constexpr double kMinLayerGain = 0.02;
constexpr double kMinStepGain = 0.01;

// The variants to request for a layer in every pass, in order of preference; empty: the backend's
// own choice.
using VariantNames = std::vector<std::string>;
using VariantsByProblem = std::map<std::string, VariantNames>;
// Variants of one family write their results in the same layouts, so a plan can mix them without
// reorders.
const std::vector<std::vector<VariantNames>> kFamilies = {
    {{}, {"onednn-winograd", "onednn-loops"}},
    {{"onednn-blocked"}, {"onednn-winograd", "onednn-loops", "onednn-blocked"}},
    {{"onednn-nhwc"}, {"onednn-loops", "onednn-nhwc"}}};

struct Layer {
  std::string name;
  std::string kind;
  std::string problem;  // without fused operations: equal layers use the same variant
};

// The convolutions and poolings.
std::vector<Layer> LayersWithVariants(const Plan& plan) {
  std::vector<Layer> layers;
  for (const Stage& stage : plan.stages()) {
    if (stage.pass != StagePass::kForward) continue;
    if (const auto* conv = dynamic_cast<const ConvOp*>(stage.op.get())) {
      layers.push_back({stage.name, "convolution", ConvOp(conv->extents()).Problem()});
    } else if (stage.op->kind() == "pool") {
      layers.push_back({stage.name, "pooling", stage.op->Problem()});
    }
  }
  return layers;
}

WorkloadOptions WithOwnChoice(WorkloadOptions options) {
  options.backend = kBackend;
  options.variants.reset();
  return options;
}

VariantsByProblem SameForAll(const std::vector<Layer>& layers, const VariantNames& variants) {
  VariantsByProblem same;
  for (const Layer& layer : layers) same[layer.problem] = variants;
  return same;
}

std::map<LayerPass, VariantNames> ByLayer(const std::vector<Layer>& layers,
                                          const VariantsByProblem& variants) {
  std::map<LayerPass, VariantNames> by_layer;
  for (const Layer& layer : layers) {
    const auto found = variants.find(layer.problem);
    if (found == variants.end()) continue;
    for (const Pass pass : kAllPasses) by_layer[{layer.name, pass}] = found->second;
  }
  return by_layer;
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

SelectionKey KeyOf(const Plan& plan, const std::vector<Layer>& layers) {
  std::string content = SignatureOf(plan);
  for (const Layer& layer : layers) content += "\n" + layer.problem;
  return SelectionKey::Here(
      fmt::format("network/{}-{}/t{}", Checksum(content), content.size(), plan.threads()));
}

// "auto: onednn-winograd for 13 of 53 convolutions, onednn-loops for 1 of 2 poolings, the step 1.21
// x as fast as with the backend's own choice"
std::string Describe(const Plan& plan, const std::vector<Layer>& layers, double gain) {
  std::map<std::string, std::string> kinds;  // by layer
  std::map<std::string, int> totals;         // by kind
  for (const Layer& layer : layers) {
    kinds[layer.name] = layer.kind;
    ++totals[layer.kind];
  }
  std::map<std::pair<std::string, std::string>, int> counts;  // by kind and variant
  for (const Stage& stage : plan.stages()) {
    const auto kind = kinds.find(stage.name);
    if (stage.pass != StagePass::kForward || stage.variant.empty() || kind == kinds.end()) continue;
    ++counts[{kind->second, stage.variant}];
  }
  std::string text = "auto: ";
  for (const auto& [chosen, count] : counts) {
    const auto& [kind, variant] = chosen;
    text += fmt::format("{} for {} of {} {}s, ", variant, count, totals.at(kind), kind);
  }
  if (counts.empty()) {
    return text + "the backend's own choice for every layer, as no other is faster";
  }
  return text + fmt::format("the step {:.2f} x as fast as with the backend's own choice", gain);
}

// The choice of an earlier run, as in ChooseInNetwork. Absent if there is none, or if it names
// variants that no family has (a file written by hand or by another version).
std::optional<std::string> Remembered(const std::optional<RememberedSelection>& found,
                                      const std::vector<Layer>& layers, WorkloadOptions& options,
                                      bool training) {
  if (!found) return std::nullopt;
  for (const auto& [problem, variants] : found->layers) {
    const bool known =
        std::any_of(kFamilies.begin(), kFamilies.end(), [&variants = variants](const auto& family) {
          return std::find(family.begin(), family.end(), variants) != family.end();
        });
    if (!known) return std::nullopt;
  }
  WorkloadOptions chosen = options;
  chosen.backend = kBackend;
  chosen.variants = ByLayer(layers, found->layers);
  const Workload planned = PlanWorkload(chosen, training);
  options.variants = std::move(chosen.variants);
  return Describe(*planned.plan, layers, found->gain) + ", remembered";
}

// One of the plans that are compared.
class Contender {
 public:
  Contender(const WorkloadOptions& options, VariantsByProblem variants, Workload planned)
      : options_(options), variants_(std::move(variants)), workload_(std::move(planned)) {
    PrepareWorkload(options_, workload_);
    calls_.emplace(*workload_.plan);
    TrainingImages(options_, workload_).FillNext(*workload_.plan);
  }

  const Plan& plan() const { return *workload_.plan; }
  const VariantsByProblem& variants() const { return variants_; }
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
  VariantsByProblem variants_;
  Workload workload_;
  std::optional<StageCalls> calls_;  // once the plan is allocated
  VariantTimes times_;
};

// The fastest plan of a race.
struct RaceResult {
  VariantsByProblem variants;  // empty: the backend's own choice
  double gain = 1;             // the time with the backend's own choice over that of this plan
  std::string text;
};

class NetworkRace {
 public:
  // `planned`: with the backend's own choice.
  NetworkRace(const WorkloadOptions& options, bool training, std::vector<Layer> layers,
              Workload planned)
      : options_(options), training_(training), layers_(std::move(layers)) {
    known_.insert(SignatureOf(*planned.plan));
    contenders_.push_back(
        std::make_unique<Contender>(options_, VariantsByProblem(), std::move(planned)));
    for (const Layer& layer : layers_) problems_[layer.name] = layer.problem;
  }

  RaceResult Run() {
    std::vector<Entry> entries = {{0, {}}};  // one for each contender
    for (std::size_t family = 0; family < kFamilies.size(); ++family) {
      for (const VariantNames& candidate : kFamilies[family]) {
        if (candidate.empty()) continue;  // the first contender
        if (Enter(SameForAll(layers_, candidate))) entries.push_back({family, candidate});
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
    VariantsByProblem mixed;
    for (const Layer& layer : layers_) {
      mixed[layer.problem] = candidates[fastest.at(layer.problem)];
    }
    if (Enter(std::move(mixed))) {
      KeepForFinal(best);
      Race();
    }
    const std::size_t winner = FastestStep(Times());
    const Contender& fastest_plan = *contenders_[winner];
    const double gain =
        Median(contenders_.front()->times().step) / Median(fastest_plan.times().step);
    return {.variants = fastest_plan.variants(),
            .gain = gain,
            .text = Describe(fastest_plan.plan(), layers_, gain)};
  }

 private:
  struct Entry {
    std::size_t family;
    VariantNames candidate;
  };

  // Adds the plan with these variants. Returns false if an equal plan was added before, or if it is
  // refused: it may not fit in memory together with the others, or a kernel may fail.
  bool Enter(VariantsByProblem variants) {
    WorkloadOptions options = options_;
    options.variants = ByLayer(layers_, variants);
    try {
      Workload planned = PlanWorkload(options, training_);
      if (!known_.insert(SignatureOf(*planned.plan)).second) return false;
      contenders_.push_back(
          std::make_unique<Contender>(options, std::move(variants), std::move(planned)));
    } catch (const UsageError&) {
      return false;
    }
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

  // Keeps the first, the best and the last plan, without their times, for one more race.
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

  WorkloadOptions options_;
  bool training_;
  TickClock clock_ = BestClock();
  std::vector<std::unique_ptr<Contender>> contenders_;  // the first: the backend's own choice
  std::set<std::string> known_;                         // plans, by their signatures
  std::vector<Layer> layers_;
  std::map<std::string, std::string> problems_;  // by layer
};

// The index of the smallest value: the first, unless another is smaller by more than this share.
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

SelectionKey KeyOfNetwork(const WorkloadOptions& options, bool training) {
  const Workload planned = PlanWorkload(WithOwnChoice(options), training);
  return KeyOf(*planned.plan, LayersWithVariants(*planned.plan));
}

std::string ChooseInNetwork(WorkloadOptions& options, bool training) {
  return ChooseInNetworkWith(SelectionCache::OfUser(), options, training);
}

std::string ChooseInNetworkWith(SelectionCache& cache, WorkloadOptions& options, bool training) {
  if (options.backend != kAutoBackend) return "";
  const WorkloadOptions own = WithOwnChoice(options);
  Workload planned = PlanWorkload(own, training);
  const std::vector<Layer> layers = LayersWithVariants(*planned.plan);
  const SelectionKey key = KeyOf(*planned.plan, layers);
  if (const auto text = Remembered(cache.Find(key), layers, options, training)) return *text;

  QuietRace quiet(planned.plan->threads());
  RaceResult fastest = NetworkRace(own, training, layers, std::move(planned)).Run();
  options.variants = ByLayer(layers, fastest.variants);
  if (!quiet.Disturbed()) {
    cache.Add(key, {.variant = "",
                    .against = std::string(kBackend),
                    .gain = fastest.gain,
                    .error = 0,
                    .layers = std::move(fastest.variants)});
  }
  return fastest.text;
}

}  // namespace topdnn
