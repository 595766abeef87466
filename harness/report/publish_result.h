// A command's result: a file of JSON for programs, and text for a person.

#ifndef TOPDNN_HARNESS_REPORT_PUBLISH_RESULT_H_
#define TOPDNN_HARNESS_REPORT_PUBLISH_RESULT_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/text/style.h"

namespace topdnn {

// Writes the JSON, unless `path` is empty, then prints the text: on standard error if standard
// output has the JSON. The file comes first, because the reader of the text may end early (`head`).
// Throws WriteError after the text if the file cannot be written.
void PublishResult(const std::string& path, const std::function<nlohmann::ordered_json()>& json,
                   const std::function<std::string(const Style&)>& text);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_REPORT_PUBLISH_RESULT_H_
