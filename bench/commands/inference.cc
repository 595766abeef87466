// `topdnn run FILE.onnx --input NAME=FILE.npy --output DIR`: one inference on a given image.

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/choice/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/formats/npz.h"
#include "bench/formats/whole_file.h"
#include "bench/workload/workload.h"
#include "harness/report/atomic_file.h"
#include "kernels/run_failure.h"

namespace topdnn {

namespace {

struct InferenceOptions {
  WorkloadOptions workload;
  std::vector<std::string> inputs;
  std::string output;
};

struct NamedInput {
  std::string name;
  NpyArray array;
};

// NAME=FILE.npy
NamedInput ReadInput(const InferenceOptions& options) {
  if (options.inputs.size() != 1) {
    throw UsageError(fmt::format("{} inputs: a network takes one", options.inputs.size()));
  }
  const std::string& text = options.inputs.front();
  // A name may contain '='; a path rarely does.
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) {
    throw UsageError(fmt::format("--input {}: give NAME=FILE.npy", text));
  }
  const std::string path = text.substr(equals + 1);
  const std::string file = ReadWholeFile(path, MemoryLimit());
  const auto* bytes = reinterpret_cast<const std::byte*>(file.data());
  NpyArray array = DecodeNpy({bytes, bytes + file.size()}, path);
  if (array.shape.rank() == 0 || array.data.empty()) {
    throw UsageError(fmt::format("{}: no elements", path));
  }
  return {text.substr(0, equals), std::move(array)};
}

// A valid file name for an output, whatever characters the model's name contains.
std::string FileNameOf(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c < ' ' || c > '~') c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name.substr(0, 200) + ".npy";
}

void WriteOutput(const Plan& plan, const Shape& shape, const std::string& path) {
  Tensor tensor(shape);
  FromDouble(plan.Read(plan.Find(BufferRole::kOutput)), tensor.desc(), tensor.data());
  const std::vector<std::byte> bytes = EncodeNpy(ToNpy(tensor));
  WriteFileAtomically(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

int RunInference(InferenceOptions options) {
  const NamedInput input = ReadInput(options);
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (!std::filesystem::is_directory(options.output, error)) {
    throw UsageError(fmt::format("--output {}: give a folder that can be written", options.output));
  }
  options.workload.input = input.array.shape;
  options.workload.batch = input.array.shape[0];
  ChooseInNetwork(options.workload, /*training=*/false);
  const Workload workload = MakeWorkload(options.workload, /*training=*/false);
  if (input.name != workload.input_name) {
    throw UsageError(fmt::format("--input {}: the input of {} is named {}", input.name,
                                 workload.network, workload.input_name));
  }
  Plan& plan = *workload.plan;
  plan.Write(plan.Find(BufferRole::kInput), ToDouble({input.array.shape, input.array.type,
                                                      Layout::Plain(input.array.shape.rank())},
                                                     input.array.data.data()));
  plan.Run();
  ThrowOnRunFailure();
  const auto path = std::filesystem::path(options.output) / FileNameOf(workload.output_name);
  WriteOutput(plan, workload.output, path.string());
  fmt::print("{}: {} to {} on {} in {}; {}\n", workload.network, input.array.shape.ToString(),
             workload.output.ToString(), workload.backend, workload.dtype, path.string());
  return kExitGood;
}

std::function<int()> Configure(CommandParser& parser) {
  auto options = std::make_shared<InferenceOptions>();
  AddNetworkOptions(parser, options->workload);
  parser.Require("--input NAME=FILE.npy", options->inputs, "the images");
  parser.Require("--output DIR", options->output, "folder for NAME.npy, the result");
  return [options] { return RunInference(*options); };
}

const CommandRegistration kRun({"run", "one inference of a network on a given image", Configure,
                                "topdnn run model.onnx --input input=image.npy --output results"});

}  // namespace

}  // namespace topdnn
