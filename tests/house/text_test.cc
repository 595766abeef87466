// What any text file of the repository must not hold.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

// What is wrong with a line; empty: nothing. The words are put together here so that this file does
// not hold them.
std::string FaultOf(std::string_view line) {
  for (const std::string_view folder : {"home", "root", "Users"}) {
    const std::string path = "/" + std::string(folder) + "/";
    const std::size_t at = line.find(path);
    // A path starts a word; "src/home/x" is no absolute path.
    if (at != std::string_view::npos &&
        (at == 0 || std::string_view(" \"'`=:(").find(line[at - 1]) != std::string_view::npos)) {
      return "a path of one machine: " + path;
    }
  }
  for (const std::string_view rest : {"ODO", "BD"}) {
    const std::string word = "T" + std::string(rest);
    if (line.find(word) != std::string_view::npos) return "unfinished: " + word;
  }
  if (line.find("FIX"
                "ME") != std::string_view::npos)
    return "unfinished: FIX"
           "ME";
  if (line.find('\t') != std::string_view::npos) return "a tab";
  if (line.find('\r') != std::string_view::npos) return "a carriage return";
  if (!line.empty() && line.back() == ' ') return "trailing space";
  return {};
}

TEST(TextTest, NoFileHoldsAMachinesPathOrUnfinishedWork) {
  const std::vector<SourceFile> files = AllFiles();
  ASSERT_GT(files.size(), 20u);
  for (const SourceFile& file : files) {
    int number = 0;
    for (const std::string& line : LinesOf(file.text)) {
      ++number;
      EXPECT_EQ(FaultOf(line), "") << file.path << ":" << number;
    }
  }
}

// Phrases that a reader of technical English stops at; each has a plain form. Checked in the
// folders whose prose has been rewritten.
struct Phrase {
  std::string_view phrase, plain;
};

constexpr Phrase kPhrases[] = {
    {"knows no better", "cannot do otherwise"},
    {"the dearest", "in order of preference"},
    {"worthless", "contents undefined afterwards"},
    {"in all but name", "almost"},
    {"has but its", "has only its"},
    {"pleases", "chooses"},
    {"and its kin", "and similar"},
    {"stands twice", "duplicate"},
    {"is there twice", "duplicate"},
    {"must stand at", "expected at"},
    {"over-long", "too long"},
    {"of constants alone", "all inputs are constants"},
    {"nobody has asked", "nothing has read"},
    {"is told", "gets"},
    {"as it lies", "in its layout"},
    {"nobody reads", "has no reader"},
    {"which are else", "which are otherwise"},
    {"unless told", "default:"},
    {"told nothing", "gave no result"},
    {"as accelerators tell", "as papers report it"},
    {"of its ways", "of its variants"},
    {"file for the same as", "write the results to this file as"},
};

TEST(TextTest, CommentsAndMessagesArePlainEnglish) {
  constexpr std::string_view kFolders[] = {"kernels/",        "networks/",      "datasets/",
                                           "harness/",        "bench/",         "tests/kernels/",
                                           "tests/networks/", "tests/datasets/"};
  int files = 0;
  for (const SourceFile& file : AllFiles()) {
    const auto in_folder = [&](std::string_view folder) { return file.path.starts_with(folder); };
    if (std::none_of(std::begin(kFolders), std::end(kFolders), in_folder)) continue;
    ++files;
    int number = 0;
    for (const std::string& line : LinesOf(file.text)) {
      ++number;
      for (const auto& [phrase, plain] : kPhrases) {
        EXPECT_EQ(line.find(phrase), std::string::npos)
            << file.path << ":" << number << ": \"" << phrase << "\"; write \"" << plain << "\"";
      }
    }
  }
  EXPECT_GT(files, 100);
}

TEST(TextTest, FilesEndWithOneNewline) {
  for (const SourceFile& file : AllFiles()) {
    ASSERT_FALSE(file.text.empty()) << file.path;
    EXPECT_TRUE(file.text.ends_with('\n') && !file.text.ends_with("\n\n")) << file.path;
  }
}

TEST(TextTest, EachFaultIsFound) {
  const std::string slash = "/";
  EXPECT_NE(FaultOf("open(\"" + slash + "home/somebody/x\")"), "");
  EXPECT_NE(FaultOf(slash + "root/x"), "");
  EXPECT_NE(FaultOf(std::string("// T") + "ODO: later"), "");
  EXPECT_NE(FaultOf("int x; "), "");
  EXPECT_NE(FaultOf("\tint x;"), "");
  EXPECT_NE(FaultOf("int x;\r"), "");
  EXPECT_EQ(FaultOf("  int x;  // as /usr/share/x has it"), "");
  EXPECT_EQ(FaultOf("networks/home/x"), "");
}

}  // namespace
}  // namespace topdnn
