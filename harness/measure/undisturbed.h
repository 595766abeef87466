// Which samples of a measurement other work disturbed. Every sample has its own account, so a run
// beside other programs still gives the times of the iterations that they did not touch.
//
// The accounts are facts about the sample, never its time. Leaving out long samples would make
// every median too low; leaving out those whose threads waited for a CPU does so only as far as a
// longer sample is more likely to meet a neighbour. On a quiet machine the undisturbed median and
// that of all samples agree within 1 % (tests/harness/undisturbed_test.cc states the bias).

#ifndef TOPDNN_HARNESS_MEASURE_UNDISTURBED_H_
#define TOPDNN_HARNESS_MEASURE_UNDISTURBED_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/measure/disturbance.h"
#include "harness/probes/quiet.h"

namespace topdnn {

// Why a sample is left out, the clearest reason first.
enum class Disturber {
  kWaited,          // a thread was ready to run, while another one had the CPU
  kInterrupted,     // an involuntary switch, if the time of waiting is not known
  kStolen,          // the hypervisor gave the CPU to another machine
  kThrottled,       // a CPU quota stopped the threads
  kSlowArithmetic,  // a probe of arithmetic, or of issuing instructions, beside it was slow
  kSlowMemory,      // a probe of memory beside it was slow
};
inline constexpr std::size_t kDisturbers = 6;

// "waited for a CPU", "ran while memory was slow", ...
std::string_view NameOf(Disturber disturber);

// What is known at a moment between two iterations.
struct SpanMark {
  std::int64_t iteration = 0;  // timed iterations before it
  QuietReading speed{};        // of the probes; absent: not read
  // Since the mark before it: the share of the machine's CPU time that the hypervisor took, and the
  // share of the threads' time for which a quota stopped them.
  double stolen = 0;
  double throttled = 0;
};

// The facts about a series of samples, one per timed iteration.
struct SampleFacts {
  std::size_t samples = 0;
  // By sample, the sum over the threads of the time that they waited for a CPU, as a share of the
  // sample's time. Empty: not known.
  std::span<const double> waited{};
  std::span<const std::int64_t> switches{};  // by sample; involuntary; empty: not known
  // By sample, the slower pace of the cores at its two ends; empty: not known.
  std::span<const double> pace{};
  double full_pace = 0;               // of undisturbed cores, in this run
  double best_pace = 0;               // the same, the best known of this machine; 0: not known
  std::span<const SpanMark> marks{};  // in order; the first is before every sample
};

// A sample whose threads waited for longer than this share of its time is disturbed. Kernel threads
// take a CPU for microseconds, other programs for milliseconds.
inline constexpr double kMaxWaitedOfSample = 0.005;
// The hypervisor's account has a resolution of 10 ms, so it holds for the time between two marks.
inline constexpr double kMaxStolenOfSpan = 0.02;
inline constexpr double kMaxThrottledOfSpan = 0.01;
// The slower of the probes at both ends of the time, as a share of the speed that a quarter of the
// run's readings reach. (Not of the best known speed: on a machine that is slow all the time, the
// readings that pass would be lucky ones, and a run 20 % too slow was OK with them.) Memory
// of a virtual machine repeats within kMemoryNoise.
inline constexpr double kMinArithmetic = kMinQuietRatio;

// So many undisturbed samples are enough; fewer are, if they are this share of all of them and a
// median has an interval.
inline constexpr std::size_t kEnoughSamples = 30;
inline constexpr double kEnoughShare = 0.10;
inline constexpr std::size_t kLeastSamples = 6;

// Whether `kept` undisturbed samples of `samples` are enough.
bool AreEnough(std::size_t kept, std::size_t samples);

struct Selection {
  std::vector<std::size_t> kept;                     // indices of the samples to use, ascending
  std::array<std::int64_t, kDisturbers> left_out{};  // the others, by Disturber
  // Of the samples, those without any disturbance. If there is none, `kept` are the least
  // disturbed ones.
  std::size_t undisturbed = 0;
  bool enough = true;
  // Samples beside slow cores, and beside slow memory, are left out.
  bool by_speed = true, by_memory = true;

  std::int64_t LeftOut() const;
};

// The undisturbed samples, enough or not. The pace at both ends of a sample is compared with the
// best known one, or with that of this run, if the former leaves too few. Pure.
Selection SelectBySpeed(const SampleFacts& facts);

// The undisturbed samples. If they are not enough, slow memory does not count, and if they still
// are not, slow cores do not either: the speeds moved, and what depends on them is judged by
// SpeedsOf. If there is still none, the samples whose threads waited for the least share of their
// time are kept: at least kLeastSamples, or kEnoughShare of all. Pure.
Selection SelectUndisturbed(const SampleFacts& facts);

// The rounds of an experiment to use, by the share of each that its threads waited: the undisturbed
// ones, or the kLeastSamples least disturbed ones if an interval needs more than there are. An
// interval of 6 values reaches from the lowest to the highest, so beside undisturbed ones a
// disturbed one can only widen it. Pure.
std::vector<std::size_t> SelectRounds(std::span<const double> waited);

struct StageRounds {
  double seconds = 0;           // of one execution
  std::size_t undisturbed = 0;  // rounds
};
// Whether the stages with fewer undisturbed rounds than an interval needs take more than a
// twentieth of the time. Pure.
bool NeedMoreRounds(std::span<const StageRounds> stages);

// The speeds of the probes around the kept samples, without the clock, as shares of `best` or of
// the full speed in this run, whichever is higher; each at most 1. Absent if they were not read. Of
// memory, and of the pace in place of the marks' arithmetic, the median by samples, since it
// belongs to their median time; the lower quartile, if the selection does not leave out slow ones.
// Without a pace, arithmetic is the lowest reading at the marks. Pure.
Speeds SpeedsOf(const Selection& selection, const SampleFacts& facts, const QuietReading& best);

// The values at these indices.
std::vector<double> ValuesAt(std::span<const double> values, std::span<const std::size_t> indices);

// "waited for a CPU": 12, ...: only reasons that occurred.
std::map<std::string, std::int64_t> ReasonsOf(const Selection& selection);

// Empty if the samples are enough: "4 of 200 samples are undisturbed: 190 waited for a CPU, ...".
std::string WhyTooFew(const Selection& selection);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_MEASURE_UNDISTURBED_H_
