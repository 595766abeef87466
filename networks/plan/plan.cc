#include "networks/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <limits>
#include <span>
#include <utility>

#include "kernels/kernel/native.h"
#include "kernels/kernel/thread_width.h"
#include "kernels/kernel/traffic.h"
#include "kernels/plugin/plugin_kernel.h"
#include "kernels/reorder/store.h"
#include "kernels/tensor/tensor_copy.h"
#include "networks/plan/memory.h"

namespace topdnn {

std::string_view NameOf(StagePass pass) {
  constexpr std::array<std::string_view, 6> kNames = {
      "forward", "backward_data", "backward_weights", "update", "reorder", "loss"};
  return kNames[static_cast<std::size_t>(pass)];
}

Work Stage::work() const {
  Work work = op->WorkIn(execution);
  work.bytes = CompulsoryBytes(*kernel);
  return work;
}

Plan::Plan(PlanContents contents) : contents_(std::move(contents)) { PlaceAll(); }

void Plan::PlaceAll() {
  constexpr int kNever = std::numeric_limits<int>::max();
  std::vector<BufferLife> lives(contents_.buffers.size(), BufferLife{0, kNever, -1});
  for (std::size_t i = 0; i < contents_.stages.size(); ++i) {
    const auto stage = static_cast<int>(i);
    for (const auto& [arg, part] : contents_.stages[i].buffers) {
      BufferId buffer = part;
      while (contents_.buffers[buffer].parent >= 0) buffer = contents_.buffers[buffer].parent;
      BufferLife& life = lives[static_cast<std::size_t>(buffer)];
      life.first_stage = std::min(life.first_stage, stage);
      life.last_stage = std::max(life.last_stage, stage);
    }
  }
  offsets_.assign(contents_.buffers.size(), 0);
  const auto place_persistent = [this](bool has_initial) {
    for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
      const Buffer& buffer = contents_.buffers[i];
      if (buffer.parent >= 0 || !buffer.persistent) continue;
      if ((buffer.initial != 0.0) != has_initial) continue;
      offsets_[i] = persistent_bytes_;
      persistent_bytes_ += (buffer.desc.bytes() + kBufferAlignment - 1) & -kBufferAlignment;
    }
  };
  // Allocate writes the initial values, and a write gives memory to a whole huge page. So these
  // buffers lie together.
  place_persistent(true);
  place_persistent(false);
  std::vector<BufferLife> transient;
  std::vector<std::size_t> transient_index;
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    const Buffer& buffer = contents_.buffers[i];
    if (buffer.parent >= 0 || buffer.persistent || lives[i].last_stage < 0) continue;
    lives[i].bytes = buffer.desc.bytes();
    transient.push_back(lives[i]);
    transient_index.push_back(i);
  }
  const MemoryMap map = PlaceBuffers(transient);
  for (std::size_t i = 0; i < transient.size(); ++i) offsets_[transient_index[i]] = map.offsets[i];
  transient_bytes_ = map.bytes;
  live_bytes_ = LiveBytes(transient, contents_.stages.size());
  for (const Stage& stage : contents_.stages) {
    run_scratch_bytes_ = std::max(run_scratch_bytes_, stage.kernel->run_scratch_bytes());
  }
}

std::size_t Plan::bytes() const {
  std::size_t total = buffer_bytes() + run_scratch_bytes_;
  for (const Stage& stage : contents_.stages) total += stage.kernel->scratch_bytes();
  return total;
}

void Plan::Allocate() {
  transient_memory_ = AlignedMemory(transient_bytes_);
  persistent_memory_ = AlignedMemory::WithoutPages(persistent_bytes_);
  run_scratch_ = AlignedMemory(run_scratch_bytes_);
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    if (contents_.buffers[i].initial == 0.0) continue;
    const auto elements = static_cast<std::size_t>(contents_.buffers[i].desc.shape.elements());
    Write(static_cast<BufferId>(i), std::vector<double>(elements, contents_.buffers[i].initial));
  }
  for (Stage& stage : contents_.stages) {
    std::map<Arg, void*> memory;
    for (const auto& [arg, buffer] : stage.buffers) memory[arg] = Data(buffer);
    memory[Arg::kScratch] = run_scratch_.data();
    stage.kernel->Prepare(memory);
  }
}

FoldedWeights Plan::ValuesOf(const PreparedParameters& layer, const GivenValues& given,
                             FoldedWeights reused) const {
  // Row-major f32 is read in place: a copy takes as long as the folding.
  std::deque<std::vector<float>> converted;
  const auto floats = [&](BufferId buffer) -> std::span<const float> {
    if (buffer < 0) return {};
    if (const auto values = given ? given(buffer) : std::span<const float>(); !values.empty()) {
      return values;
    }
    RequireValues(buffer);
    const TensorDesc& desc = contents_.buffers[buffer].desc;
    if (desc.type != DataType::kF32 || desc.layout != Layout::Plain(desc.shape.rank())) {
      return converted.emplace_back(ToFloat(desc, Data(buffer)));
    }
    return {DataAs<float>(buffer), static_cast<std::size_t>(desc.shape.elements())};
  };
  const std::span<const float> weights = floats(layer.weights), bias = floats(layer.bias);
  if (!layer.norm) {
    reused.weights.assign(weights.begin(), weights.end());
    reused.bias.assign(bias.begin(), bias.end());
    return reused;
  }
  const PreparedParameters::Norm& norm = *layer.norm;
  const std::span<const float> scale = floats(norm.scale);
  if (norm.mean < 0) {
    const std::vector<float> zeros(scale.size(), 0.0F), ones(scale.size(), 1.0F);
    return FoldBatchNorm(weights, bias, {zeros, ones, scale, zeros, 0}, std::move(reused));
  }
  return FoldBatchNorm(
      weights, bias,
      {floats(norm.mean), floats(norm.variance), scale, floats(norm.shift), norm.epsilon},
      std::move(reused));
}

FoldedWeights Plan::Prepare(const PreparedParameters& layer, const GivenValues& given,
                            FoldedWeights reused) const {
  FoldedWeights values = ValuesOf(layer, given, std::move(reused));
  const auto store = [&](BufferId buffer, const std::vector<float>& stored) {
    StoreValues(stored, contents_.buffers[buffer].desc, Data(buffer), layer.backend);
  };
  store(layer.prepared_weights, values.weights);
  if (layer.prepared_bias >= 0) store(layer.prepared_bias, values.bias);
  return values;
}

void Plan::PrepareLayers(const GivenValues& given, const LayerPrepared& done) const {
  std::exception_ptr failure;
#pragma omp parallel num_threads(contents_.threads)
  {
    FoldedWeights values;
#pragma omp for schedule(dynamic)
    for (const PreparedParameters& layer : contents_.prepared) {
      try {
        values = Prepare(layer, given, std::move(values));
#pragma omp critical
        if (done) done(layer);
      } catch (...) {
#pragma omp critical
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

void Plan::LoadPluginWeights() const {
  for (const Stage& stage : contents_.stages) {
    if (auto* plugin = dynamic_cast<PluginKernel*>(stage.kernel.get())) plugin->WeightsChanged();
  }
}

void Plan::PrepareParameters() const {
  PrepareLayers({}, {});
  LoadPluginWeights();
  persistent_memory_.TouchPages();
}

void Plan::RequireValues(BufferId buffer) const {
  if (!omitted_.contains(buffer)) return;
  throw std::logic_error(
      fmt::format("{}: {} was not kept, only what its kernel reads; read it from the weights' file",
                  contents_.network, contents_.buffers[buffer].name));
}

void Plan::Run() noexcept {
  const ThreadWidth width(contents_.threads);
  for (Stage& stage : contents_.stages) stage.kernel->Run();
}

void* Plan::Data(BufferId buffer) const {
  const Buffer& wanted = contents_.buffers[static_cast<std::size_t>(buffer)];
  if (wanted.parent >= 0) {
    return static_cast<std::byte*>(Data(wanted.parent)) + wanted.parent_offset;
  }
  const AlignedMemory& block = wanted.persistent ? persistent_memory_ : transient_memory_;
  return block.data() + offsets_[static_cast<std::size_t>(buffer)];
}

std::vector<std::span<const std::byte>> Plan::BufferMemory() const {
  return {{transient_memory_.data(), transient_memory_.bytes()},
          {persistent_memory_.data(), persistent_memory_.bytes()}};
}

std::vector<std::byte> Plan::SaveState() const {
  return {persistent_memory_.data(), persistent_memory_.data() + persistent_memory_.bytes()};
}

void Plan::RestoreState(std::span<const std::byte> state) const {
  if (state.size() != persistent_memory_.bytes()) {
    throw std::invalid_argument(
        fmt::format("a state of {} bytes, but {} has {}; restore a state of the same plan",
                    state.size(), contents_.network, persistent_memory_.bytes()));
  }
  std::copy(state.begin(), state.end(), persistent_memory_.data());
}

BufferId Plan::Find(BufferRole role) const {
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    if (contents_.buffers[i].role == role) return static_cast<BufferId>(i);
  }
  throw std::out_of_range(fmt::format("{} has no such buffer", contents_.network));
}

bool Plan::Has(BufferRole role) const {
  return std::any_of(contents_.buffers.begin(), contents_.buffers.end(),
                     [role](const Buffer& buffer) { return buffer.role == role; });
}

BufferId Plan::FindByName(std::string_view name) const {
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    if (contents_.buffers[i].name == name) return static_cast<BufferId>(i);
  }
  throw std::out_of_range(fmt::format("{} has no buffer named {}", contents_.network, name));
}

std::vector<double> Plan::Read(BufferId buffer) const {
  RequireValues(buffer);
  // Weights in an opaque layout are prepared from row-major ones, so this computes them again.
  for (const PreparedParameters& layer : contents_.prepared) {
    if (layer.prepared_weights != buffer || !contents_.buffers[buffer].desc.layout.is_opaque()) {
      continue;
    }
    const FoldedWeights values = ValuesOf(layer);
    return {values.weights.begin(), values.weights.end()};
  }
  const TensorDesc& desc = contents_.buffers[static_cast<std::size_t>(buffer)].desc;
  if (!desc.layout.is_opaque()) return ToDouble(desc, Data(buffer));
  return LoadValues(desc, Data(buffer), BackendOf(buffer));
}

const std::string& Plan::BackendOf(BufferId buffer) const {
  // (topdnn's own kernels write no opaque layouts)
  for (const Stage& stage : contents_.stages) {
    for (const auto& [arg, used] : stage.buffers) {
      if (used == buffer && stage.backend != kNative) return stage.backend;
    }
  }
  throw std::out_of_range(fmt::format("no stage of {} uses the buffer {}", contents_.network,
                                      contents_.buffers[buffer].name));
}

void Plan::Write(BufferId buffer, std::span<const double> values) const {
  FromDouble(values, contents_.buffers[static_cast<std::size_t>(buffer)].desc, Data(buffer));
}

void Plan::Write(BufferId buffer, const Tensor& values) const {
  const ThreadWidth width(contents_.threads);
  CopyTensor(values.desc(), values.data(), contents_.buffers[buffer].desc, Data(buffer));
}

}  // namespace topdnn
