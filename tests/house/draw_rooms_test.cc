// CONTRIBUTING.md shows the rooms as the folders and includes are.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/house/source_tree.h"
#include "tests/process/child_process.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

TEST(DrawRoomsTest, ContributingShowsTheDrawing) {
  const Outcome drawn = RunShell(Quoted(TOPDNN_SOURCE_DIR "/tests/house/draw_rooms"));
  ASSERT_EQ(drawn.exit_status, 0) << drawn.output;
  EXPECT_THAT(drawn.output, HasSubstr("commands"));
  EXPECT_THAT(ReadSource("CONTRIBUTING.md").text, HasSubstr("\n\n" + drawn.output + "\n"))
      << "tests/house/draw_rooms --write draws it again";
}

// A small tree with the script in it.
class DrawnTreeTest : public testing::Test {
 protected:
  DrawnTreeTest() {
    Write("tests/house/draw_rooms", ReadSource("tests/house/draw_rooms").text);
    Write("tests/house/rooms.txt",
          "# what the lines are\n\n"
          "upper       the program\nupper/a     the first\nupper/b     the second\n"
          "upper/c/d   the third\n\n"
          "lower       what it needs\nlower/*     one thing\n");
    Write("upper/a/a.cc",
          "#include \"upper/b/b.h\"\n#include \"upper/c/d/d.h\"\n#include \"lower/x/x.h\"\n");
    Write("upper/b/b.h", "#include <vector>\n#include \"upper/c/d/d.h\"\n");
    Write("upper/c/d/d.h", "#include \"lower/y/y.h\"\n");
    Write("lower/x/x.h", "#include \"lower/y/y.h\"\n");
    Write("lower/y/y.h", "");
  }

  void Write(const std::string& path, const std::string& text) { folder_.Write(path, text); }

  Outcome Draw() const {
    return RunShell("python3 " + Quoted((folder_.path() / "tests/house/draw_rooms").string()));
  }

 private:
  TestFolder folder_;
};

// The arrow from a to c/d is left out, because b says it.
TEST_F(DrawnTreeTest, IsDrawnFromIncludesWithoutShortcuts) {
  const Outcome drawn = Draw();
  EXPECT_EQ(drawn.exit_status, 0);
  EXPECT_EQ(drawn.output,
            "    upper/                 the program  -> lower/\n"
            "    lower/                 what it needs  -> nothing outside\n"
            "\n"
            "    upper/\n"
            "      a                      the first  -> b\n"
            "      b                      the second  -> c/d\n"
            "      c/d                    the third\n"
            "\n"
            "    lower/\n"
            "      OPERATION              one thing\n");
}

TEST_F(DrawnTreeTest, AFolderWithoutALineAndALineWithoutAFolderAreRefused) {
  Write("upper/e/e.h", "");
  Outcome drawn = Draw();
  EXPECT_EQ(drawn.exit_status, 1);
  EXPECT_THAT(drawn.output, HasSubstr("upper/e: has no line in tests/house/rooms.txt"));
  Write("tests/house/rooms.txt",
        "upper   x\nupper/a x\nupper/b x\nupper/c/d x\nupper/e x\nupper/f x\n"
        "lower   x\nlower/* x\n");
  drawn = Draw();
  EXPECT_EQ(drawn.exit_status, 1);
  EXPECT_THAT(drawn.output, HasSubstr("upper/f has no source"));
}

}  // namespace
}  // namespace topdnn
