// A network that is ready to run: its stages in order, each a kernel bound to buffers.
//
// MakePlan (planner.h) makes a plan from a graph and a request. It decides, once and before
// anything is measured, the layouts, the reorders between them (each is a stage), the fusions, and
// the buffers that share memory. Running a plan only calls its kernels in order.

#ifndef TOPDNN_NETWORKS_PLAN_PLAN_H_
#define TOPDNN_NETWORKS_PLAN_PLAN_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/batchnorm/fold.h"
#include "kernels/kernel/kernel.h"
#include "kernels/op/request_error.h"
#include "networks/graph/graph.h"

namespace topdnn {

// A request that cannot be planned. One line: layer, reason and fix.
class PlanError : public RequestError {
 public:
  using RequestError::RequestError;
};

enum class StagePass { kForward, kBackwardData, kBackwardWeights, kUpdate, kReorder, kLoss };

// "forward", ..., "update", "reorder", "loss".
std::string_view NameOf(StagePass pass);

using BufferId = int;

enum class BufferRole {
  kInput,
  kLabels,
  kActivation,
  kGradient,   // gradient of an activation
  kSaved,      // written by forward for backward, in the backend's format: winners, masks
  kStatistic,  // mean and variance of a batch
  kParameter,
  kParameterGradient,
  kOptimizerState,
  kState,   // kept between steps: running statistics, step counts
  kOutput,  // logits, loss
};

struct Buffer {
  std::string name;
  TensorDesc desc;
  BufferRole role = BufferRole::kActivation;
  // The buffer keeps its value after the step, so it shares its memory with no other buffer.
  bool persistent = false;
  // The buffer is a part of this buffer, at a byte offset: a parameter in its layer's block, a
  // branch in its concatenation.
  BufferId parent = -1;
  std::size_t parent_offset = 0;
  // The value that Allocate writes to every element: a learning rate, 1 for a running variance.
  double initial = 0.0;
};

// One kernel of a step.
struct Stage {
  std::string name;  // name of the layer; "conv2.weights" for a reorder of its weights
  StagePass pass = StagePass::kForward;
  std::shared_ptr<const Op> op;
  Execution execution;
  std::string backend;  // backend that runs it
  std::string variant;  // requested variant (kernels/kernel/variant.h); empty: the backend's choice
  std::unique_ptr<Kernel> kernel;
  KernelRequest request;  // that the kernel was made from
  std::map<Arg, BufferId> buffers;
  std::vector<std::string> fused;  // further layers whose forward pass this stage computes
  std::string not_fused;           // why the next layer is not fused: "layer: reason"; or empty
  // The operation of the framework whose rules the plan follows (planning/framework_op.h); empty:
  // the plan follows none, or the framework has no such operation.
  std::string framework_op = {};

  // Arithmetic of the operation, and the traffic of this kernel's operands.
  Work work() const;
};

// The place of a batch normalization, as far as its parameters' initial values depend on it.
enum class NormPlace {
  kElsewhere,
  kEndsBranch,     // its result is added to a shortcut
  kBeforeMaxPool,  // possibly with a ReLU between
};

// A trained parameter and its buffers.
struct PlanParameter {
  std::string layer;
  Parameter spec;
  BufferId value;
  BufferId gradient;  // -1 in inference, and when the loss does not depend on it
  NormPlace place = NormPlace::kElsewhere;  // place of a batch normalization
  // The exact gradient is zero (networks/parameters/cancelled_parameters.h), so only weight decay
  // changes the parameter. No kernel writes to `gradient`, which stays zero: the kernel's result,
  // rounding errors, goes to another buffer.
  bool cancelled = false;
};

// A running statistic (C) of a batch normalization. Training updates it, inference reads it. The
// mean starts at 0, the variance at 1.
struct PlanStatistic {
  std::string layer;
  std::string name;  // "mean", "variance"
  BufferId buffer;
};

// Parameters that an inference kernel reads in another form than the stored one: with a batch
// normalization or factors of the channels folded in (kernels/batchnorm/fold.h), or in a layout
// that only the kernel's backend can address.
struct PreparedParameters {
  struct Norm {
    BufferId scale, shift, mean, variance;  // -1 but the first: a factor of each channel alone
    float epsilon;
  };
  std::string backend;     // backend of the kernel that reads them
  BufferId weights, bias;  // the stored ones; bias -1: none
  std::optional<Norm> norm;
  BufferId prepared_weights, prepared_bias;  // that the kernel reads; bias -1: it reads `bias`
};

struct PlanContents {
  std::string network;
  int threads = 1;
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  std::vector<BufferId> inputs, outputs;  // as in the graph
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
  // The buffers of the network's inputs and outputs, as the graph orders them. Two outputs may be
  // one buffer.
  const std::vector<BufferId>& inputs() const { return contents_.inputs; }
  const std::vector<BufferId>& outputs() const { return contents_.outputs; }
  const std::vector<PlanParameter>& parameters() const { return contents_.parameters; }
  const std::vector<PlanStatistic>& statistics() const { return contents_.statistics; }
  const std::vector<std::string>& dropped() const { return contents_.dropped; }

  // Bytes that Allocate needs: buffers, the kernels' own memory, and shared scratch memory.
  std::size_t bytes() const;
  std::size_t buffer_bytes() const { return transient_bytes_ + persistent_bytes_; }
  // Bytes of the memory that buffers share: activations, gradients, and what forward saves.
  std::size_t transient_bytes() const { return transient_bytes_; }
  std::size_t persistent_bytes() const { return persistent_bytes_; }
  // Per stage, the bytes of the buffers with shared memory that are in use while it runs: written
  // before or by it, and read by it or later. Never more than transient_bytes().
  const std::vector<std::size_t>& live_bytes() const { return live_bytes_; }

  // Allocates the buffers, zeroed or with their initial values, and prepares every kernel. Does all
  // slow work, except that the pages of parameters take memory when they are written. Call it once
  // before Run. Throws std::bad_alloc.
  void Allocate();
  // Computes the PreparedParameters, makes plug-ins load their weights again, and gives memory to
  // all pages that have none. Call it after Allocate, and whenever parameters or running statistics
  // have been written. (A training plan has no PreparedParameters.)
  void PrepareParameters() const;
  // For a plan whose parameters are written once (PrepareOnly in parameter_values.h): computes all
  // of prepared(), each layer by one of the plan's threads. `given` returns values that are not in
  // the plan (none: they are), and several threads call it at once. `done` is called after each
  // layer, by one thread at a time, and must not throw. Omit says that a buffer stays without its
  // values: Read throws std::logic_error.
  using GivenValues = std::function<std::span<const float>(BufferId)>;
  using LayerPrepared = std::function<void(const PreparedParameters&)>;
  const std::vector<PreparedParameters>& prepared() const { return contents_.prepared; }
  void PrepareLayers(const GivenValues& given, const LayerPrepared& done) const;
  void Omit(BufferId buffer) { omitted_.insert(buffer); }
  void LoadPluginWeights() const;

  // Runs one step: every stage in order, at the plan's width. Does not allocate, lock or throw.
  void Run() noexcept;
  // Runs one stage. The calling thread's OpenMP width must be threads().
  void RunStage(std::size_t stage) noexcept { contents_.stages[stage].kernel->Run(); }

  // Memory of a buffer. Valid after Allocate.
  void* Data(BufferId buffer) const;
  // The blocks of memory that hold all buffers. The kernels' scratch memory is elsewhere.
  std::vector<std::span<const std::byte>> BufferMemory() const;
  template <typename T>
  T* DataAs(BufferId buffer) const {
    return static_cast<T*>(Data(buffer));
  }
  // The contents of the persistent buffers: parameters and their gradients, optimizer state,
  // statistics, counts, inputs, labels and outputs. RestoreState throws std::invalid_argument for a
  // state of another size.
  std::vector<std::byte> SaveState() const;
  void RestoreState(std::span<const std::byte> state) const;
  // The first buffer with this role. Throws std::out_of_range when there is none.
  BufferId Find(BufferRole role) const;
  bool Has(BufferRole role) const;
  // The first buffer with this name. Throws std::out_of_range when there is none.
  BufferId FindByName(std::string_view name) const;
  // Read and write a buffer's logical tensor, row-major. Write throws std::invalid_argument for an
  // opaque layout and for another number of elements.
  std::vector<double> Read(BufferId buffer) const;
  void Write(BufferId buffer, std::span<const double> values) const;
  void Write(BufferId buffer, const Tensor& values) const;

 private:
  PlanContents contents_;
  std::vector<std::size_t> offsets_;     // per buffer, in the block of its kind
  std::vector<std::size_t> live_bytes_;  // per stage
  std::size_t transient_bytes_ = 0;
  std::size_t persistent_bytes_ = 0;
  std::size_t run_scratch_bytes_ = 0;  // largest need of a kernel
  AlignedMemory run_scratch_;
  AlignedMemory transient_memory_;
  AlignedMemory persistent_memory_;
  std::set<BufferId> omitted_;

  void PlaceAll();
  // The library of the first stage that uses the buffer. Throws std::out_of_range if none does.
  const std::string& BackendOf(BufferId buffer) const;
  // Throws std::logic_error for a buffer that was omitted.
  void RequireValues(BufferId buffer) const;
  // The values of weights and bias, row-major, that the layer's kernel must read, in the memory of
  // `reused`.
  FoldedWeights ValuesOf(const PreparedParameters& layer, const GivenValues& given = {},
                         FoldedWeights reused = {}) const;
  // Writes the layer's values, and returns them.
  FoldedWeights Prepare(const PreparedParameters& layer, const GivenValues& given,
                        FoldedWeights reused) const;
};

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_PLAN_PLAN_H_
