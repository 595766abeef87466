// Text from outside becomes one line and cannot control the terminal.

#include "harness/text/one_line.h"

#include <gtest/gtest.h>

namespace topdnn {
namespace {

TEST(OneLineTest, OrdinaryTextDoesNotChange) {
  for (const char* text : {"", "conv1", "C:\\x", "a b", "\u00B5s", "\u7DB2\u8DEF", "\U0001F600"}) {
    EXPECT_EQ(OneLine(text), text);
  }
}

TEST(OneLineTest, ControlCharactersAreEscaped) {
  EXPECT_EQ(OneLine("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(OneLine("\x1b[31mred\x1b[0m"), "\\u{1b}[31mred\\u{1b}[0m");
  EXPECT_EQ(OneLine(std::string_view("a\0b\x7f", 4)), "a\\u{0}b\\u{7f}");
  EXPECT_EQ(OneLine("\u009B31m"), "\\u{9b}31m");  // CSI as one character
}

TEST(OneLineTest, SeparatorsAndDirectionsAreEscaped) {
  EXPECT_EQ(OneLine("a\u2028b\u2029c"), "a\\u{2028}b\\u{2029}c");
  EXPECT_EQ(OneLine("\u202Egnp.exe"), "\\u{202e}gnp.exe");
  EXPECT_EQ(OneLine("\u2066x\u2069"), "\\u{2066}x\\u{2069}");
}

TEST(OneLineTest, InvalidUtf8IsShownAsBytes) {
  EXPECT_EQ(OneLine("\xff"), "\\xff");
  EXPECT_EQ(OneLine("\xc3"), "\\xc3");                    // incomplete
  EXPECT_EQ(OneLine("\xc0\x8a"), "\\xc0\\x8a");           // a newline in an overlong encoding
  EXPECT_EQ(OneLine("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(OneLine("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(OneLine("\x9b"
                    "31m"),
            "\\x9b"
            "31m");
}

}  // namespace
}  // namespace topdnn
