// Files given by the user: which are read, which are refused, and that nothing blocks.

#include "harness/files/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

std::string Read(const std::string& path, std::size_t most = 0) {
  return ReadInputFile(path, {.most_bytes = most, .smaller = "make it smaller"},
                       [](const std::string& why) { throw std::runtime_error(why); });
}

std::string WhyRefused(const std::string& path, std::size_t most = 0) {
  try {
    Read(path, most);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "it was read";
}

TEST(InputFileTest, ReadsARegularFileCompletely) {
  const TestFolder folder;
  std::string bytes(200'000, 'x');
  bytes[7] = '\0';
  folder.Write("file", bytes);
  EXPECT_EQ(Read(folder.path() / "file"), bytes);
  EXPECT_EQ(Read(folder.path() / "file", bytes.size()), bytes);
  folder.Write("empty", "");
  EXPECT_EQ(Read(folder.path() / "empty"), "");
  EXPECT_THAT(WhyRefused(folder.path() / "file", bytes.size() - 1), HasSubstr("make it smaller"));
}

TEST(InputFileTest, OtherThanRegularFilesAreRefusedAtOnce) {
  const TestFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(WhyRefused(pipe), HasSubstr("named pipe"));
  EXPECT_THAT(WhyRefused(folder.path()), HasSubstr("is a folder"));
  EXPECT_THAT(WhyRefused("/dev/zero"), HasSubstr("is a device"));
  EXPECT_THAT(WhyRefused(folder.path() / "none"), HasSubstr("No such file"));
}

TEST(InputFileTest, AnOpenPipeIsReadToItsEnd) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string bytes(300'000, 'y');  // more than a pipe holds
  std::thread writer([&] {
    std::size_t at = 0;
    while (at < bytes.size()) {
      const ssize_t n = write(ends[1], bytes.data() + at, bytes.size() - at);
      if (n <= 0) break;
      at += static_cast<std::size_t>(n);
    }
    close(ends[1]);
  });
  EXPECT_EQ(Read(fmt::format("/dev/fd/{}", ends[0])), bytes);
  writer.join();
  // A pipe without a writer is at its end.
  EXPECT_EQ(Read(fmt::format("/proc/self/fd/{}", ends[0])), "");
  close(ends[0]);
}

TEST(InputFileTest, APipeHasTheSameLimit) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "123456", 6), 6);
  close(ends[1]);
  EXPECT_THAT(WhyRefused(fmt::format("/dev/fd/{}", ends[0]), 5), HasSubstr("make it smaller"));
  close(ends[0]);
}

}  // namespace
}  // namespace topdnn
