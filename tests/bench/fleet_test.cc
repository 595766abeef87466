// `topdnn fleet` with programs in place of Slurm's, and of the one that profiles a case. The tests
// run the batch scripts themselves. (fleet/fleet_slurm_test.cc has a real Slurm.)

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "bench/studies/fleet/fleet_collection.h"
#include "tests/bench/program.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Appends its arguments to a file, each with an end that no argument has.
constexpr const char* kSbatch = R"sh(#!/bin/sh
if [ -e "$FAKE/refuse" ]; then cat "$FAKE/refuse" >&2; exit 1; fi
case "$1" in --test-only) exit 0 ;; esac
case "$* " in *"$FAKE_REFUSED "*) echo 'sbatch: error: too many jobs' >&2; exit 1 ;; esac
for word; do printf '%s\036' "$word"; done >>"$FAKE/jobs"
printf '\035' >>"$FAKE/jobs"
if [ -e "$FAKE/last" ]; then . "$FAKE/last"; fi
echo 41
)sh";
constexpr const char* kSqueue = "#!/bin/sh\ncat \"$FAKE/queue\" 2>/dev/null; exit 0\n";
// Without accounts.
constexpr const char* kSacct =
    "#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2; exit 1\n";
// `topdnn sweep` whose cases take no time. CORES: the number of cores of the machine.
constexpr const char* kTopdnn = R"sh(#!/bin/sh
exec "$TOPDNN" "$@" --program "$FAKE/profile"
)sh";
constexpr const char* kFakeProfile = R"sh(#!/bin/sh
for last; do :; done
case " $* " in *" --batch 9 "*) exit 1 ;; esac
stage="\"status\": \"${STATUS:-OK}\", \"seconds\": {\"median\": ${SECONDS_OF:-1}}, \"peak_fraction\": ${PEAK:-0.5}"
cat >"$last.part" <<END
{"schema": 1, "threads": 1, "measuring_seconds": 0.01, "partial": false,
 "stages": [{"name": "conv1", "pass": "forward", $stage}],
 "machine": {"cpu": {"brand": "A CPU"}, "cores": ${CORES:-2}},
 "step": {$stage}}
END
mv "$last.part" "$last"
)sh";

std::vector<std::string> SplitAt(const std::string& text, char end) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, end);) parts.push_back(part);
  return parts;
}

// All files below a folder, with their contents.
std::map<std::string, std::string> FilesOf(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    files[entry.path().string()] = content.str();
  }
  return files;
}

class FleetTest : public testing::Test {
 protected:
  FleetTest() {
    const std::map<std::string, const char*> programs = {{"sbatch", kSbatch},
                                                         {"squeue", kSqueue},
                                                         {"sacct", kSacct},
                                                         {"topdnn", kTopdnn},
                                                         {"profile", kFakeProfile}};
    for (const auto& [name, text] : programs) {
      fs::permissions(folder_.Write(name, text), fs::perms::owner_all);
    }
    setenv("FAKE", folder_.path().c_str(), 1);
    setenv("FAKE_REFUSED", "none", 1);
    setenv("TOPDNN", TOPDNN_BINARY_DIR "/topdnn", 1);
    setenv("PATH", (folder_.path().string() + ":/usr/bin:/bin").c_str(), 1);
  }

  // A name that a shell, Slurm's patterns and its batch script could take for something else.
  std::string study() const { return (folder_.path() / "a 'b\"\n$(touch c) %j").string(); }
  Outcome Fleet(const std::string& action, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"fleet", action, study()};
    words.insert(words.end(), more.begin(), more.end());
    return RunProgram(words);
  }
  void Submit(std::vector<std::string> more) const {
    more.insert(more.end(), {"--program", (folder_.path() / "topdnn").string()});
    const Outcome outcome = Fleet("submit", more);
    EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  }
  // The arguments of each job.
  std::vector<std::vector<std::string>> Jobs() const {
    std::ifstream file(folder_.path() / "jobs");
    std::stringstream content;
    content << file.rdbuf();
    std::vector<std::vector<std::string>> jobs;
    for (const std::string& job : SplitAt(content.str(), '\035')) {
      jobs.push_back(SplitAt(job, '\036'));
    }
    return jobs;
  }
  // Runs a task as Slurm does, on a node.
  Outcome RunTask(const std::string& kind, int set, const std::string& more = "") const {
    return RunShell("SLURMD_NODENAME=n1 SLURM_ARRAY_TASK_ID=" + std::to_string(set) + " " + more +
                    " sh " + Quoted(study() + "/job-" + kind + ".sh"));
  }
  // Sets what squeue prints: the states of the tasks of a kind.
  void Queue(const std::string& kind, const std::map<int, std::string>& states) const {
    const std::string id = ReadJson(study() + "/fleet.json").at("fleet");
    std::string lines = "squeue: a message\n";
    for (const auto& [set, state] : states) {
      lines += "topdnn|topdnn-" + id + "-" + kind + "|41|" + std::to_string(set) + "|" + state +
               "|n1|None\n";
    }
    folder_.Write("queue", lines);
  }
  nlohmann::json Collected(const std::string& machine) const {
    return ReadJson(study() + "/machines/" + machine + "/sweep.json");
  }
  std::vector<std::string> Machines() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(study() + "/machines")) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TestFolder folder_;
};

std::set<std::string> IdsOf(const nlohmann::json& index) {
  std::set<std::string> ids;
  for (const auto& row : index.at("cases")) {
    EXPECT_TRUE(ids.insert(row.at("id")).second) << row.at("id");
  }
  return ids;
}

TEST_F(FleetTest, EachKindRunsEachCaseOnce) {
  Submit({"--batch", "1,2,3", "--threads", "1,2", "--constraint", "fast,slow&big", "--sets", "2",
          "--partition", "all", "--time-limit", "90m", "--sbatch=--account=me"});
  const auto jobs = Jobs();
  ASSERT_EQ(jobs.size(), 2u);
  for (const std::string& word :
       {"--chdir=" + study(), std::string("--array=1,2"), std::string("--requeue"),
        std::string("--exclusive"), std::string("--partition=all"), std::string("--time=90"),
        std::string("--account=me"), std::string("--open-mode=append"),
        std::string("--constraint=slow&big"),
        "--output=" + folder_.path().string() + "/a 'b\"\n$(touch c) %%j/tasks/slow_big-%a.log"}) {
    EXPECT_THAT(jobs[1], Contains(word));
  }
  EXPECT_EQ(jobs[1].back(), study() + "/job-slow_big.sh");
  for (const std::string kind : {"fast", "slow_big"}) {
    for (const int set : {1, 2}) {
      const Outcome outcome = RunTask(kind, set);
      EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
    }
  }
  EXPECT_FALSE(fs::exists("c"));
  const Outcome outcome = Fleet("collect");
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, Not(HasSubstr("partial")));
  const auto machines = Machines();
  ASSERT_EQ(machines.size(), 2u);
  EXPECT_THAT(machines[0], StartsWith("fast-"));
  EXPECT_EQ(machines[1].substr(machines[1].rfind('-')), machines[0].substr(machines[0].rfind('-')));
  const auto ids = IdsOf(Collected(machines[0]));
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(IdsOf(Collected(machines[1])), ids);
  EXPECT_EQ(Collected(machines[1]).at("cases")[0].at("host"), "n1");
  // A task that runs again and more collections give the same files. Results are stored once.
  const auto files = FilesOf(study() + "/machines");
  EXPECT_EQ(RunTask("fast", 1).exit_status, 0);
  const std::string store = (folder_.path() / "store").string();
  EXPECT_THAT(Fleet("collect", {"--store", store}).output, HasSubstr("12 new results"));
  EXPECT_THAT(Fleet("collect", {"--store", store}).output, HasSubstr("0 new results"));
  EXPECT_EQ(FilesOf(study() + "/machines"), files);
  EXPECT_THAT(RunProgram({"results", "query", "--store", store,
                          "SELECT machine, COUNT(*) FROM results GROUP BY machine"})
                  .output,
              ContainsRegex(machines[0] + " +6\n *" + machines[1] + " +6"));
}

TEST_F(FleetTest, WhatIsNotCompleteIsSubmittedAgain) {
  Submit({"--batch", "1,2,3"});
  EXPECT_THAT(Jobs().at(0), Contains("--array=1,2,3"));
  EXPECT_EQ(RunTask("any", 1).exit_status, 0);
  const Outcome partial = Fleet("collect");
  EXPECT_EQ(partial.exit_status, 0) << partial.output;
  EXPECT_THAT(partial.output, HasSubstr("partial: 1 of 3 cases are finished"));
  EXPECT_EQ(Collected(Machines().at(0)).at("left_out"), 2);
  // One runs and one was lost.
  Queue("any", {{1, "COMPLETED"}, {2, "RUNNING"}, {3, "NODE_FAIL"}});
  const Outcome status = Fleet("status", {"--json", (folder_.path() / "status").string()});
  EXPECT_EQ(status.exit_status, 0) << status.output;
  EXPECT_THAT(status.output, HasSubstr("1 of 3 cases are finished"));
  const auto tasks = ReadJson(folder_.path() / "status").at("tasks");
  EXPECT_EQ(tasks[1].at("state"), "RUNNING");
  EXPECT_TRUE(tasks[1].at("problem").is_null());
  EXPECT_EQ(tasks[2].at("problem"), "its node failed");
  EXPECT_EQ(tasks[2].at("node"), "n1");
  const Outcome twice = Fleet("submit");
  EXPECT_EQ(twice.exit_status, 2);
  EXPECT_THAT(twice.output, HasSubstr("add --resume"));
  EXPECT_THAT(Fleet("submit", {"--resume", "--dry-run"}).output, HasSubstr("--array=3 "));
  EXPECT_EQ(Fleet("submit", {"--resume", "--time-limit", "3h"}).exit_status, 0);
  ASSERT_EQ(Jobs().size(), 2u);
  EXPECT_THAT(Jobs().at(1), Contains("--array=3"));
  EXPECT_THAT(Jobs().at(1), Contains("--time=180"));
  Queue("any", {{2, "RUNNING"}, {3, "PENDING"}});
  EXPECT_THAT(Fleet("submit", {"--resume"}).output, HasSubstr("every task is complete, waits"));
  EXPECT_EQ(Jobs().size(), 2u);
}

// A process that is killed between the profile of a case and its row.
TEST_F(FleetTest, AProfileWithoutARowIsCollected) {
  Submit({"--batch", "1"});
  EXPECT_EQ(RunTask("any", 1).exit_status, 0);
  const fs::path index = study() + "/tasks/any-1/sweep.json";
  nlohmann::json json = ReadJson(index);
  json["cases"] = nlohmann::json::array({{{"id", 1}}});  // (a number is no id)
  std::ofstream(index) << json.dump();
  EXPECT_EQ(Fleet("collect").exit_status, 0);
  EXPECT_EQ(Collected(Machines().at(0)).at("cases").size(), 1u);
}

TEST_F(FleetTest, NodesOfAKindWithOtherHardwareAreAnotherMachine) {
  Submit({"--batch", "1,2,9"});
  EXPECT_EQ(RunTask("any", 1, "CORES=2").exit_status + RunTask("any", 2, "CORES=4").exit_status +
                RunTask("any", 3, "CORES=4").exit_status,
            1);
  const Outcome outcome = Fleet("collect");
  EXPECT_EQ(outcome.exit_status, 1) << outcome.output;  // a case failed
  std::size_t cases = 0;
  ASSERT_EQ(Machines().size(), 2u);
  for (const std::string& machine : Machines()) cases += Collected(machine).at("cases").size();
  EXPECT_EQ(cases, 3u);
}

// n2 takes 3 times as long, and reaches a quarter of its ceiling instead of a half: a machine whose
// ceiling is 1.5 times as low, and a stage that is twice as far from it.
TEST_F(FleetTest, MachinesAreComparedByTheirTimesAndTheirCeilings) {
  Submit({"--batch", "1,2", "--sets", "1", "--nodes", "n1,n2"});
  EXPECT_EQ(RunTask("n1", 1).exit_status, 0);
  EXPECT_THAT(Fleet("collect", {"--compare", "n1"}).output, HasSubstr("no other machine yet"));
  EXPECT_EQ(RunTask("n2", 1, "SECONDS_OF=3 PEAK=0.25").exit_status, 0);
  const fs::path json = folder_.path() / "collect.json";
  const Outcome outcome = Fleet("collect", {"--compare", "n1", "--all", "--json", json.string()});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("batch 2.* conv1 .* n2-[0-9a-f]+ +3.00 +3.000"));
  const auto rows = ReadJson(json).at("comparison").at("machines")[0].at("rows");
  ASSERT_EQ(rows.size(), 4u);  // two stages, and two steps
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("ratio"), 3);
    EXPECT_EQ(row.at("a_peak_fraction"), 0.5);
    EXPECT_EQ(row.at("b_peak_fraction"), 0.25);
    EXPECT_EQ(row.at("ratio_normalised"), 2);
  }
  const Outcome page = RunProgram({"report", json.string(), "--html", "-"});
  EXPECT_EQ(page.exit_status, 0) << page.output;
  for (const char* part : {R"("kind":"machines")", R"("ratio_normalised":2)"}) {
    EXPECT_THAT(page.output, HasSubstr(part));
  }
  EXPECT_EQ(Fleet("collect", {"--json", json.string()}).exit_status, 0);
  const Outcome none = RunProgram({"report", json.string(), "--html", "-"});
  EXPECT_EQ(none.exit_status, 2);
  EXPECT_THAT(none.output, HasSubstr("--compare MACHINE --all"));
  EXPECT_EQ(std::count(none.output.begin(), none.output.end(), '\n'), 1) << none.output;
  EXPECT_THAT(Fleet("collect", {"--compare", "n3"}).output, HasSubstr("no such machine"));
}

// n1 has no valid time, and n3 has only the other case.
TEST_F(FleetTest, WhatDoesNotCompareIsSaid) {
  Submit({"--batch", "1,2", "--sets", "2", "--nodes", "n1,n2,n3"});
  RunTask("n1", 1, "STATUS=INVALID");
  EXPECT_EQ(RunTask("n2", 1).exit_status, 0);
  EXPECT_EQ(RunTask("n3", 2).exit_status, 0);
  const Outcome outcome = Fleet("collect", {"--compare", "n1", "--all"});
  EXPECT_THAT(outcome.output, ContainsRegex("conv1 .* n1-[0-9a-f]+ .*INVALID"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("1.000")));
  EXPECT_THAT(outcome.output, ContainsRegex("not compared: n3-[0-9a-f]+:"));
}

TEST_F(FleetTest, ANodeWithoutTheFolderMeasuresNothing) {
  Submit({"--batch", "1"});
  const fs::path script = folder_.path() / "job.sh";
  fs::copy_file(study() + "/job-any.sh", script);
  fs::rename(study(), study() + "2");
  const Outcome outcome = RunShell("SLURM_ARRAY_TASK_ID=1 sh " + Quoted(script.string()));
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("file system that all nodes share"));
  EXPECT_FALSE(fs::exists("tasks"));
  fs::create_directory(study());  // a place where the file system is not mounted
  EXPECT_EQ(RunShell("SLURM_ARRAY_TASK_ID=1 sh " + Quoted(script.string())).exit_status, 2);
  EXPECT_TRUE(fs::is_empty(study()));
  fs::remove(study());
  fs::rename(study() + "2", study());
  Queue("any", {{1, "FAILED"}});
  EXPECT_THAT(Fleet("status").output, HasSubstr("node n1 does not see the study's folder"));
}

// A node whose slurmd dies may still run its job when the requeued one starts elsewhere.
TEST_F(FleetTest, ARequeuedTaskWaitsForItsPredecessor) {
  Submit({"--batch", "1"});
  const int fd = open((study() + "/tasks/any-1/.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  std::atomic<bool> ended = false;
  std::thread task([&] {
    EXPECT_EQ(RunTask("any", 1).exit_status, 0);
    ended = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(ended);
  close(fd);
  task.join();
  EXPECT_EQ(ReadJson(study() + "/tasks/any-1/sweep.json").at("cases").size(), 1u);
}

TEST_F(FleetTest, ATemplateSurroundsTheCommand) {
  const auto file = folder_.Write("template", "#!/bin/sh\ntouch \"$FAKE/before\"\n@COMMAND@\n");
  Submit({"--batch", "1", "--template", file.string()});
  EXPECT_EQ(RunTask("any", 1).exit_status, 0);
  EXPECT_TRUE(fs::exists(folder_.path() / "before"));
}

TEST_F(FleetTest, WhatSlurmRefusesIsOneLineWithTheFix) {
  const std::map<std::string, std::string> refusals = {
      {"sbatch: error: Munge encode failed: Failed to access \"/run/munge/munge.socket.2\": No "
       "such "
       "file or directory\nsbatch: error: Batch job submission failed: Protocol authentication "
       "error\n",
       "start munged"},
      {"sbatch: error: Batch job submission failed: Invalid partition name specified\n",
       "--partition NAME"},
      {"", "failed without a message"}};
  for (const auto& [said, fix] : refusals) {
    folder_.Write("refuse", said);
    const Outcome outcome = Fleet("submit", {"--batch", "1"});
    EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(fix));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    EXPECT_FALSE(fs::exists(study()));
  }
  setenv("PATH", "/no", 1);
  const Outcome outcome = RunProgram({"fleet", "submit", study(), "--batch", "1"});
  setenv("PATH", "/usr/bin:/bin", 1);
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("slurm-client"));
}

TEST_F(FleetTest, AStudyWhoseFirstJobIsSubmittedStays) {
  setenv("FAKE_REFUSED", "job-slow.sh", 1);
  const Outcome outcome = Fleet("submit", {"--batch", "1", "--constraint", "fast,slow"});
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("the jobs before slow's are submitted"));
  setenv("FAKE_REFUSED", "none", 1);
  Queue("fast", {{1, "RUNNING"}});
  EXPECT_EQ(Fleet("submit", {"--resume"}).exit_status, 0);
  ASSERT_EQ(Jobs().size(), 2u);
  EXPECT_EQ(Jobs()[1].back(), study() + "/job-slow.sh");
}

TEST_F(FleetTest, AnOptionThatSlurmRefusesIsNotKept) {
  Submit({"--batch", "1"});
  setenv("FAKE_REFUSED", "--acount=me", 1);
  EXPECT_EQ(Fleet("submit", {"--resume", "--sbatch=--acount=me"}).exit_status, 2);
  setenv("FAKE_REFUSED", "none", 1);
  EXPECT_EQ(Fleet("submit", {"--resume", "--sbatch=--account=me"}).exit_status, 0);
  ASSERT_EQ(Jobs().size(), 2u);
  EXPECT_THAT(Jobs()[1], Contains("--account=me"));
  EXPECT_THAT(Jobs()[1], Not(Contains("--acount=me")));
}

TEST_F(FleetTest, OptionsGivenWithResumeReplaceThoseOfTheSameName) {
  Submit({"--batch", "1", "--partition", "slow", "--exclusive=user", "--sbatch=--account=me",
          "--sbatch=--qos=low"});
  EXPECT_EQ(Fleet("submit", {"--resume", "--partition", "fast", "--exclusive=no",
                             "--sbatch=--account=you", "--dry-run"})
                .exit_status,
            0);  // (which changes nothing)
  EXPECT_EQ(Fleet("submit", {"--resume", "--partition", "quick", "--exclusive=no"}).exit_status, 0);
  EXPECT_EQ(Fleet("submit", {"--resume"}).exit_status, 0);
  ASSERT_EQ(Jobs().size(), 3u);
  for (const char* word : {"--partition=quick", "--account=me", "--qos=low"}) {
    EXPECT_THAT(Jobs()[1], Contains(word));
  }
  EXPECT_THAT(Jobs()[1], Not(Contains(StartsWith("--exclusive"))));
  EXPECT_THAT(Jobs()[1], Not(Contains("--partition=slow")));
  EXPECT_EQ(Jobs()[2], Jobs()[1]);
}

TEST_F(FleetTest, BadInputIsOneLine) {
  const auto file = folder_.Write("template", "#!/bin/sh\n");
  const std::map<std::vector<std::string>, std::string> refusals = {
      {{"submit", "--batch", "1", "--sets", "2"}, "--sets 2: must be 1 to 1"},
      {{"submit", "--constraint", "a&b,a_b"}, "each must be a name"},
      {{"submit", "--constraint", ","}, "each must be a name"},
      {{"submit", "--nodes", "n[1-2]"}, "give single names"},
      {{"submit", "--exclusive=maybe"}, "--exclusive"},
      {{"submit", "--sbatch", "wrap"}, "must be an option"},
      {{"submit", "--template", file.string()}, "@COMMAND@"},
      {{"submit", "--time-limit", "1x"}, "--time-limit 1x"},
      {{"submit", "--resume"}, "there is no fleet.json"},
      {{"submit", "--resume", "--sets", "1"}, "--sets: with --resume"},
      {{"submit", "--resume", "--constraint", "a"}, "--constraint: with --resume"},
      {{"submit", "--resume", "--timeout", "1m"}, "--timeout: with --resume"},
      {{"submit", "--resume", "--repeats", "3"}, "--repeats: with --resume"},
      {{"submit", "--resume", "--seconds", "1"}, "--seconds: with --resume"},
      {{"submit", "--resume", "--batch", "1"}, "--batch: with --resume"},
      {{"status", "--sets", "2"}, "--sets: has no effect on status"},
      {{"status"}, "there is no fleet.json"},
      {{"collect"}, "there is no fleet.json"},
      {{"cancel"}, "collect"}};
  for (const auto& [words, part] : refusals) {
    const Outcome outcome = Fleet(words.front(), {words.begin() + 1, words.end()});
    EXPECT_EQ(outcome.exit_status, 2) << part;
    EXPECT_THAT(outcome.output, HasSubstr(part));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
  }
  for (const char* text : {"{", "[]", R"({"schema": 1, "fleet": "../x"})"}) {
    fs::create_directories(study());
    std::ofstream(study() + "/fleet.json") << text;
    EXPECT_THAT(Fleet("collect").output, HasSubstr("damaged"));
  }
}

// Slurm may have the job of an sbatch that is killed, gives up, or whose answer cannot be read.
TEST_F(FleetTest, AStudyWhoseJobSlurmMayHaveStays) {
  for (const char* last : {"echo what; exit 0", "kill -9 $$",
                           "echo 'sbatch: error: Batch job submission failed: Socket timed out on "
                           "send/recv operation'; exit 1"}) {
    folder_.Write("last", last);
    const Outcome outcome = Fleet("submit", {"--batch", "1"});
    EXPECT_EQ(outcome.exit_status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("Slurm may have the job"));
    EXPECT_EQ(std::count(outcome.output.begin(), outcome.output.end(), '\n'), 1) << outcome.output;
    Queue("any", {{1, "PENDING"}});
    EXPECT_THAT(Fleet("submit", {"--resume"}).output, HasSubstr("every task is complete, waits"));
    fs::remove_all(study());
  }
  EXPECT_EQ(Jobs().size(), 3u);
}

// A refused study is removed, but nothing that was there before it.
TEST_F(FleetTest, FilesOfTheUserAreNotThoseOfAStudy) {
  folder_.Write("refuse", "sbatch: error: no\n");
  for (const char* name : {"tasks/own", "job-any.sh"}) {
    fs::create_directories(study() + "/tasks");
    if (name == std::string("job-any.sh")) fs::remove_all(study() + "/tasks");
    std::ofstream(study() + "/" + name) << "mine";
    const Outcome outcome = Fleet("submit", {"--batch", "1"});
    EXPECT_EQ(outcome.exit_status, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("exists, but the folder has no study"));
    EXPECT_THAT(FilesOf(study()), ElementsAre(testing::Pair(study() + "/" + name, "mine")));
    fs::remove_all(study());
  }
  EXPECT_EQ(Fleet("submit", {"--batch", "1", "--timeout", "1x"}).exit_status, 2);
  EXPECT_FALSE(fs::exists(study()));
}

TEST_F(FleetTest, SyntheticDataIsNoPath) {
  folder_.Write("synthetic", "");
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  Submit({"--batch", "1", "--data", "synthetic"});
  fs::current_path(before);
  const std::vector<std::vector<std::string>> settings =
      ReadJson(study() + "/fleet.json").at("settings");
  EXPECT_THAT(settings, Contains(ElementsAre("--data", "synthetic")));
}

}  // namespace
}  // namespace topdnn
