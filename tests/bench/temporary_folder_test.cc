#include "bench/studies/process/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/command_line/command.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Sets TMPDIR, for the lifetime of this object.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(const std::string& path) {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~TemporaryDirectory() {
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

TEST(TemporaryFolderTest, IsPrivateAndIsRemovedWithItsFiles) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    const TemporaryFolder other;
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    std::ofstream(path / "file") << "text";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(TemporaryFolderTest, AFolderThatCannotBeMadeIsOneLineWithTheFix) {
  for (const char* const parent : {"/proc", "/nowhere"}) {
    const TemporaryDirectory directory(parent);
    EXPECT_THAT([] { const TemporaryFolder folder; },
                ThrowsMessage<UsageError>(AllOf(HasSubstr(parent), HasSubstr("set TMPDIR"))));
  }
}

}  // namespace
}  // namespace topdnn
