#include "bench/choice/kernels/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/choice/races/selection_cache.h"
#include "kernels/op/problem.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

// Times around a value, with a periodic spread.
CandidateTimes Around(const std::string& name, double level, double spread, int rounds = 21) {
  CandidateTimes times{name, {}};
  for (int i = 0; i < rounds; ++i) {
    times.seconds.push_back(level * (1 + spread * ((i * 7) % 11 - 5) / 5.0));
  }
  return times;
}

TEST(ChooseCandidateTest, AClearWinnerIsTaken) {
  const CandidateTimes times[] = {Around("default", 1.0, 0.02), Around("slower", 1.2, 0.02),
                                  Around("faster", 0.8, 0.02), Around("fast", 0.9, 0.02)};
  const Choice choice = ChooseCandidate(times);
  EXPECT_EQ(choice.index, 2U);
  EXPECT_NEAR(choice.gain, 1.25, 1e-9);
}

TEST(ChooseCandidateTest, TheDefaultStaysWithinTheSpread) {
  // Its median is faster, but it is slower in half of the rounds.
  CandidateTimes noisy{"noisy", {}};
  for (int i = 0; i < 21; ++i) noisy.seconds.push_back(i % 2 == 0 ? 0.9 : 1.2);
  const CandidateTimes times[] = {Around("default", 1.0, 0.0), noisy};
  EXPECT_EQ(ChooseCandidate(times).index, 0U);
}

TEST(ChooseCandidateTest, TheDefaultStaysForLessThanAPercent) {
  const CandidateTimes times[] = {Around("default", 1.0, 0.0), Around("equal", 0.995, 0.0)};
  EXPECT_EQ(ChooseCandidate(times).index, 0U);
}

TEST(ChooseCandidateTest, ADroppedCandidateIsNotTaken) {
  const CandidateTimes times[] = {Around("default", 1.0, 0.0), Around("dropped", 0.1, 0.0, 2)};
  EXPECT_EQ(ChooseCandidate(times).index, 0U);
}

TEST(MakeCandidatesTest, EachKernelIsListedOnceAndAgreesWithTheReference) {
  const KernelProblem problem(ParseProblem("conv/n1c16h8w8k16r3s3u1v1p1q1"),
                              {Pass::kForward, true, DataType::kF32});
  const std::vector<Candidate> candidates = MakeCandidates(problem, 1);
  ASSERT_GE(candidates.size(), 2U);
  EXPECT_EQ(candidates.front().variant.name, "onednn");
  for (const Candidate& candidate : candidates) {
    EXPECT_NE(candidate.variant.backend, "reference");
    EXPECT_TRUE(candidate.check.agrees) << candidate.variant.name;
  }
}

class SelectionCacheTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path() / kFile; }
  void Write(const std::string& text) const { folder_.Write(kFile, text); }

  static constexpr char kFile[] = "deeper/selection.json";
  const TestFolder folder_;
  const SelectionKey key_{"gemm/m2n2k2/forward/f32/t1", "a machine"};
};

TEST_F(SelectionCacheTest, RemembersAcrossProcesses) {
  SelectionCache(path()).Add(key_, {"onednn-nhwc", "onednn", 1.25, 1e-6});
  // An entry that another process adds to the file is kept.
  SelectionCache other(path());
  SelectionCache again(path());
  other.Add({"another", "a machine"}, {"openblas", "onednn", 2, 0});
  const std::map<std::string, std::vector<std::string>> layers = {{"n1c2", {"onednn-nhwc"}},
                                                                  {"n1c3", {}}};
  again.Add({"a third", "a machine"}, {"eigen", "onednn", 3, 0, layers});
  const SelectionCache read(path());
  const auto found = read.Find(key_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->variant, "onednn-nhwc");
  EXPECT_EQ(found->against, "onednn");
  EXPECT_EQ(found->gain, 1.25);
  EXPECT_TRUE(read.Find({"another", "a machine"}));
  ASSERT_TRUE(read.Find({"a third", "a machine"}));
  EXPECT_EQ(read.Find({"a third", "a machine"})->layers, layers);
  EXPECT_TRUE(found->layers.empty());
  EXPECT_FALSE(read.Find({key_.problem, "another machine"}));
}

TEST_F(SelectionCacheTest, AnInvalidCacheIsReplacedWithOneLine) {
  for (const std::string& text : std::vector<std::string>{
           "", "not JSON", std::string("\0\x1b\n\xff\n", 5), std::string(100'000, '['), "[]",
           R"({"schema": 2, "machines": {}})", R"({"schema": 1})",
           R"({"schema": 1, "machines": {"m": {"p": {"variant": 3}}}})",
           R"({"schema": 1, "machines": {"m": {"p": 1}}})",
           R"({"schema": 1, "machines": {"m": {"p": {"variant": "", "against": "", "gain": 1,
               "error": 0, "layers": [1]}}}})"}) {
    Write(text);
    testing::internal::CaptureStderr();
    SelectionCache cache(path());
    EXPECT_FALSE(cache.Find(key_)) << text;
    // The file is valid from now on, even if nothing is added.
    SelectionCache again(path());
    cache.Add(key_, {"eigen", "onednn", 2, 0});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("it is replaced"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_TRUE(SelectionCache(path()).Find(key_)) << text;
  }
}

TEST_F(SelectionCacheTest, WithoutAPathNothingIsStored) {
  SelectionCache cache("");
  cache.Add(key_, {"eigen", "onednn", 2, 0});
  EXPECT_TRUE(cache.Find(key_));
  EXPECT_FALSE(SelectionCache("").Find(key_));
}

TEST_F(SelectionCacheTest, AnUnwritableFolderIsReportedOnce) {
  Write("x");
  testing::internal::CaptureStderr();
  SelectionCache cache(path() + "/below/a/file.json");
  cache.Add(key_, {"eigen", "onednn", 2, 0});
  cache.Add({"other", "m"}, {"eigen", "onednn", 2, 0});
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

}  // namespace
}  // namespace topdnn
