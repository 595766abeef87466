// bench/frameworks/compare on a machine without frameworks: its cases are cases of the program, and
// it says which framework to install.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/bench/program.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

constexpr const char* kCompare = TOPDNN_SOURCE_DIR "/bench/frameworks/compare";

class FrameworksTest : public testing::Test {
 protected:
  // Makes every import of a framework fail, even if it is installed.
  void SetUp() override {
    for (const char* module : {"torch.py", "torchvision.py", "cv2.py"}) {
      folder_.Write(module, "raise ImportError('hidden for the test')\n");
    }
  }

  Outcome Compare(const std::string& arguments) const {
    return RunShell("PYTHONPATH=" + Quoted(folder_.path().string()) + " " + Quoted(kCompare) + " " +
                    arguments);
  }

 private:
  TestFolder folder_;
};

TEST_F(FrameworksTest, EveryCaseIsOneOfTheProgram) {
  const Outcome list = Compare("--list 2>/dev/null");
  ASSERT_EQ(list.exit_status, 0) << list.output;
  const Outcome ours = RunProgram(
      {"bench", "--threads", "2", "--benchmark_list_tests=true", "--benchmark_filter=speed/step"});
  ASSERT_EQ(ours.exit_status, 0) << ours.output;
  int cases = 0;
  std::istringstream lines(list.output);
  for (std::string name; std::getline(lines, name); ++cases) {
    EXPECT_THAT(ours.output, HasSubstr("speed/step/" + name + "/t2/"));
  }
  EXPECT_GT(cases, 0);
}

TEST_F(FrameworksTest, WithoutAFrameworkItSaysWhatToInstall) {
  const Outcome none = Compare("cnn/infer/f32/n32");
  EXPECT_EQ(none.exit_status, 3) << none.output;
  EXPECT_THAT(none.output, HasSubstr("install python3-torch"));
  EXPECT_THAT(Compare("--list").output, HasSubstr("opencv.py: hidden for the test"));
}

TEST_F(FrameworksTest, AnUnknownCaseIsRefused) {
  const Outcome wrong = Compare("cnn/infer/f32/n33");
  EXPECT_EQ(wrong.exit_status, 2);
  EXPECT_EQ(wrong.output, "compare: no case 'cnn/infer/f32/n33'; --list names them\n");
}

}  // namespace
}  // namespace topdnn
