// Names of places in code.

#include "harness/hot/code_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/process/test_folder.h"

namespace topdnn {

// A function with a name that can be found.
__attribute__((noinline)) int NamedFunctionOfCodePlaceTest(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}

namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(PerfMap, ReadsLinesAndKeepsTheLastOfAnAddress) {
  const auto symbols =
      ReadPerfMap("7f00 40 old name\nnot a line\n7e00 10 jit_a\n7f00 80 jit b\n7d00 5\n");
  ASSERT_EQ(symbols.size(), 2U);
  EXPECT_EQ(symbols[0].name, "jit_a");
  EXPECT_EQ(symbols[1].start, 0x7f00U);
  EXPECT_EQ(symbols[1].size, 0x80U);
  EXPECT_EQ(symbols[1].name, "jit b");
}

TEST(PerfMap, ALaterEntryReplacesTheCodeThatItOverlaps) {
  const auto symbols = ReadPerfMap("1100 100 old\n3000 100 other\n1000 1000 new\n");
  ASSERT_EQ(symbols.size(), 2U);
  EXPECT_EQ(symbols[0].name, "new");
  EXPECT_EQ(symbols[1].name, "other");
}

TEST(CodePlaces, NamesGeneratedCode) {
  CodePlaces places(ReadPerfMap("10000 40 jit_uni_pool_kernel\n"));
  EXPECT_EQ(places.Of(0x10004), "JIT jit_uni_pool_kernel+0x4");
  EXPECT_THAT(places.Of(0x10040), StartsWith("JIT code at"));
}

TEST(CodePlaces, NamesFunctionsOfTheProgramAndOfLibraries) {
  CodePlaces places({});
  const auto address = [](auto* function) { return reinterpret_cast<std::uint64_t>(function); };
  EXPECT_EQ(NamedFunctionOfCodePlaceTest(1), 2);
  EXPECT_THAT(places.Of(address(&NamedFunctionOfCodePlaceTest) + 1),
              HasSubstr("!topdnn::NamedFunctionOfCodePlaceTest+0x1"));
  EXPECT_THAT(places.Of(address(&getppid)), StartsWith("libc.so.6!"));
}

TEST(ElfFunctions, OfAnythingElseAreNone) {
  const TestFolder folder;
  EXPECT_THAT(ReadElfFunctions("/nonexistent"), IsEmpty());
  EXPECT_THAT(ReadElfFunctions(folder.Write("text", "no ELF file")), IsEmpty());
  // A header whose table of sections lies outside of the file.
  std::string header(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  header.resize(64, '\xff');
  EXPECT_THAT(ReadElfFunctions(folder.Write("elf", header)), IsEmpty());
}

TEST(FunctionName, HasNoParameters) {
  EXPECT_EQ(ShortFunctionName("_ZN6topdnn3SumEPKfl"), "topdnn::Sum");
  EXPECT_EQ(ShortFunctionName("_ZN6topdnn12_GLOBAL__N_14ReluEPf"),
            "topdnn::(anonymous namespace)::Relu");
  EXPECT_EQ(ShortFunctionName("_ZN6topdnn3SumEPKfl._omp_fn.0"), "topdnn::Sum");
  EXPECT_EQ(ShortFunctionName("sgemm_kernel_COOPERLAKE"), "sgemm_kernel_COOPERLAKE");
}

}  // namespace
}  // namespace topdnn
