// The memory that a command takes beside its plan, estimated before it is taken: a process that a
// cgroup kills cannot say why.

#ifndef TOPDNN_BENCH_MEMORY_NEEDS_H_
#define TOPDNN_BENCH_MEMORY_NEEDS_H_

#include <cstddef>
#include <string_view>

#include "networks/graph.h"
#include "networks/plan.h"

namespace topdnn {

// What libraries take once a plan runs: their code, the code that they generate, threads' stacks.
inline constexpr std::size_t kLibraryBytes = std::size_t{64} << 20;

// To draw, write and read a plan's buffers: the largest one's values as double and their places.
std::size_t BytesToFill(const Plan& plan);
// To hold every stage to the reference: its operands in f32 and as double, and what the reference's
// forward pass saves for its backward pass.
std::size_t BytesToCheck(const Plan& plan);
// To write a step's archive: weights, gradients and updated weights, input and logits, once as
// arrays and once as the archive's entries.
std::size_t BytesToDump(const Plan& plan);
// To write the network as an ONNX file: the weights as drawn, in the model and in the file's bytes.
std::size_t BytesToExport(const Graph& graph);

// Throws UsageError when `bytes` are not to be had: "WHAT needs ... MiB, and ... MiB may be used:
// FIX".
void RequireMemory(std::size_t bytes, std::string_view what, std::string_view fix);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_MEMORY_NEEDS_H_
