// Traces of jobs: as CSV, and random ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "harness/scheduling/trace.h"
#include "harness/scheduling/trace_generator.h"
#include "harness/text/errors.h"

namespace topdnn {
namespace {

using testing::HasSubstr;

const std::string kHeader = std::string(kTraceHeader) + "\n";

std::string NoNet(const std::string& network) {
  return network == "cnn" || network == "lenet5" ? "" : "no network '" + network + "'";
}

std::vector<TraceJob> Parse(const std::string& text, int cpus = 8) {
  return ParseTrace(text, "t.csv", cpus, NoNet);
}

TEST(JobTraceTest, JobsAreSortedByTheirArrival) {
  const auto jobs = Parse("# two jobs\n\n" + kHeader +
                          "cnn,train,32,100,2.5,1,1,16\r\n lenet5 , infer,1,7,0,-3,2,4\n");
  ASSERT_EQ(jobs.size(), 2u);
  const TraceJob first{.network = "lenet5",
                       .batch = 1,
                       .steps = 7,
                       .arrival = 0,
                       .priority = -3,
                       .min_width = 2,
                       .max_width = 4};
  EXPECT_EQ(jobs[0], first);
  EXPECT_TRUE(jobs[1].training);
  EXPECT_EQ(jobs[1].max_width, 8);  // the CPUs
  EXPECT_EQ(Parse(TraceText(jobs)), jobs);
}

struct Bad {
  std::string text, message;
};

TEST(JobTraceTest, ABadLineIsNamed) {
  const std::vector<Bad> bad = {
      {"", "t.csv:0: no header"},
      {"cnn,train,1,1,0,0,1,1\n", "t.csv:1: the header"},
      {kHeader, "t.csv:1: no job"},
      {kHeader + "cnn,train,1,1,0,0,1\n", "t.csv:2: 7 fields: write 8"},
      {kHeader + "cnn,train,1,1,0,0,1,1,1\n", "t.csv:2: 9 fields: write 8"},
      {kHeader + "cnm,train,1,1,0,0,1,1\n", "t.csv:2: no network 'cnm'"},
      {kHeader + "cnn,both,1,1,0,0,1,1\n", "t.csv:2: pass 'both': write train or infer"},
      {kHeader + "cnn,train,0,1,0,0,1,1\n", "batch '0': write a whole number of 1 to 65536"},
      {kHeader + "cnn,train,1,1e3,0,0,1,1\n", "steps '1e3': write a whole number"},
      {kHeader + "cnn,train,1,99999999999999999999,0,0,1,1\n", "steps '99999999999999999999'"},
      {kHeader + "cnn,train,1,1,-1,0,1,1\n", "arrival '-1': write seconds"},
      {kHeader + "cnn,train,1,1,nan,0,1,1\n", "arrival 'nan': write seconds"},
      {kHeader + "cnn,train,1,1,inf,0,1,1\n", "arrival 'inf': write seconds"},
      {kHeader + "cnn,train,1,1,,0,1,1\n", "arrival '': write seconds"},
      {kHeader + "cnn,train,1,1,0,x,1,1\n", "priority 'x'"},
      {kHeader + "cnn,train,1,1,0,0,0,1\n", "min_width '0'"},
      {kHeader + "cnn,train,1,1,0,0,3,2\n", "min_width 3 is above max_width 2"},
      {kHeader + "\n#\ncnn,train,1,1,0,0,9,9\n", "t.csv:4: min_width 9 is above the 8 CPUs"},
      {kHeader + "cnn,tr\x1b[2Jain,1,1,0,0,1,1\n", "pass 'tr\\u{1b}[2Jain'"},
      {kHeader + "cnn," + std::string(5000, 'x') + ",1,1,0,0,1,1\n", "xxx...': write train"}};
  for (const auto& [text, message] : bad) {
    try {
      Parse(text);
      ADD_FAILURE() << "accepted: " << message;
    } catch (const InputError& error) {
      const std::string what = error.what();
      EXPECT_THAT(what, HasSubstr(message));
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
      EXPECT_LT(what.size(), 300u);
    }
  }
}

std::vector<TraceJob> Generate(int count, std::uint64_t seed, int load = 100) {
  const std::vector<NominalJob> kinds = {{"cnn", true, 64, 8000}, {"lenet5", false, 256, 2000}};
  return GenerateTrace(
      {.jobs = count, .seed = seed, .load_percent = load, .cpus = 4, .mean_milliseconds = 2000},
      kinds);
}

// The mean work is 2 s; at load 1 on 4 CPUs a job arrives every 0.5 s on average. The standard
// deviation of an exponential distribution equals its mean, so 4 standard errors of the mean of n
// samples are 4 / sqrt(n) of it. A share of exp(-1) of the samples is above the mean.
TEST(JobTraceTest, ArrivalsAreExponential) {
  constexpr int kJobs = 20000;
  const auto jobs = Generate(kJobs, 11);
  int above = 0;
  double work = 0;
  for (std::size_t j = 1; j < jobs.size(); ++j) {
    above += jobs[j].arrival - jobs[j - 1].arrival > 0.5 ? 1 : 0;
    work += static_cast<double>(jobs[j].steps) * (jobs[j].training ? 0.008 : 0.002);
  }
  EXPECT_NEAR(jobs.back().arrival / (kJobs - 1), 0.5, 0.5 * 4 / std::sqrt(kJobs));
  EXPECT_NEAR(above / static_cast<double>(kJobs), std::exp(-1), 4 * 0.48 / std::sqrt(kJobs));
  EXPECT_NEAR(work / kJobs, 2, 0.05);
  EXPECT_NEAR(Generate(kJobs, 11, 200).back().arrival, jobs.back().arrival / 2, 1);
}

// At a load of 1 %, a job arrives every 50 s on average: 300,000 of them take 1.5e7 s.
TEST(JobTraceTest, ArrivalsThatNoTraceMayHaveAreRefused) {
  EXPECT_LT(Generate(100000, 1, 1).back().arrival, kLastArrival);
  EXPECT_THROW(Generate(300000, 1, 1), InputError);
}

TEST(JobTraceTest, WidthsAreAtMostTheCpus) {
  for (const TraceJob& job : Generate(1000, 2)) {
    EXPECT_EQ(job.min_width, 1);
    EXPECT_TRUE(job.max_width == 1 || job.max_width == 2 || job.max_width == 4);
  }
}

// The trace is the same on every platform. The expected one was computed in Python, with a second
// implementation of the generator of Nishimura and Matsumoto (mt19937-64.c, 2004).
TEST(JobTraceTest, ASeedGivesAFixedTrace) {
  EXPECT_EQ(TraceText(Generate(4, 42)), kHeader +
                                            "lenet5,infer,256,636,0,1,1,4\n"
                                            "lenet5,infer,256,1185,0.506,0,1,4\n"
                                            "lenet5,infer,256,1247,0.882,0,1,1\n"
                                            "cnn,train,64,155,1.605,0,1,4\n");
  EXPECT_NE(TraceText(Generate(4, 43)), TraceText(Generate(4, 42)));
}

}  // namespace
}  // namespace topdnn
