// No include goes upward or in a circle, so kernels/ and harness/ can be used alone.

#include "tests/house/include_direction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string Lines(const std::vector<std::string>& lines) {
  std::string joined;
  for (const std::string& line : lines) joined += line + "\n";
  return joined;
}

TEST(IncludeDirectionTest, TheRepositoryHasNoBreach) {
  const std::vector<SourceFile> files = CppFiles();
  ASSERT_GT(files.size(), 20u);
  const std::vector<std::string> breaches = IncludeBreaches(files);
  EXPECT_THAT(breaches, IsEmpty()) << Lines(breaches);
}

TEST(IncludeDirectionTest, ReadsOnlyIncludes) {
  const std::vector<Include> includes = IncludesOf(
      "#include \"kernels/op/op.h\"\n"
      "// #include \"kernels/kernel/kernel.h\"\n"
      "  # include <vector>\n"
      "const char* text = \"#include\";\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].target, "kernels/op/op.h");
  EXPECT_EQ(includes[0].line, 1);
  EXPECT_TRUE(includes[0].quoted);
  EXPECT_EQ(includes[1].target, "vector");
  EXPECT_EQ(includes[1].line, 3);
  EXPECT_FALSE(includes[1].quoted);
}

TEST(IncludeDirectionTest, DownwardIsAllowed) {
  EXPECT_THAT(IncludeBreaches({{"kernels/tensor/tensor.h", "#include <vector>\n"},
                               {"kernels/op/op.h", "#include \"kernels/tensor/tensor.h\"\n"},
                               {"networks/graph/graph.h", "#include \"kernels/op/op.h\"\n"},
                               {"datasets/dataset.h", "#include \"kernels/tensor/tensor.h\"\n"},
                               {"harness/results/record.h", ""},
                               {"bench/main.cc",
                                "#include \"harness/results/record.h\"\n"
                                "#include \"networks/graph/graph.h\"\n"}}),
              IsEmpty());
}

TEST(IncludeDirectionTest, EveryForbiddenDirectionIsFound) {
  const std::vector<SourceFile> whole = {
      {"kernels/op/op.h", ""}, {"networks/graph/graph.h", ""},       {"harness/r.h", ""},
      {"datasets/d.h", ""},    {"bench/command_line/nearest.h", ""}, {"tests/t.h", ""}};
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {"kernels/x.cc", "networks/graph/graph.h"},
      {"kernels/x.cc", "harness/r.h"},
      {"kernels/x.cc", "bench/command_line/nearest.h"},
      {"kernels/x.cc", "datasets/d.h"},
      {"harness/x.cc", "kernels/op/op.h"},
      {"harness/x.cc", "networks/graph/graph.h"},
      {"harness/x.cc", "bench/command_line/nearest.h"},
      {"networks/x.cc", "harness/r.h"},
      {"networks/x.cc", "datasets/d.h"},
      {"networks/x.cc", "bench/command_line/nearest.h"},
      {"datasets/x.cc", "kernels/op/op.h"},
      {"datasets/x.cc", "networks/graph/graph.h"},
      {"bench/x.cc", "tests/t.h"}};
  for (const auto& [from, to] : forbidden) {
    std::vector<SourceFile> files = whole;
    files.push_back({from, "\n#include \"" + to + "\"\n"});
    EXPECT_THAT(IncludeBreaches(files),
                ElementsAre(testing::AllOf(testing::StartsWith(from + ":2: "), HasSubstr(to))));
  }
}

TEST(IncludeDirectionTest, UnknownFloorsFilesAndBracketsAreFound) {
  EXPECT_THAT(IncludeBreaches({{"kernels/x.cc", "#include \"op.h\"\n"}}),
              ElementsAre(HasSubstr("no known floor")));
  EXPECT_THAT(IncludeBreaches({{"kernels/x.cc", "#include \"attic/op.h\"\n"}}),
              ElementsAre(HasSubstr("no known floor")));
  EXPECT_THAT(IncludeBreaches({{"kernels/x.cc", "#include \"kernels/gone.h\"\n"}}),
              ElementsAre(HasSubstr("does not exist")));
  EXPECT_THAT(IncludeBreaches({{"kernels/x.cc", "#include <kernels/op/op.h>\n"}}),
              ElementsAre(HasSubstr("angle brackets")));
  EXPECT_THAT(IncludeBreaches({{"attic/x.cc", ""}}), ElementsAre(HasSubstr("no known floor")));
}

TEST(IncludeDirectionTest, RoomsIncludeTheRoomsBelow) {
  const std::vector<SourceFile> house = {
      {"bench/commands/a.h", ""},          {"bench/choice/a.h", ""},
      {"bench/formats/a.h", ""},           {"harness/measure/measure.h", ""},
      {"harness/statistics/status.h", ""}, {"harness/report/a.h", ""},
      {"harness/probes/a.h", ""}};
  const auto breaches = [&](const std::string& from, const std::string& to) {
    std::vector<SourceFile> files = house;
    files.push_back({from, "#include \"" + to + "\"\n"});
    return IncludeBreaches(files);
  };
  EXPECT_THAT(breaches("bench/main.cc", "bench/commands/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/commands/b.cc", "bench/choice/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/choice/b.cc", "bench/choice/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/formats/b.cc", "harness/report/a.h"), IsEmpty());
  EXPECT_THAT(breaches("harness/probes/b.cc", "harness/statistics/status.h"), IsEmpty());
  EXPECT_THAT(breaches("harness/report/b.cc", "harness/measure/measure.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/formats/b.cc", "bench/choice/a.h"),
              ElementsAre(HasSubstr("a room above bench/formats/")));
  EXPECT_THAT(breaches("bench/cases/b.cc", "bench/choice/a.h"),
              ElementsAre(HasSubstr("a room above bench/cases/")));
  EXPECT_THAT(breaches("harness/probes/b.cc", "harness/measure/measure.h"),
              ElementsAre(HasSubstr("a room above harness/probes/")));
  EXPECT_THAT(breaches("harness/measure/measure.cc", "harness/report/a.h"),
              ElementsAre(HasSubstr("a room above harness/")));
  EXPECT_THAT(breaches("bench/attic/b.cc", "bench/formats/a.h"),
              ElementsAre(HasSubstr("not a known room")));
}

TEST(IncludeDirectionTest, CirclesAreFoundOnceWithTheirPath) {
  EXPECT_THAT(IncludeBreaches({{"kernels/a.h", "#include \"kernels/b.h\"\n"},
                               {"kernels/b.h", "#include \"kernels/c.h\"\n"},
                               {"kernels/c.h", "#include \"kernels/b.h\"\n"}}),
              ElementsAre(HasSubstr("kernels/b.h -> kernels/c.h -> kernels/b.h")));
  EXPECT_THAT(IncludeBreaches({{"kernels/a.h", "#include \"kernels/a.h\"\n"}}),
              ElementsAre(HasSubstr("kernels/a.h -> kernels/a.h")));
  // Two paths to one header are not a circle.
  EXPECT_THAT(IncludeBreaches({{"kernels/a.h",
                                "#include \"kernels/b.h\"\n#include "
                                "\"kernels/c.h\"\n"},
                               {"kernels/b.h", "#include \"kernels/c.h\"\n"},
                               {"kernels/c.h", ""}}),
              IsEmpty());
}

}  // namespace
}  // namespace topdnn
