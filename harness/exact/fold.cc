// Turns counters into counts: block count times block content, and what the sites counted.

#if defined(__x86_64__)

#include <cstring>

#include "harness/exact/context.h"

namespace topdnn {

namespace {

void FoldTile(Context* c, Site* site, const TileConfiguration& configuration) {
  const std::uint64_t times = c->counters[site->block] - site->folded;
  site->folded += times;
  const TileWork work = WorkOf(site->mnemonic, site->tile0, site->tile1, configuration);
  c->counts->amx_bf16 += work.bf16_flops != 0 ? times : 0;
  c->counts->amx_int8 += work.int8_ops != 0 ? times : 0;
  c->counts->amx_bf16_flops += times * work.bf16_flops;
  c->counts->amx_int8_ops += times * work.int8_ops;
  c->counts->load_bytes += times * work.load_bytes;
  c->counts->store_bytes += times * work.store_bytes;
}

void FoldBranch(Context* c, std::uint64_t address, std::uint64_t taken, std::uint64_t not_taken) {
  c->counts->conditional_taken += taken;
  std::uint64_t h = (address * 0x9e3779b97f4a7c15U) >> 45;
  BranchCount* b = &c->branches[h & (kMaxBranches - 1)];
  while (b->address != 0 && b->address != address) b = &c->branches[++h & (kMaxBranches - 1)];
  if (b->address == 0) {
    if (c->branches_used_count == kMaxBranches / 2) {
      Miss(c, "more conditional branches than there is room for", address);
      return;
    }
    c->branches_used[c->branches_used_count++] = static_cast<std::uint32_t>(b - c->branches);
  }
  b->address = address;
  b->taken += taken;
  b->not_taken += not_taken;
}

}  // namespace

void FoldTiles(Context* c) noexcept {
  bool any = false;
  for (std::uint32_t k = 0; k < c->site_count; ++k) any |= c->sites[k].kind == Site::kTile;
  if (!any) return;
  alignas(64) TileConfiguration configuration = {};
  asm volatile(".byte 0xc4, 0xe2, 0x79, 0x49, 0x00"  // sttilecfg [rax]
               :
               : "a"(&configuration)
               : "memory");
  for (std::uint32_t k = 0; k < c->site_count; ++k) {
    if (c->sites[k].kind == Site::kTile) FoldTile(c, &c->sites[k], configuration);
  }
}

void Fold(Context* c) noexcept {
  FoldTiles(c);
  for (std::uint32_t k = 0; k < c->site_count; ++k) {
    const Site& site = c->sites[k];
    const std::uint64_t times = c->counters[site.block];
    if (times == 0 || site.kind == Site::kTile) continue;
    const std::uint64_t own = c->counters[site.counter];
    if (site.kind == Site::kRep) {
      c->counts->load_bytes += own * site.load;
      c->counts->store_bytes += own * site.store;
    } else {
      const std::uint64_t taken = site.kind == Site::kBranchTaken ? own : times - own;
      FoldBranch(c, site.address, taken, times - taken);
    }
  }
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    const Block& block = c->blocks[k];
    const std::uint64_t times = c->counters[block.counter];
    if (times == 0) continue;
    c->counts->Add(block.content, times);
    if (IsTeamRuntime(block.start)) {
      c->counts->openmp_instructions += block.content.instructions * times;
    }
    if (c->touched_count == kMaxBranches) {
      Miss(c, "more code than there is room for", block.start);
      continue;
    }
    c->touched[c->touched_count++] = {block.start, block.end};
  }
  std::memset(c->counters, 0, c->counter_count * sizeof(std::uint64_t));
  for (std::uint32_t k = 0; k < c->site_count; ++k) c->sites[k].folded = 0;
}

void Flush(Context* c) noexcept {
  // Only what was used is cleared: dropping the pages would make most of translation page faults.
  for (std::uint32_t k = 0; k < c->block_count; ++k) {
    c->block_of[c->blocks[k].place] = 0;
    c->lookup[c->blocks[k].start & (kLookupSets - 1)] = {};  // (nothing else is looked up)
  }
  if (c->nested > 0) {  // what a signal interrupted goes on in the old code, with its counters
    for (std::uint32_t k = 0; k < c->block_count; ++k) c->blocks[k].code = nullptr;
    ++c->generation;
    return;
  }
  Fold(c);
  c->block_count = c->site_count = c->exit_count = c->counter_count = 0;
  c->code = c->code_begin;
  ++c->generation;
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
