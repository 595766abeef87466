#include "harness/report/publish_result.h"

#include <fmt/format.h>

#include <cstdio>

#include "harness/files/atomic_file.h"
#include "harness/report/json.h"

namespace topdnn {

void PublishResult(const std::string& path, const std::function<nlohmann::ordered_json()>& json,
                   const std::function<std::string(const Style&)>& text) {
  Outputs outputs;
  outputs.Write(path, [&] { WriteFileAtomically(path, JsonText(json())); });
  std::FILE* const stream = path == kStandardOutput ? stderr : stdout;
  fmt::print(stream, "{}", text(DetectStyle(stream)));
  outputs.Finish();
}

}  // namespace topdnn
