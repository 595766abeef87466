#include "networks/plan/memory.h"

#include <algorithm>
#include <numeric>

namespace topdnn {

namespace {

std::size_t RoundUp(std::size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

bool LiveTogether(const BufferLife& a, const BufferLife& b) {
  return a.first_stage <= b.last_stage && b.first_stage <= a.last_stage;
}

}  // namespace

MemoryMap PlaceBuffers(const std::vector<BufferLife>& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });

  MemoryMap map;
  map.offsets.assign(buffers.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t buffer : order) {
    const std::size_t bytes = RoundUp(buffers[buffer].bytes);
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!LiveTogether(buffers[buffer], buffers[other])) continue;
      if (offset + bytes <= map.offsets[other]) break;
      offset = std::max(offset, map.offsets[other] + RoundUp(buffers[other].bytes));
    }
    map.offsets[buffer] = offset;
    map.bytes = std::max(map.bytes, offset + bytes);
    const auto place = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::size_t value, std::size_t other) { return value < map.offsets[other]; });
    placed.insert(place, buffer);
  }
  return map;
}

std::vector<std::size_t> LiveBytes(const std::vector<BufferLife>& buffers, std::size_t stages) {
  std::vector<std::size_t> live(stages, 0);
  for (const BufferLife& buffer : buffers) {
    for (int stage = buffer.first_stage; stage <= buffer.last_stage; ++stage) {
      live.at(static_cast<std::size_t>(stage)) += buffer.bytes;
    }
  }
  return live;
}

}  // namespace topdnn
