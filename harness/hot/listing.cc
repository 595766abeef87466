#include "harness/hot/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <string_view>

#include "harness/hot/instruction_form.h"

namespace topdnn {

namespace {

bool OnStack(const Instruction& i, bool writes) {
  const auto operands = OperandsOf(i);
  const bool vector = std::any_of(operands.begin(), operands.end(), [](const auto* o) {
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           IsFollowedVector(FollowedRegister(o->reg.value));
  });
  const auto mask = writes ? ZYDIS_OPERAND_ACTION_MASK_WRITE : ZYDIS_OPERAND_ACTION_MASK_READ;
  return vector && std::any_of(operands.begin(), operands.end(), [&](const auto* o) {
           return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RSP &&
                  (o->actions & mask) != 0;
         });
}

std::string_view MarkOf(const Instruction& i) {
  constexpr std::uint64_t kLine = 64;
  if (OnStack(i, true)) return "spill";
  if (OnStack(i, false)) return "reload";
  if (i.address / kLine != (i.end() - 1) / kLine) return kCrossesLine;
  return "";
}

// The longest repetition of 1 to 4 instructions from `at`: its length, and how often.
struct Repetition {
  std::size_t length = 1, times = 1;
};

Repetition RepetitionAt(const std::vector<std::string>& forms, std::size_t at) {
  constexpr std::size_t kLongest = 4;
  constexpr std::size_t kLeastFolded = 4;  // instructions
  Repetition best;
  for (std::size_t length = 1; length <= kLongest && at + length <= forms.size(); ++length) {
    std::size_t times = 1;
    const auto same = [&](std::size_t from) {
      return from + length <= forms.size() &&
             std::equal(forms.begin() + static_cast<std::ptrdiff_t>(at),
                        forms.begin() + static_cast<std::ptrdiff_t>(at + length),
                        forms.begin() + static_cast<std::ptrdiff_t>(from));
    };
    while (same(at + times * length)) ++times;
    const std::size_t folded = times * length;
    if (times > 1 && folded >= kLeastFolded && folded > best.times * best.length) {
      best = {length, times};
    }
  }
  return best;
}

}  // namespace

std::string TextOf(const Instruction& i, std::uint64_t origin) {
  static const ZydisFormatter formatter = [] {
    ZydisFormatter f;
    ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterSetProperty(&f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    return f;
  }();
  char text[256];
  if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &i.raw, i.operands,
                                                    i.raw.operand_count_visible, text, sizeof text,
                                                    i.address - origin, nullptr))) {
    return ZydisMnemonicGetString(i.raw.mnemonic);
  }
  static const std::regex size(R"((zmmword|ymmword|xmmword|qword|dword|word|byte) ptr ([c-g]s:)?)");
  static const std::regex zeros(R"(0x0+([0-9a-fA-F]))");
  static const std::regex before(R"(0xffffffff[0-9a-f]{8})");
  std::string line =
      std::regex_replace(std::regex_replace(std::string(text), size, ""), zeros, "0x$1");
  // A place before the origin is a large unsigned number.
  for (std::smatch match; std::regex_search(line, match, before);) {
    const auto place = std::stoull(match.str(), nullptr, 16);
    line.replace(static_cast<std::size_t>(match.position()),
                 static_cast<std::size_t>(match.length()), fmt::format("-{:#x}", -place));
  }
  return line;
}

bool IsSpill(const Instruction& i) { return OnStack(i, true); }

std::vector<std::string> ListingOf(const std::vector<PathInstruction>& path, std::size_t lines) {
  std::vector<std::string> forms;
  forms.reserve(path.size());
  for (const PathInstruction& one : path) forms.push_back(FormOf(one.instruction->code));
  std::vector<std::string> listing;
  std::size_t at = 0;
  const std::uint64_t begin = path.empty() ? 0 : path.front().instruction->code.address;
  while (at < path.size() && listing.size() < lines) {
    const Repetition part = RepetitionAt(forms, at);
    for (std::size_t k = 0; k < part.length; ++k) {
      const Instruction& i = path[at + k].instruction->code;
      const std::string count = part.times == 1 ? ""
                                : k == 0        ? fmt::format("{} x", part.times)
                                                : "|";
      const std::string_view mark = MarkOf(i);
      std::string line = fmt::format(
          "{:>6x} {:>5} {}", static_cast<std::int64_t>(i.address - begin), count, TextOf(i, begin));
      if (!mark.empty()) line = fmt::format("{:<60} ; {}", line, mark);
      listing.push_back(std::move(line));
    }
    at += part.length * part.times;
  }
  if (at < path.size()) {
    listing.push_back(fmt::format("{:>12} {} more instructions", "...", path.size() - at));
  }
  return listing;
}

}  // namespace topdnn
