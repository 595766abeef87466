#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "harness/statistics/steady.h"

namespace topdnn {
namespace {

TEST(SteadyTest, StandardErrorByHand) {
  // median 3, deviations 2 1 0 1 2: MAD 1
  EXPECT_NEAR(StandardErrorOfMedian(std::array{1.0, 2.0, 3.0, 4.0, 5.0}),
              1.2533 * 1.4826 / 2.2360680, 1e-6);
}

TEST(SteadyTest, TrendByHand) {
  // 1 2 3 4 5: 10 pairs rise, and the variance is 5 * 4 * 15 / 18 = 16.6667.
  EXPECT_NEAR(TrendOf(std::array{1.0, 2.0, 3.0, 4.0, 5.0}), 10 / 4.0824829, 1e-6);
  EXPECT_NEAR(TrendOf(std::array{5.0, 4.0, 3.0, 2.0, 1.0}), -10 / 4.0824829, 1e-6);
  // 3 1 2: one pair rises (1 2), two fall; the variance is 3 * 2 * 11 / 18 = 3.6667.
  EXPECT_NEAR(TrendOf(std::array{3.0, 1.0, 2.0}), -1 / 1.9148542, 1e-6);
  EXPECT_EQ(TrendOf(std::array{2.0, 2.0, 2.0}), 0);
  EXPECT_EQ(TrendOf(std::array{2.0}), 0);
}

// The number of samples after which the watch is steady.
std::optional<std::size_t> SteadyAfter(const std::vector<double>& series) {
  SteadyWatch watch;
  for (std::size_t i = 0; i < series.size(); ++i) {
    watch.Add(series[i]);
    if (watch.steady()) return i + 1;
  }
  return std::nullopt;
}

TEST(SteadyTest, AConstantSeriesIsSteadyAtTheSecondCheck) {
  EXPECT_EQ(SteadyAfter(std::vector<double>(40, 2.0)), 30u);
  EXPECT_FALSE(SteadyAfter(std::vector<double>(29, 2.0)));
}

TEST(SteadyTest, AWeakTrendIsNotSteady) {
  for (const double slope : {0.001, 0.05, 1.0, 100.0}) {
    std::vector<double> rising;
    rising.reserve(200);
    for (int i = 0; i < 200; ++i) rising.push_back(1 + slope * i);
    EXPECT_FALSE(SteadyAfter(rising)) << slope;
  }
}

TEST(SteadyTest, SingleOutliersDoNotMatter) {
  std::vector<double> series(40, 1.0);
  series[20] = 50;
  series[27] = 80;
  EXPECT_EQ(SteadyAfter(series), 30u);
}

TEST(SteadyTest, NoiseNeedsMoreSamples) {
  // No trend, but so much noise that a change of 2 % cannot be detected.
  std::vector<double> series;
  series.reserve(30);
  for (int i = 0; i < 30; ++i) series.push_back(1.0 + 0.05 * (i * 7 % 5));
  EXPECT_FALSE(LooksSteady(series));
  EXPECT_TRUE(LooksSteady(std::vector<double>(30, 1.0)));
  EXPECT_FALSE(LooksSteady(std::vector<double>(5, 1.0)));  // too few samples
}

// ---- Error rates.

struct Scenario {
  std::string name;
  std::function<double(double)> level;  // true time of step i divided by the final time
};

struct Noise {
  std::string name;
  double sigma;
  double outliers = 0;     // share of steps that take 1.5 to 5 times as long
  double correlation = 0;  // of the noise of consecutive steps
};

constexpr std::size_t kMaxSteps = 2000;  // as MeasureOptions::most_warmup_iterations
// Enough to distinguish 3.5 % from 5 %, and fast.
constexpr int kSimulatedRuns = 100;

struct Rates {
  double false_steady = 0;  // share of runs that were steady at a level 2 % off the final one
  double never = 0;
  std::size_t half = 0, most = 0;  // steps after which 50 and 95 % were steady
};

Rates Simulate(const Scenario& scenario, const Noise& noise, int runs, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<std::size_t> stops;
  int wrong = 0;
  for (int run = 0; run < runs; ++run) {
    SteadyWatch watch;
    double error = normal(random);
    std::size_t step = 0;
    for (; step < kMaxSteps && !watch.steady(); ++step) {
      const double rest = std::sqrt(1 - noise.correlation * noise.correlation);
      error = noise.correlation * error + rest * normal(random);
      double time = scenario.level(static_cast<double>(step)) * (1 + noise.sigma * error);
      if (uniform(random) < noise.outliers) time *= 1.5 + 3.5 * uniform(random);
      watch.Add(time);
    }
    if (!watch.steady()) continue;
    stops.push_back(step);
    wrong += std::abs(scenario.level(static_cast<double>(step)) - 1) > 0.02 ? 1 : 0;
  }
  std::sort(stops.begin(), stops.end());
  Rates rates;
  rates.false_steady = static_cast<double>(wrong) / runs;
  rates.never = 1 - static_cast<double>(stops.size()) / runs;
  if (!stops.empty()) {
    rates.half = stops[stops.size() / 2];
    rates.most = stops[stops.size() * 95 / 100];
  }
  return rates;
}

Scenario Decay(double excess, double tau) {
  return {fmt::format("decay of {:.0f} %, tau {:.0f}", 100 * excess, tau),
          [=](double i) { return 1 + excess * std::exp(-i / tau); }};
}
Scenario Step(double excess, double at) {
  return {fmt::format("step of {:+.0f} % at {:.0f}", 100 * excess, at),
          [=](double i) { return i < at ? 1 + excess : 1; }};
}
Scenario Drift(double excess, double length) {
  return {fmt::format("drift of {:+.0f} % over {:.0f}", 100 * excess, length),
          [=](double i) { return 1 + excess * std::max(0.0, 1 - i / length); }};
}

const std::vector<Noise> kNoises = {{"0.3 %", 0.003},
                                    {"1 %", 0.01},
                                    {"3 %", 0.03},
                                    {"3 %, 5 % outliers", 0.03, 0.05},
                                    {"3 %, correlated 0.6", 0.03, 0, 0.6}};

// Prints a row per scenario, and returns the largest rate of false "steady".
double PrintRates(const std::vector<Scenario>& scenarios, int runs) {
  std::mt19937_64 random(11);
  double worst = 0;
  for (const Scenario& scenario : scenarios) {
    std::string line = fmt::format("{:<24}", scenario.name);
    for (const Noise& noise : kNoises) {
      const Rates rates = Simulate(scenario, noise, runs, random);
      worst = std::max(worst, rates.false_steady);
      line += fmt::format("|{:5.1f} %{:5}{:5}{:4.0f} %", 100 * rates.false_steady, rates.half,
                          rates.most, 100 * rates.never);
    }
    std::puts(line.c_str());
  }
  return worst;
}

void PrintHead() {
  std::puts("false steady, steps until 50 % and 95 % of the steady runs, never steady; by noise:");
  std::string line(24, ' ');
  for (const Noise& noise : kNoises) line += fmt::format("| {:<21}", noise.name);
  std::puts(line.c_str());
}

TEST(SteadySimulationTest, OnlyNoiseIsSteadySoon) {
  const Scenario flat{"noise alone", [](double) { return 1.0; }};
  std::mt19937_64 random(3);
  constexpr int kRuns = 100;
  const Rates least = Simulate(flat, kNoises[0], kRuns, random);
  EXPECT_LE(least.half, 38u);
  EXPECT_LE(least.most, 120u);
  const Rates little = Simulate(flat, kNoises[1], kRuns, random);
  EXPECT_LE(little.half, 60u);
  EXPECT_LE(little.most, 185u);
  const Rates much = Simulate(flat, kNoises[2], kRuns, random);
  EXPECT_LE(much.half, 300u);
  EXPECT_LE(much.never, 0.05);
}

TEST(SteadySimulationTest, FalseSteadyIsRare) {
  std::vector<Scenario> scenarios = {{"noise alone", [](double) { return 1.0; }}};
  for (const double excess : {0.05, 0.2, 1.0}) {
    for (const double tau : {3.0, 10.0, 30.0}) scenarios.push_back(Decay(excess, tau));
  }
  scenarios.push_back(Decay(0.2, 100));
  for (const double at : {8.0, 16.0}) {
    for (const double excess : {0.1, 0.3, -0.1}) scenarios.push_back(Step(excess, at));
  }
  for (const auto& [excess, length] : {std::pair{0.1, 40.0},
                                       {0.1, 100.0},
                                       {0.5, 100.0},
                                       {0.5, 300.0},
                                       {-0.1, 40.0},
                                       {-0.1, 100.0}}) {
    scenarios.push_back(Drift(excess, length));
  }
  PrintHead();
  EXPECT_LT(PrintRates(scenarios, kSimulatedRuns), 0.05);
  // Less than 0.05 % per step with noise of 1 %: no rule detects that within a warm-up. A change
  // after the last check cannot be detected at all.
  std::puts("not detectable:");
  PrintRates({Decay(0.05, 100), Drift(0.1, 300), Step(0.1, 40)}, kSimulatedRuns);
}

}  // namespace
}  // namespace topdnn
