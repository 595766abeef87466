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
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/batchnorm/fold.h"
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
  kGradient,   // of an activation
  kSaved,      // by forward for backward, in a form of the backend's own: maxima, masks
  kStatistic,  // mean and variance of a batch
  kParameter,
  kParameterGradient,
  kOptimizerState,
  kState,   // kept from step to step: running statistics, a dropout's count
  kOutput,  // logits, loss
};

struct Buffer {
  std::string name;
  TensorDesc desc;
  BufferRole role = BufferRole::kActivation;
  // Keeps its value beyond the step, and so shares its memory with none.
  bool persistent = false;
  // A part of another buffer, at a byte offset: a parameter within its layer's block, a branch
  // within what concatenates it.
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
  std::string variant;  // by which it was asked for (kernels/variant.h); empty: its own choice
  std::unique_ptr<Kernel> kernel;
  std::map<Arg, BufferId> buffers;
  std::vector<std::string> fused;  // layers whose forward this stage also computes
  std::string not_fused;           // why the layer after them is not: "layer: reason"; or empty

  // Arithmetic of the operation, and the traffic of this kernel's operands.
  Work work() const;
};

// Where a batch normalization stands, as far as its parameters' first values depend on it.
enum class NormPlace {
  kElsewhere,
  kEndsBranch,     // its result is added to a shortcut
  kBeforeMaxPool,  // but for a ReLU
};

// A trained parameter and where it lives.
struct PlanParameter {
  std::string layer;
  Parameter spec;
  BufferId value;
  BufferId gradient;  // -1 for inference, and where the loss does not depend on it
  NormPlace place = NormPlace::kElsewhere;  // of a batch normalization
  // Training cannot move it: its gradient is zero (networks/cancelled_parameters.h) and stays so,
  // rather than the rounding that a kernel sums up for it.
  bool cancelled = false;
};

// A running statistic of a batch normalization (C): training updates it, inference reads it. The
// mean starts at 0 and the variance at 1.
struct PlanStatistic {
  std::string layer;
  std::string name;  // "mean", "variance"
  BufferId buffer;
};

// Parameters that an inference kernel reads in another form than they are kept in: with a batch
// normalization folded into them (kernels/batchnorm/fold.h), or in a layout that only the kernel's
// backend can address.
struct PreparedParameters {
  struct Norm {
    BufferId scale, shift, mean, variance;
    float epsilon;
  };
  std::string backend;     // whose kernel reads them
  BufferId weights, bias;  // as given; bias -1: none
  std::optional<Norm> norm;
  BufferId prepared_weights, prepared_bias;  // as the kernel reads; bias -1: it reads the given one
};

struct PlanContents {
  std::string network;
  int threads = 1;
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  std::vector<PlanParameter> parameters;
  std::vector<PlanStatistic> statistics;
  std::vector<PreparedParameters> prepared;
  std::vector<std::string> dropped;  // layers without a stage: "layer: reason"
};

class Plan {
 public:
  explicit Plan(PlanContents contents);

  const std::string& network() const { return contents_.network; }
  int threads() const { return contents_.threads; }
  const std::vector<Stage>& stages() const { return contents_.stages; }
  const std::vector<Buffer>& buffers() const { return contents_.buffers; }
  const std::vector<PlanParameter>& parameters() const { return contents_.parameters; }
  const std::vector<PlanStatistic>& statistics() const { return contents_.statistics; }
  const std::vector<std::string>& dropped() const { return contents_.dropped; }

  // Bytes that Allocate takes: buffers, the kernels' own memory, and what they share as scratch.
  std::size_t bytes() const;
  std::size_t buffer_bytes() const { return transient_bytes_ + persistent_bytes_; }
  // Of the buffers that share memory: activations, gradients.
  std::size_t transient_bytes() const { return transient_bytes_; }

  // Allocates the buffers and prepares every kernel: all slow work. Call once before Run.
  void Allocate();
  // Makes PreparedParameters, once for all steps. Call after parameters or running statistics of an
  // inference plan were written; a training plan has none.
  void PrepareParameters() const;

  // One step: every stage in order, at the plan's width. Bare.
  void Run() noexcept;
  // One stage. The calling thread's OpenMP width must be threads().
  void RunStage(std::size_t stage) noexcept { contents_.stages[stage].kernel->Run(); }

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
  PlanContents contents_;
  std::vector<std::size_t> offsets_;  // per buffer, in the block of its kind
  std::size_t transient_bytes_ = 0;
  std::size_t persistent_bytes_ = 0;
  std::size_t run_scratch_bytes_ = 0;  // of the kernel that needs most
  AlignedMemory run_scratch_;
  AlignedMemory transient_memory_;
  AlignedMemory persistent_memory_;

  void PlaceAll();
  // Weights and bias, row-major, that the layer's kernel is to read.
  FoldedWeights ValuesOf(const PreparedParameters& layer) const;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_H_
