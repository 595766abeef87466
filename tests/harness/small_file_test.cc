#include "harness/files/small_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

TEST(SmallFileTest, TheWholeContent) {
  const TestFolder folder;
  const std::string text(10'000, 'x');
  std::ofstream(folder.path() / "file") << text << '\0';
  const FileText file = ReadSmallFile(folder.path() / "file");
  EXPECT_EQ(file.error, 0);
  EXPECT_EQ(file.text, text + '\0');
  EXPECT_EQ(ReadSmallFile("/proc/self/comm").text.back(), '\n');
}

TEST(SmallFileTest, FailuresAreErrorNumbers) {
  const TestFolder folder;
  std::ofstream(folder.path() / "file") << "four";
  EXPECT_EQ(ReadSmallFile(folder.path() / "file", 3).error, EFBIG);
  EXPECT_EQ(ReadSmallFile(folder.path() / "file", 4).error, 0);
  EXPECT_EQ(ReadSmallFile(folder.path() / "none").error, ENOENT);
  EXPECT_EQ(ReadSmallFile(folder.path()).error, EINVAL);
}

// Opening it succeeds and reading fails, as with the files of a process that ends in between.
TEST(SmallFileTest, AReadThatFails) {
  const FileText file = ReadSmallFile("/proc/self/mem");
  EXPECT_EQ(file.error, EIO);
  EXPECT_EQ(file.text, "");
}

}  // namespace
}  // namespace topdnn
