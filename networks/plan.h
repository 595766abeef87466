// A network ready to run: its stages in order, each a kernel bound to buffers.
//
// A plan is made by MakePlan (planner.h) from a graph and a request. It decides, once and before
// anything is measured, the layouts, the reorders between them (each a stage of its own), what is
// fused, and which buffers share memory. Running it is a loop over bare kernels.

#ifndef TOPDNN_NETWORKS_PLAN_H_
#define TOPDNN_NETWORKS_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"
#include "networks/graph.h"

namespace topdnn {

// A request that cannot be planned: one line with layer, reason and fix.
class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class StagePass { kForward, kBackwardData, kBackwardWeights, kUpdate, kReorder, kLoss };

// "forward", ..., "update", "reorder", "loss".
std::string_view NameOf(StagePass pass);

using BufferId = int;

enum class BufferRole {
  kInput,
  kLabels,
  kActivation,
  kGradient,  // of an activation
  kSaved,     // by forward for backward: maxima, masks, statistics
  kParameter,
  kParameterGradient,
  kOptimizerState,
  kOutput,  // logits, loss
};

struct Buffer {
  std::string name;
  TensorDesc desc;
  BufferRole role = BufferRole::kActivation;
  // Keeps its value beyond the step, and so shares its memory with none.
  bool persistent = false;
  // A part of another buffer, at a byte offset: a parameter within its layer's block.
  BufferId parent = -1;
  std::size_t parent_offset = 0;
  // What Allocate writes to every element (a learning rate); zero otherwise.
  double initial = 0.0;
};

// One kernel of a step.
struct Stage {
  std::string name;  // the layer's; "conv2.weights" for a reorder of that layer's weights
  StagePass pass = StagePass::kForward;
  std::shared_ptr<const Op> op;
  Execution execution;
  std::string backend;  // that really runs it
  std::unique_ptr<Kernel> kernel;
  std::map<Arg, BufferId> buffers;
  std::vector<std::string> fused;  // layers whose forward this stage also computes

  // Arithmetic and traffic of the stage. A reorder and an update have the operation's own.
  Work work() const { return op->WorkOf(execution.pass, execution.type); }
};

// A trained parameter and where it lives.
struct PlanParameter {
  std::string layer;
  Parameter spec;
  BufferId value;
  BufferId gradient;  // -1 for inference
};

class Plan {
 public:
  Plan(std::string network, int threads, std::vector<Buffer> buffers, std::vector<Stage> stages,
       std::vector<PlanParameter> parameters);

  const std::string& network() const { return network_; }
  int threads() const { return threads_; }
  const std::vector<Stage>& stages() const { return stages_; }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  const std::vector<PlanParameter>& parameters() const { return parameters_; }

  // Bytes that Allocate takes: buffers, and the kernels' scratch memory.
  std::size_t bytes() const;
  std::size_t buffer_bytes() const { return transient_bytes_ + persistent_bytes_; }

  // Allocates the buffers and prepares every kernel: all slow work. Call once before Run.
  void Allocate();

  // One step: every stage in order, at the plan's width. Bare.
  void Run() noexcept;
  // One stage. The calling thread's OpenMP width must be threads().
  void RunStage(std::size_t stage) noexcept { stages_[stage].kernel->Run(); }

  // Memory of a buffer, after Allocate.
  void* Data(BufferId buffer) const;
  template <typename T>
  T* DataAs(BufferId buffer) const {
    return static_cast<T*>(Data(buffer));
  }
  // The buffer with this role; the first of several. Throws std::out_of_range when there is none.
  BufferId Find(BufferRole role) const;
  bool Has(BufferRole role) const;
  BufferId FindByName(std::string_view name) const;
  // A buffer's logical tensor, row-major.
  std::vector<double> Read(BufferId buffer) const;
  void Write(BufferId buffer, std::span<const double> values) const;

 private:
  std::string network_;
  int threads_;
  std::vector<Buffer> buffers_;
  std::vector<Stage> stages_;
  std::vector<PlanParameter> parameters_;
  std::vector<std::size_t> offsets_;  // per buffer, in the block of its kind
  std::size_t transient_bytes_ = 0;
  std::size_t persistent_bytes_ = 0;
  AlignedMemory transient_memory_;
  AlignedMemory persistent_memory_;

  void PlaceAll();
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_H_
