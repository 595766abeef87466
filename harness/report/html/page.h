// A self-contained HTML page that draws results: one file without network access, with its script,
// its style and its data inside. The script is plain and draws SVG; it never interprets data as
// HTML. A content-security policy allows only this script and this style, by their hashes.

#ifndef TOPDNN_HARNESS_REPORT_HTML_PAGE_H_
#define TOPDNN_HARNESS_REPORT_HTML_PAGE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

// The page of these results, each as its data: an object whose "kind" a drawing of the script knows
// (ProfileData).
std::string HtmlPage(const std::vector<nlohmann::ordered_json>& results);

// The digest in the form of a content-security policy. `hexadecimal`: 64 digits.
std::string PolicyHash(std::string_view hexadecimal);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_PAGE_H_
