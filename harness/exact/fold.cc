// Turns counters into counts: block count times block content, and what the sites counted.

#if defined(__x86_64__)

#include <cstring>

#include "harness/exact/context.h"
#include "harness/exact/threads.h"

namespace topdnn {

namespace {

// What a branch or a `rep` counted.
void FoldSite(Context* c, const Site& site) {
  const std::uint64_t times = c->counters[site.block];
  const std::uint64_t own = c->counters[site.own];
  if (site.kind == Site::kRep) {
    c->counts->load_bytes += own * site.load;
    c->counts->store_bytes += own * site.store;
  } else if (site.kind == Site::kBranch && (times | own) != 0) {
    c->counts->conditional_taken += times - own;
    c->branches[c->branch_count++] = {site.address, times - own, own};
  }
}

}  // namespace

void FoldTiles(Context* c) noexcept {
  alignas(64) TileConfiguration configuration = {};
  bool read = false;  // the configuration, which not every processor has
  for (std::uint32_t k = 0; k < c->site_count; ++k) {
    Site& site = c->sites[k];
    const std::uint64_t times = c->counters[site.block] - site.folded;
    if (site.kind != Site::kTile || times == 0) continue;
    if (!read) {
      asm volatile(".byte 0xc4, 0xe2, 0x79, 0x49, 0x00"  // sttilecfg [rax]
                   :
                   : "a"(&configuration)
                   : "memory");
    }
    read = true;
    AddTiles(site.mnemonic, site.tiles[0], site.tiles[1], configuration, times, c->counts);
    site.folded += times;
  }
}

void Fold(Context* c) noexcept {
  FoldTiles(c);
  if (c->branch_count + c->site_count > kMaxBranches ||
      c->touched_count + c->block_count > kMaxBranches) {
    Miss(c, "more code than there is room for", 0);
    c->branch_count = c->touched_count = 0;
  }
  for (std::uint32_t k = 0; k < c->site_count; ++k) {
    FoldSite(c, c->sites[k]);
    c->sites[k].folded = 0;
  }
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    const Block& block = c->blocks[k];
    const std::uint64_t times = c->counters[block.counter];
    if (times == 0) continue;
    c->counts->Add(block.content, times);
    if (IsTeamRuntime(block.start)) {
      c->counts->openmp_instructions += block.content.instructions * times;
    }
    c->touched[c->touched_count++] = {block.start, block.end};
  }
  std::memset(c->counters, 0, c->counter_count * sizeof(std::uint64_t));
}

void Flush(Context* c) noexcept {
  // Only what was used is cleared: dropping the pages would make most of translation page faults.
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    const Block& block = c->blocks[k];
    if (block.place != kNone) c->block_of[block.place] = 0;
    c->lookup[block.start & (kLookupSets - 1)] = {};
  }
  c->lookup[AddressOf(&TopdnnExactStop) & (kLookupSets - 1)] = {};  // (nothing else is looked up)
  ++c->generation;
  if (c->nested > 0) {  // what a signal interrupted goes on in the old code, with its counters
    for (std::uint32_t k = 0; k < c->block_count; ++k) c->blocks[k].code = nullptr;
    return;
  }
  Fold(c);
  c->block_count = c->site_count = c->exit_count = 0;
  c->counter_count = 1;  // the first one stays zero
  c->code = c->code_begin;
  c->stubs = c->code_begin + kCodeBytes / 2;
  EmitFixedCode(c);
}

bool Overlaps(const Context* c, std::uint64_t low, std::uint64_t high) noexcept {
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    if (c->blocks[k].code == nullptr) continue;  // forgotten already
    if (c->blocks[k].start < high && c->blocks[k].end > low) return true;
  }
  return false;
}

}  // namespace topdnn

#endif  // __x86_64__
