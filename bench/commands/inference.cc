// `topdnn run FILE.onnx --input NAME=FILE.npy --output DIR`: one inference on given values.

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/formats/npz.h"
#include "bench/formats/whole_file.h"
#include "bench/workload/input_elements.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "kernels/kernel/run_failure.h"

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
NamedInput ReadInput(const std::string& text) {
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
    throw UsageError(fmt::format("{}: needs at least one dimension and one element", path));
  }
  return {text.substr(0, equals), std::move(array)};
}

std::map<std::string, NpyArray> ReadInputs(const std::vector<std::string>& words) {
  std::map<std::string, NpyArray> arrays;
  for (const std::string& word : words) {
    NamedInput input = ReadInput(word);
    if (!arrays.emplace(input.name, std::move(input.array)).second) {
      throw UsageError(fmt::format("--input {}: the input is given twice", word));
    }
  }
  return arrays;
}

// A valid file name for an output, whatever characters the model's name contains.
std::string FileNameOf(std::string name) {
  for (char& c : name) {
    if (c == '/' || c == '\\' || c < ' ' || c > '~') c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name.substr(0, 200) + ".npy";
}

void WriteOutput(const Plan& plan, BufferId output, const NetworkOutput& named,
                 const std::string& path) {
  Tensor tensor(named.shape, named.type);
  FromDouble(plan.Read(output), tensor.desc(), tensor.data());
  const std::vector<std::byte> bytes = EncodeNpy(ToNpy(tensor));
  WriteFileAtomically(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The files of the outputs, in their order. Throws UsageError if two names give the same file.
std::vector<std::string> FilesOf(const Workload& workload, const std::string& folder) {
  std::vector<std::string> files;
  for (const NetworkOutput& output : workload.outputs) {
    files.push_back((std::filesystem::path(folder) / FileNameOf(output.name)).string());
    if (std::count(files.begin(), files.end(), files.back()) > 1) {
      throw UsageError(
          fmt::format("two outputs would be written to {}: choose one by "
                      "--onnx-output",
                      files.back()));
    }
  }
  return files;
}

int RunInference(InferenceOptions options) {
  const std::map<std::string, NpyArray> arrays = ReadInputs(options.inputs);
  for (const auto& [name, array] : arrays) options.workload.values_of.emplace(name, array.shape);
  ChooseInNetwork(options.workload, /*training=*/false);
  options.workload.runs_once = true;
  // Linux may take longer to compact memory for huge pages than one inference gains from them.
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  const Workload workload = MakeWorkload(options.workload, /*training=*/false);
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (!std::filesystem::is_directory(options.output, error)) {
    throw UsageError(fmt::format("--output {}: give a folder that can be written", options.output));
  }
  const std::vector<std::string> files = FilesOf(workload, options.output);
  std::vector<std::string> given = InputFiles(options.workload.network, options.workload.weights);
  for (const std::string& word : options.inputs) given.push_back(word.substr(word.rfind('=') + 1));
  CheckOutputs(files, given);
  Plan& plan = *workload.plan;
  for (std::size_t i = 0; i < workload.inputs.size(); ++i) {
    const NpyArray& array = arrays.at(workload.inputs[i].name);
    std::vector<double> values =
        ToDouble({array.shape, array.type, Layout::Plain(array.shape.rank())}, array.data.data());
    TakeElements(workload.inputs[i], values);
    plan.Write(plan.inputs()[i], values);
  }
  plan.Run();
  ThrowOnRunFailure();
  for (std::size_t i = 0; i < files.size(); ++i) {
    const NetworkOutput& output = workload.outputs[i];
    WriteOutput(plan, plan.outputs()[i], output, files[i]);
    fmt::print("{}: {} to {} on {} in {}; {}\n", workload.network,
               arrays.at(workload.inputs.front().name).shape.ToString(), output.shape.ToString(),
               workload.backend, workload.dtype, files[i]);
  }
  return kExitGood;
}

std::function<int()> ConfigureInference(CommandParser& parser) {
  auto options = std::make_shared<InferenceOptions>();
  AddNetworkOptions(parser, options->workload);
  parser.Require("--input NAME=FILE.npy", options->inputs,
                 "the values of an input; repeat it for several");
  parser.Require("--output DIR", options->output, "folder for NAME.npy, one file for each output");
  return [options] { return RunInference(*options); };
}

const CommandRegistration kRun({"run", Question::kModels,
                                "one inference of a network on a given image", ConfigureInference,
                                "topdnn run model.onnx --input input=image.npy --output results"});

}  // namespace

}  // namespace topdnn
