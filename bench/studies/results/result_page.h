// What the HTML page draws of each kind of result: the keys that its script reads, in a compact
// form.

#ifndef TOPDNN_BENCH_STUDIES_RESULTS_RESULT_PAGE_H_
#define TOPDNN_BENCH_STUDIES_RESULTS_RESULT_PAGE_H_

#include <nlohmann/json.hpp>
#include <optional>

#include "bench/studies/results/result_file.h"

namespace topdnn {

// {"kind": "sweep", ...} for HtmlPage (harness/report/html/page.h); absent for a kind of result
// that the page does not draw. Throws nlohmann::json::exception if a key has another type than
// topdnn writes.
std::optional<nlohmann::ordered_json> PageDataOf(const ResultFile& result);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_STUDIES_RESULTS_RESULT_PAGE_H_
