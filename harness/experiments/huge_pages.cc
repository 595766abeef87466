#include "harness/experiments/huge_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "harness/experiments/experiment_error.h"
#include "harness/files/small_file.h"
#include "harness/machine/cpu.h"

namespace topdnn {

namespace {

// A number at the start of `text`, after blanks; 0 if there is none.
std::size_t NumberAt(std::string_view text, int base = 10) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, base);
  return number;
}

// Fresh pages of this kind at an address of the kernel's choice; nullptr if it refuses.
std::byte* MapFresh(std::size_t bytes, PageKind kind) {
  constexpr int kProtection = PROT_READ | PROT_WRITE;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (kind == PageKind::kReserved) {
    constexpr int kHugePageBits = 21;  // 2 MiB
    void* const mapped = mmap(nullptr, bytes, kProtection,
                              kFlags | MAP_HUGETLB | kHugePageBits << MAP_HUGE_SHIFT, -1, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  }
  void* const mapped = mmap(nullptr, bytes + kHugePage, kProtection, kFlags, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  const std::size_t skipped = -reinterpret_cast<std::uintptr_t>(first) % kHugePage;
  if (skipped > 0) munmap(first, skipped);
  munmap(first + skipped + bytes, kHugePage - skipped);
  // (a kernel without transparent huge pages refuses both, and gives small pages)
  madvise(first + skipped, bytes, kind == PageKind::kTransparent ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  // At once, which takes less time than a fault for each page (Linux 5.14).
#if defined(MADV_POPULATE_WRITE)
  madvise(first + skipped, bytes, MADV_POPULATE_WRITE);
#endif
  return first + skipped;
}

constexpr int kFamilyOfZen5 = 0x1a;

// The kinds of a TLB in leaf 18h: data, unified, and for loads.
bool IsForLoads(std::uint32_t type) { return type == 1 || type == 3 || type == 4; }

}  // namespace

std::string_view NameOf(PageKind kind) {
  constexpr std::string_view kNames[] = {"small", "transparent", "reserved"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t BackedBytes::On(PageKind kind) const {
  if (kind == PageKind::kTransparent) return transparent;
  if (kind == PageKind::kReserved) return reserved;
  return mapped - transparent - reserved;
}

BackedBytes BackedBytesOf(std::string_view smaps, std::span<const std::span<std::byte>> ranges) {
  constexpr std::size_t kKibi = 1024;
  BackedBytes backed;
  bool inside = false;
  while (!smaps.empty()) {
    const std::string_view line = smaps.substr(0, smaps.find('\n'));
    smaps.remove_prefix(std::min(line.size() + 1, smaps.size()));
    const std::size_t colon = line.find(':');
    const std::size_t dash = line.find('-');
    const std::size_t blank = line.find(' ');
    const std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (dash < blank) {  // "7f0000000000-7f0000200000 rw-p ...": a mapping begins
      const std::size_t begin = NumberAt(line, 16);
      const std::size_t end = NumberAt(line.substr(dash + 1), 16);
      inside = std::any_of(ranges.begin(), ranges.end(), [&](std::span<std::byte> range) {
        const auto first = reinterpret_cast<std::uintptr_t>(range.data());
        return begin >= first && end <= first + range.size();
      });
      if (inside) backed.mapped += end - begin;
    } else if (inside && line.starts_with("AnonHugePages:")) {
      backed.transparent += NumberAt(value) * kKibi;
    } else if (inside && line.starts_with("Private_Hugetlb:")) {
      backed.reserved += NumberAt(value) * kKibi;
    }
  }
  return backed;
}

std::string WhyNoPages(PageKind kind, std::size_t bytes) {
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kSmallPage)) return "pages are not of 4 KiB here";
  if (kind == PageKind::kTransparent) {
    const std::string enabled = ReadSmallFile("/sys/kernel/mm/transparent_hugepage/enabled").text;
    if (enabled.empty()) return "this kernel has no transparent huge pages";
    if (enabled.find("[never]") == std::string::npos) return "";
    return "/sys/kernel/mm/transparent_hugepage/enabled is never: set it to madvise, as root";
  }
  if (kind == PageKind::kReserved) {
    const std::string free =
        ReadSmallFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages").text;
    if (free.empty()) return "this kernel has no reserved huge pages of 2 MiB";
    const std::size_t needed = (bytes + kHugePage - 1) / kHugePage;
    if (NumberAt(free) >= needed) return "";
    return fmt::format(
        "{} huge pages are reserved and free, and {} are needed: write {} to "
        "/proc/sys/vm/nr_hugepages, as root",
        NumberAt(free), needed, needed);
  }
  return "";
}

ExchangedPages::ExchangedPages(std::span<const std::span<std::byte>> ranges) {
  for (const std::span<std::byte> range : ranges) {
    const auto first = reinterpret_cast<std::uintptr_t>(range.data());
    const std::uintptr_t begin = (first + kHugePage - 1) / kHugePage * kHugePage;
    const std::uintptr_t end = (first + range.size()) / kHugePage * kHugePage;
    if (begin < end) blocks_.push_back(range.subspan(begin - first, end - begin));
  }
}

ExchangedPages::~ExchangedPages() {
  try {
    if (exchanged_) Use(PageKind::kTransparent);
  } catch (const ExperimentError&) {  // the memory works on any pages
  }
}

void ExchangedPages::Use(PageKind kind) {
  exchanged_ = true;
  for (const std::span<std::byte> block : blocks_) {
    std::byte* const fresh = MapFresh(block.size(), kind);
    if (fresh != nullptr) {
      std::memcpy(fresh, block.data(), block.size());
      const void* const moved =
          mremap(fresh, block.size(), block.size(), MREMAP_MAYMOVE | MREMAP_FIXED, block.data());
      if (moved != MAP_FAILED) continue;
    }
    const std::string why = std::strerror(errno);
    if (fresh != nullptr) munmap(fresh, block.size());
    throw ExperimentError(
        fmt::format("{} pages for {} MiB: {}", NameOf(kind), block.size() >> 20, why));
  }
}

std::size_t ExchangedPages::bytes() const {
  std::size_t sum = 0;
  for (const std::span<std::byte> block : blocks_) sum += block.size();
  return sum;
}

std::size_t ExchangedPages::largest() const {
  std::size_t most = 0;
  for (const std::span<std::byte> block : blocks_) most = std::max(most, block.size());
  return most;
}

BackedBytes ExchangedPages::Backing() const {
  return BackedBytesOf(ReadSmallFile("/proc/self/smaps").text, blocks_);
}

TlbReach TlbReachOf(const CpuidLeaves& leaves) {
  constexpr std::uint32_t kEntries = 0xfff;
  const auto reach = [](std::uint32_t entries, std::size_t page) {
    return entries == 0 ? std::nullopt
                        : std::optional(static_cast<double>(entries) * static_cast<double>(page));
  };
  TlbReach result;
  // (0 associativity: there is no such TLB)
  if (const CpuidRegisters amd = leaves.Leaf(0x80000006); amd.ebx >> 28 != 0) {
    // From Zen 5 on the numbers are multiples of 32; virtual machines may hide the bit that says
    // so.
    const bool in_32s =
        (leaves.Leaf(0x80000021).eax >> 14 & 1) != 0 || IdentifyX86(leaves).family >= kFamilyOfZen5;
    const std::uint32_t unit = in_32s ? 32 : 1;
    result.small = reach((amd.ebx >> 16 & kEntries) * unit, kSmallPage);
    if (amd.eax >> 28 != 0) result.huge = reach((amd.eax >> 16 & kEntries) * unit, kHugePage);
    return result;
  }
  std::uint32_t level = 1;
  for (std::uint32_t i = 0; i <= leaves.Leaf(0x18).eax; ++i) {
    const CpuidRegisters tlb = leaves.Leaf(0x18, i);
    const std::uint32_t at = tlb.edx >> 5 & 7;
    if (!IsForLoads(tlb.edx & 0x1f) || at < 2 || at < level) continue;
    level = at;
    const std::uint32_t entries = (tlb.ebx >> 16) * tlb.ecx;
    if ((tlb.ebx & 1) != 0) result.small = reach(entries, kSmallPage);
    if ((tlb.ebx & 2) != 0) result.huge = reach(entries, kHugePage);
  }
  return result;
}

}  // namespace topdnn
