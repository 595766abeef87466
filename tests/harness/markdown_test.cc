// `profile --export markdown`: rendered by cmark-gfm, GitHub's parser.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/harness/export_sample.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// What the hostile name looks like in HTML: the same characters, as text. The mention is broken by
// an invisible character.
const std::string kHostileHtml =
    "a&quot;b'\\|`c`,\\n# &lt;b&gt;&lt;/script&gt; *x* [l](u) @\u2060you\\u{1b}[31m \\xff\\xfe";

class MarkdownTest : public testing::Test {
 protected:
  void SetUp() override {
    if (RunShell("command -v cmark-gfm").exit_status != 0) {
      GTEST_SKIP() << "cmark-gfm is not installed: apt-get install cmark-gfm";
    }
  }

  // The HTML of the report. Raw HTML in its texts would stay in it.
  static std::string Html(const Report& report) {
    const std::string text = ExportOf("markdown", report);
    ExpectOnlyValidFigures(text);
    const TestFolder folder;
    const std::string file = folder.Write("summary.md", text);
    const Outcome outcome =
        RunShell("cmark-gfm --unsafe -e table -e strikethrough -e autolink " + Quoted(file));
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
    return outcome.output;
  }

  // The cells of the table's body, row by row.
  static std::vector<std::string> Cells(const std::string& html) {
    std::vector<std::string> cells;
    std::size_t at = html.find("<tbody>");
    while ((at = html.find("<td", at)) != std::string::npos) {
      const std::size_t begin = html.find('>', at) + 1;
      at = html.find("</td>", begin);
      cells.push_back(html.substr(begin, at - begin));
    }
    return cells;
  }
};

TEST_F(MarkdownTest, TheTableHasTheCostliestStagesFirst) {
  const std::string html = Html(ExportSample());
  const auto cells = Cells(html);
  ASSERT_EQ(cells.size(), 5u * 8u) << html;
  const std::vector<std::string> first(cells.begin(), cells.begin() + 8);
  EXPECT_THAT(first, ElementsAre(kHostileHtml, "forward", "30.0 %", "3.00 ms", "133", "n/a",
                                 "DEGRADED", "jit:avx512"));
  const std::vector<std::string> second(cells.begin() + 8, cells.begin() + 16);
  EXPECT_THAT(second, ElementsAre("conv1", "forward", "20.0 %", "2.00 ms", "200", "50.0 %", "OK",
                                  "jit:avx512"));
  EXPECT_EQ(cells[24], "w");
  EXPECT_EQ(cells[28], "n/a");  // a reorder has no FLOPs
  // Numbers are right-aligned.
  EXPECT_THAT(html, HasSubstr("<td align=\"right\">2.00 ms</td>"));
  EXPECT_THAT(html, HasSubstr("<td align=\"left\">conv1</td>"));
}

TEST_F(MarkdownTest, NamesHaveNoMarkup) {
  const std::string html = Html(ExportSample());
  for (const char* tag : {"<b>", "</script>", "<em>", "<code>", "<a ", "<del>", "<h1>"}) {
    if (std::string(tag) == "<code>") continue;  // (`--explain`)
    EXPECT_THAT(html, Not(HasSubstr(tag)));
  }
  EXPECT_THAT(html, HasSubstr("<li>main " + kHostileHtml + "</li>"));
  EXPECT_THAT(html, HasSubstr("<li>network " + kHostileHtml + ", batch 8"));
  EXPECT_THAT(html, HasSubstr("<li>Some CPU (zen5), " + kHostileHtml + "</li>"));
  EXPECT_THAT(html, HasSubstr("<code>--explain</code> prints 1 more note</li>"));
}

TEST_F(MarkdownTest, ATextThatBeginsLikeMarkupIsText) {
  for (const std::string text :
       {"# head", "- item", "+ item", "1. item", "22) item", "> quote", "```", "---",
        "===", "    code", "* item", "~~gone~~", "<a href=x>"}) {
    Report report = ExportSample();
    report.notes = {{.text = text, .main = true}};
    std::string shown = text == "    code" ? "code" : text;
    if (shown[0] == '>') shown = "&gt; quote";
    if (shown[0] == '<') shown = "&lt;a href=x&gt;";
    EXPECT_THAT(Html(report), HasSubstr("<li>" + shown + "</li>"));
    report.stages[1].name = text;
    EXPECT_EQ(Cells(Html(report)).at(0), shown);
  }
}

TEST_F(MarkdownTest, TheVerdictNamesStagesWithoutAValidTime) {
  const std::string html = Html(ExportSample());
  EXPECT_THAT(html, HasSubstr("<li>verdict: DEGRADED: reason "));
  EXPECT_THAT(html, HasSubstr("<li>conv1 backward data: FAILED"));
  EXPECT_THAT(html, HasSubstr("<li>pool1 backward data: INVALID"));
  EXPECT_THAT(html, HasSubstr("<li>step: 10.0 ms (min 5.00 ms, p90 20.0 ms, n 50), 800 images/s"));
  Report report = ExportSample();
  report.step.status = Status::kInvalid;
  EXPECT_THAT(Html(report), Not(HasSubstr("10.0 ms")));
  EXPECT_EQ(Cells(Html(report)).at(2), "n/a");  // no share of an invalid step
}

TEST_F(MarkdownTest, StagesBeyondTheTenthAreOneRow) {
  Report report = ExportSample();
  report.stages.assign(12, report.stages[0]);
  const auto cells = Cells(Html(report));
  ASSERT_EQ(cells.size(), 11u * 8u);
  EXPECT_EQ(cells[80], "2 others");
  EXPECT_EQ(cells[83], "4.00 ms");
}

}  // namespace
}  // namespace topdnn
