#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "harness/machine/cpu_set.h"
#include "harness/machine/topology.h"

namespace topdnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(AllowedCpus, GrowsItsMaskUntilTheKernelAcceptsIt) {
  std::vector<std::size_t> sizes;
  const CpuSet set = AllowedCpus(
      [&sizes](std::size_t bytes, void* mask) {
        sizes.push_back(bytes);
        if (bytes < 512) return EINVAL;  // a kernel of 4096 CPUs
        CPU_SET_S(3, bytes, static_cast<cpu_set_t*>(mask));
        CPU_SET_S(4000, bytes, static_cast<cpu_set_t*>(mask));
        return 0;
      },
      4096);
  EXPECT_THAT(set.cpus, ElementsAre(3, 4000));
  EXPECT_EQ(set.doubt, "");
  EXPECT_THAT(sizes, ElementsAre(128, 256, 512));
}

TEST(AllowedCpus, AreTheOnlineOnesIfTheCallIsDenied) {
  for (const int error : {EPERM, ENOSYS, EINVAL}) {
    int calls = 0;
    const CpuSet set = AllowedCpus(
        [&](std::size_t, void*) {
          ++calls;
          return error;
        },
        3);
    EXPECT_THAT(set.cpus, ElementsAre(0, 1, 2));
    EXPECT_THAT(set.doubt, HasSubstr("sched_getaffinity"));
    EXPECT_EQ(calls, error == EINVAL ? 11 : 1);  // 2^10 to 2^20 CPUs
  }
  EXPECT_THAT(AllowedCpus([](std::size_t, void*) { return EPERM; }, 0).cpus, ElementsAre(0));
}

TEST(AllowedCpus, AreThoseOfTheSystem) {
  const CpuSet set = AllowedCpus();
  EXPECT_EQ(set.doubt, "");
  EXPECT_FALSE(set.cpus.empty());
  EXPECT_EQ(ReadTopology().allowed, set.cpus);
}

TEST(DefaultThreads, StayWithinTheQuota) {
  EXPECT_EQ(DefaultThreads(8, {}), 8);
  EXPECT_EQ(DefaultThreads(8, 2.5), 2);
  EXPECT_EQ(DefaultThreads(8, 8.0), 8);
  EXPECT_EQ(DefaultThreads(8, 64.0), 8);
  EXPECT_EQ(DefaultThreads(8, 0.5), 1);
}

TEST(QuotaNote, ExplainsTheQuota) {
  EXPECT_EQ(QuotaNote(8, 8, {}), "");
  EXPECT_EQ(QuotaNote(8, 8, 8.0), "");
  EXPECT_EQ(QuotaNote(2, 8, 2.5), "2 of 8 CPUs: the control group's quota is 2.50 CPUs");
  EXPECT_THAT(QuotaNote(8, 8, 2.5), HasSubstr("use --threads 2"));
  EXPECT_THAT(QuotaNote(1, 8, 0.5), HasSubstr("raise the quota"));
}

// After this call the kernel refuses sched_getaffinity to this thread with ENOSYS.
bool DenyAffinity() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getaffinity, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(ReadTopology, EndsIfASeccompFilterDeniesTheAffinity) {
  constexpr int kNoFilter = 77;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!DenyAffinity()) _exit(kNoFilter);
    alarm(20);  // hwloc would repeat the call forever
    const Topology topology = ReadTopology();
    const bool good = !topology.allowed.empty() && !topology.allowed_doubt.empty() &&
                      topology.cpus > 0 && topology.allowed_cores > 0;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNoFilter) GTEST_SKIP() << "this kernel installs no seccomp filter";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(CpusByLastCache, CoresWithoutL3AreGroupedByTheirL2) {
  // Cores 0 to 3 share an L3, and 4 and 5 have only an L2 (Meteor Lake's low-power cores).
  EXPECT_THAT(CpusByLastCache({{}, {{0, 1, 2, 3}}, {{0, 1}, {2}, {3}, {4, 5}}}),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)));
  EXPECT_THAT(CpusByLastCache({{}, {}, {{0}, {1, 2}}}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_THAT(CpusByLastCache({{{0, 1}}, {{0}, {1}}, {{0}, {1}}}), ElementsAre(ElementsAre(0, 1)));
  EXPECT_TRUE(CpusByLastCache({{}, {}, {}}).empty());
}

}  // namespace
}  // namespace topdnn
