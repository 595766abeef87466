#include "harness/bounds/core_work.h"

#include <string_view>

namespace topdnn {
namespace {

struct Row {
  const char* event;
  double CoreWork::*into;
  double factor = 1;
};

constexpr Row kRows[] = {
    {"exact/instructions", &CoreWork::instructions},
    {"exact/openmp_instructions", &CoreWork::instructions, -1},
    {"exact/slow_instructions", &CoreWork::slow_instructions},
    {"exact/fusible_instructions", &CoreWork::fusible_instructions},
    {"exact/instruction_bytes", &CoreWork::instruction_bytes},
    {"exact/conditional_branches", &CoreWork::conditional_branches},
    {"exact/conditional_branches", &CoreWork::predicted_branches},
    {"exact/indirect_branches", &CoreWork::predicted_branches},
    {"exact/openmp_branches", &CoreWork::predicted_branches, -1},
    {"exact/branches_taken", &CoreWork::taken_branches},
    {"exact/system_calls", &CoreWork::system_calls},
    {"exact/loads", &CoreWork::loads},
    {"exact/stores", &CoreWork::stores},
    {"exact/load_bytes", &CoreWork::load_bytes},
    {"exact/store_bytes", &CoreWork::store_bytes},
    {"exact/code_bytes", &CoreWork::code_bytes},
};

// The names of a width's events contain the name of the width, for every element type.
constexpr std::pair<std::string_view, FpWidth> kWidths[] = {
    {".SCALAR_", kScalar}, {".128B_", kPacked128}, {".256B_", kPacked256}, {".512B_", kPacked512}};

}  // namespace

std::optional<CoreWork> CoreWorkOf(const std::map<std::string, std::optional<double>>& events) {
  CoreWork work;
  for (const Row& row : kRows) {
    const auto found = events.find(row.event);
    if (found == events.end() || !found->second) return std::nullopt;
    work.*row.into += row.factor * *found->second;
  }
  const auto optional = [&events](const char* name) {
    const auto found = events.find(name);
    return found == events.end() ? std::nullopt : found->second;
  };
  work.slow_instructions -= optional("exact/openmp_slow_instructions").value_or(0);
  work.missed_branches = optional("exact/missed_branches");
  if (!work.missed_branches) work.missed_branches = optional("exact/minority_branches");
  work.code_blocks = optional("exact/code_blocks");
  for (const auto& [name, count] : events) {
    if (!name.starts_with("exact/FP_ARITH_INST_RETIRED")) continue;
    if (!count) return std::nullopt;
    for (const auto& [part, width] : kWidths) {
      if (name.find(part) != std::string::npos) work.fp[width] += *count;
    }
  }
  return work;
}

}  // namespace topdnn
