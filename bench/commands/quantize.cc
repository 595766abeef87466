// `topdnn quantize NET OUT.onnx`: a network in integers of 8 bits, as an ONNX file.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/workload/images.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/workload.h"
#include "datasets/loader.h"
#include "harness/files/atomic_file.h"
#include "harness/text/one_line.h"
#include "kernels/kernel/run_failure.h"
#include "networks/onnx/export/exporter.h"
#include "networks/onnx/import/importer.h"
#include "networks/quantization/calibration.h"
#include "networks/quantization/quantized_graph.h"

namespace topdnn {

namespace {

struct QuantizeOptions {
  WorkloadOptions workload;
  std::string path;
  std::int64_t images = 256;
  std::int64_t test_images = 1000;
  RangeRule ranges;
};

void CheckQuantizeOptions(const QuantizeOptions& options) {
  if (options.images < 1) {
    throw UsageError(fmt::format("--images {}: must be 1 or more", options.images));
  }
  if (options.test_images < 0) {
    throw UsageError(fmt::format("--test-images {}: must be 0 or more", options.test_images));
  }
  if (options.ranges.entropy && options.ranges.percentile != RangeRule().percentile) {
    throw UsageError("--entropy and --percentile: give one of them");
  }
  if (options.workload.batch && *options.workload.batch < 1) {
    throw UsageError(fmt::format("--batch {}: must be 1 or more", *options.workload.batch));
  }
}

std::unique_ptr<Plan> InferencePlan(const Graph& graph, const ParameterValues& values, int threads,
                                    bool fuse) {
  PlanRequest request;
  request.training = false;
  request.threads = threads;
  request.fuse = fuse;
  request.fallback = {"reference"};
  request.memory_limit = MemoryLimit();
  try {
    std::unique_ptr<Plan> plan = MakePlan(graph, request);
    plan->Allocate();
    WriteParameters(*plan, values);
    return plan;
  } catch (const PlanError& error) {
    throw UsageError(error.what());
  }
}

// The network's image and classes, for the data sets.
Workload DescriptionOf(const QuantizeOptions& options, const Graph& graph) {
  const Shape& input = graph.shape(0);
  const Shape& output = graph.shape(graph.output());
  if (input.rank() != 4) {
    throw UsageError(fmt::format("{} takes {}: a calibration needs a network of images",
                                 options.workload.network, input.ToString()));
  }
  Workload workload{};
  workload.batch = input[0];
  workload.image = Shape{input[1], input[2], input[3]};
  workload.classes = output[std::min(output.rank() - 1, 1)];
  return workload;
}

LoaderOptions InOrder(const Workload& workload, std::uint64_t seed, bool shuffle) {
  return {.image = workload.image,
          .batch = workload.batch,
          .seed = seed,
          .shuffle = shuffle,
          .drop_last = false,
          .prefetch = 0};
}

// The class of each image of a batch, by the largest element of the result.
std::vector<std::int64_t> ClassesBy(Plan& plan, const Batch& batch, std::int64_t classes) {
  FeedBatch(plan, batch);
  plan.Run();
  ThrowOnRunFailure();
  const std::vector<double> result = plan.Read(plan.Find(BufferRole::kOutput));
  std::vector<std::int64_t> best;
  for (std::int64_t n = 0; n < batch.valid; ++n) {
    const auto row = result.begin() + n * classes;
    best.push_back(std::max_element(row, row + classes) - row);
  }
  return best;
}

struct Agreement {
  std::int64_t images = 0, in_f32 = 0, in_integers = 0, same = 0;
};

Agreement Compare(Plan& in_f32, Plan& in_integers, const Dataset& test, const Workload& workload,
                  std::int64_t most) {
  BatchLoader loader(test, InOrder(workload, 1, false));
  Agreement agreement;
  for (bool last = false; !last && agreement.images < most;) {
    const Batch& batch = loader.Next();
    last = batch.last_of_epoch;
    const auto a = ClassesBy(in_f32, batch, workload.classes);
    const auto b = ClassesBy(in_integers, batch, workload.classes);
    for (std::size_t i = 0; i < a.size() && agreement.images < most; ++i) {
      ++agreement.images;
      agreement.in_f32 += a[i] == batch.labels[i] ? 1 : 0;
      agreement.in_integers += b[i] == batch.labels[i] ? 1 : 0;
      agreement.same += a[i] == b[i] ? 1 : 0;
    }
  }
  return agreement;
}

void PrintAgreement(const Agreement& agreement, const Dataset& test) {
  const auto percent = [&](std::int64_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(agreement.images);
  };
  fmt::print(
      stderr,
      "{} images of {}: the class is right for {:.2f} % in f32 and {:.2f} % in integers, and "
      "the same for {:.2f} %\n",
      agreement.images, test.name(), percent(agreement.in_f32), percent(agreement.in_integers),
      percent(agreement.same));
}

int RunQuantize(QuantizeOptions options) {
  CheckQuantizeOptions(options);
  WorkloadOptions& given = options.workload;
  CheckOutputs({options.path}, InputFiles(given.network, given.weights));
  FitToData(given);
  NetworkSource source = OpenNetwork({.network = given.network,
                                      .weights = given.weights,
                                      .batch = given.batch,
                                      .default_batch = given.default_batch,
                                      .size = given.size,
                                      .classes = given.classes,
                                      .input_shapes = ParseInputShapes(given.input_shapes),
                                      .outputs = given.outputs,
                                      .memory_limit = MemoryLimit()});
  if (IsQuantized(source.graph)) {
    throw UsageError(fmt::format("{} is quantized already: give the float network", given.network));
  }
  RequireMemory(2 * BytesToExport(source.graph), "the quantization", "free memory");
  const Workload workload = DescriptionOf(options, source.graph);
  const DatasetPair data = OpenImages(given, workload);
  const bool drawn = !source.parameters.has_value();
  QuantizedNetwork network =
      InferenceGraph(source.graph, drawn ? DrawnParameters(source.graph, given.seed)
                                         : std::move(*source.parameters));
  const int threads = ThreadsOf(given);
  const auto in_f32 = InferencePlan(network.graph, network.parameters, threads, false);
  try {
    Calibration calibration(*in_f32, options.ranges);
    BatchLoader loader(*data.train, InOrder(workload, given.seed, true));
    const std::int64_t images = std::min<std::int64_t>(options.images, data.train->size());
    const std::int64_t steps = (images + workload.batch - 1) / workload.batch;
    for (std::int64_t step = 0; step < steps; ++step) {
      FeedBatch(*in_f32, loader.Next());
      calibration.RunStep();
      ThrowOnRunFailure();
    }
    network = QuantizedGraph(std::move(network), calibration.Ranges());
    const std::string bytes = ExportOnnx(network.graph, network.parameters, network.scales);
    WriteFileAtomically(options.path, bytes);
    fmt::print(stderr,
               "{}: {} layers with weights of 8 bits{}, ranges of {} images of {}, {:.1f} MiB in "
               "{}\n",
               source.graph.name(), network.scales.size(),
               drawn ? fmt::format(" (weights drawn by seed {})", given.seed) : "",
               std::min(steps * workload.batch, data.train->size()), data.train->name(),
               static_cast<double>(bytes.size()) / (1 << 20), OneLine(options.path));
    if (options.test_images == 0) return kExitGood;
    if (const Shape& output = source.graph.shape(source.graph.output());
        output.elements() != output[0] * workload.classes) {
      fmt::print(stderr, "{}: gives {}: classes of images are not compared\n", given.network,
                 output.ToString());
      return kExitGood;
    }
    const ImportedNetwork written =
        ImportOnnx(bytes, {.name = source.graph.name(), .batch = workload.batch});
    const auto in_integers = InferencePlan(written.graph, written.parameters, threads, true);
    PrintAgreement(Compare(*in_f32, *in_integers, *data.test, workload, options.test_images),
                   *data.test);
  } catch (const OnnxError& error) {
    throw UsageError(fmt::format("{}: {}", given.network, error.what()));
  } catch (const std::invalid_argument& error) {
    throw UsageError(fmt::format("{}: {}", given.network, error.what()));
  }
  return kExitGood;
}

std::function<int()> ConfigureQuantize(CommandParser& parser) {
  auto options = std::make_shared<QuantizeOptions>();
  WorkloadOptions& workload = options->workload;
  workload.default_batch = 32;
  parser.RequireNetwork(workload.network);
  parser.Require("FILE FILE", options->path, "the .onnx file to write");
  parser.Add("--weights FILE", workload.weights, "an .npz or .safetensors file");
  parser.Add("--data DIR", workload.data,
             "folder with CIFAR-10 or (Fashion-)MNIST files, or `synthetic`");
  parser.Add("--images", options->images, "training images for the ranges of the values");
  parser.Add("--percentile", options->ranges.percentile,
             "share of a value's elements that its range contains; the others saturate",
             Range{90, 100});
  parser.AddFlag("--entropy", options->ranges.entropy,
                 "the range whose integers lose the least information instead (relative entropy)");
  parser.Add("--test-images", options->test_images,
             "test images to compare the classes of both networks on; 0: none");
  parser.Add("--batch", workload.batch,
             "images per step (default: 32, or what an ONNX file fixes)");
  parser.Add("--threads", workload.threads,
             "OpenMP threads (default: the CPUs allowed, within the control group's quota)");
  parser.Add("--size", workload.size,
             "height and width of the images (default: the network's), where a file leaves them "
             "open");
  AddInputShapeOption(parser, workload);
  parser.Add("--classes", workload.classes,
             "number of classes, of a zoo network (default: the network's)");
  parser.Add("--seed", workload.seed, "seed of the parameters (without weights) and the images");
  return [options] { return RunQuantize(*options); };
}

const CommandRegistration kQuantize({"quantize", Question::kModels,
                                     "a network in integers of 8 bits, as an ONNX file",
                                     ConfigureQuantize,
                                     "topdnn quantize trained.onnx int8.onnx --percentile 99.99"});

}  // namespace

}  // namespace topdnn
