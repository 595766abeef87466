// Profiles as JSON with known times, for tests of the code that reads results.

#ifndef TOPDNN_TESTS_BENCH_PROFILE_JSON_H_
#define TOPDNN_TESTS_BENCH_PROFILE_JSON_H_

#include <nlohmann/json.hpp>
#include <string>

namespace topdnn {

struct KnownProfile {
  unsigned seed = 1;         // of the iterations' noise, 1 %
  std::string slow_stage{};  // the stage whose times are multiplied by `slowdown`
  double slowdown = 1;       // the factor of the slow stage
  double all = 1;            // all times are multiplied by this
  int stages = 16;           // conv1, conv2, ..., from 0.1 ms to 1 ms
  std::string status = "OK";
};

// A profile of `topdnn profile cnn --train --batch 8`.
nlohmann::json ProfileJson(const KnownProfile& known);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_PROFILE_JSON_H_
