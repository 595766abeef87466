// `topdnn malleable`: its results, what a job obeys, and that nothing is left of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/studies/malleable/malleable.h"
#include "bench/studies/malleable/malleable_figures.h"
#include "harness/machine/cpu_set.h"
#include "tests/bench/program.h"
#include "tests/bench/refused.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

using Json = nlohmann::ordered_json;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

#define SKIP_WITHOUT_TWO_WIDTHS()    \
  if (AllowedCpus().cpus.size() < 2) \
  GTEST_SKIP() << "two widths need two CPUs, and this process may use one"

// A job (--steps) in a separate process, with a control socket.
class RunningJob {
 public:
  explicit RunningJob(const std::vector<std::string>& options) {
    std::vector<std::string> words = {TOPDNN_BINARY_DIR "/topdnn", "malleable", "lenet5"};
    words.insert(words.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--control"), socket_path(), std::string("--json"),
                                    json_path(), std::string("--quiet")}) {
      words.push_back(word);
    }
    process_ = fork();
    if (process_ == 0) {
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(arguments.front(), arguments.data());
      _exit(127);
    }
  }
  ~RunningJob() {
    if (process_ != 0) kill(process_, SIGKILL);
    if (process_ != 0) waitpid(process_, nullptr, 0);
    if (client_ >= 0) close(client_);
  }

  std::string socket_path() const { return (folder_.path() / "control").string(); }
  std::string json_path() const { return (folder_.path() / "job.json").string(); }
  bool HasSocketFile() const { return std::filesystem::exists(socket_path()); }

  // Connects when the job has made its socket.
  bool Connect() {
    return Becomes([this] {
      if (client_ < 0) client_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
      sockaddr_un address = {};
      address.sun_family = AF_UNIX;
      socket_path().copy(address.sun_path, sizeof address.sun_path - 1);
      return connect(client_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    });
  }
  Json Ask(const Json& request) const {
    const std::string packet = request.dump();
    std::array<char, 4096> reply;
    if (send(client_, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return {};
    const ssize_t bytes = recv(client_, reply.data(), reply.size(), 0);
    return bytes <= 0 ? Json() : Json::parse(reply.data(), reply.data() + bytes);
  }
  Json Status() const { return Ask({{"request", "status"}}); }
  bool Reaches(const std::function<bool(const Json&)>& condition) const {
    return Becomes([&] {
      const Json status = Status();
      return status.is_object() && condition(status);
    });
  }
  bool ReachesWidth(int width) const {
    return Reaches([width](const Json& status) { return status["width"] == width; });
  }
  void Signal(int signal) const { kill(process_, signal); }
  // The exit status; -1: a signal ended it.
  int Wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  Json Result() const { return ReadJson(json_path()); }

 private:
  TestFolder folder_;
  pid_t process_ = 0;
  int client_ = -1;
};

const std::vector<std::string> kEndless = {"--train",    "--batch",     "8", "--steps",
                                           "1000000000", "--max-width", "2"};

TEST(Malleable, MeasuresChangesByEachSource) {
  SKIP_WITHOUT_TWO_WIDTHS();
  const TestFolder folder;
  const std::string file = (folder.path() / "out.json").string();
  const Outcome outcome = RunProgram(
      {"malleable", "lenet5", "--train", "--batch", "8", "--changes", "4", "--json", file});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  const Json json = ReadJson(file);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["changes"], 16);
  EXPECT_EQ(json["lost_work"], 0);
  EXPECT_EQ(json["latency"]["n"], 16);
  EXPECT_GT(json["latency"]["median"], 0);
  EXPECT_TRUE(json.contains("cost"));
  EXPECT_LE(json["loss_error"], json["error_bound"]);
  EXPECT_GT(json["compared_changes"], 10);
  ASSERT_EQ(json["fixed"].size(), 2U);
  EXPECT_EQ(json["fixed"][0]["threads"], 1);
  EXPECT_GT(json["fixed"][1]["images_per_second"], 0);
  EXPECT_GT(json["oversubscription"]["following_images_per_second"], 0);
  std::vector<std::string> names;
  for (const Json& source : json["sources"]) {
    names.push_back(source["name"]);
    EXPECT_EQ(source["changes"], 4) << source["name"];
  }
  EXPECT_THAT(names, ElementsAre("api", "signal", "socket", "quota"));
}

TEST(Malleable, MeasuresInference) {
  SKIP_WITHOUT_TWO_WIDTHS();
  const TestFolder folder;
  const std::string file = (folder.path() / "out.json").string();
  const Outcome outcome = RunProgram({"malleable", "lenet5", "--infer", "--batch", "8", "--changes",
                                      "2", "--by", "api", "--json", file});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  const Json json = ReadJson(file);
  EXPECT_EQ(json["mode"], "infer");
  EXPECT_TRUE(json["loss_error"].is_null());
  EXPECT_LE(json["output_error"], json["error_bound"]);
}

TEST(MalleableJob, EndsAfterItsSteps) {
  RunningJob job({"--infer", "--batch", "4", "--steps", "30", "--width", "1", "--max-width", "1"});
  EXPECT_EQ(job.Wait(), 0);
  const Json json = job.Result();
  EXPECT_EQ(json["iterations"], 30);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["lost_work"], 0);
  EXPECT_FALSE(job.HasSocketFile());
}

TEST(MalleableJob, ObeysItsSocket) {
  SKIP_WITHOUT_TWO_WIDTHS();
  RunningJob job(kEndless);
  ASSERT_TRUE(job.Connect());
  for (const int width : {1, 2, 1}) {
    EXPECT_EQ(job.Ask({{"request", "set_width"}, {"width", width}})["wanted"], width);
    EXPECT_TRUE(job.ReachesWidth(width));
  }
  EXPECT_THAT(job.Ask({{"request", "set_width"}, {"width", 3}})["error"].get<std::string>(),
              HasSubstr("must be 1 to 2"));
  const std::int64_t done = job.Status()["iterations"];
  EXPECT_TRUE(job.Reaches([done](const Json& status) { return status["iterations"] > done; }));
  EXPECT_EQ(job.Ask({{"request", "stop"}})["ok"], true);
  EXPECT_EQ(job.Wait(), 0);
  const Json json = job.Result();
  EXPECT_EQ(json["complete"], false);
  EXPECT_GE(json["changes"], 2);
  EXPECT_GT(json["iterations"], done);
  EXPECT_EQ(json["lost_work"], 0);
  EXPECT_FALSE(job.HasSocketFile());
}

TEST(MalleableJob, ObeysSignals) {
  SKIP_WITHOUT_TWO_WIDTHS();
  RunningJob job(kEndless);
  ASSERT_TRUE(job.Connect());
  ASSERT_TRUE(job.ReachesWidth(2));
  job.Signal(SIGUSR1);
  EXPECT_TRUE(job.ReachesWidth(1));
  job.Signal(SIGUSR2);
  EXPECT_TRUE(job.ReachesWidth(2));
  job.Signal(SIGTERM);
  EXPECT_EQ(job.Wait(), 130);
  EXPECT_EQ(job.Result()["complete"], false);
  EXPECT_GE(job.Result()["changes"], 2);
}

TEST(MalleableJob, AnInterruptLeavesTheResultsAndNoSocket) {
  RunningJob job({"--train", "--batch", "8", "--steps", "1000000000", "--max-width", "1"});
  ASSERT_TRUE(job.Connect());
  EXPECT_TRUE(job.Reaches([](const Json& status) { return status["iterations"] > 0; }));
  job.Signal(SIGINT);
  EXPECT_EQ(job.Wait(), 130);
  EXPECT_FALSE(job.HasSocketFile());
  EXPECT_EQ(job.Result()["complete"], false);
  EXPECT_GT(job.Result()["iterations"], 0);
}

TEST(MalleableJob, AnInterruptBeforeTheFirstStepIsObeyedToo) {
  RunningJob job({"--train", "--batch", "8", "--steps", "1000000000", "--max-width", "1"});
  ASSERT_TRUE(Becomes([&job] { return job.HasSocketFile(); }));
  job.Signal(SIGINT);
  EXPECT_EQ(job.Wait(), 130);
  EXPECT_FALSE(job.HasSocketFile());
}

// The result of random changes is that of a fixed width.
TEST(MalleableJob, TrainsToTheSameLossWhileItsWidthChanges) {
  SKIP_WITHOUT_TWO_WIDTHS();
  // A small learning rate does not amplify rounding.
  const std::vector<std::string> words = {"--train", "--batch",     "64",
                                          "--steps", "400",         "--learning-rate",
                                          "0.0001",  "--max-width", "2"};
  RunningJob fixed(words);
  EXPECT_EQ(fixed.Wait(), 0);
  RunningJob job(words);
  ASSERT_TRUE(job.Connect());
  for (int i = 0; job.Ask({{"request", "set_width"}, {"width", 1 + i % 2}}).is_object(); ++i) {
    for (const Json& malformed : {Json("x"), Json({{"width", 1e300}}), Json::array({nullptr})}) {
      const Json reply = job.Ask(malformed);
      EXPECT_TRUE(!reply.is_object() || reply["ok"] == false);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300 + i % 7 * 100));
  }
  EXPECT_EQ(job.Wait(), 0);
  const double expected = fixed.Result()["loss"];
  EXPECT_GT(job.Result()["changes"], 5);
  EXPECT_NE(expected, fixed.Result()["first_loss"]);
  EXPECT_THAT(job.Result()["loss"].get<double>(), DoubleNear(expected, 1e-4 * expected));
}

// The study has a socket in a temporary folder. The second signal ends it at once.
TEST(Malleable, AnInterruptLeavesTheResultsAndNoFolder) {
  SKIP_WITHOUT_TWO_WIDTHS();
  for (const int signals : {1, 2}) {
    const TestFolder folder;
    const std::filesystem::path temporary = folder.path() / "tmp";
    const std::string file = (folder.path() / "out.json").string();
    std::filesystem::create_directory(temporary);
    std::vector<std::string> words = {
        TOPDNN_BINARY_DIR "/topdnn", "malleable", "lenet5", "--json", file, "--quiet"};
    const pid_t process = fork();
    if (process == 0) {
      setenv("TMPDIR", temporary.c_str(), 1);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      execv(arguments.front(), arguments.data());
      _exit(127);
    }
    EXPECT_TRUE(Becomes([&] { return !std::filesystem::is_empty(temporary); }));
    kill(process, SIGTERM);
    // (two signals that are pending at once are one)
    while (signals == 2 && waitpid(process, nullptr, WNOHANG) == 0) {
      kill(process, SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int status = 0;
    if (signals == 1) {
      EXPECT_EQ(waitpid(process, &status, 0), process);
      EXPECT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), 130);
      EXPECT_EQ(ReadJson(file)["complete"], false);
    }
    EXPECT_TRUE(std::filesystem::is_empty(temporary)) << signals;
  }
}

class MalleableRefused : public testing::TestWithParam<RefusedCommand> {};
TEST_P(MalleableRefused, InOneLine) { ExpectRefused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Lines, MalleableRefused,
    testing::Values(
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--width", "0"},
                       "--width 0: must be 1 to"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "0"}, "--steps 0: must be 1 to"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--max-width", "100000"},
                       "--max-width 100000: must be 1 to"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--max-width", "0"},
                       "--max-width 0:"},
        RefusedCommand{
            {"malleable", "lenet5", "--steps", "5", "--min-width", "2", "--max-width", "1"},
            "--min-width 2: must be 1 to 1"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--control", std::string(200, 'x')},
                       "at most 107 bytes"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--control", "/"}, "is no socket"},
        RefusedCommand{{"malleable", "lenet5", "--steps", "5", "--control", "/no/such/folder/s"},
                       "No such file or directory"},
        RefusedCommand{{"malleable", "lenet5", "--control", "s"}, "--control: give --steps"},
        RefusedCommand{{"malleable", "lenet5", "--threads", "1"}, "give --max-width"},
        RefusedCommand{{"malleable", "lenet5", "--train", "--infer"}, "take one of them"},
        RefusedCommand{{"malleable", "lenet5", "--max-width", "1"}, "only one width"},
        RefusedCommand{{"malleable", "lenet5", "--widths", "0,1"}, "'0': must be 1 to"},
        RefusedCommand{{"malleable", "lenet5", "--widths", "1,x"}, "'x': must be 1 to"},
        RefusedCommand{{"malleable", "no_such_network", "--steps", "5"}, "no_such_network"}));

TEST(MalleableRefused, ASocketInUse) {
  RunningJob job({"--train", "--batch", "8", "--steps", "1000000000", "--max-width", "1"});
  ASSERT_TRUE(job.Connect());
  ExpectRefused({{"malleable", "lenet5", "--steps", "5", "--control", job.socket_path()},
                 "another process has this socket open"});
  EXPECT_TRUE(job.Status()["ok"]);
}

// A step of two stages that take 1 and 2 seconds at width 1, half of it at width 2.
TimedStep StepAt(int width, double more = 0) {
  const double factor = width == 1 ? 1 : 0.5;
  return {{3 * factor + more, width, 0}, {factor, 2 * factor + more}};
}

TEST(MalleableFigures, CostOfAChange) {
  // The change before the second stage: 1 s at width 1, 1 s at width 2, and 0.25 s more.
  const std::vector<TimedStep> steps = {StepAt(1), StepAt(1), {{2.25, 2, 1}, {1, 1.25}}, StepAt(2)};
  const std::vector<WidthChange> changes = {{1, 2, 12, 1, {}}};
  EXPECT_THAT(ChangeCosts(steps, changes, 10), ElementsAre(DoubleNear(0.25, 1e-12)));
  EXPECT_THAT(ChangeCosts(steps, changes, 13), ElementsAre());
}

TEST(MalleableFigures, StepsUntilSteady) {
  std::vector<TimedStep> steps;
  for (int change = 0; change < 10; ++change) {
    const int width = 1 + change % 2;
    steps.push_back({{4, width, 1}, {2, 2}});
    for (const double more : {0.5, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0}) {
      steps.push_back(StepAt(width, more));
    }
  }
  EXPECT_EQ(StepsToSteady(steps), 2);
  EXPECT_EQ(StepsToSteady({}), std::nullopt);
}

TEST(MalleableFigures, LatencyIsThatOfTheNextChangeToTheWidth) {
  const auto at = [](int milliseconds) {
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(milliseconds));
  };
  const std::vector<WidthRequest> requests = {{2, at(10)}, {1, at(30)}, {2, at(90)}};
  const std::vector<WidthChange> changes = {
      {1, 2, 0, 0, at(5)}, {1, 2, 1, 3, at(12)}, {2, 1, 2, 0, at(37)}};
  EXPECT_THAT(Latencies(requests, changes),
              ElementsAre(DoubleNear(0.002, 1e-9), DoubleNear(0.007, 1e-9)));
}

TEST(MalleableFigures, DifferenceOfResults) {
  const std::vector<double> a = {1, -4, 2}, b = {1, -4.5, 2.25}, nan = {1, NAN, 2};
  EXPECT_DOUBLE_EQ(ResultDifference(a, b), 0.5 / 4.5);
  EXPECT_EQ(ResultDifference(a, a), 0);
  EXPECT_TRUE(std::isinf(ResultDifference(a, nan)));
  EXPECT_TRUE(std::isinf(ResultDifference(a, std::vector<double>{1})));
  // A loss that is not finite at a width is no measure of rounding.
  EXPECT_EQ(ResultBound("f32", 1e-3), 4e-3);
  EXPECT_EQ(ResultBound("f32", ResultDifference(a, nan)), 1e-4);
}

}  // namespace
}  // namespace topdnn
