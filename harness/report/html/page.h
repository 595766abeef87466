// A self-contained HTML page that draws results: one file without network access, with its script,
// its style and its data inside. The script is plain and draws SVG; it never interprets data as
// HTML. A content-security policy allows only this script and this style, by their hashes.

#ifndef TOPDNN_HARNESS_REPORT_HTML_PAGE_H_
#define TOPDNN_HARNESS_REPORT_HTML_PAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/report/html/page_data.h"

namespace topdnn {

// The page. Throws nlohmann::json::exception if a key of a result has another type than topdnn
// writes.
std::string HtmlPage(const std::vector<PageResult>& results);

// The digest in the form of a content-security policy. `hexadecimal`: 64 digits.
std::string PolicyHash(std::string_view hexadecimal);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_PAGE_H_
