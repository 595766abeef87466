#include "bench/workload/input_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/nearest.h"
#include "datasets/throttled.h"

namespace topdnn {

namespace {

constexpr int kMostPrefetch = 64;
constexpr int kMostLoaders = kMostPrefetch;
// A slower source would keep the end of the program waiting for its current image.
constexpr Range kSourceRates{0.1, 1e9};

Augmentation AugmentationOf(const std::string& names) {
  Augmentation augmentation;
  for (const std::string& name : SplitAtCommas(names)) {
    CheckName("augmentation", name, AugmentationNames());
    SetAugmentation(name, augmentation);
  }
  return augmentation;
}

int PrefetchOf(const InputOptions& options) {
  return options.prefetch.value_or(std::max(kDefaultPrefetch, options.loaders));
}

void CheckCount(const char* option, int value, int least, int most) {
  if (value >= least && value <= most) return;
  throw UsageError(fmt::format("{} {}: must be {} to {}", option, value, least, most));
}

}  // namespace

void AddInputOptions(CommandParser& parser, InputOptions& options) {
  parser.Add("--prefetch", options.prefetch,
             fmt::format("batches that loader threads prepare ahead; 0: the computing thread "
                         "prepares each batch itself (default: {}, or --loaders if it is more)",
                         kDefaultPrefetch));
  parser.Add("--loaders", options.loaders, "loader threads that decode, augment and batch images");
  parser.Add(
      "--augment NAME,...", options.augment,
      fmt::format("changes of the training images: {}", fmt::join(AugmentationNames(), " ")));
  parser.Add(fmt::format("--placement {}", fmt::join(PlacementNames(), "|")), options.placement,
             "private: a CPU for each computing thread, the other CPUs for the loader threads");
  parser.Add("--source-rate", options.source_rate,
             "images per second that the data source gives at most", kSourceRates);
}

void CheckInputOptions(const InputOptions& options) {
  CheckCount("--loaders", options.loaders, 1, kMostLoaders);
  const int prefetch = PrefetchOf(options);
  CheckCount("--prefetch", prefetch, 0, kMostPrefetch);
  if (prefetch > 0 && prefetch < options.loaders) {
    throw UsageError(fmt::format(
        "--loaders {}: of them, {} would work on {} batches ahead: give --prefetch {}, too",
        options.loaders, prefetch, prefetch, options.loaders));
  }
  CheckName("placement", options.placement, PlacementNames());
  AugmentationOf(options.augment);
}

LoaderOptions LoaderOptionsOf(const InputOptions& options, const Placement& placement,
                              const Shape& image, std::int64_t batch, std::uint64_t seed) {
  const int prefetch = PrefetchOf(options);
  return {.image = image,
          .batch = batch,
          .seed = seed,
          .prefetch = prefetch,
          .threads = std::min(options.loaders, prefetch),
          .augmentation = AugmentationOf(options.augment),
          .on_thread_start = placement.LoaderStart()};
}

std::unique_ptr<Dataset> AtSourceRate(std::unique_ptr<Dataset> source,
                                      const InputOptions& options) {
  if (!options.source_rate) return source;
  return std::make_unique<ThrottledDataset>(std::move(source), *options.source_rate);
}

}  // namespace topdnn
