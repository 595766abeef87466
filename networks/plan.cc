#include "networks/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/batchnorm/fold.h"
#include "kernels/thread_width.h"
#include "networks/memory.h"

namespace topdnn {

std::string_view NameOf(StagePass pass) {
  constexpr std::array<std::string_view, 6> kNames = {
      "forward", "backward_data", "backward_weights", "update", "reorder", "loss"};
  return kNames[static_cast<std::size_t>(pass)];
}

Plan::Plan(PlanContents contents) : contents_(std::move(contents)) { PlaceAll(); }

void Plan::PlaceAll() {
  constexpr int kNever = std::numeric_limits<int>::max();
  std::vector<BufferLife> lives(contents_.buffers.size(), BufferLife{0, kNever, -1});
  for (std::size_t i = 0; i < contents_.stages.size(); ++i) {
    const auto stage = static_cast<int>(i);
    for (const auto& [arg, buffer] : contents_.stages[i].buffers) {
      BufferLife& life = lives[static_cast<std::size_t>(buffer)];
      life.first_stage = std::min(life.first_stage, stage);
      life.last_stage = std::max(life.last_stage, stage);
    }
  }
  offsets_.assign(contents_.buffers.size(), 0);
  std::vector<BufferLife> transient;
  std::vector<std::size_t> transient_index;
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    const Buffer& buffer = contents_.buffers[i];
    if (buffer.parent >= 0) continue;
    if (buffer.persistent) {
      offsets_[i] = persistent_bytes_;
      persistent_bytes_ += (buffer.desc.bytes() + kBufferAlignment - 1) & -kBufferAlignment;
    } else if (lives[i].last_stage >= 0) {
      lives[i].bytes = buffer.desc.bytes();
      transient.push_back(lives[i]);
      transient_index.push_back(i);
    }
  }
  const MemoryMap map = PlaceBuffers(transient);
  for (std::size_t i = 0; i < transient.size(); ++i) offsets_[transient_index[i]] = map.offsets[i];
  transient_bytes_ = map.bytes;
}

std::size_t Plan::bytes() const {
  std::size_t total = buffer_bytes();
  for (const Stage& stage : contents_.stages) total += stage.kernel->scratch_bytes();
  return total;
}

void Plan::Allocate() {
  transient_memory_ = AlignedMemory(transient_bytes_);
  persistent_memory_ = AlignedMemory(persistent_bytes_);
  for (std::size_t i = 0; i < contents_.buffers.size(); ++i) {
    if (contents_.buffers[i].initial == 0.0) continue;
    const auto elements = static_cast<std::size_t>(contents_.buffers[i].desc.shape.elements());
    Write(static_cast<BufferId>(i), std::vector<double>(elements, contents_.buffers[i].initial));
  }
  for (Stage& stage : contents_.stages) {
    std::map<Arg, void*> memory;
    for (const auto& [arg, buffer] : stage.buffers) memory[arg] = Data(buffer);
    stage.kernel->Prepare(memory);
  }
}

void Plan::PrepareParameters() const {
  const auto floats = [this](BufferId buffer) {
    const std::vector<double> values = Read(buffer);
    return std::vector<float>(values.begin(), values.end());
  };
  for (const Folding& folding : contents_.foldings) {
    const std::vector<float> weights = floats(folding.weights);
    const std::vector<float> bias = folding.bias < 0 ? std::vector<float>() : floats(folding.bias);
    const std::vector<float> mean = floats(folding.mean);
    const std::vector<float> variance = floats(folding.variance);
    const std::vector<float> scale = floats(folding.scale);
    const std::vector<float> shift = floats(folding.shift);
    const FoldedWeights folded =
        FoldBatchNorm(weights, bias, {mean, variance, scale, shift, folding.epsilon});
    Write(folding.folded_weights,
          std::vector<double>(folded.weights.begin(), folded.weights.end()));
    Write(folding.folded_bias, std::vector<double>(folded.bias.begin(), folded.bias.end()));
  }
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
  return ToDouble(contents_.buffers[static_cast<std::size_t>(buffer)].desc, Data(buffer));
}

void Plan::Write(BufferId buffer, std::span<const double> values) const {
  FromDouble(values, contents_.buffers[static_cast<std::size_t>(buffer)].desc, Data(buffer));
}

}  // namespace topdnn
