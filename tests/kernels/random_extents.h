// Seeded random problems with a window, for the tests of several backends.

#ifndef TOPDNN_TESTS_KERNELS_RANDOM_EXTENTS_H_
#define TOPDNN_TESTS_KERNELS_RANDOM_EXTENTS_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "kernels/conv/conv.h"
#include "kernels/pool/pool.h"

namespace topdnn {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Both bounds are included.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  std::int64_t UpTo(std::int64_t n) { return Between(1, n); }
  bool Once(int in) { return UpTo(in) == 1; }
  std::uint64_t Seed() { return engine_(); }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

// A window of up to 5x5 with random stride and padding, sometimes dilated.
inline ConvExtents RandomConv(Random& random) {
  ConvExtents e;
  e.n = random.UpTo(4);
  e.c = random.UpTo(20);
  e.k = random.UpTo(40);
  e.r = random.UpTo(5);
  e.s = random.UpTo(5);
  e.stride_h = random.UpTo(3);
  e.stride_w = random.UpTo(3);
  e.dilation_h = random.Once(4) ? 2 : 1;
  e.dilation_w = random.Once(4) ? 3 : 1;
  e.pad_top = random.UpTo(e.r) - 1;
  e.pad_left = random.UpTo(e.s) - 1;
  e.pad_bottom = random.UpTo(e.r) - 1;
  e.pad_right = random.UpTo(e.s) - 1;
  e.h = (e.r - 1) * e.dilation_h + random.UpTo(14);
  e.w = (e.s - 1) * e.dilation_w + random.UpTo(14);
  return e;
}

// The same with up to three groups.
inline ConvExtents RandomGroupedConv(Random& random) {
  ConvExtents e = RandomConv(random);
  e.groups = random.UpTo(3);
  e.c *= e.groups;
  e.k *= e.groups;
  return e;
}

// With a fused addition only if the backend may support one.
inline ConvEpilogue RandomEpilogue(Random& random, bool may_add) {
  ConvEpilogue epilogue;
  epilogue.bias = random.Once(2);
  epilogue.sum = may_add && random.Once(4);
  epilogue.relu = random.Once(2);
  if (epilogue.relu && random.Once(2)) epilogue.bound = 0.5F;
  return epilogue;
}

// Full and partial blocks of channels, an image of up to `image` pixels per side; sometimes the
// window is the whole image.
inline PoolExtents RandomPool(Random& random, std::int64_t image) {
  constexpr std::int64_t kChannels[] = {1, 3, 16, 17, 32};
  PoolExtents e{.n = random.UpTo(3),
                .c = kChannels[random.Between(0, 4)],
                .h = random.UpTo(image),
                .w = random.UpTo(image)};
  if (random.Once(6)) return PoolExtents::Global(e.n, e.c, e.h, e.w);
  e.r = random.UpTo(std::min<std::int64_t>(e.h, 5));
  e.s = random.UpTo(std::min<std::int64_t>(e.w, 5));
  e.stride_h = random.UpTo(3);
  e.stride_w = random.UpTo(3);
  e.pad_top = random.UpTo(e.r) - 1;
  e.pad_left = random.UpTo(e.s) - 1;
  e.pad_bottom = random.UpTo(e.r) - 1;
  e.pad_right = random.UpTo(e.s) - 1;
  e.ceil_mode = random.Once(2);
  return e;
}

}  // namespace topdnn

#endif  // TOPDNN_TESTS_KERNELS_RANDOM_EXTENTS_H_
