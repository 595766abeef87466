#include "bench/choice/networks/network_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "bench/choice/races/quiet_race.h"
#include "bench/choice/races/selection_cache.h"
#include "bench/command_line/command.h"
#include "bench/command_line/interrupt.h"
#include "bench/formats/checksum.h"
#include "bench/workload/images.h"
#include "bench/workload/stage_calls.h"
#include "harness/measure/measure.h"
#include "harness/statistics/summary.h"
#include "harness/text/errors.h"
#include "kernels/batchnorm/batchnorm.h"
#include "kernels/conv/conv.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

// Its own choice is the first contender.
constexpr std::string_view kBackend = "onednn";
constexpr int kRounds = 7;
// Short steps race for about this long, in up to kMostRounds rounds: their times vary more.
constexpr double kSecondsOfShortRace = 2;
constexpr int kMostRounds = 35;
// A plan is dropped if its first timed step takes more than this many times the fastest one's.
constexpr double kHopelessStep = 1.5;
// The mixture of a family is dropped if its estimated step takes more than this many times the
// least estimate. Estimates leave out reorders, and a busy machine changes each of their parts.
constexpr double kHopelessEstimate = 1.2;
constexpr double kMinLayerGain = 0.02;
constexpr double kMinStepGain = 0.01;

// The variants to request for a pass of a layer, in order of preference; empty: the backend's own
// choice.
using VariantNames = std::vector<std::string>;
using VariantsByPass = std::map<std::string, VariantNames>;  // by LayerOfPass::key()
// Variants of one family write their results in the same layouts, so a plan can mix them without
// reorders.
const std::vector<std::vector<VariantNames>> kFamilies = {
    {{}, {"onednn-winograd", "native-channels"}, {"onednn-f32"}, {"native-winograd", "onednn-f32"}},
    {{"onednn-blocked"},
     {"onednn-winograd", "native-channels", "onednn-blocked"},
     {"native-winograd", "onednn-blocked"}},
    {{"onednn-nhwc"}, {"native-channels", "onednn-nhwc"}, {"native-winograd", "onednn-nhwc"}}};

struct LayerOfPass {
  std::string name;
  Pass pass;
  std::string kind;
  std::string problem;  // without fused operations: equal layers use the same variant

  // A batch normalization has one variant for all passes: only the same kernels read the workspace.
  std::string key() const {
    return kind == kBatchNormalization ? problem : fmt::format("{} {}", problem, NameOf(pass));
  }

  static constexpr std::string_view kBatchNormalization = "batch normalization";
};

// The convolutions, poolings and batch normalizations in all passes of the plan.
std::vector<LayerOfPass> LayersWithVariants(const Plan& plan) {
  std::vector<LayerOfPass> layers;
  for (const Stage& stage : plan.stages()) {
    const Pass pass = stage.execution.pass;
    if (const auto* conv = dynamic_cast<const ConvOp*>(stage.op.get())) {
      layers.push_back({stage.name, pass, "convolution", ConvOp(conv->extents()).Problem()});
    } else if (stage.op->kind() == "pool") {
      layers.push_back({stage.name, pass, "pooling", stage.op->Problem()});
    } else if (const auto* norm = dynamic_cast<const BatchNormOp*>(stage.op.get())) {
      layers.push_back({stage.name, pass, std::string(LayerOfPass::kBatchNormalization),
                        BatchNormOp(norm->shape(), norm->epsilon()).Problem()});
    }
  }
  return layers;
}

WorkloadOptions WithOwnChoice(WorkloadOptions options) {
  options.backend = kBackend;
  options.variants.reset();
  return options;
}

VariantsByPass SameForAll(const std::vector<LayerOfPass>& layers, const VariantNames& variants) {
  VariantsByPass same;
  for (const LayerOfPass& layer : layers) same[layer.key()] = variants;
  return same;
}

std::map<LayerPass, VariantNames> ByLayer(const std::vector<LayerOfPass>& layers,
                                          const VariantsByPass& variants) {
  std::map<LayerPass, VariantNames> by_layer;
  for (const LayerOfPass& layer : layers) {
    const auto found = variants.find(layer.key());
    if (found != variants.end()) by_layer[{layer.name, layer.pass}] = found->second;
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

SelectionKey KeyOf(const Plan& plan, const std::vector<LayerOfPass>& layers) {
  std::string content = SignatureOf(plan);
  for (const LayerOfPass& layer : layers) content += "\n" + layer.key();
  return SelectionKey::Here(
      fmt::format("network/{}-{}/t{}", Checksum(content), content.size(), plan.threads()));
}

// "auto: onednn-winograd for 13 of 53 convolutions, native-channels for 1 of 2 poolings, the
// step 1.21 x as fast as with the backend's own choice"; in training, "for 30 of 158 passes of
// convolutions".
std::string Describe(const Plan& plan, const std::vector<LayerOfPass>& layers, double gain) {
  std::map<LayerPass, std::string> kinds;
  std::map<std::string, int> totals;  // by kind
  bool training = false;
  for (const LayerOfPass& layer : layers) {
    kinds[{layer.name, layer.pass}] = layer.kind;
    ++totals[layer.kind];
    training |= layer.pass != Pass::kForward;
  }
  std::map<std::pair<std::string, std::string>, int> counts;  // by kind and variant
  for (const Stage& stage : plan.stages()) {
    const auto kind = kinds.find({stage.name, stage.execution.pass});
    if (stage.variant.empty() || kind == kinds.end()) continue;
    ++counts[{kind->second, stage.variant}];
  }
  std::string text = "auto: ";
  for (const auto& [chosen, count] : counts) {
    const auto& [kind, variant] = chosen;
    text += fmt::format("{} for {} of {} {}{}s, ", variant, count, totals.at(kind),
                        training ? "passes of " : "", kind);
  }
  if (counts.empty()) {
    return text + "the backend's own choice for every layer, as no other is faster";
  }
  return text + fmt::format("the step {:.2f} x as fast as with the backend's own choice", gain);
}

// The choice of an earlier run, as in ChooseInNetwork. Absent if there is none, or if it names
// variants that no family has (a file written by hand or by another version).
std::optional<std::string> Remembered(const std::optional<RememberedSelection>& found,
                                      const std::vector<LayerOfPass>& layers,
                                      WorkloadOptions& options, bool training) {
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
  Contender(const WorkloadOptions& options, VariantsByPass variants, Workload planned)
      : options_(options), variants_(std::move(variants)), workload_(std::move(planned)) {
    PrepareWorkload(options_, workload_);
    calls_.emplace(*workload_.plan);
    TrainingImages(options_, workload_).FillNext(*workload_.plan);
  }

  const Plan& plan() const { return *workload_.plan; }
  const VariantsByPass& variants() const { return variants_; }
  const VariantTimes& times() const { return times_; }
  void Forget() { times_ = {}; }

  // One step to refill the caches that the other plans emptied, then a timed step.
  void Step(const std::map<LayerPass, LayerOfPass>& layers, const TickClock& clock) {
    MeasureOptions measure;
    measure.clock = clock;
    measure.iterations = 1;
    measure.most_warmup_iterations = 1;
    const SequenceSamples samples = MeasureSequence(calls_->stages(), measure);
    times_.step.push_back(samples.step.seconds.front());
    std::map<std::string, double> seconds;
    double reorders = 0;  // of the layer of the next stage
    for (std::size_t i = 0; i < samples.stages.size(); ++i) {
      const Stage& stage = plan().stages()[i];
      reorders += samples.stages[i].seconds.front();
      if (stage.pass == StagePass::kReorder) continue;
      if (const auto layer = layers.find({stage.name, stage.execution.pass});
          layer != layers.end()) {
        const std::string& problem = layer->second.problem;
        const std::string key = layer->second.key();
        seconds[problem] += reorders;
        if (key != problem) seconds[key] += reorders;
      }
      reorders = 0;
    }
    for (const auto& [key, of_layer] : seconds) times_.layers[key].push_back(of_layer);
  }

 private:
  WorkloadOptions options_;
  VariantsByPass variants_;
  Workload workload_;
  std::optional<StageCalls> calls_;  // once the plan is allocated
  VariantTimes times_;
};

// The fastest plan of a race.
struct RaceResult {
  VariantsByPass variants;  // empty: the backend's own choice
  double gain = 1;          // the time with the backend's own choice over that of this plan
  std::string text;
};

class NetworkRace {
 public:
  // `planned`: with the backend's own choice.
  NetworkRace(const WorkloadOptions& options, bool training, std::vector<LayerOfPass> layers,
              Workload planned)
      : options_(options), training_(training), layers_(std::move(layers)) {
    known_.insert(SignatureOf(*planned.plan));
    contenders_.push_back(
        std::make_unique<Contender>(options_, VariantsByPass(), std::move(planned)));
    for (const LayerOfPass& layer : layers_) {
      by_name_.emplace(LayerPass(layer.name, layer.pass), layer);
    }
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
    std::vector<Mixture> mixtures;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t family = 0; family < kFamilies.size(); ++family) {
      std::optional<Mixture> mixed = Mix(entries, times, family);
      if (!mixed) continue;
      least = std::min(least, mixed->seconds);
      mixtures.push_back(*std::move(mixed));
    }
    const std::size_t uniform = contenders_.size();
    for (Mixture& mixture : mixtures) {
      if (mixture.seconds > kHopelessEstimate * least) continue;
      Enter(std::move(mixture.same_in_all_passes));
      Enter(std::move(mixture.by_pass));
    }
    if (contenders_.size() > uniform) {
      KeepForFinal(best, uniform);
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

  // The fastest members of a family: for each problem, and for each pass of a problem.
  struct Mixture {
    VariantsByPass same_in_all_passes, by_pass;
    double seconds;  // MixedStep
  };

  // Nothing if no member of the family has been entered.
  std::optional<Mixture> Mix(const std::vector<Entry>& entries,
                             const std::vector<VariantTimes>& times, std::size_t family) const {
    std::vector<VariantTimes> relatives;
    std::vector<VariantNames> candidates;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].family != family) continue;
      relatives.push_back(times[i]);
      candidates.push_back(entries[i].candidate);
    }
    if (relatives.empty()) return std::nullopt;
    const std::map<std::string, std::size_t> fastest = FastestVariants(relatives);
    Mixture mixture;
    std::set<std::string> keys;
    for (const LayerOfPass& layer : layers_) {
      keys.insert(layer.key());
      mixture.same_in_all_passes[layer.key()] = candidates[fastest.at(layer.problem)];
      mixture.by_pass[layer.key()] = candidates[fastest.at(layer.key())];
    }
    mixture.seconds = MixedStep(relatives, keys);
    return mixture;
  }

  // Adds the plan with these variants. Returns false if an equal plan was added before, or if it is
  // refused: it may not fit in memory together with the others.
  bool Enter(VariantsByPass variants) {
    WorkloadOptions options = options_;
    options.variants = ByLayer(layers_, variants);
    try {
      Workload planned = PlanWorkload(options, training_);
      if (!known_.insert(SignatureOf(*planned.plan)).second) return false;
      contenders_.push_back(
          std::make_unique<Contender>(options, std::move(variants), std::move(planned)));
    } catch (const UsageError&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  void Race() {
    const ThreadWidth width(contenders_.front()->plan().threads());
    std::vector<bool> in_race(contenders_.size(), true);
    int rounds = kRounds;
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) {
      if (Interrupted()) throw Interruption();
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        // The order alternates, so that no plan always follows the same other plan.
        const std::size_t at = round % 2 == 0 ? i : contenders_.size() - 1 - i;
        if (in_race[at]) contenders_[at]->Step(by_name_, clock_);
      }
      if (round > 0) continue;
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      rounds = static_cast<int>(
          std::clamp<double>(kSecondsOfShortRace / took.count(), kRounds, kMostRounds));
      double least = contenders_.front()->times().step.back();
      for (const auto& one : contenders_) least = std::min(least, one->times().step.back());
      for (std::size_t i = 1; i < contenders_.size(); ++i) {
        in_race[i] = contenders_[i]->times().step.back() <= kHopelessStep * least;
      }
    }
  }

  // Keeps the first and the best plan and those from `mixed` on, without their times, for one more
  // race.
  void KeepForFinal(std::size_t best, std::size_t mixed) {
    std::vector<std::unique_ptr<Contender>> finalists;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (i != 0 && i != best && i < mixed) continue;
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
  std::vector<LayerOfPass> layers_;
  std::map<LayerPass, LayerOfPass> by_name_;
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

double MixedStep(std::span<const VariantTimes> candidates, const std::set<std::string>& keys) {
  const VariantTimes& base = candidates[FastestStep(candidates)];
  double seconds = Median(base.step);
  for (const std::string& key : keys) {
    const double of_base = Median(base.layers.at(key));
    double least = of_base;
    for (const VariantTimes& candidate : candidates) {
      least = std::min(least, Median(candidate.layers.at(key)));
    }
    seconds -= of_base - least;
  }
  return seconds;
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
  RulesOf(options, training);
  const WorkloadOptions own = WithOwnChoice(options);
  Workload planned = PlanWorkload(own, training);
  const std::vector<LayerOfPass> layers = LayersWithVariants(*planned.plan);
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
