#include "harness/machine/thread_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(ThreadListTest, NumbersAreThreads) {
  const TestFolder folder;
  for (const char* name : {"12", "3", "x1", "0"}) {
    std::filesystem::create_directory(folder.path() / name);
  }
  std::error_code error;
  EXPECT_THAT(ThreadsIn(folder.path(), error), ElementsAre(3, 12));
  EXPECT_FALSE(error);
  EXPECT_THAT(ThreadsIn(folder.path() / "none", error), IsEmpty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

// The kernel ends its list at a thread that ends meanwhile: about one in 3,000 single readings
// lacks the second thread.
TEST(ThreadListTest, AThreadIsFoundWhileAnotherEnds) {
  for (int i = 0; i < 10'000; ++i) {
    std::atomic<bool> first_ends = false, second_ends = false;
    std::atomic<pid_t> id = 0;
    std::thread first([&] { first_ends.wait(false); });
    std::thread second([&] {
      id = static_cast<pid_t>(syscall(SYS_gettid));
      id.notify_one();
      second_ends.wait(false);
    });
    id.wait(0);
    first_ends = true;
    first_ends.notify_one();
    first.join();
    const std::vector<pid_t> threads = ThreadsOfThisProcess();
    second_ends = true;
    second_ends.notify_one();
    second.join();
    ASSERT_THAT(threads, Contains(id.load())) << "in round " << i;
  }
}

}  // namespace
}  // namespace topdnn
