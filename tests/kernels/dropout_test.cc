#include "kernels/dropout/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/kernel/thread_width.h"
#include "kernels/op/problem.h"
#include "tests/kernels/gradient_check.h"
#include "tests/kernels/kernel_check.h"

namespace topdnn {
namespace {

constexpr const char* kDropoutBackends[] = {"native", "eigen"};

// The known answers from the library of the paper's authors (Random123, kat_vectors).
TEST(PhiloxTest, KnownAnswers) {
  using Numbers = std::array<std::uint32_t, 4>;
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (Numbers{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Numbers{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Numbers{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutOpTest, ImpossibleGeometryIsRefusedInOneLine) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const Shape& shape : {Shape{0}, Shape{3, -1}, Shape{kHuge, kHuge}}) {
    EXPECT_THROW(DropoutOp(shape, 0.5F), std::invalid_argument) << shape.ToString();
  }
  for (const float ratio : {-0.1F, 1.0F, 2.0F, NAN}) {
    try {
      const DropoutOp op(Shape{3}, ratio);
      ADD_FAILURE() << ratio;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
}

TEST(DropoutOpTest, ProblemsAreReadBack) {
  for (const auto& [problem, op] : {std::pair{"64x4096_ratio0.5", DropoutOp(Shape{64, 4096}, 0.5F)},
                                    std::pair{"8x3x2x2s4294967295_ratio0.25",
                                              DropoutOp(Shape{8, 3, 2, 2}, 0.25F, 4294967295U)}}) {
    EXPECT_EQ(op.Problem(), problem);
    EXPECT_EQ(ParseProblem(std::string("dropout/") + problem)->Problem(), problem);
  }
  EXPECT_THROW(ParseProblem("dropout/8s4294967296"), ProblemError);
}

TEST(DropoutOpTest, WorkAndOperands) {
  const DropoutOp op(Shape{8, 16}, 0.5F);
  const Work training = op.WorkOf(Pass::kForward, DataType::kF32);
  EXPECT_EQ(training.flops, 128);
  EXPECT_EQ(training.bytes, 128 * (4 + 4 + 1) + 2 * 4);
  const Work inference = op.WorkIn({Pass::kForward, false, DataType::kBF16});
  EXPECT_EQ(inference.flops, 0);
  EXPECT_EQ(inference.bytes, 128 * (2 + 2));
  EXPECT_EQ(op.WorkOf(Pass::kBackwardData, DataType::kF32).bytes, 128 * (4 + 4 + 1));
  EXPECT_FALSE(op.Has({Pass::kBackwardWeights}));
  EXPECT_FALSE(op.Find({Pass::kForward, false}, Arg::kStep));
}

// Draws a mask over 2^16 ones and returns the result.
std::vector<double> Draw(const std::string& backend, float ratio, std::uint32_t seed, int step,
                         int threads, const Layout& layout = Layout::Plain(4),
                         DataType type = DataType::kF32) {
  const auto op = std::make_shared<DropoutOp>(Shape{16, 64, 8, 8}, ratio, seed);
  KernelRequest request = RequestFor(op, {Pass::kForward, true, type}, threads);
  request.layouts[Arg::kSrc] = layout;
  KernelRun run(backend, request);
  if (run.kernel() == nullptr) {
    ADD_FAILURE() << run.refusal();
    return {};
  }
  run.Set(Arg::kSrc, std::vector<double>(1 << 16, 1.0));
  run.Set(Arg::kStep, {static_cast<double>(step)});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kStep), std::vector<double>{step + 1.0});
  return run.Get(Arg::kDst);
}

TEST(DropoutMaskTest, IsTheSameForAnyWidthLayoutTypeAndBackend) {
  const std::vector<double> mask = Draw("reference", 0.5F, 7, 3, 1);
  for (const char* backend : kDropoutBackends) {
    for (const int threads : {1, 2, 3}) EXPECT_EQ(Draw(backend, 0.5F, 7, 3, threads), mask);
    for (const char* tag : {"acdb", "aBcd16b"}) {
      EXPECT_EQ(Draw(backend, 0.5F, 7, 3, 2, *Layout::Parse(tag)), mask) << tag;
    }
    if (std::string(backend) == "eigen") continue;  // only f32
    EXPECT_EQ(Draw(backend, 0.5F, 7, 3, 2, Layout::Plain(4), DataType::kBF16), mask);
  }
}

TEST(DropoutMaskTest, DependsOnSeedAndStep) {
  const std::vector<double> mask = Draw("native", 0.5F, 7, 3, 1);
  for (const auto& other : {Draw("native", 0.5F, 8, 3, 1), Draw("native", 0.5F, 7, 4, 1)}) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) same += mask[i] == other[i] ? 1 : 0;
    // Independent masks agree on half of the elements: 2^15, with a standard deviation of 128.
    EXPECT_NEAR(static_cast<double>(same), 32768.0, 6 * 128);
  }
}

TEST(DropoutMaskTest, DropsTheRatioAndKeepsTheMean) {
  for (const float ratio : {0.0F, 0.1F, 0.5F, 0.75F, 0.99F}) {
    const std::vector<double> dst = Draw("native", ratio, 1, 0, 2);
    double dropped = 0;
    for (const double value : dst) {
      if (value == 0) {
        ++dropped;
      } else {
        EXPECT_FLOAT_EQ(static_cast<float>(value), 1 / (1 - ratio));
      }
    }
    const auto n = static_cast<double>(dst.size());
    const auto p = static_cast<double>(ratio);
    EXPECT_NEAR(dropped, n * p, 6 * std::sqrt(n * p * (1 - p))) << ratio;
    if (ratio == 0) {
      EXPECT_EQ(dst, std::vector<double>(dst.size(), 1.0));
    }
  }
}

// Stochastic depth keeps or drops whole images, by the mask of as many elements as images.
TEST(DropoutMaskTest, RowsAreKeptOrDroppedAsAWhole) {
  constexpr std::int64_t kImages = 64;
  const auto elements = std::make_shared<DropoutOp>(Shape{kImages}, 0.5F, 9);
  const auto rows =
      std::dynamic_pointer_cast<const DropoutOp>(ParseProblem("dropout/64x17x5x3s9_ratio0.5_rows"));
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->Problem(), "64x17x5x3s9_ratio0.5_rows");
  EXPECT_EQ(rows->Find({Pass::kForward}, Arg::kWorkspace)->shape, Shape{kImages});
  KernelRun mask("reference", RequestFor(elements, {Pass::kForward}, 1));
  mask.Set(Arg::kSrc, std::vector<double>(kImages, 1.0));
  mask.Set(Arg::kStep, {3});
  mask.Run();
  const std::vector<double> kept = mask.Get(Arg::kDst);  // 0 or 2
  std::vector<double> src(kImages * 255), expected;
  std::iota(src.begin(), src.end(), 1.0);
  for (std::size_t i = 0; i < src.size(); ++i) expected.push_back(src[i] * kept[i / 255]);
  for (const char* backend : {"reference", "native", "eigen"}) {
    for (const char* tag : {"abcd", "acdb", "aBcd16b"}) {
      if (std::string(backend) == "reference" && std::string(tag) != "abcd") continue;
      SCOPED_TRACE(std::string(backend) + " " + tag);
      KernelRequest request = RequestFor(rows, {Pass::kForward}, 2);
      request.layouts[Arg::kSrc] = *Layout::Parse(tag);
      KernelRun forward(backend, request);
      ASSERT_NE(forward.kernel(), nullptr) << forward.refusal();
      forward.Set(Arg::kSrc, src);
      forward.Set(Arg::kStep, {3});
      forward.Run();
      EXPECT_EQ(forward.Get(Arg::kDst), expected);
      EXPECT_EQ(forward.Get(Arg::kStep), std::vector<double>{4});
      KernelRequest back = RequestFor(rows, {Pass::kBackwardData}, 2);
      back.layouts[Arg::kDiffDst] = *Layout::Parse(tag);
      KernelRun backward(backend, back);
      ASSERT_NE(backward.kernel(), nullptr) << backward.refusal();
      CopyWorkspace(forward, backward);
      backward.Set(Arg::kDiffDst, src);
      backward.Run();
      EXPECT_EQ(backward.Get(Arg::kDiffSrc), expected);
    }
  }
}

TEST(DropoutMaskTest, StepWrapsAround) {
  const auto op = std::make_shared<DropoutOp>(Shape{5}, 0.5F);
  for (const char* backend : {"reference", "native"}) {
    KernelRun run(backend, RequestFor(op, {Pass::kForward}, 1));
    run.Set(Arg::kSrc, {1, 1, 1, 1, 1});
    run.Set(Arg::kStep, {2147483647.0});
    run.Run();
    EXPECT_EQ(run.Get(Arg::kStep), std::vector<double>{-2147483648.0});
  }
}

TEST(DropoutBackendsTest, AgreeWithTheReference) {
  for (const char* backend : kDropoutBackends) {
    int agreed = 0;
    int i = 0;
    for (const Shape& shape : {Shape{1}, Shape{3, 17}, Shape{2, 3, 1, 1}, Shape{2, 16, 5, 3},
                               Shape{1, 32, 33, 33}, Shape{4, 16, 1, 1}}) {
      for (const DataType type : {DataType::kF32, DataType::kBF16}) {
        for (const char* tag : {"abcd", "acdb", "aBcd16b"}) {
          for (const auto& [pass, training] :
               {std::pair{Pass::kForward, true}, std::pair{Pass::kForward, false},
                std::pair{Pass::kBackwardData, true}}) {
            const auto op = std::make_shared<DropoutOp>(shape, 0.4F, 11);
            KernelRequest request = RequestFor(op, {pass, training, type}, 1 + ++i % 2);
            if (shape.rank() == 4) {
              for (const Arg arg : {Arg::kSrc, Arg::kDst, Arg::kDiffDst, Arg::kDiffSrc}) {
                if (op->Find(request.execution, arg)) request.layouts[arg] = *Layout::Parse(tag);
              }
            }
            const auto verdict =
                CheckAgainstReference(backend, request, 40 + i, {.may_refuse = true});
            agreed += verdict == Verdict::kAgrees ? 1 : 0;
          }
        }
      }
    }
    // All cases except those of 3 channels in blocks of 16.
    const int types = std::string(backend) == "eigen" ? 1 : 2;
    EXPECT_EQ(agreed, types * (6 * 3 * 3 - 3)) << backend;
  }
}

TEST(DropoutBackendsTest, RefusalsSayWhy) {
  const auto op = std::make_shared<DropoutOp>(Shape{2, 3, 2, 2}, 0.5F);
  KernelRequest request = RequestFor(op, {Pass::kForward}, 1);
  request.layouts[Arg::kSrc] = *Layout::Parse("aBcd16b");
  EXPECT_NE(KernelRun("native", request).refusal().find("padding"), std::string::npos);
  request.layouts[Arg::kDst] = Layout::Plain(4);
  EXPECT_NE(KernelRun("native", request).refusal().find("one layout"), std::string::npos);
  request.layouts.clear();
  request.execution.type = DataType::kF16;
  EXPECT_NE(KernelRun("native", request).refusal().find("f16"), std::string::npos);
}

TEST(DropoutBackendsTest, NanAndInfinityAreDroppedOrPass) {
  const auto op = std::make_shared<DropoutOp>(Shape{64}, 0.5F, 2);
  for (const char* backend : {"reference", "native"}) {
    KernelRun run(backend, RequestFor(op, {Pass::kForward}, 1));
    std::vector<double> src(64, HUGE_VAL);
    for (std::size_t i = 0; i < 32; ++i) src[i] = NAN;
    run.Set(Arg::kSrc, src);
    run.Run();
    const std::vector<double> mask = run.Get(Arg::kWorkspace);
    const std::vector<double> dst = run.Get(Arg::kDst);
    for (std::size_t i = 0; i < dst.size(); ++i) {
      if (mask[i] == 0) {
        EXPECT_EQ(dst[i], 0) << i;
      } else if (i < 32) {
        EXPECT_TRUE(std::isnan(dst[i])) << i;
      } else {
        EXPECT_EQ(dst[i], HUGE_VAL) << i;
      }
    }
  }
}

TEST(DropoutBackendsTest, MayOverwriteTheirSource) {
  const auto op = std::make_shared<DropoutOp>(Shape{300}, 0.5F, 9);
  for (const char* backend : {"reference", "native"}) {
    for (const bool training : {false, true}) {
      const KernelRequest request = RequestFor(op, {Pass::kForward, training}, 2);
      const Values inputs = RandomInputs(*op, request.execution, 3);
      KernelRun apart(backend, request);
      KernelRun in_place(backend, request);
      in_place.Alias(Arg::kDst, Arg::kSrc);
      for (KernelRun* run : {&apart, &in_place}) {
        run->SetInputs(inputs);
        run->Run();
      }
      EXPECT_EQ(apart.Get(Arg::kDst), in_place.Get(Arg::kSrc));
    }
  }
}

TEST(DropoutReferenceTest, GradientAgreesWithFiniteDifferences) {
  for (const float ratio : {0.0F, 0.3F, 0.9F}) {
    CheckGradient(std::make_shared<DropoutOp>(Shape{3, 5, 2, 2}, ratio, 4), Arg::kSrc, 2);
  }
}

std::ptrdiff_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

// OpenMP's threads would spin and take CPU time from Eigen's. No other test starts as many as
// seven, so OpenMP would have to start new ones here.
TEST(DropoutTest, OnEigenItStartsNoThreadsOfOpenMp) {
  const auto op = std::make_shared<DropoutOp>(Shape{1 << 18}, 0.5F);
  KernelOrRefusal made = MakeKernel("eigen", RequestFor(op, {Pass::kForward}, 7));
  const auto& kernel = std::get<std::unique_ptr<Kernel>>(made);
  std::map<Arg, AlignedMemory> owned;
  std::map<Arg, void*> memory;
  for (const KernelOperand& operand : kernel->operands()) {
    memory[operand.arg] = (owned[operand.arg] = AlignedMemory(operand.desc.bytes())).data();
  }
  const ThreadWidth width(7);
  kernel->Prepare(memory);
  const std::ptrdiff_t before = ThreadsOfProcess();
  kernel->Run();
  EXPECT_EQ(ThreadsOfProcess(), before);
}

}  // namespace
}  // namespace topdnn
