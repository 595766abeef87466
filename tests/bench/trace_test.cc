// Reading oneDNN's log: folding, counting, stamps, and real logs.

#include "bench/log/read/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/log/read/mkldnn_line.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace Read(std::string_view text, std::size_t piece = std::string_view::npos) {
  TraceReader reader;
  while (!text.empty()) {
    reader.Add(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  return reader.Finish();
}

std::string Reorder(const std::string& milliseconds, const std::string& extents = "2x16x7x7") {
  return "onednn_verbose,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd:f0 "
         "dst_f32::blocked:aBcd8b:f0,attr-scratchpad:user ,," +
         extents + "," + milliseconds + "\n";
}

TEST(TraceReaderTest, EqualPrimitivesAreOneRow) {
  const Trace trace = Read(Reorder("1") + Reorder("3", "2x16x8x8") + Reorder("2") + Reorder("5"));
  ASSERT_EQ(trace.rows.size(), 2u);
  EXPECT_EQ(trace.rows[0].count, 3);
  EXPECT_DOUBLE_EQ(trace.rows[0].seconds, 0.008);
  EXPECT_FLOAT_EQ(trace.rows[0].MedianSeconds(), 0.002);
  EXPECT_EQ(trace.rows[1].problem, "2x16x8x8");
  EXPECT_EQ(trace.rows[1].count, 1);
  EXPECT_EQ(trace.Primitives(), 4);
  EXPECT_DOUBLE_EQ(trace.FrameworkSeconds(), 0.011);
  EXPECT_EQ(trace.dialect, "onednn_verbose");
}

// How a layout was requested, the scratchpad and the implementation do not change the problem.
TEST(TraceReaderTest, NotationsOfTheSameProblemAreOneRow) {
  const std::string begin = "onednn_verbose,v1,primitive,exec,cpu,convolution,";
  const std::string end = ",alg:convolution_direct,mb2_ic16oc16_ih7oh7kh5,1\n";
  const Trace trace =
      Read(begin +
           "jit:avx2,forward_training,src:f32:a:blocked:aBcd8b::f0 bia:undef::undef:::,"
           "attr-scratchpad:user" +
           end + begin +
           "ref:any,forward_training,src_f32::blocked:aBcd8b:f0 bia_undef::undef::f0," + end);
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.rows[0].count, 2);
  EXPECT_EQ(trace.rows[0].implementation, "jit:avx2 ...");
  EXPECT_EQ(trace.rows[0].attributes, "");
}

TEST(TraceReaderTest, WhatDiffersIsAnotherRow) {
  const std::string line =
      "onednn_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0,"
      "attr-post-ops:eltwise_relu ,alg:convolution_direct,mb2_ic16,1\n";
  std::string log = line;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"cpu,", "gpu,"},
                                                        {"forward_training", "forward_inference"},
                                                        {"src_f32", "src_bf16"},
                                                        {"abcd", "acdb"},
                                                        {"eltwise_relu", "sum+eltwise_relu"},
                                                        {"direct", "winograd"},
                                                        {"mb2_", "mb3_"}}) {
    std::string other = line;
    other.replace(other.find(from), from.size(), to);
    log += other;
  }
  EXPECT_EQ(Read(log).rows.size(), 8u);
}

TEST(TraceReaderTest, LinesThatAreNoExecutionsAreCounted) {
  std::vector<std::string> text;
  TraceReader reader([&text](std::string_view line) { text.emplace_back(line); });
  reader.Add(
      "loading\n"
      "onednn_verbose,info,oneDNN v2.6.3 (commit N/A)\n"
      "onednn_verbose,info,cpu,runtime:OpenMP,nthr:2\n"
      "onednn_verbose,info,cpu,isa:Intel AVX2\n" +
      Reorder("1") +
      "onednn_verbose,create:cache_miss,cpu,reorder,jit:uni,undef,src_f32,,,2x16,0.25\n"
      "onednn_verbose,create:nested_cache_hit,cpu,reorder,jit:uni,undef,src_f32,,,2x16,0.125\n"
      "onednn_verbose,v1,graph,exec,cpu,1,misc,x,,,,,,0.5\n"
      "onednn_verbose,v1,common,error,filter\n"
      "onednn_verbose,exec,cpu,reor\n"
      "onednn_verbose,exec,cpu,reor" +
      Reorder("2") + "done");
  const Trace trace = reader.Finish();
  EXPECT_EQ(trace.lines, 12);
  EXPECT_EQ(trace.library, "oneDNN v2.6.3 (commit N/A)");
  EXPECT_EQ(trace.threads, 2);
  EXPECT_EQ(trace.isa, "Intel AVX2");
  EXPECT_EQ(trace.created, 1);
  EXPECT_DOUBLE_EQ(trace.creation_seconds, 0.00025);
  EXPECT_EQ(trace.graph_lines, 1);
  EXPECT_EQ(trace.other_lines, 1);
  EXPECT_EQ(trace.damaged_lines, 1);
  EXPECT_EQ(trace.interleaved_lines, 1);
  EXPECT_EQ(trace.Primitives(), 2);
  EXPECT_EQ(trace.text_lines, 2);
  EXPECT_THAT(text, ElementsAre("loading", "done"));
}

// The digits of its time may be incomplete.
TEST(TraceReaderTest, ALastLineWithoutNewlineIsDamaged) {
  std::string log = Reorder("1") + Reorder("2.25");
  log.resize(log.size() - 3);  // "2.2"
  const Trace trace = Read(log);
  EXPECT_EQ(trace.Primitives(), 1);
  EXPECT_EQ(trace.damaged_lines, 1);
  EXPECT_EQ(trace.lines, 2);
}

TEST(TraceReaderTest, PiecesOfAnySizeGiveTheSame) {
  const std::string log = Reorder("1") + "text\n" + Reorder("2", "2x3") + "\n" + Reorder("3");
  for (const std::size_t piece : {1, 2, 7, 64, 1000}) {
    const Trace trace = Read(log, piece);
    EXPECT_EQ(trace.lines, 5);
    EXPECT_EQ(trace.rows.size(), 2u);
    EXPECT_DOUBLE_EQ(trace.FrameworkSeconds(), 0.006);
  }
}

TEST(TraceReaderTest, LongLinesAreReadOrCounted) {
  std::string tensors;
  while (tensors.size() < (std::size_t{1} << 20)) tensors += "src_f32::blocked:abcd:f0 ";
  const std::string wide = "onednn_verbose,exec,cpu,sum,jit:uni,undef," + tensors + ",,,2x16,0.5\n";
  const std::string endless(kMostLineBytes + 1, 'x');
  const Trace trace = Read(wide + endless + "\n" + Reorder("1"), 65536);
  EXPECT_EQ(trace.Primitives(), 2);
  EXPECT_EQ(trace.long_lines, 1);
  EXPECT_EQ(trace.lines, 3);
}

TEST(TraceReaderTest, RowsAreLimited) {
  std::string log;
  for (std::size_t i = 1; i <= kMostRows + 5; ++i) log += Reorder("1", std::to_string(i));
  const Trace trace = Read(log + Reorder("1", "1"));
  EXPECT_EQ(trace.rows.size(), kMostRows);
  EXPECT_EQ(trace.unfolded, 5);
  EXPECT_DOUBLE_EQ(trace.unfolded_seconds, 0.005);
  EXPECT_EQ(trace.rows[0].count, 2);
  EXPECT_EQ(trace.Primitives(), static_cast<std::int64_t>(kMostRows) + 6);
}

std::string Stamped(const std::string& stamp, const std::string& milliseconds,
                    const std::string& operation = "exec") {
  return "onednn_verbose," + stamp + "," + operation +
         ",cpu,reorder,jit:uni,undef,src_f32::blocked:ab:f0,,,2x16," + milliseconds + "\n";
}

// 1000 to 1002 runs, 1002 to 1005 nothing, 1005 to 1006 creates, 1006 to 1010 runs.
TEST(TraceReaderTest, StampsGiveTheTimeBetweenPrimitives) {
  const Trace trace =
      Read(Stamped("1000", "2") + Stamped("1005", "1", "create:cache_miss") + Stamped("1006", "4"));
  ASSERT_TRUE(trace.between_seconds);
  EXPECT_NEAR(*trace.between_seconds, 0.003, 1e-9);
}

TEST(TraceReaderTest, OverlappingCallsHaveNoTimeBetween) {
  const Trace trace = Read(Stamped("1000", "5") + Stamped("1001", "5"));
  EXPECT_FALSE(trace.between_seconds);
  EXPECT_THAT(trace.between_reason, HasSubstr("overlap"));
  // Two threads once, in a log that is idle for most of its time.
  const Trace once = Read(Stamped("1000", "5") + Stamped("1004", "5") + Stamped("2000", "5"));
  EXPECT_FALSE(once.between_seconds);
  EXPECT_THAT(once.between_reason, HasSubstr("overlap"));
}

// A stamp is rounded, and a time of 123456.6 ms is printed as 123457.
TEST(TraceReaderTest, RoundedStampsAndTimesDoNotOverlap) {
  const Trace trace = Read(Stamped("1000.000000", "5") + Stamped("1004.999000", "5") +
                           Stamped("1010", "123457") + Stamped("124466.6", "1"));
  ASSERT_TRUE(trace.between_seconds) << trace.between_reason;
  EXPECT_LT(*trace.between_seconds, 1e-4);
}

TEST(TraceReaderTest, WithoutStampsTheTimeBetweenIsAbsent) {
  EXPECT_THAT(Read(Reorder("1")).between_reason, HasSubstr("ONEDNN_VERBOSE_TIMESTAMP=1"));
  EXPECT_FALSE(Read(Stamped("1000", "2") + Reorder("1")).between_seconds);
}

TEST(TracedTensorTest, EveryNotationIsRead) {
  struct Case {
    std::string field, text;
  };
  for (const auto& [field, text] :
       std::vector<Case>{{"src_f32::blocked:aBcd16b:f0", "src:f32:aBcd16b"},
                         {"wei_s8:p:blocked:AB4b64a4b:f3:s8m1", "wei:s8:AB4b64a4b:f3:s8m1"},
                         {"bia_undef::undef::f0", "bia:undef"},
                         {"bia:undef::undef:::", "bia:undef"},
                         {"dst_bf16:a:blocked:acdb::f0", "dst:bf16:acdb"},
                         {"diff_dst_f32::blocked:ab:f0", "diff_dst:f32:ab"},
                         {"diff_src:f16:a:blocked:abc:24x4x1:f0", "diff_src:f16:abc:24x4x1"},
                         {"wei_f32::wino::f0", "wei:f32:wino"},
                         {"wei:f32:a:wino:::f0", "wei:f32:wino"},
                         {"wei:f8_e5m2::blocked:ab::f0", "wei:f8_e5m2:ab"},
                         {"bia:f32::blocked:ab::f0_mask2", "bia:f32:ab"}}) {
    const auto tensors = ParseTracedTensors(field);
    ASSERT_EQ(tensors.size(), 1u) << field;
    EXPECT_EQ(tensors[0].Text(), text) << field;
  }
  EXPECT_EQ(ParseTracedTensors("src:f32::blocked:a::f0  junk dst_f32::blocked:a:f0").size(), 2u);
}

TEST(TracedTensorTest, AttributesAreInOneNotation) {
  EXPECT_EQ(EssentialAttributes("attr-scratchpad:user "), "");
  EXPECT_EQ(EssentialAttributes("attr-scratchpad:user attr-post-ops:sum+eltwise_relu "),
            "attr-post-ops:sum+eltwise_relu");
  EXPECT_EQ(EssentialAttributes("scratchpad_mode:user;post_ops:'sum;eltwise_relu:0;';"),
            "attr-post-ops:sum+eltwise_relu:0");
  EXPECT_EQ(EssentialAttributes("oscale:2:0.5;post_ops:'eltwise_relu;"),
            "attr-oscale:2:0.5 attr-post-ops:eltwise_relu");
  EXPECT_EQ(EssentialAttributes("oscale:2;zero_points:'src:0:1_dst:0:3';"),
            "attr-oscale:2 attr-zero-points:src:0:1+dst:0:3");
  EXPECT_EQ(EssentialAttributes("scales:'src:0:0.5_src:0:2';post_ops:'dw_k3s1p1;';"),
            "attr-scales:src0:0:0.5+src1:0:2 attr-post-ops:dw_k3s1p1");
}

// Lines of github.com/tensorflow/serving issue 1272.
TEST(MkldnnLineTest, LinesOfVersion0AreRows) {
  const Trace trace = Read(
      "mkldnn_verbose,exec,batch_normalization,jit:avx2,forward_inference,fdata:nChw8c fdiff:undef,"
      "flags:3,mb1ic1024ih14iw14,0.105957\n"
      "mkldnn_verbose,exec,eltwise,jit:avx2,forward_training,fdata:nChw8c fdiff:undef,"
      "alg:eltwise_relu,mb1ic1024ih14iw14,0.11499\n"
      "mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_hwio out:f32_OIhw8i8o,num:1,256x1024x1x1,"
      "0.281006\n"
      "mkldnn_verbose,exec,convolution,jit:avx2,forward_training,fsrc:nChw8c fwei:OIhw8i8o "
      "fbia:undef fdst:nChw8c,alg:convolution_direct,"
      "mb1_g1ic256oc256_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1,3.59302\n"
      "mkldnn_verbose,create,reorder,jit:uni,0.5\n");
  ASSERT_EQ(trace.rows.size(), 4u);
  EXPECT_EQ(trace.dialect, "mkldnn_verbose");
  EXPECT_EQ(trace.damaged_lines, 0);
  EXPECT_DOUBLE_EQ(trace.rows[3].seconds, 0.00359302);
  const auto tensors = [&](std::size_t row) {
    std::vector<std::string> texts;
    for (const TracedTensor& tensor : trace.rows[row].tensors) texts.push_back(tensor.Text());
    return texts;
  };
  EXPECT_EQ(trace.rows[0].auxiliary, "flags:GS");
  EXPECT_EQ(trace.rows[1].problem, "1x1024x14x14");
  EXPECT_THAT(tensors(1), ElementsAre("data:f32:aBcd8b", "diff:undef"));
  EXPECT_THAT(tensors(2), ElementsAre("src:f32:cdba", "dst:f32:ABcd8b8a"));
  EXPECT_THAT(tensors(3),
              ElementsAre("src:f32:aBcd8b", "wei:f32:ABcd8b8a", "bia:undef", "dst:f32:aBcd8b"));
  EXPECT_EQ(trace.rows[3].engine, "cpu");
}

TEST(MkldnnLineTest, FlagsAreLetters) {
  EXPECT_EQ(AuxiliaryOfMkldnn("flags:7"), "flags:GSR");
  EXPECT_EQ(AuxiliaryOfMkldnn("flags:0"), "flags:");
  EXPECT_EQ(AuxiliaryOfMkldnn("flags:9"), "flags:9");  // 8 is not known
}

TEST(MkldnnLineTest, FormatsAreLayouts) {
  EXPECT_EQ(LayoutOfMkldnn("nchw"), "abcd");
  EXPECT_EQ(LayoutOfMkldnn("nhwc"), "acdb");
  EXPECT_EQ(LayoutOfMkldnn("nCdhw16c"), "aBcde16b");
  EXPECT_EQ(LayoutOfMkldnn("gOIhw16i16o"), "aBCde16c16b");
  EXPECT_EQ(LayoutOfMkldnn("OIhw4i16o4i"), "ABcd4b16a4b");
  EXPECT_EQ(LayoutOfMkldnn("io"), "ba");
  EXPECT_EQ(LayoutOfMkldnn("nc"), "ab");
  EXPECT_EQ(LayoutOfMkldnn("x"), "a");
  EXPECT_EQ(LayoutOfMkldnn("wino_fmt"), "");
}

// A line of Arm's guide to its compute library, which ends before the time.
TEST(TraceReaderTest, LinesWithoutATimeAreRowsIfNoLineHasOne) {
  const std::string line =
      "dnnl_verbose,exec,cpu,convolution,gemm:acl,forward_training,src_f32::blocked:acdb:f0 "
      "wei_f32::blocked:acdb:f0 bia_f32::blocked:a:f0 dst_f32::blocked:acdb:f0,"
      "post_ops:'eltwise_relu;';,alg:convolution_direct,"
      "mb1_ic256oc64_ih56oh56kh1sh1dh0ph0_iw56ow56kw1sw1dw0pw0\n";
  const Trace trace = Read("# a guide\n" + line + line);
  ASSERT_EQ(trace.rows.size(), 1u);
  EXPECT_EQ(trace.rows[0].count, 2);
  EXPECT_FALSE(trace.has_times);
  EXPECT_TRUE(trace.rows[0].samples.empty());
  EXPECT_EQ(trace.rows[0].attributes, "attr-post-ops:eltwise_relu");
  EXPECT_EQ(trace.damaged_lines, 0);
  // Beside lines with a time it is truncated.
  const Trace other = Read(line + Reorder("1") + line);
  ASSERT_EQ(other.rows.size(), 1u);
  EXPECT_TRUE(other.has_times);
  EXPECT_EQ(other.damaged_lines, 2);
}

}  // namespace
}  // namespace topdnn
