// Turns counters into counts: each block's count times its content, plus the sites' own counters.

#if defined(__x86_64__)

#include <algorithm>

#include "harness/exact/context.h"
#include "harness/exact/threads.h"

namespace topdnn {

namespace {

// Adds the counts of a branch or a `rep`.
void FoldSite(Context* c, const Site& site) {
  const std::uint64_t times = c->counters.items[site.block];
  const std::uint64_t own = c->counters.items[site.own];
  if (site.kind == Site::kRep) {
    const std::uint64_t iterations = own - c->counters.items[site.own + 1];
    c->counts->load_bytes += iterations * site.load;
    c->counts->store_bytes += iterations * site.store;
    const auto record =
        std::find_if(c->operands.begin(), c->operands.end(), [&site](const OperandRecord& operand) {
          return operand.instruction == site.address && operand.counter != kNone;
        });
    if (record != c->operands.end()) record->rep_bytes += iterations * (site.load + site.store);
  } else if (site.kind == Site::kBranch && (times | own) != 0) {
    c->counts->conditional_taken += times - own;
    const std::uint64_t* const runs = c->counters.items + site.runs;
    c->branches.Add({site.address, times - own, own, std::min(times - own, own), runs[kPairs],
                     runs[kIrregular]});
  }
}

}  // namespace

void FoldTiles(Context* c) noexcept {
  const auto due = [c](const Site& site) {
    return site.kind == Site::kTile && c->counters.items[site.block] != site.folded;
  };
  if (std::none_of(c->sites.begin(), c->sites.end(), due)) return;
  alignas(64) TileConfiguration configuration = {};
  asm volatile(".byte 0xc4, 0xe2, 0x79, 0x49, 0x00"
               :
               : "a"(&configuration)
               : "memory");  // sttilecfg
  for (Site& site : c->sites) {
    if (!due(site)) continue;
    const std::uint64_t times = c->counters.items[site.block] - site.folded;
    const std::uint64_t before = c->counts->amx_bf16_flops + c->counts->amx_int8_ops;
    AddTiles(site.mnemonic, site.tiles[0], site.tiles[1], configuration, times, c->counts);
    const auto known =
        std::find_if(c->tiles.begin(), c->tiles.end(),
                     [&](const TileOperations& tile) { return tile.address == site.address; });
    TileOperations& tile = known != c->tiles.end() ? *known : c->tiles.Add({site.address, 0});
    tile.operations += c->counts->amx_bf16_flops + c->counts->amx_int8_ops - before;
    site.folded += times;
  }
}

void Fold(Context* c) noexcept {
  FoldTiles(c);
  if (c->branches.count + c->sites.count > kMaxItems ||
      c->touched.count + c->blocks.count > kMaxItems) {
    Miss(c, "the region executes more code than the counter can hold", 0);
    c->branches.count = c->touched.count = 0;
  }
  for (Site& site : c->sites) {
    FoldSite(c, site);
    site.folded = 0;
  }
  for (const Block& block : c->blocks) {
    const std::uint64_t times = c->counters.items[block.counter];
    if (times == 0) continue;
    c->counts->Add(block.content, times);
    if (IsTeamRuntime(block.start)) {
      c->counts->openmp_instructions += block.content.instructions * times;
      c->counts->openmp_slow_instructions += block.content.slow_instructions * times;
      c->counts->openmp_branches +=
          (block.content.conditional_branches + block.content.indirect_branches) * times;
    }
    c->touched.Add({block.start, block.end, times});
  }
  for (OperandRecord& operand : c->operands) {
    if (operand.counter != kNone) operand.times += c->counters.items[operand.counter];
  }
  std::fill(c->counters.begin(), c->counters.end(), 0);
}

void Flush(Context* c) noexcept {
  // Clears only what was used: dropping the pages instead would cause a page fault for each page
  // used again.
  for (const Block& block : c->blocks) {
    if (block.place != kNone) c->block_of[block.place] = 0;
    c->lookup[block.start & (kLookupSets - 1)] = {};
  }
  c->lookup[AddressOf(&TopdnnExactStop) & (kLookupSets - 1)] = {};  // the only other look-up entry
  ++c->generation;
  Fold(c);
  for (OperandRecord& operand : c->operands) operand.counter = kNone;
  c->blocks.count = c->sites.count = c->exits.count = c->marks.count = 0;
  c->counters.count = 1;  // the first is always zero
  c->code = c->code_begin;
  c->stubs = c->code_begin + kCodeBytes / 2;
  c->exits.Add({Exit::kIndirect, 0, nullptr});  // exit 0: a signal handler begins
  EmitFixedCode(c);
}

}  // namespace topdnn

#endif  // __x86_64__
