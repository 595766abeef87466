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
      {"kernels/op/op.h", ""}, {"networks/graph/graph.h", ""},       {"harness/text/r.h", ""},
      {"datasets/d.h", ""},    {"bench/command_line/nearest.h", ""}, {"tests/t.h", ""}};
  const std::vector<std::pair<std::string, std::string>> forbidden = {
      {"kernels/op/x.cc", "networks/graph/graph.h"},
      {"kernels/op/x.cc", "harness/text/r.h"},
      {"kernels/op/x.cc", "bench/command_line/nearest.h"},
      {"kernels/op/x.cc", "datasets/d.h"},
      {"harness/text/x.cc", "kernels/op/op.h"},
      {"harness/text/x.cc", "networks/graph/graph.h"},
      {"harness/text/x.cc", "bench/command_line/nearest.h"},
      {"networks/graph/x.cc", "harness/text/r.h"},
      {"networks/graph/x.cc", "datasets/d.h"},
      {"networks/graph/x.cc", "bench/command_line/nearest.h"},
      {"datasets/x.cc", "kernels/op/op.h"},
      {"datasets/x.cc", "networks/graph/graph.h"},
      {"bench/cases/x.cc", "tests/t.h"}};
  for (const auto& [from, to] : forbidden) {
    std::vector<SourceFile> files = whole;
    files.push_back({from, "\n#include \"" + to + "\"\n"});
    EXPECT_THAT(IncludeBreaches(files),
                ElementsAre(testing::AllOf(testing::StartsWith(from + ":2: "), HasSubstr(to))));
  }
}

TEST(IncludeDirectionTest, UnknownFloorsFilesAndBracketsAreFound) {
  EXPECT_THAT(IncludeBreaches({{"kernels/op/x.cc", "#include \"op.h\"\n"}}),
              ElementsAre(HasSubstr("no known floor")));
  EXPECT_THAT(IncludeBreaches({{"kernels/op/x.cc", "#include \"attic/op.h\"\n"}}),
              ElementsAre(HasSubstr("no known floor")));
  EXPECT_THAT(IncludeBreaches({{"kernels/op/x.cc", "#include \"kernels/op/gone.h\"\n"}}),
              ElementsAre(HasSubstr("does not exist")));
  EXPECT_THAT(IncludeBreaches({{"kernels/op/x.cc", "#include <kernels/op/op.h>\n"}}),
              ElementsAre(HasSubstr("angle brackets")));
  EXPECT_THAT(IncludeBreaches({{"attic/x.cc", ""}}), ElementsAre(HasSubstr("no known floor")));
}

TEST(IncludeDirectionTest, RoomsIncludeTheRoomsBelow) {
  const auto breaches = [](const std::string& from, const std::string& to) {
    return IncludeBreaches({{to, ""}, {from, "#include \"" + to + "\"\n"}});
  };
  EXPECT_THAT(breaches("bench/main.cc", "bench/commands/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/commands/b.cc", "bench/choice/networks/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/choice/races/b.cc", "bench/choice/races/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/formats/b.cc", "harness/report/a.h"), IsEmpty());
  EXPECT_THAT(breaches("harness/probes/b.cc", "harness/statistics/status.h"), IsEmpty());
  EXPECT_THAT(breaches("harness/report/b.cc", "harness/measure/measure.h"), IsEmpty());
  EXPECT_THAT(breaches("kernels/conv/b.cc", "kernels/activation/a.h"), IsEmpty());
  EXPECT_THAT(breaches("kernels/an_operation/b.cc", "kernels/eigen/a.h"), IsEmpty());
  EXPECT_THAT(breaches("bench/formats/b.cc", "bench/choice/races/a.h"),
              ElementsAre(HasSubstr("a room above bench/formats/")));
  EXPECT_THAT(breaches("bench/cases/b.cc", "bench/choice/races/a.h"),
              ElementsAre(HasSubstr("a room above bench/cases/")));
  EXPECT_THAT(breaches("harness/probes/b.cc", "harness/measure/measure.h"),
              ElementsAre(HasSubstr("a room above harness/probes/")));
  EXPECT_THAT(breaches("networks/plan/b.cc", "networks/planning/planner.h"),
              ElementsAre(HasSubstr("a room above networks/plan/")));
  EXPECT_THAT(breaches("kernels/op/b.cc", "kernels/an_operation/a.h"),
              ElementsAre(HasSubstr("a room above kernels/op/")));
  EXPECT_THAT(breaches("kernels/conv/b.cc", "kernels/check/tolerance.h"),
              ElementsAre(HasSubstr("a room above kernels/*/")));
  EXPECT_THAT(breaches("bench/attic/b.cc", "bench/formats/a.h"),
              ElementsAre(HasSubstr("not a known room")));
}

TEST(IncludeDirectionTest, FoldersAreSmallAndStandInNoCircle) {
  const std::vector<std::string> breaches = FolderBreaches(CppFiles());
  EXPECT_THAT(breaches, IsEmpty()) << Lines(breaches);
}

TEST(IncludeDirectionTest, LargeFoldersAreFound) {
  std::vector<SourceFile> files;
  for (int i = 0; i < 30; ++i) files.push_back({"harness/x/f" + std::to_string(i) + ".h", ""});
  files.push_back({"harness/x/below/f.h", ""});
  EXPECT_THAT(FolderBreaches(files), IsEmpty());
  files.push_back({"harness/x/f.cc", ""});
  EXPECT_THAT(FolderBreaches(files), ElementsAre(HasSubstr("harness/x/ has 31 sources")));
}

TEST(IncludeDirectionTest, FilesInNoRoomAreFound) {
  EXPECT_THAT(
      FolderBreaches({{"bench/main.cc", ""}, {"datasets/a.h", ""}, {"harness/text/a.h", ""}}),
      IsEmpty());
  for (const char* path : {"bench/a.cc", "harness/a.h", "kernels/a.h", "networks/a.cc"}) {
    EXPECT_THAT(FolderBreaches({{path, ""}}), ElementsAre(HasSubstr("in no room"))) << path;
  }
}

TEST(IncludeDirectionTest, CirclesOfFoldersAreFoundAtEachLevel) {
  const auto breaches = [](const std::vector<std::pair<std::string, std::string>>& includes) {
    std::vector<SourceFile> files;
    for (const auto& [from, to] : includes) files.push_back({from, "#include \"" + to + "\"\n"});
    return FolderBreaches(files);
  };
  EXPECT_THAT(breaches({{"a/b/c.cc", "a/d/c.h"}, {"a/d/e.cc", "a/f/g.h"}}), IsEmpty());
  EXPECT_THAT(breaches({{"a/b/c.cc", "a/d/c.h"}, {"a/d/e/f.cc", "a/b/g.h"}}),
              ElementsAre(HasSubstr("a/b -> a/d -> a/b")));
  // Neither of the rooms includes back, but their folders do.
  EXPECT_THAT(breaches({{"a/log/x/c.cc", "a/line/c.h"}, {"a/line/d.cc", "a/log/y/d.h"}}),
              ElementsAre(HasSubstr("a/line -> a/log -> a/line")));
  // The files directly in a folder are a part of it.
  EXPECT_THAT(breaches({{"a/b/c.cc", "a/b/d/c.h"}, {"a/b/d/e.cc", "a/b/f.h"}}),
              ElementsAre(HasSubstr("a/b/ -> a/b/d -> a/b/")));
}

TEST(IncludeDirectionTest, CirclesAreFoundOnceWithTheirPath) {
  EXPECT_THAT(IncludeBreaches({{"kernels/op/a.h", "#include \"kernels/op/b.h\"\n"},
                               {"kernels/op/b.h", "#include \"kernels/op/c.h\"\n"},
                               {"kernels/op/c.h", "#include \"kernels/op/b.h\"\n"}}),
              ElementsAre(HasSubstr("kernels/op/b.h -> kernels/op/c.h -> kernels/op/b.h")));
  EXPECT_THAT(IncludeBreaches({{"kernels/op/a.h", "#include \"kernels/op/a.h\"\n"}}),
              ElementsAre(HasSubstr("kernels/op/a.h -> kernels/op/a.h")));
  // Two paths to one header are not a circle.
  EXPECT_THAT(IncludeBreaches({{"kernels/op/a.h",
                                "#include \"kernels/op/b.h\"\n#include "
                                "\"kernels/op/c.h\"\n"},
                               {"kernels/op/b.h", "#include \"kernels/op/c.h\"\n"},
                               {"kernels/op/c.h", ""}}),
              IsEmpty());
}

}  // namespace
}  // namespace topdnn
