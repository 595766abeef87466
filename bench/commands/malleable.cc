// `topdnn malleable NET`: changes the number of threads of a running network, and measures what it
// costs; with --steps it runs as a job whose number of threads others change. `topdnn malleable
// --program -- COMMAND`: the same for an unchanged OpenMP program.

#include "bench/studies/malleable/malleable.h"

#include <memory>

#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/studies/malleable/malleable_job.h"
#include "bench/studies/malleable/malleable_program.h"
#include "bench/studies/malleable/malleable_setup.h"

namespace topdnn {

namespace {

void CheckModes(const CommandParser& parser, const MalleableOptions& options) {
  if (options.train && options.infer) throw UsageError("--train and --infer: take one of them");
  if (options.workload.threads != 0 || options.workload.oversubscribe) {
    throw UsageError("malleable changes the number of threads: give --max-width, not --threads");
  }
  CheckTrainingOptions(parser, options.workload, !options.infer);
  if (options.is_job()) return parser.Refuse({"--changes", "--by", "--widths"}, "with --steps");
  if (!options.control.empty()) throw UsageError("--control: give --steps, too");
  if (options.width) throw UsageError("--width: give --steps, too");
}

// `program`: its arguments are the words after the first one, which stands in the place of NET.
int RunMalleable(const CommandParser& parser, const MalleableOptions& options, bool is_program,
                 ProgramOptions program) {
  if (is_program) {
    parser.RefuseAllBut({"--program", "--rounds", "--json", "--quiet"}, "with --program");
    program.arguments.insert(program.arguments.begin(), options.workload.network);
    program.json = options.json;
    program.quiet = options.quiet;
    return RunMalleableProgram(program);
  }
  if (!program.arguments.empty()) {
    throw UsageError("malleable: give one network, or --program -- COMMAND");
  }
  if (program.rounds) throw UsageError("--rounds is for --program");
  CheckModes(parser, options);
  return options.is_job() ? RunMalleableJob(options) : RunMalleableStudy(options);
}

std::function<int()> ConfigureMalleable(CommandParser& parser) {
  auto options = std::make_shared<MalleableOptions>();
  auto is_program = std::make_shared<bool>(false);
  auto program = std::make_shared<ProgramOptions>();
  AddWorkloadOptions(parser, options->workload);
  parser.AddList("COMMAND", program->arguments, "ARGUMENTS...",
                 "after --program --: instead of NET a program, and its arguments");
  parser.AddFlag(
      "--program", *is_program,
      "give the OpenMP program in the place of NET the threads that its container allows "
      "while it runs");
  parser.Add("--rounds N", program->rounds,
             "--program: run it N times unchanged and N times following, in turn, and compare",
             Range{1, 1000});
  parser.AddFlag("--train", options->train, "training steps (default)");
  parser.AddFlag("--infer", options->infer, "inference steps");
  parser.Add("--changes N", options->changes, "changes of the width by each source");
  parser.Add("--by NAME,...", options->by, "what asks for them: api, signal, socket, quota");
  parser.Add("--widths N,...", options->widths, "the widths (default: 1 and --max-width)");
  parser.Add("--min-width N", options->least, "the least number of threads (default: 1)");
  parser.Add("--max-width N", options->most,
             "the most threads (default: the CPUs that the process may use)");
  parser.Add("--steps N", options->steps,
             "run this many steps as a job that obeys signals and --control, and measure nothing "
             "else");
  parser.Add("--width N", options->width, "threads at the start of a job (default: --max-width)");
  parser.Add("--control SOCKET", options->control, "a job's control socket");
  parser.Add("--json FILE", options->json, "write everything to this file as JSON");
  parser.AddFlag("--quiet", options->quiet, "no table and no progress");
  return [=, &parser] { return RunMalleable(parser, *options, *is_program, *program); };
}

const CommandRegistration kMalleable(
    {"malleable", Question::kShare,
     "changes the number of threads of a running network, and what that costs", ConfigureMalleable,
     "topdnn malleable lenet5 --train --batch 32 --changes 20 --json malleable.json"});

}  // namespace

}  // namespace topdnn
