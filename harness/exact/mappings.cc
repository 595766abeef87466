#if defined(__x86_64__)

#include "harness/exact/mappings.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>

namespace topdnn {

namespace {

constexpr int kMaxMappings = 4096;
constexpr int kMaxFiles = 256;
constexpr std::uint64_t kChanges = 64;

struct Mapping {
  std::uint64_t low, high;
  std::uint64_t file;  // 0: none
  bool readable, changeable, writable;
};
Mapping mappings[kMaxMappings];  // executable mappings, sorted by address
int mapping_count = 0;
std::uint64_t shared_files[kMaxFiles];  // files of shared mappings, which may be written to
int shared_count = 0;
bool kernel_writes = false;  // an io_uring or AIO ring exists: the kernel may write at any time
bool all_changeable = true;  // the mappings could not be read, or are too many
std::atomic<bool> mappings_changed{true};
struct Lock {
  std::atomic_flag taken = ATOMIC_FLAG_INIT;
  void lock() noexcept {
    while (taken.test_and_set(std::memory_order_acquire)) sched_yield();  // there may be few CPUs
  }
  void unlock() noexcept { taken.clear(std::memory_order_release); }
} mappings_lock;  // protects the variables above

// The latest code changes, by number. Each thread follows them when it next dispatches.
struct Change {
  std::atomic<std::uint64_t> low, high, number;
};
Change changes[kChanges];
std::atomic<std::uint64_t> change_count{0};

// Parses a line of /proc/self/maps: "low-high rwxp offset major:minor inode path".
void ReadMapping(const char* line) {
  char* at = nullptr;
  const std::uint64_t low = std::strtoul(line, &at, 16);
  const std::uint64_t high = std::strtoul(at + 1, &at, 16);
  const char* access = at + 1;
  std::strtoul(access + 4, &at, 16);
  const std::uint64_t major = std::strtoul(at, &at, 16);
  const std::uint64_t minor = std::strtoul(at + 1, &at, 16);
  const std::uint64_t inode = std::strtoul(at, &at, 10);
  const std::uint64_t file = inode == 0 ? 0 : inode ^ major << 52 ^ minor << 40;
  const bool shared = access[3] == 's';
  kernel_writes |= std::strstr(at, "[io_uring]") != nullptr || std::strstr(at, "[aio]") != nullptr;
  if (shared && file != 0) {
    if (shared_count == kMaxFiles) all_changeable = true;
    if (shared_count < kMaxFiles) shared_files[shared_count++] = file;
  }
  if (access[2] != 'x') return;
  if (mapping_count == kMaxMappings) {
    all_changeable = true;
    return;
  }
  mappings[mapping_count++] = {low, high, file, access[0] == 'r', shared, access[1] == 'w'};
}

void ReadMappings() {
  mapping_count = shared_count = 0;
  all_changeable = kernel_writes = false;
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  static char text[8192];  // longer than any line: a path has at most 4096 bytes
  std::size_t kept = 0;
  for (ssize_t n = 0; (n = read(file, text + kept, sizeof text - 1 - kept)) > 0;) {
    text[kept + static_cast<std::size_t>(n)] = 0;
    char* line = text;
    for (char* end = nullptr; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      ReadMapping(line);
    }
    kept = std::strlen(line);
    std::memmove(text, line, kept);
  }
  if (file >= 0) close(file);
  all_changeable |= mapping_count == 0;
  for (Mapping& m : std::span(mappings, static_cast<std::size_t>(mapping_count))) {
    m.changeable |=
        std::find(shared_files, shared_files + shared_count, m.file) != shared_files + shared_count;
  }
}

// Pages of writable code: guarded, or opened (bit kOpened).
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kMaxPages = 1U << 14;
constexpr std::uint64_t kOpened = 1;
std::atomic<std::uint64_t> pages[kMaxPages];  // 0: free
std::uint32_t page_count = 0;
std::atomic<std::uint32_t> guarded_count{0};

std::atomic<std::uint64_t>* FindPage(std::uint64_t page) {
  auto* end = pages + page_count;
  auto* place = std::find_if(pages, end, [=](const auto& p) { return (p & ~kOpened) == page; });
  return place == end ? nullptr : place;
}

void Open(std::atomic<std::uint64_t>* place) {
  const std::uint64_t page = *place;
  if (page == 0 || (page & kOpened) != 0) return;
  mprotect(PointerTo<void>(page), kPage, PROT_READ | PROT_WRITE | PROT_EXEC);
  NoteMappingChange(page, page + kPage);
  *place = page | kOpened;
  --guarded_count;
}

// Guards the page of a writable mapping that holds `address`; false: it was opened, or cannot be
// guarded.
bool Guard(std::uint64_t address) {
  const std::uint64_t page = address & ~(kPage - 1);
  if (const auto* known = FindPage(page)) return *known == page;
  if (page_count == kMaxPages) return false;
  if (mprotect(PointerTo<void>(page), kPage, PROT_READ | PROT_EXEC) != 0) return false;
  pages[page_count++] = page;
  ++guarded_count;
  return true;
}

const Mapping* FindMapping(std::uint64_t address) {
  const Mapping* begin = mappings;
  const Mapping* end = begin + mapping_count;
  const Mapping* place = std::upper_bound(
      begin, end, address, [](std::uint64_t a, const Mapping& m) { return a < m.high; });
  return place != end && place->low <= address ? place : nullptr;
}

}  // namespace

CodeKind KindOfCode(std::uint64_t address, std::uint64_t* end) noexcept {
  const std::lock_guard lock(mappings_lock);
  const bool fresh = mappings_changed.exchange(false);
  if (fresh) ReadMappings();
  const Mapping* mapping = FindMapping(address);
  if (mapping == nullptr && !fresh) {  // an executable stack grows without a system call
    ReadMappings();
    mapping = FindMapping(address);
  }
  *end = mapping != nullptr ? mapping->high : (address | 4095) + 1;
  if (mapping == nullptr) return all_changeable ? CodeKind::kChangeable : CodeKind::kNative;
  if (!mapping->readable) return CodeKind::kNative;
  if (mapping->changeable || all_changeable) return CodeKind::kChangeable;
  const auto* page = page_count == 0 ? nullptr : FindPage(address & ~(kPage - 1));
  const bool writable =
      mapping->writable || page != nullptr;  // a guarded page looks like fixed code
  if (!writable) return CodeKind::kFixed;
  *end = std::min(*end, (address | (kPage - 1)) + 1);
  return !kernel_writes && Guard(address) ? CodeKind::kFixed : CodeKind::kChangeable;
}

bool OpenGuard(std::uint64_t address) noexcept {
  const std::lock_guard lock(mappings_lock);
  auto* place = FindPage(address & ~(kPage - 1));
  if (place == nullptr) return false;
  // Another thread's store may have opened the page just now. The store is then repeated, a bounded
  // number of times.
  constexpr int kTries = 1000;
  static int tries = 0;
  if ((*place & kOpened) != 0) return ++tries < kTries;
  tries = 0;
  Open(place);
  return true;
}

bool GuardsAt(const std::uint64_t* addresses, int n) noexcept {
  if (guarded_count == 0) return false;
  if (addresses == nullptr) return true;
  const std::lock_guard lock(mappings_lock);
  return std::any_of(pages, pages + page_count, [=](const std::uint64_t page) {
    return (page & kOpened) == 0 && std::any_of(addresses, addresses + n, [=](std::uint64_t a) {
             return a + kPage > page && a < page + kPage;
           });
  });
}

void OpenGuards() noexcept {
  const std::lock_guard lock(mappings_lock);
  for (std::uint32_t k = 0; k < page_count; ++k) Open(&pages[k]);
}

void ForgetGuards() noexcept {
  OpenGuards();
  page_count = 0;
}

void NoteMappingChange(std::uint64_t low, std::uint64_t high) noexcept {
  mappings_changed = true;
  if (low >= high) return;
  const std::uint64_t number = change_count.fetch_add(1) + 1;
  Change& change = changes[number % kChanges];
  change.low = low;
  change.high = high;
  change.number = number;
}

void ForgetPages(std::uint64_t low, std::uint64_t high) noexcept {
  const std::lock_guard lock(mappings_lock);
  for (std::uint32_t k = 0; k < page_count; ++k) {
    const std::uint64_t page = pages[k] & ~kOpened;
    if (page < low || page >= high) continue;
    if (pages[k] == page) --guarded_count;
    pages[k] = kOpened;  // no page
  }
}

void FollowChanges(Context* c) noexcept {
  const std::uint64_t count = change_count;
  if (count == c->changes) return;
  bool flush = count - c->changes >= kChanges;
  for (std::uint64_t k = c->changes + 1; k <= count && !flush; ++k) {
    const Change& change = changes[k % kChanges];
    flush = change.number != k || HoldsTranslatedCode(c, change.low, change.high);
  }
  c->changes = count;
  if (flush) Flush(c);
}

bool HoldsTranslatedCode(const Context* c, std::uint64_t low, std::uint64_t high) noexcept {
  return std::any_of(c->blocks.begin(), c->blocks.end(), [&](const Block& block) {
    return block.code != nullptr && block.start < high && block.end > low;
  });
}

}  // namespace topdnn

#endif  // __x86_64__
