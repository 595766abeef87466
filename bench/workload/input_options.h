// The options of the input pipeline: where batches come from while a network trains.

#ifndef TOPDNN_BENCH_WORKLOAD_INPUT_OPTIONS_H_
#define TOPDNN_BENCH_WORKLOAD_INPUT_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/workload/placement.h"
#include "datasets/loader.h"

namespace topdnn {

class CommandParser;

struct InputOptions {
  std::optional<int> prefetch;  // batches; absent: kDefaultPrefetch, or `loaders` if it is more
  int loaders = 1;
  std::string augment;  // names with commas
  std::string placement = "shared";
  std::optional<double> source_rate;  // images per second

  bool requested() const {
    return prefetch || loaders != 1 || !augment.empty() || placement != "shared" || source_rate;
  }
};

inline constexpr int kDefaultPrefetch = 2;

void AddInputOptions(CommandParser& parser, InputOptions& options);

// Throws UsageError.
void CheckInputOptions(const InputOptions& options);

// The loader's options for checked options.
LoaderOptions LoaderOptionsOf(const InputOptions& options, const Placement& placement,
                              const Shape& image, std::int64_t batch, std::uint64_t seed);

// The data set, as slow as `--source-rate` says.
std::unique_ptr<Dataset> AtSourceRate(std::unique_ptr<Dataset> source, const InputOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_INPUT_OPTIONS_H_
