// `topdnn export NET FILE.onnx`: a network with its weights for other programs.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "harness/text/one_line.h"
#include "networks/onnx/export/exporter.h"

namespace topdnn {

namespace {

struct ExportOptions {
  NetworkRequest request;
  std::vector<std::string> input_shapes;  // NAME=NxCxHxW
  std::uint64_t seed = 1;
  std::string path;
};

int RunExport(ExportOptions options) {
  const std::string& network = options.request.network;
  CheckOutputs({options.path}, InputFiles(network, options.request.weights));
  options.request.memory_limit = MemoryLimit();
  options.request.input_shapes = ParseInputShapes(options.input_shapes);
  const NetworkSource source = OpenNetwork(options.request);
  RequireMemory(BytesToExport(source.graph), "the export", "free memory");
  const bool drawn = !source.parameters.has_value();
  const ParameterValues values =
      drawn ? DrawnParameters(source.graph, options.seed) : ParameterValues();
  try {
    const std::string bytes = ExportOnnx(source.graph, drawn ? values : *source.parameters);
    WriteFileAtomically(options.path, bytes);
    fmt::print(options.path == kStandardOutput ? stderr : stdout,
               "{}: {} layers, {} parameters{}, {:.1f} MiB in {} (ONNX opset {})\n",
               source.graph.name(), source.graph.nodes().size(), source.graph.Totals().parameters,
               drawn ? fmt::format(" drawn by seed {}", options.seed) : "",
               static_cast<double>(bytes.size()) / (1 << 20), OneLine(options.path),
               kExportedOpset);
  } catch (const OnnxError& error) {
    throw UsageError(fmt::format("{}: {}", options.request.network, error.what()));
  }
  return kExitGood;
}

std::function<int()> ConfigureExport(CommandParser& parser) {
  auto options = std::make_shared<ExportOptions>();
  parser.RequireNetwork(options->request.network);
  parser.Require("FILE FILE", options->path, "the .onnx file to write");
  parser.Add("--weights FILE", options->request.weights, "an .npz or .safetensors file");
  parser.Add("--size", options->request.size,
             "height and width of the images, of a zoo network (default: the network's)");
  parser.Add("--classes", options->request.classes,
             "number of classes, of a zoo network (default: the network's)");
  parser.AddRepeated("--onnx-output NAME", options->request.outputs,
                     "an output of an .onnx file to keep; repeat it for several (default: all)");
  parser.AddRepeated("--input-shape NAME=NxCxHxW", options->input_shapes,
                     "shape of an input, where a file leaves it open; repeat it for several");
  parser.Add("--seed", options->seed, "seed of the parameters (without --weights)");
  return [options] { return RunExport(*options); };
}

const CommandRegistration kExport({"export", Question::kModels,
                                   "a network and its weights as an ONNX file", ConfigureExport,
                                   "topdnn export cnn cnn.onnx"});

}  // namespace

}  // namespace topdnn
