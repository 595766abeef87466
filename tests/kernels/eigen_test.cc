// The Eigen backends with every ISA of this CPU, on one and two threads. The tests of the
// operations do not vary these.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/activation/clip.h"
#include "kernels/activation/relu.h"
#include "kernels/activation/sigmoid.h"
#include "kernels/bias/bias.h"
#include "kernels/concat/concat.h"
#include "kernels/conv/conv.h"
#include "kernels/dropout/dropout.h"
#include "kernels/eltwise/add.h"
#include "kernels/flatten/flatten.h"
#include "kernels/gemm/gemm.h"
#include "kernels/inner_product/inner_product.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/reduce/reduce.h"
#include "kernels/reorder/reorder.h"
#include "kernels/sgd/adam.h"
#include "kernels/sgd/sgd.h"
#include "kernels/softmax/cross_entropy.h"
#include "kernels/softmax/softmax.h"
#include "kernels/transpose/transpose.h"
#include "tests/kernels/eigen_backends.h"
#include "tests/kernels/kernel_check.h"
#include "tests/kernels/random_extents.h"

namespace topdnn {
namespace {

class EigenTest : public EigenBackendTest {};

TEST_P(EigenTest, RandomConvolutionsAgreeWithTheReference) {
  Random random(31);
  for (int i = 0; i < 40; ++i) {
    const ConvEpilogue epilogue = RandomEpilogue(random, /*may_add=*/false);
    CheckPasses(std::make_shared<ConvOp>(RandomConv(random), epilogue), random.Seed());
  }
}

TEST_P(EigenTest, RandomDepthwiseConvolutionsAgreeWithTheReference) {
  Random random(36);
  for (int i = 0; i < 20; ++i) {
    ConvExtents e = RandomConv(random);
    e.c = random.UpTo(40) + 1;
    e.groups = e.c;
    e.k = e.c * (random.Once(2) ? 1 : random.UpTo(3));
    const ConvEpilogue epilogue = RandomEpilogue(random, /*may_add=*/false);
    const auto op = std::make_shared<ConvOp>(e, epilogue);
    CheckPasses(op, random.Seed());
    const KernelRequest rows = AskingByRows(op, {Pass::kBackwardWeights}, 1 + i % 2);
    EXPECT_EQ(Check(rows, random.Seed()), Verdict::kAgrees);
    EXPECT_EQ(KernelRun(backend(), rows).kernel()->implementation().find("depthwise_rows:"), 0U);
    const KernelRun forward(backend(), AskingByRows(op, {Pass::kForward}, 1));
    EXPECT_THAT(forward.refusal(), testing::HasSubstr("of a depthwise convolution by its weights"));
  }
}

// The last vector of an output's gradient also contains the first channels of the next output: here
// a NaN, which may only reach the weights of its own channel.
TEST_P(EigenTest, DepthwiseGradientsDoNotMixOutputs) {
  constexpr std::int64_t kChannels = 3;
  const ConvExtents e{.n = 2, .c = kChannels, .h = 1, .w = 2, .k = kChannels, .groups = kChannels};
  KernelRun run(backend(),
                Asking(std::make_shared<ConvOp>(e, ConvEpilogue{}), {Pass::kBackwardWeights}, 1));
  // (N, C, 1, W): channel 0 of the second output of each image is not a number.
  run.Set(Arg::kSrc, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const double nan = std::nan("");
  run.Set(Arg::kDiffDst, {1, nan, 1, 10, 1, 100, 1, nan, 1, 10, 1, 100});
  run.Run();
  const std::vector<double> gradient = run.Get(Arg::kDiffWeights);
  ASSERT_EQ(gradient.size(), 3U);
  EXPECT_TRUE(std::isnan(gradient[0]));
  EXPECT_EQ(gradient[1], 3 + 40 + 9 + 100);
  EXPECT_EQ(gradient[2], 5 + 600 + 11 + 1200);
}

TEST_P(EigenTest, RandomConvolutionsInGroupsAgreeWithTheReference) {
  Random random(37);
  for (int i = 0; i < 20; ++i) {
    ConvExtents e = RandomConv(random);
    e.groups = 1 + random.UpTo(3);
    // (several channels per group, because one channel per group is a depthwise convolution)
    e.c = e.groups * (2 + random.UpTo(6));
    e.k = e.groups * (1 + random.UpTo(6));
    const ConvEpilogue epilogue = RandomEpilogue(random, /*may_add=*/false);
    CheckPasses(std::make_shared<ConvOp>(e, epilogue), random.Seed());
  }
}

// Shapes for each algorithm of a convolution, large enough for several blocks and threads.
TEST_P(EigenTest, EveryAlgorithmOfAConvolutionAgreesWithTheReference) {
  const ConvExtents large{.n = 5,
                          .c = 48,
                          .h = 20,
                          .w = 20,
                          .k = 70,
                          .r = 3,
                          .s = 3,
                          .pad_top = 1,
                          .pad_left = 1,
                          .pad_bottom = 1,
                          .pad_right = 1};
  ConvExtents few_channels = large;
  few_channels.c = 3;
  ConvExtents one_image = large;
  one_image.n = 1;
  const ConvExtents pointwise{.n = 2, .c = 65, .h = 17, .w = 19, .k = 33};
  const ConvExtents strided{
      .n = 2, .c = 16, .h = 12, .w = 12, .k = 8, .stride_h = 2, .stride_w = 2};
  const ConvExtents whole{.n = 9, .c = 20, .h = 4, .w = 5, .k = 30, .r = 4, .s = 5};
  const ConvExtents one_output{
      .n = 1, .c = 20, .h = 4, .w = 5, .k = 30, .r = 4, .s = 5, .pad_top = 0, .pad_left = 0};
  const ConvExtents one_padded_output{.n = 1,
                                      .c = 6,
                                      .h = 3,
                                      .w = 3,
                                      .k = 30,
                                      .r = 5,
                                      .s = 5,
                                      .pad_top = 1,
                                      .pad_left = 1,
                                      .pad_bottom = 1,
                                      .pad_right = 1};
  const ConvExtents one_kernel{.n = 2, .c = 6, .h = 9, .w = 9, .k = 1, .r = 3, .s = 3};
  std::set<std::string> algorithms;
  for (const ConvExtents& e : {large, few_channels, one_image, pointwise, strided, whole,
                               one_output, one_padded_output, one_kernel}) {
    const auto op = std::make_shared<ConvOp>(e);
    CheckPasses(op, 7);
    for (const Pass pass : kAllPasses) {
      const KernelRun run(backend(), Asking(op, {pass}, 2));
      algorithms.insert(
          run.kernel()->implementation().substr(0, run.kernel()->implementation().find(':')));
    }
  }
  EXPECT_EQ(algorithms, (std::set<std::string>{"contraction+col2im", "im2col+contraction", "matmul",
                                               "patches_contraction", "sharded_gemm+col2im"}));
}

// 30 MiB hold the patches of five of these images, so the weight gradients are summed over shards.
TEST_P(EigenTest, GradientsOfWeightsAreSummedOverShards) {
  const ConvExtents e{.n = 12, .c = 24, .h = 84, .w = 84, .k = 2, .r = 3, .s = 3};
  const auto op = std::make_shared<ConvOp>(e);
  Check(Asking(op, {Pass::kBackwardWeights}, 2), 3);
}

TEST_P(EigenTest, RandomInnerProductsAgreeWithTheReference) {
  Random random(32);
  for (int i = 0; i < 30; ++i) {
    const Shape src = random.Once(2)
                          ? Shape{random.UpTo(40), random.UpTo(300)}
                          : Shape{random.UpTo(20), random.UpTo(20), random.UpTo(5), random.UpTo(5)};
    const InnerProductEpilogue epilogue{.bias = random.Once(2), .relu = random.Once(2)};
    CheckPasses(std::make_shared<InnerProductOp>(src, random.UpTo(100), epilogue), random.Seed());
  }
  for (const Shape& src : {Shape{1, 700}, Shape{300, 1}, Shape{1, 1}, Shape{500, 260}}) {
    for (const std::int64_t outputs : {1, 300}) {
      CheckPasses(std::make_shared<InnerProductOp>(src, outputs), 4);
    }
  }
}

// Factors are positive, so that the magnitudes of the terms are those of the reference.
TEST_P(EigenTest, RandomMatrixProductsAgreeWithTheReference) {
  Random random(35);
  for (int i = 0; i < 30; ++i) {
    const GemmExtents e{.m = random.UpTo(i % 3 == 0 ? 300 : 40),
                        .n = random.UpTo(i % 5 == 0 ? 300 : 40),
                        .k = random.UpTo(i % 7 == 0 ? 2000 : 100),
                        .batch = random.UpTo(2),
                        .trans_a = random.Once(2),
                        .trans_b = random.Once(2),
                        .alpha = random.Once(2) ? 1.0F : 0.5F,
                        .beta = random.Once(2) ? 0.0F : 2.0F};
    CheckPasses(std::make_shared<GemmOp>(e), random.Seed());
  }
}

TEST_P(EigenTest, InnerProductsKeepTheLayoutOfTheirSource) {
  const auto op = std::make_shared<InnerProductOp>(Shape{6, 5, 3, 4}, 7);
  for (const char* src : {"abcd", "acdb"}) {
    for (const char* weights : {"", "abcd", "acdb", "cdba", "bcda"}) {
      for (const Pass pass : kAllPasses) {
        KernelRequest request = Asking(op, {pass}, 2);
        request.layouts[pass == Pass::kBackwardData ? Arg::kDiffSrc : Arg::kSrc] =
            *Layout::Parse(src);
        if (*weights != 0) {
          request.layouts[pass == Pass::kBackwardWeights ? Arg::kDiffWeights : Arg::kWeights] =
              *Layout::Parse(weights);
        }
        const bool same_order = *weights == 0 || (std::string(src) == "abcd") ==
                                                     (weights[0] == 'b' || weights[1] == 'b');
        CheckOptions options;
        options.may_refuse = true;
        EXPECT_EQ(Check(request, 5, options), same_order ? Verdict::kAgrees : Verdict::kRefused)
            << src << " " << weights;
      }
    }
  }
}

TEST_P(EigenTest, ElementwiseOperationsAgreeWithTheReference) {
  Random random(34);
  for (int i = 0; i < 12; ++i) {
    const Shape image{random.UpTo(3), random.UpTo(40), random.UpTo(30), random.UpTo(30)};
    CheckPasses(std::make_shared<ReluOp>(image), random.Seed());
    CheckPasses(std::make_shared<ReluOp>(image, 0.5F), random.Seed());
    CheckPasses(std::make_shared<ClipOp>(image, -0.25F, 0.5F), random.Seed());
    CheckPasses(std::make_shared<SigmoidOp>(image), random.Seed());
    CheckPasses(std::make_shared<HardSigmoidOp>(image), random.Seed());
    CheckPasses(std::make_shared<AddOp>(image, 1 + static_cast<int>(random.UpTo(3)), i % 2 == 0),
                random.Seed());
    CheckPasses(std::make_shared<BiasOp>(image), random.Seed());
    CheckPasses(std::make_shared<DropoutOp>(image, 0.5F), random.Seed());
    CheckPasses(std::make_shared<SoftmaxOp>(random.UpTo(60), random.UpTo(1000)), random.Seed());
    const auto loss = std::make_shared<SoftmaxCrossEntropyOp>(random.UpTo(60), random.UpTo(50));
    for (const bool training : {false, true}) {
      EXPECT_EQ(Check(Asking(loss, {Pass::kForward, training}, 2), random.Seed()),
                Verdict::kAgrees);
    }
  }
  // Enough elements for two threads.
  const Shape large{8, 64, 50, 50};
  CheckPasses(std::make_shared<ReluOp>(large), 1);
  CheckPasses(std::make_shared<AddOp>(large, 2), 1);
  // More sources than one expression adds.
  for (const int sources : {9, 10, 18}) {
    CheckPasses(std::make_shared<AddOp>(Shape{2, 3, 5}, sources, true), 1);
  }
  CheckPasses(std::make_shared<BiasOp>(large), 1);
}

// Concatenations and flattenings in several layouts.
TEST_P(EigenTest, MovesOfElementsAgreeWithTheReference) {
  Random random(37);
  constexpr const char* kTags[] = {"abcd", "acdb", "cdba", "bcda"};
  for (int i = 0; i < 24; ++i) {
    const Layout layout = *Layout::Parse(kTags[i % 4]);
    const Shape image{random.UpTo(3), random.UpTo(20), random.UpTo(9), random.UpTo(9)};
    std::vector<Shape> sources;
    const int axis = static_cast<int>(random.Between(0, 3));
    for (std::int64_t part = random.UpTo(4); part > 0; --part) {
      std::vector<std::int64_t> extents = image.extents();
      extents[static_cast<std::size_t>(axis)] = random.UpTo(i == 7 ? 900 : 9);
      sources.emplace_back(std::move(extents));
    }
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
      const bool forward = pass == Pass::kForward;
      KernelRequest concat = Asking(std::make_shared<ConcatOp>(sources, axis), {pass}, 1 + i % 2);
      concat.layouts[forward ? IndexedSrc(0) : Arg::kDiffDst] = layout;
      EXPECT_EQ(Check(concat, random.Seed()), Verdict::kAgrees);
      KernelRequest flatten = Asking(std::make_shared<FlattenOp>(image), {pass}, 1 + i % 2);
      flatten.layouts[forward ? Arg::kSrc : Arg::kDiffSrc] = layout;
      EXPECT_EQ(Check(flatten, random.Seed()), Verdict::kAgrees);
    }
  }
}

TEST_P(EigenTest, RandomReductionsAgreeWithTheReference) {
  Random random(38);
  constexpr const char* kTags[] = {"abcd", "acdb", "cdba", "bcda"};
  std::set<std::string> algorithms;
  for (int i = 0; i < 64; ++i) {
    const Shape image{random.UpTo(4), random.UpTo(20), random.UpTo(9), random.UpTo(9)};
    // Every choice of axes, in each of these layouts.
    std::vector<int> axes;
    for (int d = 0; d < 4; ++d) {
      if (((i / 4) >> d & 1) != 0) axes.push_back(d);
    }
    if (axes.empty()) continue;
    for (const bool keep : {false, true}) {
      const auto op = std::make_shared<ReduceOp>(
          random.Once(2) ? ReduceAlgorithm::kSum : ReduceAlgorithm::kMean, image, axes, keep);
      for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
        KernelRequest request = Asking(op, {pass}, 1 + i % 2);
        request.layouts[pass == Pass::kForward ? Arg::kSrc : Arg::kDiffSrc] =
            *Layout::Parse(kTags[i % 4]);
        EXPECT_EQ(Check(request, random.Seed()), Verdict::kAgrees);
        const std::string ran = KernelRun(backend(), request).kernel()->implementation();
        algorithms.insert(ran.substr(0, ran.find(':')));
      }
    }
  }
  EXPECT_EQ(algorithms, (std::set<std::string>{"shuffle+sum", "sum"}));
  // Long sums, shared by two threads.
  CheckPasses(std::make_shared<ReduceOp>(ReduceAlgorithm::kSum, Shape{90001}, std::vector{0}), 3);
  CheckPasses(std::make_shared<ReduceOp>(ReduceAlgorithm::kMean, Shape{70, 900}, std::vector{1}),
              3);
}

TEST_P(EigenTest, ReluPassesNanAndMasksInfinity) {
  const auto op = std::make_shared<ReluOp>(Shape{1, 20}, 6.0F);
  const double nan = std::nan("");
  std::vector<double> odd(20, 0.5);
  odd[2] = nan;
  odd[3] = HUGE_VAL;
  odd[4] = -HUGE_VAL;
  odd[19] = nan;
  CheckOptions options;
  options.inputs[Arg::kSrc] = odd;
  Check(Asking(op, {Pass::kForward}, 1), 1, options);
  options.inputs[Arg::kDiffDst] = odd;
  options.inputs[Arg::kDst].assign(20, 0.0);
  Check(Asking(op, {Pass::kBackwardData}, 1), 1, options);
}

TEST_P(EigenTest, UpdatesAgreeWithTheReference) {
  for (const std::int64_t n : {1, 17, 100000}) {
    for (const float decay : {0.0F, 0.125F}) {
      for (const float momentum : {0.0F, 0.9F}) {
        CheckPasses(std::make_shared<SgdOp>(n, SgdSettings{momentum, decay}), 8);
      }
      CheckOptions options;
      // A second moment near zero would amplify rounding errors, so it is 0.5 here.
      options.inputs[Arg::kSecondMoment].assign(static_cast<std::size_t>(n), 0.5);
      const auto adam = std::make_shared<AdamOp>(n, AdamSettings{.weight_decay = decay});
      EXPECT_EQ(Check(Asking(adam, {}, 2), 9, options), Verdict::kAgrees);
    }
  }
}

// TensorFlow moves the first moment by a part of its distance from the gradient, with or without a
// fused multiply-add.
TEST_P(EigenTest, AdamMovesTheMomentByItsDistance) {
  constexpr int kCount = 1000;
  const AdamSettings settings;
  KernelRun run(backend(), Asking(std::make_shared<AdamOp>(kCount, settings), {}, 2));
  std::vector<double> gradient;
  std::vector<double> moment;
  for (int i = 0; i < kCount; ++i) {
    gradient.push_back(std::sin(static_cast<float>(i)));
    moment.push_back(std::cos(static_cast<float>(3 * i)));
  }
  run.Set(Arg::kDiffWeights, gradient);
  run.Set(Arg::kMomentum, moment);
  run.Run();
  const std::vector<double> moved = run.Get(Arg::kMomentum);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const auto m = static_cast<float>(moment[i]);
    const float distance = static_cast<float>(gradient[i]) - m;
    const float part = distance * (1 - settings.beta1);
    EXPECT_THAT(moved[i], testing::AnyOf(m + part, std::fma(distance, 1 - settings.beta1, m)));
  }
}

// TensorFlow adds the bias to the finished sum. At 1e8, floats are 8 apart, so products of 4 that
// are added to the bias one by one would be lost.
TEST_P(EigenTest, TheBiasOfADepthwiseConvolutionIsAddedLast) {
  const ConvExtents e{.c = 2, .h = 3, .w = 3, .k = 2, .r = 3, .s = 3, .groups = 2};
  KernelRun run(backend(), Asking(std::make_shared<ConvOp>(e), {Pass::kForward}, 1));
  run.Set(Arg::kSrc, std::vector<double>(18, 2));
  run.Set(Arg::kWeights, std::vector<double>(18, 2));
  run.Set(Arg::kBias, {1e8, 0});
  run.Run();
  EXPECT_EQ(run.Get(Arg::kDst), (std::vector<double>{100'000'032, 36}));
}

TEST_P(EigenTest, ReordersAgreeWithTheReference) {
  const auto op = std::make_shared<ReorderOp>(Shape{3, 17, 9, 5}, DataType::kF32, DataType::kF32);
  for (const char* from : {"abcd", "acdb", "cdba"}) {
    for (const char* to : {"abcd", "acdb", "cdba", "bcda"}) {
      KernelRequest request = Asking(op, {}, 2);
      request.layouts = {{Arg::kSrc, *Layout::Parse(from)}, {Arg::kDst, *Layout::Parse(to)}};
      EXPECT_EQ(Check(request, 2), Verdict::kAgrees) << from << " " << to;
    }
  }
  const auto matrix = std::make_shared<ReorderOp>(Shape{30, 70}, DataType::kF32, DataType::kF32);
  KernelRequest request = Asking(matrix, {}, 1);
  request.layouts[Arg::kDst] = *Layout::Parse("ba");
  EXPECT_EQ(Check(request, 2), Verdict::kAgrees);
  request.op = std::make_shared<ReorderOp>(Shape{1, 32, 2, 2}, DataType::kF32, DataType::kF32);
  request.layouts[Arg::kDst] = *Layout::Parse("aBcd16b");
  EXPECT_NE(KernelRun(backend(), request).refusal().find("unblocked"), std::string::npos);
}

TEST_P(EigenTest, ResizedImagesAgreeWithTheReference) {
  Random random(39);
  for (int i = 0; i < 12; ++i) {
    const Shape image{random.UpTo(3), random.UpTo(40), random.UpTo(20), random.UpTo(20)};
    CheckPasses(std::make_shared<InterpolateOp>(
                    RepeatPixels(image, {.h = random.UpTo(3), .w = random.UpTo(3)})),
                random.Seed());
  }
}

TEST_P(EigenTest, TranspositionsAgreeWithTheReference) {
  for (const std::vector<int>& order :
       {std::vector{0, 2, 3, 1}, {3, 2, 1, 0}, {2, 3, 0, 1}, {0, 1, 2, 3}, {1, 3, 0, 2}}) {
    CheckPasses(std::make_shared<TransposeOp>(Shape{3, 17, 9, 5}, order), 2);
  }
}

TEST_P(EigenTest, NanInTheSourceReachesItsOutputs) {
  const ConvExtents e{.n = 1, .c = 2, .h = 5, .w = 5, .k = 3, .r = 3, .s = 3};
  const auto op =
      std::make_shared<ConvOp>(e, ConvEpilogue{.bias = true, .sum = false, .relu = true});
  CheckOptions options;
  options.inputs[Arg::kSrc].assign(50, 0.5);
  options.inputs[Arg::kSrc][7] = std::nan("");
  Check(Asking(op, {Pass::kForward}, 1), 9, options);
}

TEST_P(EigenTest, TheImplementationAndIsaAreReported) {
  const KernelRun run(backend(),
                      Asking(std::make_shared<ConvOp>(ConvExtents{.h = 5, .w = 5, .r = 3, .s = 3}),
                             {Pass::kForward}, 1));
  EXPECT_EQ(run.kernel()->isa(), isa());
  const std::string inner = backend() == "eigen" ? "gebp" : "sgemm";
  EXPECT_EQ(run.kernel()->implementation(), "patches_contraction:eigen_3.4.0_" + inner);
}

INSTANTIATE_TEST_SUITE_P(Backends, EigenTest, EigenBackendTest::All(), EigenBackendTest::NameOf);

TEST(EigenRequestTest, UnsupportedRequestsAreRefusedWithAReason) {
  const auto refusal = [](const std::shared_ptr<const Op>& op, const Execution& execution,
                          const std::string& algorithm) {
    KernelRequest request = RequestFor(op, execution, 1);
    request.algorithm = algorithm;
    return KernelRun("eigen", request).refusal();
  };
  const auto conv = std::make_shared<ConvOp>(ConvExtents{.c = 4, .h = 5, .w = 5, .k = 4});
  const Execution bf16{Pass::kForward, true, DataType::kBF16};
  EXPECT_EQ(refusal(conv, bf16, ""), "eigen computes in f32, not bf16");
  EXPECT_NE(refusal(conv, {}, "winograd").find("no algorithm 'winograd'"), std::string::npos);
  KernelRequest unknown_isa = RequestFor(conv, {}, 1);
  unknown_isa.isa = "altivec";
  EXPECT_NE(KernelRun("eigen", unknown_isa).refusal().find("no ISA 'altivec'"), std::string::npos);
  KernelRequest grouped = RequestFor(
      std::make_shared<ConvOp>(ConvExtents{.c = 4, .h = 5, .w = 5, .k = 4, .groups = 2}), {}, 1);
  grouped.layouts[Arg::kDst] = Layout::Plain(4);
  EXPECT_NE(KernelRun("eigen", grouped).refusal().find("needs dst in layout acdb"),
            std::string::npos);
  const auto summed =
      std::make_shared<ConvOp>(ConvExtents{.h = 5, .w = 5}, ConvEpilogue{.sum = true});
  EXPECT_NE(refusal(summed, {}, "").find("does not support a fused addition"), std::string::npos);
  KernelRequest plain = RequestFor(conv, {}, 1);
  plain.layouts[Arg::kSrc] = Layout::Plain(4);
  EXPECT_EQ(KernelRun("eigen", plain).refusal(), "eigen needs src in layout acdb, not abcd");
  const auto five_groups =
      std::make_shared<ReduceOp>(ReduceAlgorithm::kSum, Shape{2, 2, 2, 2, 2}, std::vector{0, 2, 4});
  EXPECT_NE(refusal(five_groups, {}, "").find("at most 4 alternating groups"), std::string::npos);
  for (const std::shared_ptr<const Op>& op :
       {std::shared_ptr<const Op>(std::make_shared<FlattenOp>(Shape{1, 16, 2, 2})),
        std::shared_ptr<const Op>(std::make_shared<ReduceOp>(
            ReduceAlgorithm::kSum, Shape{1, 16, 2, 2}, std::vector{2}))}) {
    KernelRequest blocked = RequestFor(op, {}, 1);
    blocked.layouts[Arg::kSrc] = *Layout::Parse("aBcd16b");
    EXPECT_NE(KernelRun("eigen", blocked).refusal().find("unblocked"), std::string::npos);
  }
}

}  // namespace
}  // namespace topdnn
