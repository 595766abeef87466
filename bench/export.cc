// `topdnn export NET FILE.onnx`: a network with its weights for other programs.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/command.h"
#include "bench/network_source.h"
#include "bench/workload.h"
#include "harness/report/atomic_file.h"
#include "networks/onnx/exporter.h"

namespace topdnn {

namespace {

struct ExportOptions {
  NetworkRequest request;
  std::uint64_t seed = 1;
  std::string path;
};

int RunExport(ExportOptions options) {
  CheckWritable(options.path);
  options.request.memory_limit = MemoryLimit();
  const NetworkSource source = OpenNetwork(options.request);
  const bool drawn = !source.parameters.has_value();
  const ParameterValues values =
      drawn ? DrawnParameters(source.graph, options.seed) : ParameterValues();
  try {
    const std::string bytes = ExportOnnx(source.graph, drawn ? values : *source.parameters);
    WriteFileAtomically(options.path, bytes);
    fmt::print("{}: {} layers, {} parameters{}, {:.1f} MiB in {} (ONNX opset {})\n",
               source.graph.name(), source.graph.nodes().size(), source.graph.Totals().parameters,
               drawn ? fmt::format(" drawn by seed {}", options.seed) : "",
               static_cast<double>(bytes.size()) / (1 << 20), options.path, kExportedOpset);
  } catch (const OnnxError& error) {
    throw UsageError(fmt::format("{}: {}", options.request.network, error.what()));
  }
  return kExitGood;
}

std::function<int()> Configure(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("NET", options->request.network, "network: cnn, ..., or FILE.onnx")->required();
  app.add_option("FILE", options->path, "the .onnx file to write")->required();
  app.add_option("--weights", options->request.weights, "an .npz or .safetensors file");
  app.add_option("--size", options->request.size,
                 "height and width of the images, of a zoo network");
  app.add_option("--classes", options->request.classes, "of a zoo network");
  app.add_option("--seed", options->seed, "of the parameters, without --weights");
  return [options] { return RunExport(*options); };
}

const CommandRegistration kExport({"export", "a network and its weights as an ONNX file",
                                   Configure});

}  // namespace

}  // namespace topdnn
