// Installed handlers are run translated too; writes to translated code are noticed by the fault
// they cause.

#if defined(__x86_64__)

#include "harness/exact/signals.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "harness/exact/emitter.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kPage = 4096;
constexpr int kRanges = 4096;
constexpr std::uint64_t kChanges = 64;
constexpr int kGuards = 4096;

struct Range {
  std::uint64_t low, high;
};
Range writable_code[kRanges];  // mappings both writable and executable
int writable_code_count = 0;
bool too_many_ranges = false;
std::atomic<bool> mappings_changed{true};
std::atomic<std::uint64_t> guarded[kGuards];  // pages made read-only; 0: free
std::atomic_flag busy = ATOMIC_FLAG_INIT;     // of the two above

class Lock {
 public:
  Lock() {
    while (busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Lock() { busy.clear(std::memory_order_release); }
};

// The latest changes of code, by number. Each thread follows them at its own pace.
struct Change {
  std::atomic<std::uint64_t> low, high, number;
};
Change changes[kChanges];
std::atomic<std::uint64_t> change_count{0};

void NoteChange(std::uint64_t low, std::uint64_t high) {
  const std::uint64_t number = change_count.fetch_add(1) + 1;
  Change& change = changes[number % kChanges];
  change.low = low;
  change.high = high;
  change.number = number;
}

bool ChangedLately(std::uint64_t page) {
  for (const Change& change : changes) {
    if (change.low == page && change.high == page + kPage) return true;
  }
  return false;
}

struct sigaction original[NSIG];
bool taken[NSIG];

// Whether code of [low, high) was translated.
bool Overlaps(const Context* c, std::uint64_t low, std::uint64_t high) {
  return std::any_of(c->blocks.begin(), c->blocks.end(), [&](const Block& block) {
    return block.code != nullptr && block.start < high && block.end > low;
  });
}

// The lines of /proc/self/maps: "low-high rwxp ...".
void ReadMappings() {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char text[8192];  // holds any line: a path has 4096 bytes at most
  std::size_t kept = 0;
  writable_code_count = 0;
  too_many_ranges = false;
  for (ssize_t n = 0; (n = read(file, text + kept, sizeof text - 1 - kept)) > 0;) {
    text[kept + static_cast<std::size_t>(n)] = 0;
    char* line = text;
    for (char* end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      char* at = nullptr;
      const std::uint64_t low = std::strtoul(line, &at, 16);
      const std::uint64_t high = std::strtoul(at + 1, &at, 16);
      if (at[2] != 'w' || at[3] != 'x') continue;
      too_many_ranges = writable_code_count == kRanges;
      if (!too_many_ranges) writable_code[writable_code_count++] = {low, high};
    }
    kept = std::strlen(line);
    std::memmove(text, line, kept);
  }
  if (file >= 0) close(file);
}

// A write fault on a guarded page: its code is about to change.
bool OnCodeWritten(std::uint64_t address, std::uint64_t rip, Context* c) {
  const std::uint64_t page = address & ~(kPage - 1);
  if (page == 0) return false;
  for (auto& guard : guarded) {
    std::uint64_t expected = page;
    if (guard != page) continue;
    NoteChange(page, page + kPage);
    if (guard.compare_exchange_strong(expected, 0)) {
      mprotect(PointerTo<void>(page), kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    }
    if (c != nullptr) DropBlocks(c, page, page + kPage, rip);
    return true;
  }
  // Another thread's write may be opening the page this very moment: try again, but not for ever.
  constexpr int kTries = 1000;
  thread_local std::uint64_t last = 0;
  thread_local int tries = 0;
  tries = address == last ? tries + 1 : 0;
  last = address;
  if (tries >= kTries || !ChangedLately(page)) return false;
  sched_yield();
  return true;
}

void OnSignal(int signal, siginfo_t* info, void* state) {
  Context* c = CurrentContext();
  const auto rip =
      static_cast<std::uint64_t>(static_cast<const ucontext_t*>(state)->uc_mcontext.gregs[REG_RIP]);
  const auto cache = c == nullptr ? 0 : reinterpret_cast<std::uint64_t>(c->code_begin);
  const bool translated = c != nullptr && rip >= cache && rip < cache + kCodeBytes;
  if (signal == SIGSEGV && OnCodeWritten(reinterpret_cast<std::uint64_t>(info->si_addr), rip,
                                         translated ? c : nullptr)) {
    return;
  }
  const struct sigaction& old = original[signal];
  if (old.sa_handler == SIG_DFL || old.sa_handler == SIG_IGN) {
    sigaction(signal, &old, nullptr);  // the fault comes again, and does what it would have done
    return;
  }
  if (!translated) {
    if (c != nullptr) Miss(c, "a signal handler ran outside translation", rip);
    old.sa_sigaction(signal, info, state);
    return;
  }
  std::uint64_t saved[sizeof c->spill / 8 + 3];
  std::memcpy(saved, c->spill, sizeof saved);  // up to and including `exit`
  ++c->nested;
  FollowChanges(c);
  RunTranslated(c, reinterpret_cast<std::uint64_t>(old.sa_sigaction),
                static_cast<std::uint64_t>(signal), reinterpret_cast<std::uint64_t>(info),
                reinterpret_cast<std::uint64_t>(state), false);
  --c->nested;
  std::memcpy(c->spill, saved, sizeof saved);
}

}  // namespace

void MappingsChange(std::uint64_t low, std::uint64_t high) noexcept {
  mappings_changed = true;
  NoteChange(low, high);
  for (auto& guard : guarded) {
    const std::uint64_t page = guard;
    if (page >= low && page < high) guard = 0;  // its protection is no longer ours
  }
}

void FollowChanges(Context* c) noexcept {
  const std::uint64_t count = change_count;
  if (count == c->changes) return;
  bool flush = count - c->changes >= kChanges;
  for (std::uint64_t k = c->changes + 1; k <= count && !flush; ++k) {
    const Change& change = changes[k % kChanges];
    flush = change.number != k || Overlaps(c, change.low, change.high);
  }
  c->changes = count;
  if (flush) Flush(c);
}

bool GuardWritablePages(std::uint64_t low, std::uint64_t high) noexcept {
  const Lock lock;
  bool watched = true;
  if (mappings_changed.exchange(false)) ReadMappings();
  for (std::uint64_t page = low & ~(kPage - 1); page < high; page += kPage) {
    bool writable = false;
    for (int k = 0; k < writable_code_count; ++k) {
      writable |= page >= writable_code[k].low && page < writable_code[k].high;
    }
    if (!writable) continue;
    std::atomic<std::uint64_t>* place = nullptr;
    for (auto& guard : guarded) {
      if (guard == page) {
        place = nullptr;
        writable = false;
        break;
      }
      if (guard == 0 && place == nullptr) place = &guard;
    }
    if (!writable) continue;
    if (place != nullptr && mprotect(PointerTo<void>(page), kPage, PROT_READ | PROT_EXEC) == 0) {
      *place = page;
    } else {
      watched = false;
    }
  }
  return watched && !too_many_ranges;
}

CallEffects BeforeSystemCall(Context* c, std::uint64_t address) noexcept {
  const std::uint64_t* r = c->registers;
  switch (r[kRax]) {
    case SYS_mremap:
    case SYS_munmap:
    case SYS_mmap:
    case SYS_mprotect:
    case SYS_pkey_mprotect: {
      const std::uint64_t low = r[kRdi];
      const std::uint64_t high = low + r[kRsi];
      const bool elsewhere = r[kRax] == SYS_mremap && (r[kR10] & MREMAP_FIXED) != 0;
      const bool overlaps = low != 0 && Overlaps(c, low, high);
      MappingsChange(low, high);
      return {.changes_code = elsewhere || overlaps, .starts_child = false};
    }
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
      ++c->children;
      return {.changes_code = false, .starts_child = true};
    case SYS_rt_sigaction:
      // (32 and 33 are the thread library's own; it takes them when its first thread starts)
      if (r[kRsi] != 0 && r[kRdi] != 32 && r[kRdi] != 33) {
        Miss(c, "a signal handler was installed", address);
      }
      break;
    case SYS_rt_sigreturn:
      Miss(c, "a signal frame was left by the region itself", address);
      break;
    default:
      break;
  }
  return {};
}

void TakeSignals(Context* c) {
  mappings_changed = true;
  stack_t alternate = {};
  sigaltstack(nullptr, &alternate);
  c->alternate_low = reinterpret_cast<std::uint64_t>(alternate.ss_sp);
  c->alternate_high = c->alternate_low + alternate.ss_size;
  for (int signal = 1; signal < NSIG; ++signal) {
    taken[signal] = false;
    if (sigaction(signal, nullptr, &original[signal]) != 0) continue;
    const auto handler = original[signal].sa_handler;
    if ((handler == SIG_DFL || handler == SIG_IGN) && signal != SIGSEGV) continue;
    struct sigaction ours = original[signal];
    ours.sa_sigaction = OnSignal;
    ours.sa_flags |= SA_SIGINFO;
    taken[signal] = sigaction(signal, &ours, nullptr) == 0;
  }
}

void ReturnSignals() {
  for (auto& guard : guarded) {
    if (const std::uint64_t page = guard.exchange(0); page != 0) {
      mprotect(PointerTo<void>(page), kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
    }
  }
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction now = {};
    if (taken[signal] && sigaction(signal, nullptr, &now) == 0 && now.sa_sigaction == OnSignal) {
      sigaction(signal, &original[signal], nullptr);
    }
  }
}

}  // namespace topdnn

#endif  // __x86_64__
