// Estimates the memory that a command needs besides its plan, before it is allocated: a process
// that a cgroup kills cannot print a reason.

#ifndef TOPDNN_BENCH_WORKLOAD_MEMORY_NEEDS_H_
#define TOPDNN_BENCH_WORKLOAD_MEMORY_NEEDS_H_

#include <cstddef>
#include <string_view>

#include "networks/graph/graph.h"
#include "networks/plan/plan.h"

namespace topdnn {

// Memory of the libraries once a plan runs: their code, the code they generate, and threads'
// stacks.
inline constexpr std::size_t kLibraryBytes = std::size_t{64} << 20;

// To draw, write and read a plan's buffers: the values of the largest buffer as double, and their
// places.
std::size_t BytesToFill(const Plan& plan);
// To check every stage against the reference: its operands in f32 and as double, and what the
// reference's forward pass saves for its backward pass.
std::size_t BytesToCheck(const Plan& plan);
// To write a step's archive: weights, gradients and updated weights, input and logits, each once as
// an array and once as an entry of the archive.
std::size_t BytesToDump(const Plan& plan);
// To write the network as an ONNX file: the weights as drawn, in the model and in the file's bytes.
std::size_t BytesToExport(const Graph& graph);

// Throws UsageError when `bytes` are not available: "WHAT needs ... MiB, and ... MiB may be used:
// FIX".
void RequireMemory(std::size_t bytes, std::string_view what, std::string_view fix);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_MEMORY_NEEDS_H_
