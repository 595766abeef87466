// Cores for generated event files: random counts with known shares of the slots, and the nodes of
// level 1 that the vendor's documents define on them. It shares no code with the tables.

#ifndef TOPDNN_TESTS_HARNESS_GENERATED_CORES_H_
#define TOPDNN_TESTS_HARNESS_GENERATED_CORES_H_

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/harness/generated_event_files.h"

namespace topdnn {

using KnownNodes = std::map<std::string, double>;

struct GeneratedCore {
  std::string cpu;
  int width = 0;  // slots per cycle
  // The first two counts are of events that all nodes of level 1 need.
  EventCounts (*counts)(int width, std::mt19937_64& random) = nullptr;
  KnownNodes (*nodes)(int width, const EventCounts& counts) = nullptr;
  std::string pmu = {};  // in a hybrid CPU: "cpu_core"; empty: it is in none
  // Level 1 adds up to 1 whatever the first event (cycles or slots) is: one node is the rest.
  bool has_rest = false;
};

// Of every table with slots.
const std::vector<GeneratedCore>& GeneratedCores();

// With random options of perf-stat(1).
FileShape RandomShape(const GeneratedCore& core, std::mt19937_64& random);

// The counts of each of the shape's groups, or of "".
std::map<std::string, EventCounts> RandomCounts(const GeneratedCore& core, const FileShape& shape,
                                                std::mt19937_64& random);

// For a failure's message.
std::string Describe(const GeneratedCore& core, const FileShape& shape, const std::string& text);

}  // namespace topdnn

#endif  // TOPDNN_TESTS_HARNESS_GENERATED_CORES_H_
