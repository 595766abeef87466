// Memory whose pages are exchanged for pages of another kind. Addresses and contents stay, so the
// same code can be timed on each kind. What the kernel gave is read from /proc/self/smaps.

#ifndef TOPDNN_HARNESS_EXPERIMENTS_HUGE_PAGES_H_
#define TOPDNN_HARNESS_EXPERIMENTS_HUGE_PAGES_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/cpuid.h"

namespace topdnn {

inline constexpr std::size_t kSmallPage = std::size_t{4} << 10;
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

enum class PageKind {
  kSmall,
  kTransparent,  // huge pages that the kernel gives on request (THP)
  kReserved,     // huge pages that the administrator has reserved (hugetlb)
};

std::string_view NameOf(PageKind kind);  // "small", "transparent", "reserved"

// Bytes of the mappings inside of some ranges.
struct BackedBytes {
  std::size_t mapped = 0;
  std::size_t transparent = 0;  // AnonHugePages
  std::size_t reserved = 0;     // Private_Hugetlb

  std::size_t On(PageKind kind) const;
};

// `smaps` as Linux writes it. A mapping that is only partly inside of a range does not count. Pure.
BackedBytes BackedBytesOf(std::string_view smaps, std::span<const std::span<std::byte>> ranges);

// Why `bytes` on pages of this kind cannot be had on this machine; empty if they can be asked for.
std::string WhyNoPages(PageKind kind, std::size_t bytes);

class ExchangedPages {
 public:
  // Takes the whole huge pages inside of `ranges`, which must be private anonymous memory.
  explicit ExchangedPages(std::span<const std::span<std::byte>> ranges);
  // After an exchange, leaves the memory with transparent huge pages requested, as large blocks
  // have them.
  ~ExchangedPages();
  ExchangedPages(const ExchangedPages&) = delete;
  ExchangedPages& operator=(const ExchangedPages&) = delete;

  // No other thread may use the memory meanwhile. Throws ExperimentError if the kernel refuses
  // pages of this kind; some blocks then have those of before.
  void Use(PageKind kind);
  std::size_t bytes() const;
  // Bytes of the largest block: the memory that an exchange needs besides.
  std::size_t largest() const;
  BackedBytes Backing() const;

 private:
  std::vector<std::span<std::byte>> blocks_;
  bool exchanged_ = false;
};

// What the second-level TLB for data can address, in bytes.
struct TlbReach {
  std::optional<double> small, huge;  // by pages of 4 KiB and of 2 MiB
};

// AMD: CPUID leaves 8000_0006h and 8000_0021h (APM volume 3, E.4). Intel: leaf 18h (SDM volume 2,
// CPUID). Absent if the leaf does not say it. Pure.
TlbReach TlbReachOf(const CpuidLeaves& leaves);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_EXPERIMENTS_HUGE_PAGES_H_
