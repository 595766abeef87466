#include "harness/experiments/remapped_memory.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace topdnn {

namespace {

constexpr int kMaxWriters = 250;  // what TouchedPages::Run::use can tell apart
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t PagesOf(std::size_t bytes) { return bytes / kRemapPage; }

[[noreturn]] void Refuse(const char* what) {
  throw RemapError(fmt::format("cannot remap memory: {}: {}", what, std::strerror(errno)));
}

void MapAt(std::byte* place, std::size_t bytes, int file, std::size_t offset) {
  void* const mapped =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, file,
           static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) Refuse("mmap");
}

// Physical pages, with a mapping for this object alone.
class PageFile {
 public:
  explicit PageFile(std::size_t bytes) : bytes_(bytes) {
    file_ = memfd_create("topdnn-remapped", MFD_CLOEXEC);
    if (file_ < 0) Refuse("memfd_create");
    void* mapped = MAP_FAILED;
    if (ftruncate(file_, static_cast<off_t>(bytes)) == 0) {
      mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    }
    if (mapped == MAP_FAILED) {
      const int error = errno;
      close(file_);
      errno = error;
      Refuse("memory for the copies");
    }
    madvise(mapped, bytes, MADV_NOHUGEPAGE);
    data_ = static_cast<std::byte*>(mapped);
  }
  ~PageFile() {
    munmap(data_, bytes_);
    close(file_);
  }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  int file() const { return file_; }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  int file_ = -1;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

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
  if (space == MAP_FAILED) Refuse("address space");
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
    Refuse("moving pages");
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
  std::uint64_t number = ++last_number;  // tells this watch from one at the same address
  std::atomic<int> writers{0};
  std::atomic<bool> failed{false};
  struct sigaction before = {};

  static inline std::atomic<std::uint64_t> last_number{0};
};

std::atomic<Watch*> watch{nullptr};
// The number of this thread among the writers, and of the watch that gave it.
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
    // Too many mappings. Without the rest of the answer the region can still end.
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
  // Another fault: the instruction faults again, with the handler of before.
  if (!noted) sigaction(signal, w == nullptr ? nullptr : &w->before, nullptr);
}

// Signal stacks for the threads of an OpenMP team, for the object's lifetime. oneDNN 2.6's
// generated matrix product stores below the stack pointer, farther than the 128 bytes that the
// kernel leaves alone: a signal frame there corrupts it.
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

// Numbers that are normal, positive and small in f32, bf16 and f16: f32 3e-5 to 8e-3, f16 0.5 to 1.
// Products and sums of many of them stay finite.
void Fill(std::span<std::byte> memory) {
  constexpr std::uint16_t kLowest = 0x3800;
  constexpr std::uint32_t kMask = 0x3ff;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i + 1 < memory.size(); i += 2) {
    state = state * 1664525 + 1013904223;  // Numerical Recipes, 7.1
    const auto half = static_cast<std::uint16_t>(kLowest + (state >> 16 & kMask));
    std::memcpy(memory.data() + i, &half, sizeof half);
  }
}

}  // namespace

std::string WhyNoRemapping() {
#if defined(__x86_64__)
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kRemapPage)) return "pages are not of 4 KiB";
  return "";
#else
  return "the experiment is written for x86-64, whose caches find lines by physical address";
#endif
}

std::size_t PrimePages(std::size_t bytes) {
  std::size_t pages = std::max<std::size_t>(PagesOf(bytes), 2);
  const auto prime = [](std::size_t n) {
    for (std::size_t d = 2; d * d <= n; ++d) {
      if (n % d == 0) return false;
    }
    return true;
  };
  while (!prime(pages)) --pages;
  return pages;
}

class RemappedMemory::Impl {
 public:
  Impl(std::span<const std::span<std::byte>> ranges, int threads,
       std::span<const FootprintSize> footprints)
      : threads_(std::clamp(threads, 1, kMaxWriters)) {
    for (const std::span<std::byte> range : ranges) AddPiece(range);
    for (const FootprintSize& size : footprints) {
      footprints_.push_back({PrimePages(size.shared), PrimePages(size.per_writer), nullptr});
      Footprint& made = footprints_.back();
      const std::size_t pages =
          made.shared_pages + made.writer_pages * static_cast<std::size_t>(threads_);
      made.file = std::make_unique<PageFile>(pages * kRemapPage);
    }
    if (pages_ == 0) throw RemapError("cannot remap memory: no whole page");
    own_ = std::make_unique<PageFile>(pages_ * kRemapPage);
    for (const Piece& piece : pieces_) {
      std::memcpy(own_->data() + piece.first_page * kRemapPage, piece.data, piece.bytes());
    }
    try {
      for (Piece& piece : pieces_) {
        MoveAside(&piece);
        MapAt(piece.data, piece.bytes(), own_->file(), piece.first_page * kRemapPage);
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
    const Footprint& footprint = footprints_.at(index);
    Fill({footprint.file->data(), footprint.file->bytes()});
    std::vector<std::size_t> used(static_cast<std::size_t>(threads_) + 1, 0);  // shared, writers
    for (const TouchedPages::Run& run : touched.runs) {
      if (run.use == TouchedPages::kKept) continue;
      const std::size_t writer =
          run.use == TouchedPages::kRead ? 0 : run.use - TouchedPages::kWritten + std::size_t{1};
      const std::size_t pages = writer == 0 ? footprint.shared_pages : footprint.writer_pages;
      const std::size_t first =
          writer == 0 ? 0 : footprint.shared_pages + (writer - 1) * footprint.writer_pages;
      ForEachPiece(run.first, run.count, [&](std::byte* place, std::size_t, std::size_t count) {
        while (count > 0) {
          const std::size_t slot = used[writer] % pages;
          const std::size_t now = std::min(count, pages - slot);
          MapAt(place, now * kRemapPage, footprint.file->file(), (first + slot) * kRemapPage);
          used[writer] += now;
          place += now * kRemapPage;
          count -= now;
        }
      });
    }
  }

  void MapOwn(const TouchedPages& touched) {
    for (const TouchedPages::Run& run : touched.runs) {
      if (run.use == TouchedPages::kKept) continue;
      ForEachPiece(run.first, run.count,
                   [this](std::byte* place, std::size_t page, std::size_t count) {
                     MapAt(place, count * kRemapPage, own_->file(), page * kRemapPage);
                   });
    }
  }

  void ResetContents() {
    for (const Piece& piece : pieces_) {
      std::memcpy(own_->data() + piece.first_page * kRemapPage, piece.aside, piece.bytes());
    }
  }

  std::span<const float> Written(std::size_t index) const {
    const Footprint& footprint = footprints_.at(index);
    const std::size_t from = footprint.shared_pages * kRemapPage;
    return {reinterpret_cast<const float*>(footprint.file->data() + from),
            (footprint.file->bytes() - from) / sizeof(float)};
  }

  std::size_t bytes() const { return pages_ * kRemapPage; }

 private:
  struct Footprint {
    std::size_t shared_pages, writer_pages;
    std::unique_ptr<PageFile> file;  // the shared pages, then those of each writer
  };

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
  std::vector<Footprint> footprints_;
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

std::span<const float> RemappedMemory::Written(std::size_t footprint) const {
  return impl_->Written(footprint);
}

std::size_t RemappedMemory::bytes() const { return impl_->bytes(); }

}  // namespace topdnn
