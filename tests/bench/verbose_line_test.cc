// Lines of oneDNN's log in every dialect, and lines that are damaged.

#include "bench/log/read/verbose_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <ostream>
#include <string>

namespace topdnn {
namespace {

constexpr auto kExec = VerboseKind::kExec;

VerboseLine Parse(std::string_view text) { return ParseVerboseLine(text, VerboseTemplate()); }

struct Dialect {
  std::string name, line, dialect;
  std::optional<double> stamp;
};
// GoogleTest prints the parameter into the names of the tests, which must not change.
void PrintTo(const Dialect& dialect, std::ostream* out) { *out << dialect.name; }

class DialectTest : public testing::TestWithParam<Dialect> {};

// The same execution, as each version prints it.
TEST_P(DialectTest, AnExecutionIsRead) {
  const VerboseLine line = Parse(GetParam().line);
  ASSERT_EQ(line.kind, kExec);
  EXPECT_EQ(line.Dialect(), GetParam().dialect);
  EXPECT_DOUBLE_EQ(line.stamp.value_or(0), GetParam().stamp.value_or(0));
  EXPECT_EQ(line[VerboseField::kEngine], "cpu");
  EXPECT_EQ(line[VerboseField::kPrimitive], "convolution");
  EXPECT_EQ(line[VerboseField::kImplementation], "jit:avx2");
  EXPECT_EQ(line[VerboseField::kPropKind], "forward_training");
  EXPECT_THAT(std::string(line[VerboseField::kTensors]), testing::StartsWith("src"));
  EXPECT_EQ(line[VerboseField::kAuxiliary], "alg:convolution_direct");
  EXPECT_EQ(line[VerboseField::kProblem], "mb2_ic16oc16_ih7oh7kh5sh1dh0ph2_iw7ow7kw5sw1dw0pw2");
  EXPECT_DOUBLE_EQ(line.seconds, 0.0000390625);
  EXPECT_FALSE(line.interleaved);
}

// The fields from the engine to the time; `tensors` differ, and DNNL 1.0 has no attributes.
std::string Fields(const std::string& tensors, const std::string& attributes) {
  return "exec,cpu,convolution,jit:avx2,forward_training," + tensors + "," + attributes +
         "alg:convolution_direct,mb2_ic16oc16_ih7oh7kh5sh1dh0ph2_iw7ow7kw5sw1dw0pw2,0.0390625";
}

const std::string kOld = "src_f32::blocked:aBcd8b:f0 wei_f32::blocked:ABcd8b8a:f0";
const std::string kThree = "src_f32:a:blocked:aBcd8b::f0 wei_f32:a:blocked:ABcd8b8a::f0";
const std::string kNew = "src:f32:a:blocked:aBcd8b::f0 wei:f32:a:blocked:ABcd8b8a::f0";

INSTANTIATE_TEST_SUITE_P(
    Versions, DialectTest,
    testing::Values(
        Dialect{"v1_0", "dnnl_verbose," + Fields(kOld, ""), "dnnl_verbose", {}},
        Dialect{"MklDnn1_0", "mkldnn_verbose," + Fields(kOld, ""), "mkldnn_verbose", {}},
        Dialect{"v1_2", "dnnl_verbose," + Fields(kOld, ","), "dnnl_verbose", {}},
        Dialect{"v2_0Stamped", "dnnl_verbose,1607393146348.667969," + Fields(kOld, ","),
                "dnnl_verbose", 1607393146.348667969},
        Dialect{"v2_6",
                "onednn_verbose," + Fields(kOld, "attr-scratchpad:user ,"),
                "onednn_verbose",
                {}},
        Dialect{"v3_1",
                "onednn_verbose,primitive," + Fields(kThree, ","),
                "onednn_verbose,primitive",
                {}},
        Dialect{"v3_5", "onednn_verbose,v0,1693533460229.437012,primitive," + Fields(kThree, ","),
                "onednn_verbose,v0,primitive", 1693533460.229437012},
        Dialect{"v3_12",
                "onednn_verbose,v1,primitive," + Fields(kNew, "attr-scratchpad:user,"),
                "onednn_verbose,v1,primitive",
                {}},
        Dialect{"AfterOtherText",
                "[rank 0] onednn_verbose," + Fields(kOld, ",") + "\r",
                "onednn_verbose",
                {}}),
    [](const auto& test) { return test.param.name; });

// The line of the guide of MKL-DNN 1.0, and one without an algorithm of the same version.
TEST(VerboseLineTest, Version1PrintsNoAttributes) {
  const VerboseLine reorder = Parse(
      "mkldnn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
      "dst_f32::blocked:aBcd8b:f0,num:1,2x16x7x7,0.468994");
  ASSERT_EQ(reorder.kind, kExec);
  EXPECT_EQ(reorder[VerboseField::kProblem], "2x16x7x7");
  const VerboseLine inner = Parse(
      "dnnl_verbose,exec,cpu,inner_product,gemm:jit,forward_training,src_f32::blocked:ab:f0 "
      "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,mb4096ic64oc16,0.03");
  ASSERT_EQ(inner.kind, kExec);
  EXPECT_EQ(inner[VerboseField::kAuxiliary], "");
  EXPECT_EQ(inner[VerboseField::kProblem], "mb4096ic64oc16");
  EXPECT_DOUBLE_EQ(inner.seconds, 0.03e-3);
}

struct Other {
  std::string name, line;
  VerboseKind kind;
};
void PrintTo(const Other& other, std::ostream* out) { *out << other.name; }

class OtherLineTest : public testing::TestWithParam<Other> {};

TEST_P(OtherLineTest, HasItsKind) { EXPECT_EQ(Parse(GetParam().line).kind, GetParam().kind); }

const std::string kReorder =
    "cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 dst_f32::blocked:aBcd8b:f0,,,2x16x7x7,0.5";

INSTANTIATE_TEST_SUITE_P(
    Lines, OtherLineTest,
    testing::Values(
        Other{"Text", "epoch 1: loss 2.3", VerboseKind::kText},
        Other{"Empty", "", VerboseKind::kText},
        Other{"Info", "onednn_verbose,info,cpu,runtime:OpenMP,nthr:2", VerboseKind::kInfo},
        Other{"InfoOfVersion3", "onednn_verbose,v1,info,gpu,runtime:none", VerboseKind::kInfo},
        Other{"Create", "onednn_verbose,create:cache_miss," + kReorder, VerboseKind::kCreate},
        Other{"CreateOfVersion1", "dnnl_verbose,create," + kReorder, VerboseKind::kCreate},
        Other{
            "Graph",
            "onednn_verbose,v1,graph,exec,cpu,100002,conv_post_ops,relu_0;conv_0,data:nxc,in0_f32,"
            "strict,larger_partition_kernel_t,dnnl_backend,0.5",
            VerboseKind::kGraph},
        Other{"Check",
              "onednn_verbose,primitive,exec:check,primitive,unused primitive execution argument "
              "(4113),src/common/primitive_exec_types.cpp:74",
              VerboseKind::kOther},
        Other{"Dispatch",
              "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,brg:avx512_core,undef,"
              "src:u8:a:any:any::f0,,,256x256:256x256,unsupported isa,src/cpu/x64/x.cpp:97",
              VerboseKind::kOther},
        Other{"Start",
              "onednn_verbose,v1,primitive,exec:start,cpu,reorder,jit:uni,undef,"
              "src:f32::blocked:abcd::f0,,,2x16x7x7",
              VerboseKind::kOther},
        Other{"Truncated", "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::bl",
              VerboseKind::kDamaged},
        Other{"WithoutTime",
              "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0,,,2x16x7x7,",
              VerboseKind::kDamaged},
        Other{"WithoutTheTimeOfOneDimension",
              "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:a:f0 "
              "dst_bf16::blocked:a:f0,,,512",
              VerboseKind::kUntimed},
        Other{"WithoutTheTimeOfAFunction",
              "dnnl_verbose,exec,cpu,eltwise,jit:avx2,forward_training,data_f32::blocked:a:f0 "
              "diff_undef::undef::f0,,alg:eltwise_relu alpha:0 beta:0,512",
              VerboseKind::kUntimed},
        Other{"WithoutTheTimeWithAttributes",
              "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:a:f0 "
              "dst_bf16::blocked:a:f0,attr-scratchpad:user ,,512",
              VerboseKind::kUntimed},
        Other{"WithoutTheProblem",
              "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:a:f0 "
              "dst_bf16::blocked:a:f0,,,0.5",
              VerboseKind::kDamaged},
        Other{"WholeTimeOfVersion1",
              "dnnl_verbose,exec,cpu,inner_product,gemm:jit,forward_training,"
              "src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,"
              "mb4096ic64oc16,2",
              kExec},
        Other{"TimeWithText", "onednn_verbose,exec," + kReorder + "x", VerboseKind::kDamaged},
        Other{"TimeNotANumber",
              "onednn_verbose,exec," + kReorder.substr(0, kReorder.size() - 3) + "nan",
              VerboseKind::kDamaged},
        Other{"MarkerOnly", "onednn_verbose,", VerboseKind::kDamaged}),
    [](const auto& test) { return test.param.name; });

TEST(VerboseLineTest, ACreationWithinAnotherIsNested) {
  EXPECT_FALSE(Parse("onednn_verbose,create:cache_hit," + kReorder).nested);
  EXPECT_TRUE(Parse("onednn_verbose,v1,primitive,create:nested_cache_hit," + kReorder).nested);
  EXPECT_TRUE(Parse("onednn_verbose,v1,primitive,create_nested:cache_miss," + kReorder).nested);
}

// The second of two processes that share a file interrupts the first one's line.
TEST(VerboseLineTest, TheLastOfTwoInterleavedLinesIsRead) {
  const std::string text =
      "onednn_verbose,exec,cpu,convolution,jit:aonednn_verbose,exec," + kReorder;
  const VerboseLine line = Parse(text);
  EXPECT_EQ(line.kind, kExec);
  EXPECT_TRUE(line.interleaved);
  EXPECT_EQ(line[VerboseField::kPrimitive], "reorder");
}

// The SDPA primitive separates its tensors by commas.
TEST(VerboseLineTest, APrimitiveWithMoreFieldsKeepsNameAndTime) {
  const VerboseLine line = Parse(
      "onednn_verbose,v1,primitive,exec,cpu,sdpa,ref:any,,query:f32:1x1x384x64,key:f32:1x1x64x384,"
      "val:f32:1x1x384x64,msk:f32:1x1x1x384,a,b,0.25");
  ASSERT_EQ(line.kind, kExec);
  EXPECT_EQ(line[VerboseField::kPrimitive], "sdpa");
  EXPECT_DOUBLE_EQ(line.seconds, 0.00025);
}

TEST(VerboseTemplateTest, FieldsMayComeInAnyOrder) {
  const auto order = VerboseTemplate::Parse(
      "timestamp,exec_time,problem_desc,operation,primitive,engine,implementation,prop_kind,"
      "attributes,new_field,auxiliary,memory_descriptors");
  ASSERT_TRUE(order);
  EXPECT_FALSE(order->is_default());
  const VerboseLine line = ParseVerboseLine(
      "onednn_verbose,v2,1693533460229.5,primitive,0.5,2x16,exec,reorder,cpu,jit:uni,undef,attr,7,"
      "aux,src:f32::blocked:ab::f0",
      *order);
  ASSERT_EQ(line.kind, kExec);
  EXPECT_DOUBLE_EQ(line.seconds, 0.0005);
  EXPECT_EQ(line[VerboseField::kPrimitive], "reorder");
  EXPECT_EQ(line[VerboseField::kProblem], "2x16");
  EXPECT_EQ(line[VerboseField::kAttributes], "attr");
  EXPECT_EQ(line[VerboseField::kTensors], "src:f32::blocked:ab::f0");
}

TEST(VerboseTemplateTest, ATemplateLineGivesTheNames) {
  for (const std::string line : {"onednn_verbose,info,prim_template:operation,engine",
                                 "onednn_verbose,v1,primitive,info,template:operation,engine"}) {
    const VerboseLine parsed = Parse(line);
    EXPECT_EQ(parsed.kind, VerboseKind::kTemplate) << line;
    EXPECT_EQ(parsed.rest, "operation,engine") << line;
  }
}

TEST(VerboseTemplateTest, AnIncompleteTemplateIsRefused) {
  EXPECT_FALSE(VerboseTemplate::Parse(""));
  EXPECT_FALSE(VerboseTemplate::Parse("operation,engine"));
  EXPECT_FALSE(VerboseTemplate::Parse(
      "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,"
      "problem_desc,exec_time,exec_time"));
  const auto same = VerboseTemplate::Parse(
      "operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,"
      "problem_desc,exec_time");
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->is_default());
}

}  // namespace
}  // namespace topdnn
