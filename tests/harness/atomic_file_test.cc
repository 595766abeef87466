// Atomic writing keeps links, permissions, other files, and the last complete content.

#include "harness/files/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "harness/text/errors.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

class AtomicFileTest : public testing::Test {
 protected:
  std::string In(const std::string& name) const { return folder_.path() / name; }
  static std::string Contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t Files() const {
    const std::filesystem::directory_iterator entries(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
  }
  static std::string WhyRefused(const std::string& path) {
    try {
      WriteFileAtomically(path, "new");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "it was written";
  }

  TestFolder folder_;
};

TEST_F(AtomicFileTest, ADanglingLinkStaysAndItsTargetIsCreated) {
  std::filesystem::create_directory(In("below"));
  std::filesystem::create_symlink("below/real", In("link"));
  std::filesystem::create_symlink("link", In("link2"));
  CheckWritable(In("link2"));
  EXPECT_FALSE(std::filesystem::exists(In("below/real")));
  WriteFileAtomically(In("link2"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(In("link")));
  EXPECT_TRUE(std::filesystem::is_symlink(In("link2")));
  EXPECT_EQ(Contents(In("below/real")), "new");
}

TEST_F(AtomicFileTest, ALinkInACircleIsRefused) {
  std::filesystem::create_symlink("a", In("b"));
  std::filesystem::create_symlink("b", In("a"));
  EXPECT_THAT(WhyRefused(In("a")), HasSubstr("symbolic links"));
}

TEST_F(AtomicFileTest, AReadOnlyFileIsRefusedAndKept) {
  folder_.Write("file", "old");
  chmod(In("file").c_str(), 0444);
  EXPECT_THAT(WhyRefused(In("file")), HasSubstr("read-only"));
  EXPECT_THROW(CheckWritable(In("file")), InputError);
  EXPECT_EQ(Contents(In("file")), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AtomicFileTest, APrivateFileIsPrivateAllTheTime) {
  folder_.Write("file", "old");
  chmod(In("file").c_str(), 0600);
  AtomicFile file(In("file"));
  struct stat status {};
  ASSERT_EQ(stat(file.temporary().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  file.Write("new");
  EXPECT_EQ(Contents(In("file")), "old");
  file.Publish();
  ASSERT_EQ(stat(In("file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(Contents(In("file")), "new");
}

TEST_F(AtomicFileTest, TwoWritersHaveTwoTemporaryFiles) {
  AtomicFile one(In("file"));
  AtomicFile other(In("file"));
  EXPECT_NE(one.temporary(), other.temporary());
  one.Write("1");
  other.Write("2");
  one.Publish();
  other.Publish();
  EXPECT_EQ(Contents(In("file")), "2");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AtomicFileTest, AnUnpublishedFileIsRemoved) {
  { AtomicFile(In("file")).Write("new"); }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(AtomicFileTest, ANameMayBeAsLongAsTheFileSystemAllows) {
  const std::string longest = In(std::string(255, 'n'));
  CheckWritable(longest);
  WriteFileAtomically(longest, "new");
  EXPECT_EQ(Contents(longest), "new");
  EXPECT_THROW(CheckWritable(In(std::string(256, 'n'))), InputError);
}

TEST_F(AtomicFileTest, APipeWithoutAReaderIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0600), 0);
  EXPECT_THAT(WhyRefused(In("pipe")), HasSubstr("without a reader"));
  EXPECT_THROW(CheckWritable(In("pipe")), InputError);
  const int reader = open(In("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  CheckWritable(In("pipe"));
  WriteFileAtomically(In("pipe"), "new");
  char buffer[8] = {};
  EXPECT_EQ(read(reader, buffer, sizeof buffer), 3);
  EXPECT_STREQ(buffer, "new");
  close(reader);
}

TEST_F(AtomicFileTest, AFileSizeLimitIsAWriteErrorAndKeepsTheOldFile) {
  folder_.Write("file", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message;
  try {
    WriteFileAtomically(In("file"), std::string(5000, 'x'));
  } catch (const WriteError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("ulimit -f"));
  EXPECT_EQ(Contents(In("file")), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(AtomicFileTest, AFullDeviceIsAWriteError) {
  EXPECT_THROW(WriteFileAtomically("/dev/full", "x"), WriteError);
}

TEST_F(AtomicFileTest, OutputsDifferFromInputsAndEachOther) {
  folder_.Write("input", "in");
  std::filesystem::create_symlink("input", In("link"));
  std::filesystem::create_hard_link(In("input"), In("hard"));
  for (const char* name : {"input", "link", "hard"}) {
    EXPECT_THROW(CheckOutputs({In(name)}, {In("input")}), InputError) << name;
  }
  EXPECT_THROW(CheckOutputs({In("new"), In("new")}, {}), InputError);
  EXPECT_THROW(CheckOutputs({In("new"), In("./new")}, {}), InputError);
  EXPECT_THROW(CheckOutputs({"-", "-"}, {}), InputError);
  CheckOutputs({In("new"), "", In("other"), "/dev/null", "/dev/null"}, {In("input"), ""});
  EXPECT_EQ(Contents(In("input")), "in");
}

}  // namespace
}  // namespace topdnn
