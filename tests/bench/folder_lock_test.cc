// The lock of a folder where the file system has no locks.

#include "bench/studies/process/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "bench/command_line/command.h"
#include "tests/process/test_folder.h"

namespace {
int flock_error = 0;  // that the next calls of flock return; 0: none
}

// In place of the C library's, for all callers in this program.
extern "C" int flock(int file, int operation) noexcept {
  if (flock_error == 0) return static_cast<int>(syscall(SYS_flock, file, operation));
  errno = flock_error;
  return -1;
}

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(FolderLockTest, OnlyALockOfAnotherProcessIsWaitedFor) {
  const TestFolder folder;
  int waits = 0;
  const auto refuse = [&waits](double) {
    ++waits;
    flock_error = 0;
  };
  flock_error = EWOULDBLOCK;
  EXPECT_NO_THROW(FolderLock(folder.path(), "--out x", refuse));
  EXPECT_EQ(waits, 1);
  flock_error = ENOLCK;
  EXPECT_THAT([&] { FolderLock(folder.path(), "--out x", refuse); },
              testing::ThrowsMessage<UsageError>(HasSubstr("--out x: cannot be locked: No locks")));
  EXPECT_EQ(waits, 1);
  flock_error = 0;
}

}  // namespace
}  // namespace topdnn
