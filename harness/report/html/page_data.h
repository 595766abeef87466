// The data of the HTML report: of each result, the keys that the page draws, in a compact form. A
// network of 587 stages has more than 2 MB of JSON, and the page must stay small.

#ifndef TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_
#define TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

enum class PageKind { kProfile, kSweep, kComparison, kMachines, kSharing, kScheduling, kTrace };

// A result in the JSON that topdnn writes.
struct PageResult {
  PageKind kind = PageKind::kProfile;
  nlohmann::ordered_json json;
};

// {"results": [{"kind": "profile", ...}...]}. Numbers have six significant digits, except counts,
// which are exact. The stages of a profile are columns: {"name": [...], ...}; a text is an index
// into "texts". A column without values is omitted.
nlohmann::ordered_json PageData(const std::vector<PageResult>& results);

// JSON that may be inside an HTML script element: `<` is \u003c, so the text contains neither an
// end tag nor a comment. Bytes that are not UTF-8 are replaced (U+FFFD).
std::string JsonForScript(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_
