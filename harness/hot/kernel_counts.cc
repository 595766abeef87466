#include "harness/hot/kernel_counts.h"

#include <fmt/format.h>
#include <link.h>
#include <sched.h>

#include <algorithm>
#include <regex>
#include <set>

#include "harness/hot/executed_code.h"
#include "harness/hot/instruction_form.h"
#include "harness/hot/listing.h"

namespace topdnn {

namespace {

constexpr std::size_t kMostLoops = 8;
constexpr double kLeastRegionShare = 0.01;  // of the region's instructions
constexpr std::size_t kMostLines = 24;

struct LoadedLibrary {
  std::uint64_t low = 0, high = 0;
  std::string name;
};

// The libraries whose code is left out.
std::vector<LoadedLibrary> LeftOutLibraries() {
  std::vector<LoadedLibrary> libraries;
  const auto add = [](dl_phdr_info* object, std::size_t /*size*/, void* to) {
    const std::string path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
    const std::string name = path.substr(path.rfind('/') + 1);
    const bool left_out = name.starts_with("libc.so") || name.starts_with("ld-linux") ||
                          name.starts_with("libgomp.so") || name.starts_with("linux-vdso");
    for (int k = 0; left_out && k < object->dlpi_phnum; ++k) {
      const auto& segment = object->dlpi_phdr[k];
      if (segment.p_type != PT_LOAD) continue;
      const std::uint64_t low = object->dlpi_addr + segment.p_vaddr;
      static_cast<std::vector<LoadedLibrary>*>(to)->push_back(
          {low, low + segment.p_memsz, name.substr(0, name.find(".so"))});
    }
    return 0;
  };
  dl_iterate_phdr(add, &libraries);
  return libraries;
}

// Takes the code of these libraries out of the profile, and counts its instructions.
BlockProfile OwnBlocks(const BlockProfile& all, std::map<std::string, std::uint64_t>& left_out) {
  const std::vector<LoadedLibrary> libraries = LeftOutLibraries();
  BlockProfile own;
  own.branches = all.branches;
  own.tile_operations = all.tile_operations;
  std::map<std::string, BlockProfile> by_library;
  for (const ExecutedBlock& block : all.blocks) {
    const auto library =
        std::find_if(libraries.begin(), libraries.end(), [&](const LoadedLibrary& loaded) {
          return block.start >= loaded.low && block.start < loaded.high;
        });
    if (library == libraries.end() && !block.openmp) {
      own.blocks.push_back(block);
      continue;
    }
    BlockProfile& of_library = by_library[block.openmp ? "libgomp" : library->name];
    of_library.blocks.push_back(block);
    of_library.blocks.back().openmp = false;  // (ReadExecutedCode would leave it out)
  }
  for (const auto& [name, blocks] : by_library) left_out[name] = ReadExecutedCode(blocks).executed;
  return own;
}

// Whether a thread of another library waits for others with sched_yield, as those of OpenBLAS do.
// The loops around the call cannot be told from work: they have no `pause`.
bool Yields(const BlockProfile& all) {
  const auto entry = reinterpret_cast<std::uint64_t>(&sched_yield);
  return std::any_of(all.blocks.begin(), all.blocks.end(),
                     [entry](const ExecutedBlock& block) { return block.start == entry; });
}

bool Waits(const Instruction& i) {
  return i.raw.mnemonic == ZYDIS_MNEMONIC_PAUSE || i.raw.mnemonic == ZYDIS_MNEMONIC_TPAUSE ||
         i.raw.mnemonic == ZYDIS_MNEMONIC_UMWAIT;
}

bool MultipliesBytes(const Instruction& i) {
  return i.raw.mnemonic == ZYDIS_MNEMONIC_TDPBSSD || i.raw.mnemonic == ZYDIS_MNEMONIC_TDPBSUD ||
         i.raw.mnemonic == ZYDIS_MNEMONIC_TDPBUSD || i.raw.mnemonic == ZYDIS_MNEMONIC_TDPBUUD;
}

bool Waits(const ExecutedCode& code, const BasicBlock& block) {
  for (std::size_t k = 0; k < block.count; ++k) {
    if (Waits(code.instructions[block.first + k].code)) return true;
  }
  return false;
}

// The blocks that wait, and all of the innermost loops around them: a loop that found at once what
// it waits for has no edge back, and is only a block.
std::set<std::size_t> WaitingBlocks(const ExecutedCode& code, const std::vector<Loop>& loops) {
  std::set<std::size_t> waiting;
  for (std::size_t b = 0; b < code.graph.blocks.size(); ++b) {
    if (Waits(code, code.graph.blocks[b])) waiting.insert(b);
  }
  for (const Loop& loop : loops) {
    const bool waits = std::any_of(loop.own.begin(), loop.own.end(),
                                   [&](std::size_t b) { return waiting.contains(b); });
    if (waits) waiting.insert(loop.own.begin(), loop.own.end());
  }
  return waiting;
}

// Generated code has the addresses of its data as constants.
std::string WithoutAddresses(const std::string& text) {
  static const std::regex address("0x[0-9a-f]{9,16}");
  return std::regex_replace(text, address, "ADDRESS");
}

// Without the mark of an instruction that crosses a line: other code before it moves it.
std::string WithoutLineMark(std::string text) {
  if (!text.ends_with(kCrossesLine)) return text;
  text.resize(text.rfind(';'));
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

// The text of an instruction wherever it is loaded.
std::string LoadedAnywhere(const Instruction& i, std::uint64_t origin) {
  const bool moves = i.rip_relative || (i.flow != Flow::kNext && i.target != 0);
  return moves ? FormOf(i) : WithoutAddresses(TextOf(i, origin));
}

CountedLoop Describe(const ExecutedCode& code, const Loop& loop, CodePlaces& places) {
  CountedLoop counted{
      .iterations = loop.iterations, .entries = loop.entries, .instructions = loop.instructions};
  std::vector<PathInstruction> path;
  for (const std::size_t b : loop.own) {
    const BasicBlock& block = code.graph.blocks[b];
    for (std::size_t k = 0; k < block.count; ++k) {
      path.push_back({&code.instructions[block.first + k], 1});
    }
  }
  const std::uint64_t origin = path.front().instruction->code.address;
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const PathInstruction& one : path) {
    for (const char c : LoadedAnywhere(one.instruction->code, origin) + '\n') {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  counted.code = fmt::format("{:016x}", hash);
  counted.place = places.Of(origin);
  const std::string place = counted.place.substr(0, counted.place.rfind("+0x"));
  counted.place = place.starts_with("JIT code at ") ? "JIT code" : place;
  constexpr std::size_t kOffset = 7;  // columns: an inserted instruction changes all that follow
  for (const std::string& line : ListingOf(path, kMostLines)) {
    counted.listing.push_back(
        WithoutLineMark(WithoutAddresses(line.substr(std::min(line.size(), kOffset)))));
  }
  return counted;
}

}  // namespace

KernelCounts KernelCountsOf(const BlockProfile& blocks, CodePlaces& places) {
  KernelCounts own;
  if (Yields(blocks)) {
    own.reason =
        "its threads wait with sched_yield, as OpenBLAS's do, so another run executes another "
        "number of instructions: take --threads 1";
    return own;
  }
  const ExecutedCode code = ReadExecutedCode(OwnBlocks(blocks, own.left_out));
  const std::vector<Loop> loops = FindLoops(code.graph);
  const std::set<std::size_t> waiting = WaitingBlocks(code, loops);
  for (std::size_t b = 0; b < code.graph.blocks.size(); ++b) {
    const BasicBlock& block = code.graph.blocks[b];
    if (waiting.contains(b)) {
      own.left_out[std::string(kWaitingLoops)] += block.times * block.count;
      continue;
    }
    for (std::size_t k = 0; k < block.count; ++k) {
      const ExecutedInstruction& one = code.instructions[block.first + k];
      own.counts.Add(one.counts, one.times);
      own.counts.conditional_taken += one.taken;
      own.counts.amx_bf16_flops += one.tile_flops;
      own.counts.amx_int8_ops += one.tile_int8_ops;
      if (one.code.raw.mnemonic == ZYDIS_MNEMONIC_TDPBF16PS) own.counts.amx_bf16 += one.times;
      if (MultipliesBytes(one.code)) own.counts.amx_int8 += one.times;
    }
  }
  std::vector<const Loop*> hottest;
  for (const Loop& loop : loops) {
    if (loop.own.empty() || waiting.contains(loop.own.front())) continue;
    const auto least = kLeastRegionShare * static_cast<double>(own.counts.instructions);
    if (static_cast<double>(loop.instructions) >= least) hottest.push_back(&loop);
  }
  std::stable_sort(hottest.begin(), hottest.end(),
                   [](const Loop* a, const Loop* b) { return a->instructions > b->instructions; });
  if (hottest.size() > kMostLoops) hottest.resize(kMostLoops);
  for (const Loop* loop : hottest) own.loops.push_back(Describe(code, *loop, places));
  return own;
}

}  // namespace topdnn
