// Top-Down: where a core's pipeline slots go (Yasin, "A Top-Down Method for Performance Analysis
// and Counters Architecture", ISPASS 2014). Each microarchitecture is a table: the events it reads,
// with raw codes, and one formula per node. A table is data in a separate, registered file.
// Formulas are pure, so that counts recorded elsewhere are evaluated without that CPU.

#ifndef TOPDNN_HARNESS_TOPDOWN_METRIC_H_
#define TOPDNN_HARNESS_TOPDOWN_METRIC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/text/errors.h"
#include "harness/topdown/pipeline.h"

namespace topdnn {

// Wrong input: one line that says what is wrong, where, and how to fix it.
class TopdownError : public InputError {
 public:
  using InputError::InputError;
};

// A number that may be absent. Absence spreads through arithmetic, and a division by zero is
// absent: a formula is then null, never a guess.
class MaybeValue {
 public:
  MaybeValue() = default;
  MaybeValue(double value) : value_(value) {}  // NOLINT(google-explicit-constructor): in formulas
  const std::optional<double>& get() const { return value_; }

  friend MaybeValue operator+(const MaybeValue& a, const MaybeValue& b);
  friend MaybeValue operator-(const MaybeValue& a, const MaybeValue& b);
  friend MaybeValue operator*(const MaybeValue& a, const MaybeValue& b);
  friend MaybeValue operator/(const MaybeValue& a, const MaybeValue& b);

 private:
  std::optional<double> value_;
};

inline MaybeValue Least(const MaybeValue& a, const MaybeValue& b) {
  return a.get() && b.get() ? MaybeValue(std::min(*a.get(), *b.get())) : MaybeValue();
}
// 0 for a negative value.
inline MaybeValue Positive(const MaybeValue& a) {
  return a.get() ? MaybeValue(std::max(*a.get(), 0.0)) : a;
}

// The name of an event as a template argument. It is compared by its characters. A pointer is not
// enough: GCC 14 merges the lambdas of a template whose arguments are arrays of the same name in
// the unnamed namespaces of two sources, so that Skylake's formula read Ice Lake's event.
template <std::size_t kSize>
struct EventLiteral {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal is the argument
  constexpr EventLiteral(const char (&literal)[kSize]) { std::copy_n(literal, kSize, text); }
  char text[kSize] = {};
};

// The inputs of a formula: counts by the vendor's event names, and the earlier nodes of its path.
class TopdownCounts {
 public:
  // Records the names of missing events. Values are totals over the measured region.
  MaybeValue operator()(std::string_view event) const;
  // An earlier node of the same path.
  MaybeValue Node(std::string_view name) const;
  // Whether the core's other hardware thread was in use (Skylake counts per core or per thread).
  bool smt() const { return smt_; }

 private:
  friend class TopdownEvaluation;
  std::map<std::string, double, std::less<>> counts_;
  std::map<std::string, std::optional<double>, std::less<>> nodes_;
  mutable std::set<std::string> missing_;
  bool smt_ = false;
};

// Which counters can count an event (SchedulableEvent in harness/counters/schedule.h).
enum EventCounter {
  kGeneralCounter,  // any general counter
  // A counter of its own: on Intel's cores (SDM volume 3, 20.2.2 and 20.3.9), and Arm's cycle
  // counter PMCCNTR_EL0 (Arm ARM, D11.5).
  kFixedCounter,
  kFirstCounter,  // only general counter 0 (Intel perfmon, SPR events, "Counter")
  kCounterPair,   // two counters: up to 64 a cycle (AMD PPR, "Large Increment per Cycle Events")
};

struct TopdownEvent {
  std::string name;          // the vendor's spelling; a counter mask as ":c4"
  std::uint64_t code = 0;    // perf_event_attr.config of the core's PMU
  std::string perf = {};     // perf's other name: "topdown-retiring"; may be empty
  std::string libpfm4 = {};  // "skx::UOPS_ISSUED:ANY"; empty if Debian's 4.13.0 lacks it
  EventCounter counter = kGeneralCounter;
};

// An additional event, for a metric by name.
struct ExtraEvent {
  std::string metric;  // "flops", "memory"
  TopdownEvent event;
  double flops = 0;  // floating-point operations per count; 0: not a FLOP event
};

struct TopdownNode {
  std::string name;
  int level = 1;  // 1 to 4; 0: not Top-Down, but what this core offers instead
  MaybeValue (*formula)(const TopdownCounts&);
  // A refinement of this node: its events are reported as missing only if some of them were
  // counted. All nodes of levels 3 and 4 are refinements, and others that set this.
  std::string_view refines = {};
};

// Formulas of the level-2 nodes without an event: the parent minus the preceding sibling.
struct Level2Rest {
  static MaybeValue FetchBandwidth(const TopdownCounts& e) {
    return e.Node("Frontend_Bound") - e.Node("Fetch_Latency");
  }
  static MaybeValue MachineClears(const TopdownCounts& e) {
    return e.Node("Bad_Speculation") - e.Node("Branch_Mispredicts");
  }
  static MaybeValue CoreBound(const TopdownCounts& e) {
    return e.Node("Backend_Bound") - e.Node("Memory_Bound");
  }
  static MaybeValue LightOperations(const TopdownCounts& e) {
    return e.Node("Retiring") - e.Node("Heavy_Operations");
  }
};

// One set of events and formulas for the nodes. A core may have several: with the PERF_METRICS
// register, and without it (in guests). They are never mixed, since their precision differs.
struct TopdownPath {
  std::string name;
  std::vector<TopdownNode> nodes;  // a node after those that it reads
  std::string needs = {};          // an event that the kernel must list in sysfs; empty: none
};

struct TopdownTable {
  std::string cpu;                      // "sapphire_rapids"
  std::vector<std::string> alias = {};  // cores with the same table: "emerald_rapids"
  std::string source;                   // of the formulas
  std::string note = {};                // for the reader of the result; may be empty
  bool efficiency_core = false;         // its counts bear perf's cpu_atom prefix on hybrid CPUs
  bool level3_of_slots = false;         // level 3 is in slots, and not in cycles
  CorePipeline pipeline = {};           // its slots are those of the formulas
  std::vector<TopdownEvent> events;
  std::vector<TopdownPath> paths;
  std::vector<ExtraEvent> extras = {};  // the events of `flops` and `memory`
};

class TopdownRegistration {
 public:
  // Throws std::logic_error if the CPU has a table already.
  explicit TopdownRegistration(TopdownTable table);
};

// Every registered table, sorted by CPU.
const std::vector<TopdownTable>& TopdownTables();

// The table of a CPU, by its name or an alias; nullptr if there is none.
const TopdownTable* TopdownTableNamed(std::string_view cpu);
// The same. Throws TopdownError that lists the known CPUs if there is none.
const TopdownTable& FindTopdownTable(std::string_view cpu);

// The events that a path's nodes up to a level read (and those of level 0). Throws
// std::out_of_range for a path that the table lacks.
std::vector<std::string> EventsOfPath(const TopdownTable& table, std::size_t path, int level,
                                      bool smt);

struct TopdownResult {
  using Values = std::vector<std::pair<std::string, std::optional<double>>>;
  std::string path;
  Values level1;                     // fractions of slots
  Values level2;                     // fractions of all slots, not of the parent
  Values level3;                     // fractions of cycles, as TMA defines them
  Values level4;                     // the same
  Values instead;                    // of a core without slot events: fractions of cycles
  std::vector<std::string> missing;  // events whose absence made a node null
};

// Evaluates the path that lacks the fewest events (and gives any node); of equal ones, the first. A
// fraction below zero (from counts that are slightly inconsistent) is clamped to 0. If no event of
// level 1 has counted at all, they are missing (a virtual machine with the architectural events
// only).
TopdownResult EvaluateTopdown(const TopdownTable& table,
                              const std::map<std::string, double, std::less<>>& counts, bool smt);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_TOPDOWN_METRIC_H_
