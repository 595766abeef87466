// `topdnn step NET --dump FILE.npz`: writes the inputs and results of one training step to an
// archive, for comparison with another backend or framework.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "bench/choice/networks/network_choice.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/formats/npz.h"
#include "bench/validation/relu_kinks.h"
#include "bench/workload/images.h"
#include "bench/workload/memory_needs.h"
#include "bench/workload/network_source.h"
#include "bench/workload/workload.h"
#include "harness/files/atomic_file.h"
#include "harness/text/one_line.h"
#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/thread_width.h"

namespace topdnn {

namespace {

struct StepOptions {
  WorkloadOptions workload;
  std::string dump;
};

// A buffer as an f32 array in logical order, independent of the plan's layout and type.
NpyArray ArrayOf(const Plan& plan, BufferId buffer, const Shape& shape) {
  Tensor tensor(shape);
  FromDouble(plan.Read(buffer), tensor.desc(), tensor.data());
  return ToNpy(tensor);
}

NpyArray LabelsOf(const Plan& plan) {
  const BufferId buffer = plan.Find(BufferRole::kLabels);
  Tensor tensor(plan.buffers()[buffer].desc.shape, DataType::kS32);
  FromDouble(plan.Read(buffer), tensor.desc(), tensor.data());
  return ToNpy(tensor);
}

void AddParameters(const Plan& plan, const std::string& group, BufferId PlanParameter::*buffer,
                   NamedArrays& arrays) {
  for (const PlanParameter& parameter : plan.parameters()) {
    arrays.emplace_back(fmt::format("{}/{}/{}", group, parameter.layer, parameter.spec.name),
                        ArrayOf(plan, parameter.*buffer, parameter.spec.shape));
  }
}

// Runs one step. Returns how many activations lie within rounding of a kink of their ReLU.
std::int64_t RunCountingKinks(Plan& plan) {
  const ThreadWidth width(plan.threads());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < plan.stages().size(); ++i) {
    plan.RunStage(i);
    count += CountAtKinks(plan, plan.stages()[i]);
  }
  return count;
}

int RunStep(const CommandParser& parser, StepOptions options) {
  CheckTrainingOptions(parser, options.workload, /*training=*/true);
  const std::string& network = options.workload.network;
  if (options.dump == kStandardOutput) {
    throw UsageError("--dump -: an archive is not written to standard output; name a file");
  }
  CheckOutputs({options.dump}, InputFiles(network, options.workload.weights));
  FitToData(options.workload);
  ChooseInNetwork(options.workload, /*training=*/true);
  Workload workload = MakeWorkload(options.workload, /*training=*/true);
  Plan& plan = *workload.plan;
  TrainingImages images(options.workload, workload);
  images.FillNext(plan);
  RequireMemory(BytesToDump(plan) + kLibraryBytes, "the archive of the step",
                "take a smaller network, or free memory");

  const Shape& image = workload.image;
  const Shape input{workload.batch, image[0], image[1], image[2]};
  NamedArrays arrays;
  arrays.emplace_back("input", ArrayOf(plan, plan.Find(BufferRole::kInput), input));
  arrays.emplace_back("labels", LabelsOf(plan));
  AddParameters(plan, "weights", &PlanParameter::value, arrays);
  const std::int64_t at_kinks = RunCountingKinks(plan);
  ThrowOnRunFailure();
  arrays.emplace_back("loss", ArrayOf(plan, plan.FindByName("loss"), Shape{}));
  const BufferId logits = plan.Find(BufferRole::kOutput);
  arrays.emplace_back("logits", ArrayOf(plan, logits, plan.buffers()[logits].desc.shape));
  AddParameters(plan, "grad", &PlanParameter::gradient, arrays);
  AddParameters(plan, "updated", &PlanParameter::value, arrays);
  WriteNpz(options.dump, arrays);
  const double loss = plan.Read(plan.FindByName("loss")).front();
  fmt::print("{}: one training step of {} images of {} on {}, loss {:.6f}; {} arrays in {}\n",
             workload.network, workload.batch, OneLine(images.source()), workload.backend, loss,
             arrays.size(), OneLine(options.dump));
  if (at_kinks > 0) {
    fmt::print(
        "{} activation{} within rounding of a kink of the ReLU: backends may disagree about the "
        "gradients there and before; another --seed moves the activations\n",
        at_kinks, at_kinks == 1 ? " is" : "s are");
  }
  if (std::isfinite(loss)) return kExitGood;
  fmt::print(stderr, "topdnn: step: the loss is {}: take other weights or another --seed\n", loss);
  return kExitWrong;
}

std::function<int()> ConfigureStep(CommandParser& parser) {
  auto options = std::make_shared<StepOptions>();
  options->workload.default_batch = 8;
  options->workload.momentum = 0.0;
  // Off by default: another framework draws different masks.
  options->workload.dropout = false;
  options->workload.draw = ParameterDraw::kComparison;
  AddWorkloadOptions(parser, options->workload);
  parser.AddFlag("--dropout", options->workload.dropout, "draw dropout's masks");
  parser.Require("--dump FILE", options->dump, "archive to write");
  return [options, &parser] { return RunStep(parser, *options); };
}

const CommandRegistration kStep({"step", Question::kModels,
                                 "one training step, dumped to an npz archive", ConfigureStep,
                                 "topdnn step cnn --batch 4 --dump step.npz"});

}  // namespace

}  // namespace topdnn
