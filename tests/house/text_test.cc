// Text that no file of the repository may contain.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

// The fault of a line; empty if there is none. The words are composed here, so that this file does
// not contain them.
std::string FaultOf(std::string_view line) {
  for (const std::string_view folder : {"home", "root", "Users"}) {
    const std::string path = "/" + std::string(folder) + "/";
    const std::size_t at = line.find(path);
    // Only at the start of a word: "src/home/x" is not an absolute path.
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

TEST(TextTest, NoFileContainsAMachinesPathOrUnfinishedWork) {
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

// Phrases that are hard to read, with a plain form of each. Checked in the folders whose prose has
// been rewritten.
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
    {"again and again", "repeatedly"},
    {"somebody else", "another program"},
    {"for want of", "without"},
    {"sees to", "handles"},
    {"goes on with", "continues with"},
    {"goes about", "works"},
    {"told apart", "distinguished"},
    {"held against", "compared with"},
    {"put against", "compared with"},
    {"leans on", "depends on"},
    {"whole again", "complete again"},
    {"cut short", "incomplete"},
    {"stands on", "is on"},
    {"stands beside", "is next to"},
    {"make it so", "give ..."},
    {"worked out apart", "computed by hand"},
    {"process of its own", "separate process"},
    {"stack of its own", "separate stack"},
    {"memory of its own", "separate memory"},
    {"started anew", "replaced"},
    {"is taken for", "is detected as"},
};

TEST(TextTest, CommentsAndMessagesArePlainEnglish) {
  constexpr std::string_view kFolders[] = {"kernels/",
                                           "networks/",
                                           "datasets/",
                                           "harness/",
                                           "bench/",
                                           "tests/kernels/",
                                           "tests/networks/",
                                           "tests/datasets/",
                                           "tests/harness/",
                                           "tests/house/",
                                           "tests/pmu/",
                                           "tests/process/",
                                           "tests/fuzz/",
                                           "tests/mutate",
                                           "tests/busy_neighbour",
                                           "tests/compare_same_build",
                                           "tests/growth",
                                           "tests/CMakeLists.txt",
                                           "cmake/",
                                           "setup/",
                                           "docs/",
                                           "CONTRIBUTING.md",
                                           "CMakeLists.txt"};
  int files = 0;
  for (const SourceFile& file : AllFiles()) {
    const auto in_folder = [&](std::string_view folder) { return file.path.starts_with(folder); };
    if (std::none_of(std::begin(kFolders), std::end(kFolders), in_folder)) continue;
    if (file.path == "tests/house/text_test.cc") continue;  // contains the phrases
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

// A stream throws neither from operator>> nor from getline if a read fails; its iterator does, and
// a file of /proc fails once its process has ended.
TEST(TextTest, FilesAreReadWithReadSmallFileInsteadOfAStreamsIterator) {
  for (const SourceFile& file : CppFiles()) {
    if (file.path.starts_with("tests/") || file.path == "harness/files/small_file.h") continue;
    EXPECT_EQ(file.text.find("istreambuf_iterator"), std::string::npos) << file.path;
  }
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
