// How fast a job runs: the time of a step at each width, and what it loses to other jobs. The times
// are measured on a machine; Amdahl's law (AFIPS 1967) gives those of the other widths. Pure.

#ifndef TOPDNN_HARNESS_SCHEDULING_SPEED_MODEL_H_
#define TOPDNN_HARNESS_SCHEDULING_SPEED_MODEL_H_

#include <map>
#include <span>
#include <string>
#include <vector>

namespace topdnn {

// The jobs of one kind: a network, its pass and its batch.
struct SpeedCurve {
  std::string network;
  bool training = false;
  int batch = 1;
  std::map<int, double> step_seconds;  // by width, alone on the machine; at least one
  double startup_seconds = 0;          // of its process before the first step and after the last
  double change_seconds = 0;           // what a change of width costs
};

// step(w) = one * (serial + (1 - serial) / w).
struct AmdahlFit {
  double one = 0;     // seconds at width 1
  double serial = 0;  // 0 to 1
};

// The serial share where only one width was measured.
inline constexpr double kAssumedSerialShare = 0.1;

// The least squares fit of the relative errors, with a serial share of 0 to 1.
AmdahlFit FitAmdahl(const std::map<int, double>& step_seconds);

// Seconds of a step: measured, or by the fit. Widths of the curve are 1 or more.
double StepTimeAt(const SpeedCurve& curve, int width);

// The speed of a job beside others, divided by what its share of the CPUs would give.
struct LoadLoss {
  double load = 1;        // threads that want to run, per CPU
  double efficiency = 1;  // at that load
};

struct SpeedModel {
  std::vector<SpeedCurve> curves;
  // Ascending loads of 1 or more. Load 1: the other jobs use all other CPUs. Empty: no loss.
  std::vector<LoadLoss> losses;
};

// The speed of a job of this width beside `others` threads of other jobs, relative to its speed
// alone. Up to a load of 1 the loss grows linearly with the share of the other CPUs that is used.
// Above it, the CPUs are shared by all threads, and the efficiency is interpolated; above the
// highest measured load it stays the same.
double RelativeSpeed(std::span<const LoadLoss> losses, int cpus, int width, int others);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_SCHEDULING_SPEED_MODEL_H_
