// The commands in README.md, CONTRIBUTING.md and docs/ start programs that exist.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/house/shell_blocks.h"
#include "tests/house/source_tree.h"

namespace topdnn {
namespace {

// Programs that a command may start, besides scripts of the repository. topdnn is where bench/run
// builds it.
const std::set<std::string>& KnownPrograms() {
  static const std::set<std::string> names = {
      "build/release/topdnn", "cmake",   "ctest", "git",    "cd",
      "clang-format",         "python3", "perf",  "mpirun", "cc"};
  return names;
}

class DocumentTest : public testing::TestWithParam<std::string> {};

TEST_P(DocumentTest, EachCommandStartsAKnownProgram) {
  const std::filesystem::path root = TOPDNN_SOURCE_DIR;
  const auto commands = ShellCommands(ReadSource(GetParam()).text);
  EXPECT_FALSE(commands.empty()) << "no ```sh block";
  for (const std::string& command : commands) {
    const std::string program = ProgramOf(command);
    const bool script =
        program.find('/') != std::string::npos && std::filesystem::is_regular_file(root / program);
    EXPECT_TRUE(script || KnownPrograms().contains(program)) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, DocumentTest, testing::ValuesIn(DocumentPaths()),
                         [](const auto& test) { return TestNameOf(test.param); });

TEST(DocumentsTest, EachPageOfDocsIsLinkedFromTheReadme) {
  const std::string readme = ReadSource("README.md").text;
  for (const std::string& path : DocumentPaths()) {
    if (path.starts_with("docs/")) {
      EXPECT_NE(readme.find("(" + path + ")"), std::string::npos) << path;
    }
  }
}

TEST(DocumentsTest, ThePictureOfTheReadmeIsSmall) {
  EXPECT_NE(ReadSource("README.md").text.find("](docs/page.png)"), std::string::npos);
  EXPECT_LT(std::filesystem::file_size(TOPDNN_SOURCE_DIR "/docs/page.png"), 200'000u);
}

TEST(ShellBlocksTest, FindsCommandsOnlyInShBlocks) {
  EXPECT_THAT(ShellCommands("text\n"
                            "```sh\n"
                            "# first\n"
                            "bench/run   # the main job\n"
                            "\n"
                            "topdnn profile cnn \\\n"
                            "  --train\n"
                            "```\n"
                            "```\n"
                            "printed by it\n"
                            "```\n"
                            "```cpp\n"
                            "int x;\n"
                            "```\n"
                            "    ```sh\n"
                            "```sh\n"
                            "CI=true tests/run -R 'a#b'\n"
                            "```\n"),
              testing::ElementsAre("bench/run", "topdnn profile cnn    --train",
                                   "CI=true tests/run -R 'a#b'"));
}

TEST(ShellBlocksTest, ACommandIsTriedOncePerFileThatThePageNeeds) {
  const std::vector<std::string> page = {"topdnn a --record r.json", "topdnn b --min=0.05",
                                         "topdnn c replay:r.json",   "topdnn d --json d.json",
                                         "topdnn e --min=0.05",      "topdnn d --json d.json"};
  EXPECT_THAT(CommandsToTry(page, {}), testing::ElementsAreArray(page));
  EXPECT_THAT(CommandsToTry(page, {page.begin(), page.end()}),
              testing::ElementsAre("topdnn a --record r.json", "topdnn c replay:r.json"));
}

TEST(ShellBlocksTest, LeadingVariablesAreSkipped) {
  EXPECT_EQ(ProgramOf("CI=true X= tests/run -R x=y"), "tests/run");
  EXPECT_EQ(ProgramOf("bench/run"), "bench/run");
  EXPECT_EQ(ProgramOf(""), "");
}

}  // namespace
}  // namespace topdnn
