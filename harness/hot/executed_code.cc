#include "harness/hot/executed_code.h"

#include <algorithm>
#include <map>
#include <set>

namespace topdnn {

namespace {

using CodeAt = std::map<std::uint64_t, ExecutedInstruction>;  // by address

// Decodes a copy of code as if it were at `address`.
void DecodeAt(const std::uint8_t* copy, std::uint64_t address, Instruction* i) {
  Decode(AddressOf(copy), i);
  if (i->target != 0) i->target += address - i->address;
  i->address = address;
}

std::uint64_t FlopsOf(const Tally& counts) {
  ExactCounts one;
  one.Add(counts, 1);
  return one.flops();
}

void AddBlock(const ExecutedBlock& block, CodeAt& code) {
  std::vector<std::uint8_t> copy = block.code;
  copy.resize(copy.size() + ZYDIS_MAX_INSTRUCTION_LENGTH);
  for (std::size_t at = 0; at < block.code.size();) {
    ExecutedInstruction& one = code[block.start + at];
    if (one.times == 0) {
      DecodeAt(&copy[at], block.start + at, &one.code);
      Classify(one.code, &one.counts);
      one.flops = FlopsOf(one.counts);
    }
    if (one.code.raw.length == 0) return;  // the code has changed since it was executed
    one.times += block.times;
    at += one.code.raw.length;
  }
}

// Splits where control flow leaves or enters, and where the number of executions changes.
void FindBlocks(ExecutedCode& code) {
  std::set<std::uint64_t> targets;
  for (const ExecutedInstruction& one : code.instructions) {
    const bool direct = one.code.flow == Flow::kConditional || one.code.flow == Flow::kJump;
    if (direct) targets.insert(one.code.target);
  }
  const ExecutedInstruction* last = nullptr;
  for (std::size_t k = 0; k < code.instructions.size(); ++k) {
    const ExecutedInstruction& one = code.instructions[k];
    const bool begins = last == nullptr || last->code.end() != one.code.address ||
                        last->code.flow != Flow::kNext || last->times != one.times ||
                        targets.contains(one.code.address);
    if (begins) code.graph.blocks.push_back({one.times, k, 0});
    ++code.graph.blocks.back().count;
    last = &one;
  }
}

void FindEdges(ExecutedCode& code) {
  std::map<std::uint64_t, std::size_t> block_at;
  const auto& blocks = code.graph.blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    block_at[code.instructions[blocks[b].first].code.address] = b;
  }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const ExecutedInstruction& last = code.instructions[blocks[b].first + blocks[b].count - 1];
    const auto add = [&](std::uint64_t address, std::uint64_t times) {
      const auto to = block_at.find(address);
      if (times > 0 && to != block_at.end()) code.graph.edges.push_back({b, to->second, times});
    };
    switch (last.code.flow) {
      case Flow::kConditional:
        add(last.code.target, last.taken);
        add(last.code.end(), last.times - std::min(last.taken, last.times));
        break;
      case Flow::kJump:
        add(last.code.target, last.times);
        break;
      case Flow::kIndirectJump:
      case Flow::kReturn:
        break;
      default:
        add(last.code.end(), last.times);
    }
  }
}

}  // namespace

ExecutedCode ReadExecutedCode(const BlockProfile& profile) {
  PrepareDecoder();
  CodeAt all;
  for (const ExecutedBlock& block : profile.blocks) {
    if (!block.openmp) AddBlock(block, all);
  }
  for (const ExecutedBranch& branch : profile.branches) {
    const auto found = all.find(branch.address);
    if (found != all.end()) found->second.taken = branch.taken;
  }
  for (const auto& [address, operations] : profile.tile_operations) {
    const auto found = all.find(address);
    if (found == all.end()) continue;
    ExecutedInstruction& one = found->second;
    const bool floats = one.code.raw.mnemonic == ZYDIS_MNEMONIC_TDPBF16PS;
    (floats ? one.tile_flops : one.tile_int8_ops) = operations;
  }
  ExecutedCode code;
  code.instructions.reserve(all.size());
  for (auto& [address, one] : all) {
    if (one.times == 0) continue;
    code.executed += one.times;
    code.flops += one.times * one.flops + one.tile_flops;
    code.instructions.push_back(one);
  }
  FindBlocks(code);
  FindEdges(code);
  return code;
}

}  // namespace topdnn
