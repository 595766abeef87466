#include "networks/plan/memory.h"

#include <gtest/gtest.h>

#include <random>

namespace topdnn {
namespace {

TEST(PlaceBuffersTest, BuffersInUseTogetherDoNotOverlap) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    std::vector<BufferLife> lives(30);
    std::size_t sum = 0;
    for (BufferLife& life : lives) {
      life.bytes = random() % 5000;
      life.first_stage = static_cast<int>(random() % 40);
      life.last_stage = life.first_stage + static_cast<int>(random() % 10);
      sum += (life.bytes + 63) / 64 * 64;
    }
    const MemoryMap map = PlaceBuffers(lives);
    EXPECT_LE(map.bytes, sum);
    for (std::size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(map.offsets[a] % kBufferAlignment, 0u);
      EXPECT_LE(map.offsets[a] + lives[a].bytes, map.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        const bool meet = lives[a].first_stage <= lives[b].last_stage &&
                          lives[b].first_stage <= lives[a].last_stage;
        const bool overlap = map.offsets[a] < map.offsets[b] + lives[b].bytes &&
                             map.offsets[b] < map.offsets[a] + lives[a].bytes;
        EXPECT_FALSE(meet && overlap);
      }
    }
  }
}

// The same chain as below, with its sums by hand.
TEST(LiveBytesTest, AStageHasTheBuffersThatBeginOrEndInIt) {
  const std::vector<BufferLife> lives = {{640, 0, 1}, {1280, 1, 2}, {640, 2, 3}, {320, 3, 4}};
  EXPECT_EQ(LiveBytes(lives, 6), (std::vector<std::size_t>{640, 1920, 1920, 960, 320, 0}));
}

TEST(PlaceBuffersTest, AChainNeedsItsTwoLargestNeighbours) {
  // 0 -> 1 -> 2 -> 3: each buffer lives for two stages.
  const std::vector<BufferLife> lives = {{640, 0, 1}, {1280, 1, 2}, {640, 2, 3}, {320, 3, 4}};
  EXPECT_EQ(PlaceBuffers(lives).bytes, 1920u);
}

}  // namespace
}  // namespace topdnn
