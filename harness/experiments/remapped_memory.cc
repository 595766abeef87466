#include "harness/experiments/remapped_memory.h"

#include <omp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <optional>

namespace topdnn {

namespace {

constexpr int kMaxWriters = 250;  // what TouchedPages::Run::use can tell apart
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t PagesOf(std::size_t bytes) { return bytes / kRemapPage; }

// One piece of the caller's memory: whole pages.
struct Piece {
  std::byte* data = nullptr;
  std::size_t first_page = 0;  // number of its first page
  std::size_t pages = 0;
  std::byte* aside = nullptr;  // where the original pages are

  std::size_t bytes() const { return pages * kRemapPage; }
  // Pages whose use is found out together: a fault for each page of a large piece takes too long.
  std::size_t block() const { return pages < 1024 ? 1 : 16; }
  bool Has(const std::byte* address) const { return address >= data && address < data + bytes(); }
};

// Moves the original pages to another place and leaves empty ones. The place has the same offset in
// a huge page, so that huge pages move as a whole.
void MoveAside(Piece* piece) {
  const std::size_t reserved = piece->bytes() + 2 * kHugePage;
  void* const space =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) ThrowRemapError("address space");
  const auto start = reinterpret_cast<std::uintptr_t>(space);
  const auto wanted = reinterpret_cast<std::uintptr_t>(piece->data) % kHugePage;
  const std::uintptr_t place = (start + kHugePage - 1) / kHugePage * kHugePage + wanted;
  auto* aside = static_cast<std::byte*>(space) + (place - start);
  munmap(space, place - start);
  munmap(aside + piece->bytes(), start + reserved - place - piece->bytes());
  void* const moved = mremap(piece->data, piece->bytes(), piece->bytes(),
                             MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, aside);
  if (moved == MAP_FAILED) {
    const int error = errno;
    munmap(aside, piece->bytes());
    errno = error;
    ThrowRemapError("moving pages");
  }
  piece->aside = aside;
}

void MoveBack(Piece* piece) noexcept {
  if (piece->aside == nullptr) return;
  mremap(piece->aside, piece->bytes(), piece->bytes(), MREMAP_MAYMOVE | MREMAP_FIXED, piece->data);
  piece->aside = nullptr;
}

// What the fault handler needs.
struct Watch {
  std::span<const Piece> pieces;
  std::vector<std::atomic<std::uint8_t>> uses;  // by page
  int threads = 1;
  std::uint64_t number = ++last_number;  // distinguishes it from an earlier watch at this address
  std::atomic<int> writers{0};
  std::atomic<bool> failed{false};
  struct sigaction before = {};

  static inline std::atomic<std::uint64_t> last_number{0};
};

std::atomic<Watch*> watch{nullptr};
// The number of this thread among the writers, and the number of the watch that gave it.
thread_local int writer_number [[gnu::tls_model("initial-exec")]] = 0;
thread_local std::uint64_t writer_of [[gnu::tls_model("initial-exec")]] = 0;

#if defined(__x86_64__)
bool IsWrite(const ucontext_t& state) {
  constexpr greg_t kWrite = 2;  // of a page fault's error code (Intel SDM volume 3, 4.7)
  return (state.uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
}
#else
bool IsWrite(const ucontext_t&) { return true; }
#endif

std::uint8_t WriterUse(Watch* w) {
  if (writer_of != w->number) {
    writer_of = w->number;
    writer_number = w->writers.fetch_add(1) % w->threads;
  }
  return static_cast<std::uint8_t>(TouchedPages::kWritten + writer_number);
}

// Notes the use of the page and allows it. False: the fault has another cause.
bool NoteUse(Watch* w, const std::byte* address, bool write) {
  for (const Piece& piece : w->pieces) {
    if (!piece.Has(address)) continue;
    const std::size_t page = PagesOf(static_cast<std::size_t>(address - piece.data));
    const std::size_t first = page / piece.block() * piece.block();
    const std::size_t count = std::min(piece.block(), piece.pages - first);
    bool written = false;
    for (std::size_t k = first; k < first + count; ++k) {
      std::atomic<std::uint8_t>& use = w->uses[piece.first_page + k];
      std::uint8_t seen = TouchedPages::kUnused;
      use.compare_exchange_strong(seen, TouchedPages::kRead);
      if (write && use.load() < TouchedPages::kWritten) {
        seen = TouchedPages::kRead;
        use.compare_exchange_strong(seen, WriterUse(w));
      }
      written = written || use.load() >= TouchedPages::kWritten;
    }
    if (mprotect(piece.data + first * kRemapPage, count * kRemapPage,
                 written ? PROT_READ | PROT_WRITE : PROT_READ) == 0) {
      return true;
    }
    // Too many mappings: allows the whole piece, so that the region can still end.
    w->failed = true;
    return mprotect(piece.data, piece.bytes(), PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

void OnFault(int signal, siginfo_t* info, void* state) {
  Watch* const w = watch.load();
  const int error = errno;
  const bool noted = w != nullptr && NoteUse(w, static_cast<const std::byte*>(info->si_addr),
                                             IsWrite(*static_cast<const ucontext_t*>(state)));
  errno = error;
  // Not a fault of the watch: the instruction faults again, with the earlier handler.
  if (!noted) sigaction(signal, w == nullptr ? nullptr : &w->before, nullptr);
}

// Signal stacks for the threads of an OpenMP team, for the object's lifetime. oneDNN 2.6's
// generated matrix product stores below the stack pointer, beyond the 128 bytes that a signal frame
// leaves free: a frame on the same stack would overwrite its data.
class SignalStacks {
 public:
  explicit SignalStacks(int threads)
      : threads_(threads),
        memory_(static_cast<std::size_t>(threads) * kBytes),
        before_(static_cast<std::size_t>(threads)) {
    ForEachThread([this](std::size_t thread) {
      stack_t ours = {};
      ours.ss_sp = memory_.data() + thread * kBytes;
      ours.ss_size = kBytes;
      sigaltstack(&ours, &before_[thread]);
    });
  }
  ~SignalStacks() {
    ForEachThread([this](std::size_t thread) { sigaltstack(&before_[thread], nullptr); });
  }
  SignalStacks(const SignalStacks&) = delete;
  SignalStacks& operator=(const SignalStacks&) = delete;

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 10;

  template <class Call>
  void ForEachThread(Call call) const {
#pragma omp parallel num_threads(threads_)
    call(static_cast<std::size_t>(omp_get_thread_num()));
  }

  int threads_;
  std::vector<std::byte> memory_;
  std::vector<stack_t> before_;
};

// The faults of one region, for the object's lifetime.
class Watching {
 public:
  explicit Watching(Watch* w) : watch_(w), stacks_(w->threads) {
    Watch* none = nullptr;
    if (!watch.compare_exchange_strong(none, w)) {
      throw RemapError("cannot remap memory: another experiment is running");
    }
    struct sigaction ours = {};
    ours.sa_sigaction = OnFault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &ours, &w->before);
    for (const Piece& piece : w->pieces) mprotect(piece.data, piece.bytes(), PROT_NONE);
  }
  ~Watching() {
    for (const Piece& piece : watch_->pieces) {
      mprotect(piece.data, piece.bytes(), PROT_READ | PROT_WRITE);
    }
    sigaction(SIGSEGV, &watch_->before, nullptr);
    watch = nullptr;
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  Watch* watch_;
  SignalStacks stacks_;
};

}  // namespace

std::string WhyNoRemapping() {
#if defined(__x86_64__)
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kRemapPage)) return "pages are not of 4 KiB";
  return "";
#else
  return "the experiment is written for x86-64, whose caches find lines by physical address";
#endif
}

class RemappedMemory::Impl {
 public:
  Impl(std::span<const std::span<std::byte>> ranges, int threads,
       std::span<const FootprintSize> footprints)
      : threads_(std::clamp(threads, 1, kMaxWriters)) {
    for (const std::span<std::byte> range : ranges) AddPiece(range);
    for (const FootprintSize& size : footprints) footprints_.emplace_back(size, threads_);
    if (pages_ == 0) throw RemapError("cannot remap memory: no whole page");
    own_ = std::make_unique<PageFile>(pages_);
    for (const Piece& piece : pieces_) {
      std::memcpy(own_->data() + piece.first_page * kRemapPage, piece.data, piece.bytes());
    }
    try {
      for (Piece& piece : pieces_) {
        MoveAside(&piece);
        own_->MapAt(piece.data, piece.first_page, piece.pages);
        madvise(piece.data, piece.bytes(), MADV_NOHUGEPAGE);
      }
    } catch (const RemapError&) {
      PutBack();
      throw;
    }
  }
  ~Impl() { PutBack(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  TouchedPages Touch(const Action& region, std::span<const std::span<const std::byte>> keep) {
    kept_.assign(pages_, false);
    for (const std::span<const std::byte> part : keep) Keep(part);
    Watch w;
    w.pieces = pieces_;
    w.uses = std::vector<std::atomic<std::uint8_t>>(pages_);
    w.threads = threads_;
    {
      const Watching watching(&w);
      region();
    }
    if (w.failed) {
      throw RemapError(
          "cannot remap memory: the system allows too few mappings (vm.max_map_count)");
    }
    TouchedPages touched;
    for (std::size_t page = 0; page < pages_; ++page) {
      std::uint8_t use = w.uses[page].load();
      if (use == TouchedPages::kUnused) continue;
      if (kept_[page] || HasAddresses(page)) use = TouchedPages::kKept;
      const bool continues = !touched.runs.empty() && touched.runs.back().use == use &&
                             touched.runs.back().first + touched.runs.back().count == page;
      if (continues) {
        ++touched.runs.back().count;
      } else {
        touched.runs.push_back({page, 1, use});
      }
    }
    return touched;
  }

  void MapFootprint(std::size_t index, const TouchedPages& touched) {
    Footprint& footprint = footprints_.at(index);
    footprint.Clear();
    for (const TouchedPages::Run& run : touched.runs) {
      if (run.use == TouchedPages::kKept) continue;
      std::optional<int> writer;
      if (run.use >= TouchedPages::kWritten) writer = run.use - TouchedPages::kWritten;
      ForEachPiece(run.first, run.count, [&](std::byte* place, std::size_t, std::size_t count) {
        footprint.Map(place, count, writer);
      });
    }
  }

  void MapOwn(const TouchedPages& touched) {
    for (const TouchedPages::Run& run : touched.runs) {
      if (run.use == TouchedPages::kKept) continue;
      ForEachPiece(run.first, run.count,
                   [this](std::byte* place, std::size_t page, std::size_t count) {
                     own_->MapAt(place, page, count);
                   });
    }
  }

  void ResetContents() {
    for (const Piece& piece : pieces_) {
      std::memcpy(own_->data() + piece.first_page * kRemapPage, piece.aside, piece.bytes());
    }
  }

  std::vector<std::span<const float>> Written(std::size_t index) const {
    return footprints_.at(index).Written();
  }

  std::size_t bytes() const { return pages_ * kRemapPage; }

 private:
  void AddPiece(std::span<std::byte> range) {
    const auto start = reinterpret_cast<std::uintptr_t>(range.data());
    const std::uintptr_t first = (start + kRemapPage - 1) / kRemapPage * kRemapPage;
    const std::uintptr_t end = (start + range.size()) / kRemapPage * kRemapPage;
    if (end <= first) return;
    const std::size_t pages = PagesOf(end - first);
    pieces_.push_back({range.data() + (first - start), pages_, pages});
    pages_ += pages;
  }

  void Keep(std::span<const std::byte> part) {
    for (const Piece& piece : pieces_) {
      const std::byte* low = std::max<const std::byte*>(part.data(), piece.data);
      const std::byte* high =
          std::min<const std::byte*>(part.data() + part.size(), piece.data + piece.bytes());
      if (low >= high) continue;
      const std::size_t first = PagesOf(static_cast<std::size_t>(low - piece.data));
      const std::size_t last = PagesOf(static_cast<std::size_t>(high - 1 - piece.data));
      for (std::size_t page = first; page <= last; ++page) kept_[piece.first_page + page] = true;
    }
  }

  // Whether a word of the page is an address in the memory. No f32 of real data looks like one: the
  // upper half would be a denormal number.
  bool HasAddresses(std::size_t page) const {
    const std::byte* const data = own_->data() + page * kRemapPage;
    for (std::size_t at = 0; at < kRemapPage; at += sizeof(std::uintptr_t)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, data + at, sizeof word);
      if (word >> 48 != 0 || word < kHugePage) continue;
      const auto* address = reinterpret_cast<const std::byte*>(word);  // NOLINT
      if (std::any_of(pieces_.begin(), pieces_.end(),
                      [address](const Piece& piece) { return piece.Has(address); })) {
        return true;
      }
    }
    return false;
  }

  // Calls `map` with place, page number and count for the parts of a run in each piece.
  template <class Map>
  void ForEachPiece(std::size_t page, std::size_t count, Map map) const {
    for (const Piece& piece : pieces_) {
      const std::size_t end = piece.first_page + piece.pages;
      if (count == 0 || page < piece.first_page || page >= end) continue;
      const std::size_t now = std::min(count, end - page);
      map(piece.data + (page - piece.first_page) * kRemapPage, page, now);
      page += now;
      count -= now;
    }
  }

  void PutBack() noexcept {
    for (Piece& piece : pieces_) MoveBack(&piece);
  }

  int threads_;
  std::vector<Piece> pieces_;
  std::size_t pages_ = 0;
  std::vector<bool> kept_;  // by page
  std::unique_ptr<PageFile> own_;
  std::deque<Footprint> footprints_;
};

RemappedMemory::RemappedMemory(std::span<const std::span<std::byte>> ranges, int threads,
                               std::span<const FootprintSize> footprints)
    : impl_(std::make_unique<Impl>(ranges, threads, footprints)) {}

RemappedMemory::~RemappedMemory() = default;

TouchedPages RemappedMemory::Touch(const Action& region,
                                   std::span<const std::span<const std::byte>> keep) {
  return impl_->Touch(region, keep);
}

void RemappedMemory::MapFootprint(std::size_t footprint, const TouchedPages& pages) {
  impl_->MapFootprint(footprint, pages);
}

void RemappedMemory::MapOwn(const TouchedPages& pages) { impl_->MapOwn(pages); }

void RemappedMemory::ResetContents() { impl_->ResetContents(); }

std::vector<std::span<const float>> RemappedMemory::Written(std::size_t footprint) const {
  return impl_->Written(footprint);
}

std::size_t RemappedMemory::bytes() const { return impl_->bytes(); }

}  // namespace topdnn
