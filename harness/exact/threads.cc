#include "harness/exact/threads.h"

#if defined(__x86_64__)

#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>

namespace topdnn {

namespace {

std::mutex mutex;            // of what follows
std::set<int> pool;          // threads known to belong to libgomp
std::vector<Context*> team;  // contexts of this region's workers
bool worker_missed = false;  // for want of memory
std::uint64_t region = 0;

thread_local Context* current = nullptr;
thread_local Context* own = nullptr;  // a worker's, kept between regions
thread_local std::uint64_t own_region = 0;

int ThreadId() { return static_cast<int>(syscall(SYS_gettid)); }

// This worker's context, joined to the region's team; null without memory.
Context* Join() {
  const std::lock_guard lock(mutex);
  pool.insert(ThreadId());
  if (own == nullptr) {
    std::string why;
    own = NewContext(&why);
  }
  if (own == nullptr) {
    worker_missed = true;
  } else if (own_region != region) {
    Reset(own);
    own_region = region;
    team.push_back(own);
  }
  return own;
}

}  // namespace

Context*& CurrentContext() noexcept { return current; }

void RunTeamCall(void* argument) {
  const TeamCall call = *static_cast<const TeamCall*>(argument);
  Context* c = Join();
  if (c == nullptr) {
    call.function(call.data);
    return;
  }
  current = c;
  RunTranslated(c, reinterpret_cast<std::uint64_t>(call.function),
                reinterpret_cast<std::uint64_t>(call.data), 0, 0, true);
  current = nullptr;
  if (c->left != Context::Left::kReturned) Miss(c, "a worker left translation", 0);
}

std::map<int, std::uint64_t> ThreadTimes() {
  std::map<int, std::uint64_t> times;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const int id = std::stoi(task.path().filename());
    // The kernel's per-thread scheduling clock (clock_getcpuclockid(3) builds the same number).
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3U) | 6U);
    timespec t = {};
    if (clock_gettime(clock, &t) != 0) continue;  // it has ended
    times[id] =
        static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
  }
  return times;
}

void BeginTeam() {
  const std::lock_guard lock(mutex);
  ++region;
  team.clear();
  worker_missed = false;
}

std::vector<Context*> EndTeam() {
  const std::lock_guard lock(mutex);
  return team;
}

void NoteStrangers(Context* master, const std::map<int, std::uint64_t>& before) {
  const auto after = ThreadTimes();
  std::set<int> strangers;
  std::uint64_t started = 0;
  for (const auto& [id, time] : after) {
    const auto was = before.find(id);
    started += was == before.end();
    const std::uint64_t worked = time - (was == before.end() ? 0 : was->second);
    if (id != ThreadId() && worked > 0 && !pool.contains(id)) strangers.insert(id);
  }
  if (!strangers.empty()) {
    // Idle workers of libgomp spin: an empty team shows which threads are those.
#pragma omp parallel num_threads(static_cast <int>(strangers.size()) + 1)
    {
      const std::lock_guard lock(mutex);
      pool.insert(ThreadId());
      strangers.erase(ThreadId());
    }
  }
  if (!strangers.empty()) {
    Miss(master, "another thread worked beside the region", 0);
  }
  if (master->children > started) Miss(master, "a thread or process started and ended inside", 0);
  if (worker_missed) Miss(master, "a worker had no memory to translate in", 0);
}

}  // namespace topdnn

#endif  // __x86_64__
