#include "bench/command_line/command_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/bench/program.h"

namespace topdnn {
namespace {

TEST(CommandWordsTest, WordsSurviveTheJourney) {
  const std::vector<std::string> words = {"topdnn", "", "a b", "it's", "$(x)", "\\", "--x=1", "*"};
  EXPECT_EQ(SplitWords(JoinedWords(words)), words);
  EXPECT_EQ(JoinedWords({"profile", "cnn", "--json", "a/b.json"}), "profile cnn --json a/b.json");
  EXPECT_EQ(RunShell("printf '%s\\n' " + JoinedWords({"a b", "it's", "$(x)"})).output,
            "a b\nit's\n$(x)\n");
  EXPECT_FALSE(SplitWords("a 'b"));
}

TEST(CommandWordsTest, AListKeepsItsEmptyParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(SplitAtCommas(""), Parts{});
  EXPECT_EQ(SplitAtCommas("a"), Parts({"a"}));
  EXPECT_EQ(SplitAtCommas("a,b c,"), Parts({"a", "b c", ""}));
  EXPECT_EQ(SplitAtCommas(",,"), Parts({"", "", ""}));
}

}  // namespace
}  // namespace topdnn
