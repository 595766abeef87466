// `topdnn kernels`: which operations run here, in which pass, on which backend and in which type,
// found by running and checking each on a small problem. With --fidelity: how the kernels relate to
// those of TensorFlow and Caffe, as their files declare it.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bench/cases/kernel_case.h"
#include "bench/cases/problem_sets.h"
#include "bench/command_line/command.h"
#include "bench/command_line/command_parser.h"
#include "bench/command_line/plugin_words.h"
#include "kernels/kernel/failed_kernel.h"
#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"

namespace topdnn {

namespace {

// (operation, pass) -> backend -> the types that work, in their order.
using WhatWorks =
    std::map<std::pair<std::string, Pass>, std::map<std::string, std::vector<DataType>>>;

constexpr DataType kTypes[] = {DataType::kF32, DataType::kBF16, DataType::kU8, DataType::kS8};

// `failures`: one line for each kernel of a plug-in that failed its check.
bool Agrees(const Variant& variant, const KernelProblem& problem,
            std::vector<std::string>& failures) {
  auto made = KernelCase::Make(variant, problem, 1);
  if (std::holds_alternative<Refusal>(made)) return false;
  KernelCase& kernel = *std::get<std::unique_ptr<KernelCase>>(made);
  if (const std::string failure = FailureOf(kernel.kernel()); !failure.empty()) {
    failures.push_back(fmt::format("FAILED {}/{} {} {}: {}", problem.op()->kind(),
                                   problem.op()->Problem(), NameOf(problem.execution().pass),
                                   NameOf(problem.execution().type), failure));
    return false;
  }
  return kernel.Check(problem).agrees;
}

// A type works if any variant of the backend supports it.
void Try(const CountedProblem& counted, Pass pass, DataType type, WhatWorks& works,
         std::vector<std::string>& failures) {
  const bool training = type == DataType::kF32 || type == DataType::kBF16;
  const Execution execution{pass, training, type};
  if (!counted.op->Has(execution)) return;
  const KernelProblem problem(counted.op, execution);
  for (const Variant& variant : Variants()) {
    auto& of_backend = works[{std::string(counted.op->kind()), pass}][variant.backend];
    const bool known = std::find(of_backend.begin(), of_backend.end(), type) != of_backend.end();
    if (!known && Agrees(variant, problem, failures)) of_backend.push_back(type);
  }
}

WhatWorks FindWhatWorks(std::vector<std::string>& failures) {
  WhatWorks works;
  for (const CountedProblem& problem : ProblemSetNamed("smoke").problems) {
    for (const Pass pass : problem.passes) {
      for (const DataType type : kTypes) Try(problem, pass, type, works, failures);
    }
  }
  return works;
}

std::string TypesText(const std::vector<DataType>& types) {
  std::string text;
  for (const DataType type : kTypes) {
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    if (!text.empty()) text += " ";
    text += NameOf(type);
  }
  return text;
}

// A Markdown table, which is also readable as plain text.
void Print(const WhatWorks& works) {
  const std::vector<std::string> backends = Backends();
  std::string header = fmt::format("| {:21} | {:16} |", "operation", "pass");
  std::string rule = fmt::format("| {:-<21} | {:-<16} |", "", "");
  for (const std::string& backend : backends) {
    header += fmt::format(" {:14} |", backend);
    rule += fmt::format(" {:-<14} |", "");
  }
  fmt::print("{}\n{}\n", header, rule);
  for (const auto& [key, of_backends] : works) {
    std::string row = fmt::format("| {:21} | {:16} |", key.first, NameOf(key.second));
    for (const std::string& backend : backends) {
      const auto found = of_backends.find(backend);
      row += fmt::format(" {:14} |", found == of_backends.end() ? "" : TypesText(found->second));
    }
    fmt::print("{}\n", row);
  }
}

std::string PassesText(const std::vector<Pass>& passes) {
  std::string text;
  for (const Pass pass : passes) {
    if (!text.empty()) text += " ";
    text += NameOf(pass);
  }
  return text.empty() ? "all" : text;
}

// A Markdown table.
void PrintFidelity() {
  fmt::print("| operation | backend | pass | its code | how | read in |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const FidelityEntry& entry : FidelityEntries()) {
    fmt::print("| {} | {} | {} | {} | {} | {} |\n", entry.kind, entry.backend,
               PassesText(entry.passes), NameOf(entry.fidelity), entry.how,
               entry.source.empty() ? "" : fmt::format("`{}`", entry.source));
  }
}

std::function<int()> ConfigureKernels(CommandParser& parser) {
  parser.AddFooter("Types: f32, bf16, and of int8 sources u8 and s8 (inference).");
  AddPluginOption(parser);
  const auto fidelity = std::make_shared<bool>(false);
  parser.AddFlag("--fidelity", *fidelity,
                 "Print how the kernels on eigen relate to TensorFlow's, and those on openblas to "
                 "Caffe's, and do not run them");
  return [fidelity] {
    std::vector<std::string> failures;
    if (*fidelity) {
      PrintFidelity();
    } else {
      Print(FindWhatWorks(failures));
    }
    for (const std::string& failure : failures) fmt::print("{}\n", failure);
    return failures.empty() ? kExitGood : kExitWrong;
  };
}

const CommandRegistration kKernels({"kernels", Question::kExplain,
                                    "which operations work here, by pass, backend and type",
                                    ConfigureKernels, "topdnn kernels"});

}  // namespace

}  // namespace topdnn
