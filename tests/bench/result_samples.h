// Results made by hand, in the JSON that the commands write, for the tests of the HTML page.

#ifndef TOPDNN_TESTS_BENCH_RESULT_SAMPLES_H_
#define TOPDNN_TESTS_BENCH_RESULT_SAMPLES_H_

#include <nlohmann/json.hpp>
#include <string>

namespace topdnn {

// A training step of 3 layers in 13 stages: every pass, Top-Down measured, as bounds and by
// experiment, roofs, memory, the course over iterations, and a DEGRADED, an INVALID, a FAILED and a
// SKIPPED stage. The FAILED one has a time, which the page must not draw; the SKIPPED one has none.
nlohmann::ordered_json SampleProfile();

// The profile of `stages` stages, repeated from the sample.
nlohmann::ordered_json LargeProfile(int stages);

// Texts that would break a page which does not quote them.
extern const char* const kHostileTexts[5];

// The sample with its texts replaced by kHostileTexts with a number, except those that the page
// interprets (status, pass, unit, kind).
nlohmann::ordered_json HostileProfile();

// Eight cases: six are timed, one ran out of memory, and one timed out.
nlohmann::ordered_json SampleSweep();

// Five rows, of which one is faster and one is slower.
nlohmann::ordered_json SampleComparison();
// The collection of a study: two machines compared with a third, each with its step and three
// stages.
nlohmann::ordered_json SampleMachines();
// Five primitives, the last one without a measured time.
nlohmann::ordered_json SampleTrace();
// A live run of six steps without a measurement here; its rows are those of SampleTrace, in
// modules.
nlohmann::ordered_json SampleLiveRun();
nlohmann::ordered_json SampleCorun();

}  // namespace topdnn

#endif  // TOPDNN_TESTS_BENCH_RESULT_SAMPLES_H_
