// Chooses which of the recorded memory operands of a region are redirected.

#if defined(__x86_64__)

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "harness/exact/instructions/decode.h"
#include "harness/exact/redirect.h"

namespace topdnn {

namespace {

constexpr std::uint64_t kNearStack = 8U << 20;

bool Contains(const AddressRange& range, const OperandRecord& r) {
  return r.low >= range.low && r.high + r.size <= range.high;
}

// The process's memory: all readable mappings, and those that hold no file and are writable.
struct Mappings {
  std::vector<AddressRange> all, own;  // sorted by address

  Mappings() {
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
      AddressRange range = {};
      char access[5] = {};
      unsigned long inode = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %4s %*s %*s %lu", &range.low, &range.high, access,
                      &inode) != 4 ||
          access[0] != 'r') {
        continue;
      }
      all.push_back(range);
      if (inode == 0 && access[1] == 'w' && access[2] != 'x') own.push_back(range);
    }
  }
  static const AddressRange* Find(const std::vector<AddressRange>& in, std::uint64_t address) {
    const auto found =
        std::upper_bound(in.begin(), in.end(), address,
                         [](std::uint64_t a, const AddressRange& range) { return a < range.high; });
    return found != in.end() && found->low <= address ? &*found : nullptr;
  }
};

using AnyWord [[gnu::may_alias]] = std::uint64_t;

// A word of mapped memory. The region may have freed it since: scratch memory of a kernel.
[[gnu::no_sanitize_address]] std::uint64_t WordAt(std::uint64_t address) {
  return *PointerTo<const AnyWord>(address);
}

// Whether a word of [address, address + size) is the address of mapped memory.
bool HoldsPointer(const Mappings& mappings, std::uint64_t address, std::uint32_t size) {
  const std::uint64_t begin = address & ~std::uint64_t{7};
  for (std::uint64_t at = begin; at < address + size; at += 8) {
    if (Mappings::Find(mappings.all, WordAt(at)) != nullptr) return true;
  }
  return false;
}

// The records of an instruction, which several threads and several copies of its block have, as
// one.
std::vector<OperandRecord> Merged(const std::vector<OperandRecord>& records) {
  std::map<std::uint64_t, OperandRecord> merged;
  for (const OperandRecord& r : records) {
    if (r.times == 0 || r.high == 0) continue;
    const auto [place, is_new] = merged.emplace(r.instruction, r);
    if (is_new) continue;
    OperandRecord& all = place->second;
    all.low = std::min(all.low, r.low);
    all.high = std::max(all.high, r.high);
    all.times += r.times;
    all.crossings += r.crossings;
    all.rep_bytes += r.rep_bytes;
  }
  std::vector<OperandRecord> list;
  list.reserve(merged.size());
  for (const auto& [address, record] : merged) list.push_back(record);
  return list;
}

class Chooser {
 public:
  Chooser(std::span<const std::span<const std::byte>> tensors,
          const std::vector<std::uint64_t>& stacks)
      : stacks_(stacks) {
    for (const std::span<const std::byte> tensor : tensors) {
      const std::uint64_t low = AddressOf(tensor.data());
      tensors_.push_back({low, low + tensor.size()});
    }
    std::sort(tensors_.begin(), tensors_.end(),
              [](const AddressRange& a, const AddressRange& b) { return a.low < b.low; });
  }

  bool IsInTensors(const OperandRecord& r) const {
    const auto holds = [&r](const AddressRange& range) { return Contains(range, r); };
    if (std::any_of(tensors_.begin(), tensors_.end(), holds)) return true;
    // One instruction that reads several tensors; what lies between them is not seen.
    return r.floats && Mappings::Find(tensors_, r.low) != nullptr &&
           Mappings::Find(tensors_, r.high) != nullptr;
  }

  // Whether the operand is in private memory, wide, and holds no pointer. Small structures, which a
  // library may copy with vectors, are in L1 anyway. They may hold pointers that are gone by now.
  bool IsInScratch(const OperandRecord& r) const {
    constexpr std::uint64_t kLeastScratch = 4096;
    if (!r.floats || r.high - r.low < kLeastScratch) return false;
    const AddressRange* mapping = Mappings::Find(mappings_.own, r.low);
    if (mapping == nullptr || !Contains(*mapping, r)) return false;
    const bool near_stack = std::any_of(stacks_.begin(), stacks_.end(), [&r](std::uint64_t stack) {
      const auto is_near = [stack](std::uint64_t address) {
        return address < stack + kNearStack && stack < address + kNearStack;
      };
      return is_near(r.low) || is_near(r.high);
    });
    return !near_stack && !HoldsPointer(mappings_, r.last, r.size);
  }

  // Copies the line at `address` and the next one, as far as they are mapped.
  void CopyLines(std::uint64_t address, std::uint8_t* to) const {
    const std::uint64_t line = address & ~std::uint64_t{kLineBytes - 1};
    for (std::uint32_t k = 0; k < 2; ++k) {
      if (Mappings::Find(mappings_.all, line + k * kLineBytes) == nullptr) return;
      for (std::uint32_t byte = k * kLineBytes; byte < (k + 1) * kLineBytes; byte += 8) {
        const std::uint64_t word = WordAt(line + byte);
        std::memcpy(to + byte, &word, sizeof word);
      }
    }
  }

 private:
  const std::vector<std::uint64_t>& stacks_;
  std::vector<AddressRange> tensors_;
  Mappings mappings_;
};

std::uint32_t PlaceOfLine(std::uint32_t line, bool store) {
  const std::uint32_t half = line / kLinesPerHalf;
  return half * 4096 + (store ? 2048 : 0) + line % kLinesPerHalf * kLineBytes;
}

// Gives lines to the operands: those that shared a line share one. Loads and stores apart.
class Lines {
 public:
  std::uint32_t PlaceOf(const OperandRecord& r) {
    auto& lines = r.store ? stores_ : loads_;
    const auto next = static_cast<std::uint32_t>(lines.size());
    const std::uint32_t line = lines.emplace(r.last / kLineBytes, next).first->second;
    return PlaceOfLine(line % (r.store ? kStoreLines : kLoadLines), r.store);
  }

 private:
  std::map<std::uint64_t, std::uint32_t> loads_, stores_;
};

// The place within the line. An operand has one place in all its executions, so one that crosses
// lines in some of them either always crosses or never. Those that cross are chosen so that the
// crossings of all operands together are as many as in the region.
class Offsets {
 public:
  std::uint32_t OffsetOf(const OperandRecord& r) {
    const auto crossed = static_cast<double>(r.crossings);
    const auto times = static_cast<double>(r.times);
    due_ += crossed;
    const bool crosses = crossed > 0 && due_ >= times / 2;
    if (crosses) due_ -= times;
    const auto offset = static_cast<std::uint32_t>(r.last % kLineBytes);
    const bool does = offset + r.size > kLineBytes && r.size <= kLineBytes;
    if (crosses == does) return offset;
    constexpr std::uint32_t kFloat = 4;
    return crosses ? kLineBytes - std::min(r.size - 1, std::max(kFloat, r.size / 2))
                   : offset % std::min(kFloat, kLineBytes - r.size + 1);
  }
  double due() const { return due_; }

 private:
  double due_ = 0;
};

}  // namespace

Redirection ChooseOperands(const std::vector<OperandRecord>& records,
                           std::span<const std::span<const std::byte>> tensors,
                           const std::vector<std::uint64_t>& stacks) {
  const Chooser chooser(tensors, stacks);
  Redirection chosen;
  chosen.lines.resize(sizeof(RedirectArea::lines));
  Lines lines;
  Offsets offsets;
  for (const OperandRecord& r : Merged(records)) {
    if (r.prefetch) {
      chosen.operands.push_back({r.instruction, PlaceOfLine(0, false)});
      continue;
    }
    const bool in_tensors = chooser.IsInTensors(r);
    const double bytes = static_cast<double>(r.times) * r.size + static_cast<double>(r.rep_bytes);
    if (!in_tensors && !chooser.IsInScratch(r)) continue;
    if (!r.vector) {
      chosen.kept_bytes += bytes;
      continue;
    }
    const std::uint32_t place = lines.PlaceOf(r);
    if (!r.store) chooser.CopyLines(r.last, chosen.lines.data() + place);
    chosen.operands.push_back({r.instruction, place + offsets.OffsetOf(r)});
    chosen.redirected_bytes += bytes;
    chosen.crossings += static_cast<double>(r.crossings);
  }
  chosen.redirected_crossings = chosen.crossings - offsets.due();
  return chosen;
}

}  // namespace topdnn

#endif  // __x86_64__
