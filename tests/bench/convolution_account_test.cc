// The account of executed operations, for convolutions that are small enough to count by hand.

#include "bench/profile/limits/convolution_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace topdnn {
namespace {

// 3x3 over a 4x4 image of one channel: 16 outputs with 9 taps each. 100 of the 144 taps read the
// image, the others padding.
ConvOp Padded(ConvEpilogue epilogue) {
  ConvExtents e;
  e.h = e.w = 4;
  e.r = e.s = 3;
  e.pad_top = e.pad_left = e.pad_bottom = e.pad_right = 1;
  return ConvOp(e, epilogue);
}

constexpr Execution kForward = {Pass::kForward, false, DataType::kF32};

TEST(ConvolutionAccount, PaddingSkipped) {
  const ConvOp op = Padded({.bias = true, .sum = false, .relu = true});
  const std::vector<CountedConvolution> counted = {{&op, kForward, 2 * 100 + 16 + 16 + 5}};
  const ConvolutionAccount account = AccountFor(counted, Pass::kForward);
  EXPECT_EQ(account.convolutions, 1);
  EXPECT_EQ(account.skipping, 1);
  EXPECT_EQ(account.defined, 2 * 144);
  EXPECT_EQ(account.left_out, 2 * 44);
  EXPECT_EQ(account.epilogue, 32);
  EXPECT_EQ(account.rest(), 5);
}

TEST(ConvolutionAccount, PaddingMultiplied) {
  const ConvOp op = Padded({.bias = false});
  const std::vector<CountedConvolution> counted = {{&op, kForward, 2 * 144 + 2}};
  const ConvolutionAccount account = AccountFor(counted, Pass::kForward);
  EXPECT_EQ(account.skipping, 0);
  EXPECT_EQ(account.left_out, 0);
  EXPECT_EQ(account.rest(), 2);
}

TEST(ConvolutionAccount, PassesAreSeparate) {
  const ConvOp op = Padded({.bias = true});
  const Execution weights = {Pass::kBackwardWeights, true, DataType::kF32};
  const Execution data = {Pass::kBackwardData, true, DataType::kF32};
  const std::vector<CountedConvolution> counted = {
      {&op, weights, 2 * 100 + 16}, {&op, data, 2 * 144}, {&op, data, 2 * 100}};
  EXPECT_EQ(AccountFor(counted, Pass::kBackwardWeights).rest(), 0);
  EXPECT_EQ(AccountFor(counted, Pass::kBackwardData).rest(), 0);
  EXPECT_EQ(AccountFor(counted, Pass::kBackwardData).convolutions, 2);
  EXPECT_EQ(AccountFor(counted, Pass::kForward).convolutions, 0);
}

TEST(ConvolutionAccount, NoteHasEachTerm) {
  const ConvOp op = Padded({.bias = true});
  const std::vector<CountedConvolution> counted = {{&op, kForward, 2 * 100 + 16 + 1}};
  const std::vector<std::string> notes = ConvolutionNotes(counted);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], testing::HasSubstr("2 x 144 = 288 as defined, less 88 on padding"));
  EXPECT_THAT(notes[0], testing::HasSubstr("plus 16 for biases"));
  EXPECT_THAT(notes[0], testing::HasSubstr("plus 1 (+0.3472 %)"));
}

}  // namespace
}  // namespace topdnn
