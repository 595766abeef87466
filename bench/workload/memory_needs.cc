#include "bench/workload/memory_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/command_line/command.h"
#include "bench/workload/workload.h"

namespace topdnn {

namespace {

// A value as double, its place in memory, and a copy during the change of layout.
constexpr std::size_t kBytesAValue = 3 * sizeof(double);

std::size_t Elements(const TensorDesc& desc) {
  return static_cast<std::size_t>(desc.shape.elements());
}

}  // namespace

std::size_t BytesToFill(const Plan& plan) {
  std::size_t most = 0;
  for (const Buffer& buffer : plan.buffers()) most = std::max(most, Elements(buffer.desc));
  return most * kBytesAValue;
}

std::size_t BytesToCheck(const Plan& plan) {
  std::size_t most = 0;
  std::size_t saved = 0;
  std::set<BufferId> seen;
  for (const Stage& stage : plan.stages()) {
    std::size_t operands = 0;
    std::size_t largest = 0;
    for (const KernelOperand& operand : stage.kernel->operands()) {
      const std::size_t elements = Elements(operand.desc);
      operands += elements * sizeof(float);
      largest = std::max(largest, elements);
      const BufferId buffer = stage.buffers.at(operand.arg);
      if (plan.buffers()[buffer].role == BufferRole::kSaved && seen.insert(buffer).second) {
        saved += elements * sizeof(float);
      }
    }
    // Two results are compared at a time.
    most = std::max(most, operands + 2 * largest * kBytesAValue);
  }
  return saved + most;
}

std::size_t BytesToDump(const Plan& plan) {
  std::size_t values = 0;
  for (const PlanParameter& parameter : plan.parameters()) {
    values += 3 * static_cast<std::size_t>(parameter.spec.shape.elements());
  }
  for (const BufferRole role : {BufferRole::kInput, BufferRole::kOutput}) {
    values += Elements(plan.buffers()[plan.Find(role)].desc);
  }
  return 2 * values * sizeof(float) + BytesToFill(plan);
}

std::size_t BytesToExport(const Graph& graph) {
  std::size_t all = 0;
  std::size_t largest = 0;
  for (const GraphNode& node : graph.nodes()) {
    for (const Parameter& parameter : node.op->Parameters()) {
      const auto elements = static_cast<std::size_t>(parameter.shape.elements());
      all += elements * sizeof(float);
      largest = std::max(largest, elements);
    }
  }
  // A file's buffer grows by doubling while it is written.
  return 4 * all + largest * kBytesAValue;
}

void RequireMemory(std::size_t bytes, std::string_view what, std::string_view fix) {
  const std::size_t limit = MemoryLimit();
  if (limit == 0 || bytes <= limit) return;
  throw UsageError(fmt::format("{} needs about {} MiB, and {} MiB of memory may be used: {}", what,
                               bytes >> 20, limit >> 20, fix));
}

}  // namespace topdnn
