// The libraries of Eigen code and the thread pools that their kernels share.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <thread>
#include <variant>

#include "kernels/conv/conv.h"
#include "kernels/eigen/library.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

// The table consists of pointers. A file of per_isa/ that fills no entry leaves a null pointer.
TEST(EigenLibraryTest, EveryEntryOfTheTableIsFilled) {
  for (const eigen::Variant variant : {eigen::Variant::kGebp, eigen::Variant::kSgemm}) {
    for (const char* isa : {"sse2", "avx2", "avx512", "neon"}) {
      const auto found = eigen::FindFunctions(variant, isa);
      if (std::holds_alternative<Refusal>(found)) continue;
      const auto entries =
          std::bit_cast<std::array<void*, sizeof(eigen::Functions) / sizeof(void*)>>(
              *std::get<const eigen::Functions*>(found));
      for (std::size_t i = 0; i < entries.size(); ++i) {
        EXPECT_NE(entries[i], nullptr) << isa << ", entry " << i << " of kernels/eigen/functions.h";
      }
    }
  }
}

TEST(EigenPoolTest, KernelsOfOneWidthShareTheirThreads) {
  const auto found = eigen::FindFunctions(eigen::Variant::kGebp, "");
  const eigen::Functions& functions = *std::get<const eigen::Functions*>(found);
  const auto two = eigen::SharePool(functions, 2);
  EXPECT_EQ(eigen::SharePool(functions, 2), two);
  EXPECT_NE(eigen::SharePool(functions, 1), two);
}

// Two threads run kernels of one pool at the same time.
TEST(EigenPoolTest, CallersMayShareAPool) {
  const auto op = std::make_shared<ConvOp>(
      ConvExtents{.n = 2, .c = 16, .h = 20, .w = 20, .k = 32, .r = 3, .s = 3});
  const auto check = [&] {
    for (std::uint64_t i = 0; i < 5; ++i) {
      CheckAgainstReference("eigen", RequestFor(op, {Pass::kForward}, 2), i);
    }
  };
  std::thread other(check);
  check();
  other.join();
}

}  // namespace
}  // namespace topdnn
