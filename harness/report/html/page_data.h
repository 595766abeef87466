// The data of the HTML page: of a profile, the keys that the page draws, in a compact form. A
// network of 587 stages has more than 2 MB of JSON, and the page must stay small.

#ifndef TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_
#define TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_

#include <nlohmann/json.hpp>
#include <string>

namespace topdnn {

// The data of a profile, from its JSON: {"kind": "profile", ...}. Numbers have six significant
// digits, except counts, which are exact. The stages are columns: {"name": [...], ...}; a text is
// an index into "texts". A column without values is omitted.
nlohmann::ordered_json ProfileData(const nlohmann::ordered_json& profile);

// Parts that the data of other results have, too. `machine` is null or what `topdnn machine`
// writes, and `threads` null or the number whose ceilings are the roofs.
nlohmann::ordered_json MachineData(const nlohmann::ordered_json& machine,
                                   const nlohmann::ordered_json& threads);
// Without the samples, which are many. `seconds` may be a single number.
nlohmann::ordered_json TimeData(const nlohmann::ordered_json& seconds);

// JSON that may be inside an HTML script element: `<` is \u003c, so the text contains neither an
// end tag nor a comment. Bytes that are not UTF-8 are replaced (U+FFFD).
std::string JsonForScript(const nlohmann::ordered_json& json);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_HTML_PAGE_DATA_H_
