#include "harness/topdown/pipeline.h"

#include <array>
#include <utility>

namespace topdnn {

namespace {

// Macro-ops of Zen. An operation with an operand in memory is one (Agner Fog, instruction tables).
constexpr double kSlotsOfMostCode = 1.25;  // ASSUMED
constexpr int kOpCacheLine = 64;           // an entry of the micro-op cache ends within such a line

// In all three, two units multiply and add, and two units add. The vectors of the first have 128
// bits, so an instruction for 256 bits is two macro-ops.
constexpr std::array<std::pair<std::string_view, CorePipeline>, 3> kWithoutEvents = {{
    {"zen",
     {.slots = 6,
      .reorder_buffer = 192,
      .op_cache = 2048,
      .fp_256 = 6,
      .loads = 2,
      .stores = 1,
      .window_bytes = kOpCacheLine,
      .slots_per_instruction = 2 * kSlotsOfMostCode,
      .source = "AMD Software Optimization Guide for Family 17h (55723), chapter 2"}},
    {"zen2",
     {.slots = 6,
      .reorder_buffer = 224,
      .op_cache = 4096,
      .fp_256 = 6,
      .loads = 2,
      .stores = 1,
      .window_bytes = kOpCacheLine,
      .slots_per_instruction = kSlotsOfMostCode,
      .source = "AMD Software Optimization Guide for Family 17h Models 30h and greater (56305), "
                "chapter 2"}},
    {"zen3",
     {.slots = 6,
      .reorder_buffer = 256,
      .op_cache = 4096,
      .fp_256 = 6,
      .loads = 3,
      .stores = 2,
      .window_bytes = kOpCacheLine,
      .slots_per_instruction = kSlotsOfMostCode,
      .source = "AMD Software Optimization Guide for Family 19h (56665), chapter 2"}},
}};

}  // namespace

CorePipeline PipelineWithoutEvents(std::string_view cpu) {
  for (const auto& [name, pipeline] : kWithoutEvents) {
    if (name == cpu) return pipeline;
  }
  return {};
}

}  // namespace topdnn
