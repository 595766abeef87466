// A group of processes: its windows, and members that crash, hang or refuse.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/machine/cpu_set.h"
#include "harness/sharing/group.h"
#include "harness/sharing/rounds.h"
#include "harness/text/errors.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Each iteration sleeps a millisecond and logs two constants.
class Sleeper : public Member {
 public:
  explicit Sleeper(std::function<void()> run = {}) : run_(std::move(run)) {}
  std::vector<MemberStage> stages() const override { return {{"a\tb\n", "forward"}, {"", "p"}}; }
  void Run(const Window& window, IterationLog& log) override {
    double seconds[2] = {};
    RunIterations(
        window, seconds,
        [this](std::span<double> times) {
          if (run_) run_();
          usleep(1000);
          times[0] = 1;
          times[1] = 2;
        },
        log);
  }

 private:
  std::function<void()> run_;
};

// All on the first CPU that may be used, since they sleep.
MemberPlan PlanOf(const std::string& name,
                  std::function<std::unique_ptr<Member>(const MemberPlace&)> make) {
  return {name, {AllowedCpus().cpus.front()}, std::move(make)};
}

MemberPlan SleeperPlan(const std::string& name, std::function<void()> run = {}) {
  return PlanOf(name, [run](const MemberPlace&) { return std::make_unique<Sleeper>(run); });
}

// The error of a group with this second member.
std::string ErrorOf(const MemberPlan& bad, double most_seconds = 60) {
  std::string message;
  try {
    Group group({SleeperPlan("good"), bad}, {.most_seconds = most_seconds});
    if (group.AwaitReady()) group.RunWindow({true, true}, 0.05);
  } catch (const InputError& error) {
    message = std::string("input: ") + error.what();
  } catch (const RunFailure& error) {
    message = error.what();
  }
  // No child is left, not even a zombie.
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  return message;
}

TEST(GroupTest, OnlyActiveMembersHaveTimes) {
  Group group({SleeperPlan("a"), SleeperPlan("b")}, {});
  ASSERT_TRUE(group.AwaitReady());
  ASSERT_EQ(group.stages(1).size(), 2u);
  EXPECT_EQ(group.stages(1)[0].name, "a\tb\n");
  EXPECT_EQ(group.stages(1)[0].pass, "forward");
  EXPECT_EQ(group.stages(1)[1].name, "");
  for (const bool first : {true, false, true}) {
    const auto samples = group.RunWindow({first, !first}, 0.05);
    ASSERT_TRUE(samples);
    const WindowSamples& active = (*samples)[first ? 0 : 1];
    EXPECT_GE(active.iterations(), 2u);
    EXPECT_LE(active.iterations(), 50u);  // each takes a millisecond or more
    EXPECT_EQ(active.seconds[0], 1);
    EXPECT_EQ(active.seconds[1], 2);
    EXPECT_EQ((*samples)[first ? 1 : 0].iterations(), 0u);
  }
}

TEST(GroupTest, ARoundHasAWindowForEachMemberAndOneForAll) {
  Group group({SleeperPlan("a"), SleeperPlan("b"), SleeperPlan("c")}, {});
  ASSERT_TRUE(group.AwaitReady());
  int windows = 0;
  const SharingRounds rounds =
      RunSharingRounds(group, {.rounds = 3, .window_seconds = 0.06, .progress = [&](double share) {
                                 EXPECT_NEAR(share, windows++ / 12.0, 1e-9);
                               }});
  EXPECT_EQ(windows, 12);
  EXPECT_FALSE(rounds.cancelled);
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rounds.solo[i].size(), 3u);
    ASSERT_EQ(rounds.shared[i].size(), 3u);
    for (std::size_t round = 0; round < 3; ++round) {
      EXPECT_GT(rounds.solo[i][round].iterations(), 0u);
      EXPECT_GT(rounds.shared[i][round].iterations(), 0u);
    }
  }
}

// Logs the setting of its windows, and the seconds that it had to wake up.
class SettingMember : public Member {
 public:
  std::vector<MemberStage> stages() const override { return {{"setting", ""}, {"lead", ""}}; }
  void Run(const Window& window, IterationLog& log) override {
    const std::chrono::duration<double> lead = window.begin - GroupClock::now();
    const double values[2] = {static_cast<double>(window.setting), lead.count()};
    log.Add(values);
  }
};

TEST(GroupTest, EveryKindOfWindowHasItsSettingAndItsHooks) {
  const auto plan =
      PlanOf("a", [](const MemberPlace&) { return std::make_unique<SettingMember>(); });
  Group group({plan, plan}, {});
  ASSERT_TRUE(group.AwaitReady());
  std::string calls;
  const WindowHooks hooks{
      .before = [&](std::size_t kind) { calls += "b" + std::to_string(kind); },
      .after = [&](std::size_t kind) { calls += "a" + std::to_string(kind) + " "; }};
  const KindRounds two =
      RunRoundsOf(group,
                  {{.active = {true, false}},
                   {.active = {false, true}, .options = {.setting = 7, .lead_seconds = 0.005}},
                   {.active = {true, true}, .options = {.setting = 3, .lead_seconds = 0.3}}},
                  {.rounds = 2, .window_seconds = 0.001, .progress = {}}, hooks);
  EXPECT_EQ(calls, "b0a0 b1a1 b2a2 b2a2 b1a1 b0a0 ");
  for (std::size_t round = 0; round < 2; ++round) {
    EXPECT_EQ(two.samples[0][0][round].seconds[0], 0);
    EXPECT_TRUE(two.samples[0][1][round].seconds.empty());
    EXPECT_EQ(two.samples[1][1][round].seconds[0], 7);
    EXPECT_EQ(two.samples[2][0][round].seconds[0], 3);
    EXPECT_LE(two.samples[2][0][round].seconds[1], 0.3);
    EXPECT_LE(two.samples[1][1][round].seconds[1], 0.005);
  }
}

TEST(GroupTest, ACancelledRoundIsLeftOut) {
  std::atomic<bool> cancel = false;
  Group group({SleeperPlan("a"), SleeperPlan("b")}, {.cancel = &cancel});
  ASSERT_TRUE(group.AwaitReady());
  int windows = 0;
  const SharingRounds rounds =
      RunSharingRounds(group, {.rounds = 3, .window_seconds = 0.02, .progress = [&](double) {
                                 cancel = ++windows == 5;  // in the second round
                               }});
  EXPECT_TRUE(rounds.cancelled);
  EXPECT_EQ(rounds.solo[0].size(), 1u);
  EXPECT_EQ(rounds.shared[1].size(), 1u);
}

TEST(GroupTest, ACrashNamesTheMember) {
  // (a sanitizer's own handler would end the process with a status instead)
  EXPECT_THAT(ErrorOf(SleeperPlan("bad",
                                  [] {
                                    signal(SIGSEGV, SIG_DFL);
                                    raise(SIGSEGV);
                                  })),
              AllOf(HasSubstr("bad: "), HasSubstr("signal 11")));
  EXPECT_THAT(ErrorOf(SleeperPlan("bad", [] { _exit(7); })), HasSubstr("status 7"));
  EXPECT_THAT(ErrorOf(PlanOf("bad",
                             [](const MemberPlace&) -> std::unique_ptr<Member> {
                               raise(SIGKILL);
                               return nullptr;
                             })),
              HasSubstr("while it got ready"));
}

TEST(GroupTest, AHangIsFound) {
  EXPECT_THAT(ErrorOf(SleeperPlan("bad", [] { pause(); }), 0.2),
              HasSubstr("bad: hangs: it does not end an iteration within 0.2 s"));
  EXPECT_THAT(ErrorOf(PlanOf("bad",
                             [](const MemberPlace&) -> std::unique_ptr<Member> {
                               pause();
                               return nullptr;
                             }),
                      0.2),
              HasSubstr("bad: hangs: it does not get ready"));
}

TEST(GroupTest, AnErrorOfAMemberIsPassedOn) {
  const auto throws = [](auto error) {
    return PlanOf("bad", [error](const MemberPlace&) -> std::unique_ptr<Member> { throw error; });
  };
  EXPECT_EQ(ErrorOf(throws(InputError("unknown word"))), "input: bad: unknown word");
  EXPECT_EQ(ErrorOf(throws(std::runtime_error("no device"))), "bad: no device");
  EXPECT_EQ(ErrorOf(SleeperPlan("bad", [] { throw std::runtime_error("in a run"); })),
            "bad: in a run");
  EXPECT_THAT(ErrorOf(throws(std::runtime_error(std::string(5000, 'x')))), HasSubstr("bad: xxx"));
}

TEST(IterationLogTest, LeavesOutWhatDoesNotFit) {
  double memory[3] = {};
  IterationLog log(memory);
  log.Add(std::vector<double>{1, 2});
  log.Add(std::vector<double>{3, 4});
  EXPECT_EQ(log.values(), 2u);
  EXPECT_EQ(memory[2], 0);
}

}  // namespace
}  // namespace topdnn
