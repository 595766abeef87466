#include "harness/exact/threads.h"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <link.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "harness/exact/dispatch_turn.h"
#include "harness/exact/emitter.h"
#include "harness/machine/thread_list.h"

namespace topdnn {

namespace {

// libgomp's functions that start a team: (function, data, ...). Those from index
// kOpaque on distribute work in ways that cannot be followed.
constexpr const char* kTeamNames[] = {"GOMP_parallel",
                                      "GOMP_parallel_loop_static",
                                      "GOMP_parallel_loop_dynamic",
                                      "GOMP_parallel_loop_guided",
                                      "GOMP_parallel_loop_runtime",
                                      "GOMP_parallel_sections",
                                      "GOMP_parallel_loop_nonmonotonic_dynamic",
                                      "GOMP_parallel_loop_nonmonotonic_guided",
                                      "GOMP_parallel_loop_nonmonotonic_runtime",
                                      "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                      "GOMP_parallel_reductions",
                                      "GOMP_task",
                                      "GOMP_taskloop",
                                      "GOMP_taskloop_ull",
                                      "GOMP_parallel_start",
                                      "GOMP_teams_reg"};
constexpr std::size_t kOpaque = 11;
constexpr std::size_t kTeams = std::size(kTeamNames);

// A process may have several libgomp: Python's wheels bring renamed copies (libgomp-a34b3233.so.1).
constexpr std::size_t kRuntimes = 8;
std::size_t runtime_count = 0;
std::uint64_t team_address[kRuntimes * kTeams];  // the functions of each; 0: it lacks one

AddressRange runtimes[kRuntimes];  // their code; empty if linked into the program

std::mutex mutex;            // protects the following
std::set<int> pool;          // threads known to belong to libgomp
std::vector<Context*> team;  // contexts of this region's workers
std::string worker_missed;   // why a worker was not translated; empty: all were
std::atomic<std::uint64_t> region{0};
std::uint64_t processes = 0;  // this one's number: how many ancestors counted, and forked

std::uint64_t (*team_clock)() noexcept = nullptr;  // null: teams are not timed
std::uint64_t waited = 0, in_teams = 0;   // in_teams: of outermost teams, from their start to end
std::atomic<std::uint64_t> in_shares{0};  // of their shares, over all threads

// A thread's share, in translated code: notes how long it took.
void RunTimedShare(TeamCall* call) {
  const std::uint64_t start = team_clock();
  call->function(call->data);
  const std::uint64_t ticks = team_clock() - start;
  if (omp_get_level() <= 1) in_shares += ticks;
  const std::atomic_ref<std::uint64_t> longest(call->longest);
  std::uint64_t other = longest;
  while (other < ticks && !longest.compare_exchange_weak(other, ticks)) {
  }
}

// Starts a team, in translated code: passes on as many arguments as any of kTeamNames has. The
// second one is the TeamCall. The result is that of GOMP_parallel_reductions.
long RunTimedTeam(long a, TeamCall* call, long b, long d, long e, long f, long g, long h) {
  using Start = long (*)(long, TeamCall*, long, long, long, long, long, long);
  const bool outermost = omp_get_level() == 0;
  const std::uint64_t start = team_clock();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of code
  const long result = reinterpret_cast<Start>(call->entry)(a, call, b, d, e, f, g, h);
  if (!outermost) return result;
  const std::uint64_t ticks = team_clock() - start;
  waited += ticks - call->longest;
  in_teams += ticks;
  return result;
}

// Contexts of workers that have ended, by the last region that they were part of: libgomp ends
// threads when a team is smaller than the one before. It does not wait for them, so that a worker
// may end while the program does: the map is never destroyed.
std::multimap<std::uint64_t, Context*>& spare = *new std::multimap<std::uint64_t, Context*>;

// A worker's context, kept between regions.
thread_local struct Worker {
  Context* context = nullptr;
  std::uint64_t region = 0, process = 0;
  ~Worker() {
    const std::lock_guard lock(mutex);
    if (context != nullptr && process == processes) spare.emplace(region, context);
  }
} own;

int ThreadId() { return static_cast<int>(syscall(SYS_gettid)); }

// Adds this worker's context to the region's team; null: it cannot have one.
Context* Join() {
  if (own.context != nullptr && own.region == region) return own.context;
  const std::lock_guard lock(mutex);
  if (own.process != processes) own.context = nullptr;  // it is the parent's
  own.process = processes;
  pool.insert(ThreadId());
  std::string why;
  if (own.context == nullptr && !spare.empty() && spare.begin()->first != region) {
    own.context = spare.extract(spare.begin()).mapped();
  } else if (own.context == nullptr) {
    own.context = NewContext(&why);
  }
  if (own.context == nullptr) {
    worker_missed = "the work of a thread was not counted: " + why;
  } else if (own.region != region) {
    Reset(own.context);
    own.region = region;
    team.push_back(own.context);
  }
  return own.context;
}

// Adds the runtime whose functions `library` gives, unless it is known.
void AddRuntime(void* library) {
  void* const parallel = dlsym(library, kTeamNames[0]);
  dl_find_object object = {};
  if (parallel == nullptr || IsSpecial(AddressOf(parallel)) || runtime_count == kRuntimes) return;
  if (_dl_find_object(parallel, &object) != 0) return;
  std::transform(kTeamNames, kTeamNames + kTeams, team_address + runtime_count * kTeams,
                 [library](const char* name) { return AddressOf(dlsym(library, name)); });
  AddressRange& range = runtimes[runtime_count++];
  range = {AddressOf(object.dlfo_map_start), AddressOf(object.dlfo_map_end)};
  const std::uint64_t ours = AddressOf(&RunTeamCall);
  if (ours >= range.low && ours < range.high) range = {0, 0};  // linked into this program
}

// In a thread of a team that shows which threads belong to libgomp.
void ShowThread(void* others) {
  const std::lock_guard lock(mutex);
  pool.insert(ThreadId());
  static_cast<std::set<int>*>(others)->erase(ThreadId());
}

}  // namespace

bool IsTeamRuntime(std::uint64_t address) noexcept {
  const auto in = [=](const AddressRange& r) { return address >= r.low && address < r.high; };
  return std::any_of(runtimes, runtimes + runtime_count, in);
}

// (The copies stay open: nothing unloads libgomp while its threads wait.)
void PrepareTeams() {
  runtime_count = 0;
  AddRuntime(RTLD_DEFAULT);
  for (link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (std::string(object->l_name).find("/libgomp") == std::string::npos) continue;
    AddRuntime(dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD));
  }
}

bool IsSpecial(std::uint64_t address) noexcept {
  auto* const end = team_address + runtime_count * kTeams;
  return address == AddressOf(&RunTeamCall) || std::find(team_address, end, address) != end;
}

std::uint64_t EnterTeam(Context* c, std::uint64_t address) noexcept {
  if (address == AddressOf(&RunTeamCall)) {  // this thread's share
    if (team_clock != nullptr) return AddressOf(&RunTimedShare);
    const auto* call = PointerTo<const TeamCall>(c->registers[kRdi]);
    c->registers[kRdi] = AddressOf(call->data);
    return AddressOf(call->function);
  }
  if (c->registers[kRdi] == AddressOf(&RunTeamCall)) return address;  // resumed after a signal
  const auto place = std::find(team_address, team_address + runtime_count * kTeams, address);
  const auto name = static_cast<std::size_t>(place - team_address) % kTeams;
  if (name >= kOpaque || c->team_calls.count == kMaxItems) {
    Miss(c, "OpenMP tasks or teams started", address);
    return address;
  }
  const TeamCall& call = c->team_calls.Add({PointerTo<void(void*)>(c->registers[kRdi]),
                                            PointerTo<void>(c->registers[kRsi]), address, 0});
  c->registers[kRdi] = AddressOf(&RunTeamCall);
  c->registers[kRsi] = AddressOf(&call);
  return team_clock != nullptr ? AddressOf(&RunTimedTeam) : address;
}

void RunTeamCall(void* argument) {
  const TeamCall call = *static_cast<const TeamCall*>(argument);
  Context* c = Join();
  if (c == nullptr) {
    call.function(call.data);
    return;
  }
  CurrentContext() = c;
  if (team_clock != nullptr) {
    RunTranslated(c, AddressOf(&RunTimedShare), AddressOf(argument));
  } else {
    RunTranslated(c, AddressOf(call.function), AddressOf(call.data));
  }
  if (CurrentTranslation().counts) FoldTiles(c);  // with this thread's configuration of tiles
  CurrentContext() = nullptr;
}

void TimeTeams(std::uint64_t (*clock)() noexcept) {
  team_clock = clock;
  waited = in_teams = in_shares = 0;
}

std::uint64_t WaitedForTeams() noexcept { return waited; }

TeamTicks TimeInTeams() noexcept { return {in_teams, in_shares}; }

std::map<int, std::uint64_t> ThreadTimes() {
  std::map<int, std::uint64_t> times;
  for (const int id : ThreadsOfThisProcess()) {
    // The thread's CPU clock, numbered as in clock_getcpuclockid(3).
    const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(id) << 3U) | 6U);
    timespec t = {};
    if (clock_gettime(clock, &t) != 0) continue;  // the thread has ended
    times[id] =
        static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
  }
  return times;
}

void ForgetParent() {
  new (&mutex) std::mutex;  // another thread of the parent may have held it
  spare.clear();
  pool.clear();
  ++processes;
  ForgetContexts();
}

void BeginTeam() {
  const std::lock_guard lock(mutex);
  ++region;
  team.clear();
  worker_missed.clear();
}

std::vector<Context*> EndTeam() {
  const std::lock_guard lock(mutex);
  return team;
}

void NoteOtherThreads(Context* master, const std::map<int, std::uint64_t>& before) {
  const auto after = ThreadTimes();
  std::set<int> others;
  std::uint64_t started = 0;
  for (const auto& [id, time] : after) {
    const auto was = before.find(id);
    started += was == before.end();
    const std::uint64_t worked = time - (was == before.end() ? 0 : was->second);
    if (id != ThreadId() && worked > 0 && !pool.contains(id)) others.insert(id);
  }
  // Idle workers of libgomp spin. An empty team shows which threads these are.
  for (std::size_t r = 0; r < runtime_count && !others.empty(); ++r) {
    using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of code
    reinterpret_cast<Parallel>(team_address[r * kTeams])(
        ShowThread, &others, static_cast<unsigned>(others.size()) + 1, 0);
  }
  if (!others.empty()) {
    Miss(master, "a thread outside the region's team used the CPU", 0);
  }
  std::uint64_t children = master->children;
  for (const Context* worker : team) children += worker->children;
  if (children > started)
    Miss(master, "a thread or process started and ended inside the region", 0);
  // (the text stays as it is until the next region)
  if (!worker_missed.empty()) Miss(master, worker_missed.c_str(), 0);
}

}  // namespace topdnn

#endif  // __x86_64__
