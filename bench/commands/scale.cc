// `topdnn scale NET`: data-parallel training over the ranks of mpirun or srun.

#include "bench/studies/scale/scale.h"

#include <memory>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"

namespace topdnn {

namespace {

std::function<int()> ConfigureScale(CommandParser& parser) {
  auto options = std::make_shared<ScaleOptions>();
  // Off by default: each number of ranks would draw other masks.
  options->workload.dropout = false;
  // Low by default: training amplifies rounding, which depends on the number of ranks.
  options->workload.learning_rate = 0.001;
  AddWorkloadOptions(parser, options->workload);
  parser.AddFlag("--dropout", options->workload.dropout, "draw dropout's masks");
  parser.Add("--scaling strong|weak", options->scaling,
             "measure 1, 2, 4, ... and all ranks: strong divides --batch among the ranks, weak "
             "gives --batch to each (default: all ranks only, which divide --batch)");
  parser.Add("--ranks N,...", options->ranks,
             "measure these numbers of ranks, strong scaling without --scaling");
  parser.Add(
      "--bucket-size MIB", options->bucket_mib,
      "most MiB of gradients that are summed at once (default: an eighth of them, at most 25)",
      Range{0, 1e6});
  parser.AddFlag("--no-overlap", options->no_overlap,
                 "sum the gradients after the backward pass, not during it");
  parser.Add("--wire f32|bf16", options->wire, "element type of gradients between ranks");
  parser.AddFlag("--predict", options->predict,
                 "fit a model of the sums, and predict weak scaling to 4096 ranks (implies "
                 "--scaling weak)");
  parser.Add("--steps N", options->steps, "timed steps", Range{1, 1e6});
  parser.Add("--wait-limit SECONDS", options->wait_limit,
             "end all ranks if one waits longer for the others", Range{1, 1e6});
  parser.Add("--json FILE", options->json, "write everything to this file as JSON");
  parser.AddFlag("--quiet", options->quiet, "no table");
  parser.AddFooter(
      "Start the ranks with mpirun: 'mpirun -np 2 topdnn scale cnn --batch 128', or with 'srun "
      "--mpi=pmix'. Without either it is one rank.");
  return [options] { return RunScale(*options); };
}

const CommandRegistration kScale(
    {"scale", Question::kScale,
     "data-parallel training over ranks: exposed communication, stragglers, scaling",
     ConfigureScale, "topdnn scale cnn --batch 128 --json scale.json"});

}  // namespace

}  // namespace topdnn
