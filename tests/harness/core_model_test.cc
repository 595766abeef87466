// The core model on loops whose cycles are worked out by hand, with costs that are given.

#include "harness/hot/core_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <vector>

#include "harness/hot/instruction_form.h"
#include "harness/hot/listing.h"

namespace topdnn {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Code as assembled by GNU as 2.40.
const Bytes kFma0 = {0xc4, 0xc2, 0x3d, 0xb8, 0xc1};  // vfmadd231ps ymm0, ymm8, ymm9
const Bytes kFma1 = {0xc4, 0xc2, 0x3d, 0xb8, 0xc9};  // vfmadd231ps ymm1, ymm8, ymm9
const Bytes kDec = {0x48, 0xff, 0xc9};               // dec rcx
const Bytes kJump = {0x75, 0xea};                    // jnz
const Bytes kZero = {0x31, 0xc0};                    // xor eax, eax
const Bytes kSpill = {0x62, 0xf1, 0x7c, 0x48, 0x11, 0x44, 0x24, 0x01};  // vmovups [rsp+64], zmm0
const Bytes kReload = {0x62, 0xf1, 0x74, 0x48,
                       0x58, 0x44, 0x24, 0x01};  // vaddps zmm0, zmm1, [rsp+64]

// Instructions that follow each other from an address; the last jumps back.
class Code {
 public:
  explicit Code(const std::vector<Bytes>& instructions, std::uint64_t address = 0x1000) {
    PrepareDecoder();
    for (const Bytes& bytes : instructions) {
      Bytes padded = bytes;
      padded.resize(2 * ZYDIS_MAX_INSTRUCTION_LENGTH);
      auto one = std::make_unique<ExecutedInstruction>();
      Decode(AddressOf(static_cast<const std::uint8_t*>(padded.data())), &one->code);
      EXPECT_EQ(one->code.raw.length, bytes.size());
      one->code.address = address;
      address += bytes.size();
      one->times = one->taken = 1000;
      instructions_.push_back(std::move(one));
    }
  }
  ExecutedCode Executed() const {
    ExecutedCode code;
    for (const auto& one : instructions_) code.instructions.push_back(*one);
    return code;
  }
  std::vector<PathInstruction> Path() const {
    std::vector<PathInstruction> path;
    path.reserve(instructions_.size());
    for (const auto& one : instructions_) path.push_back({one.get(), 1});
    return path;
  }

 private:
  std::vector<std::unique_ptr<ExecutedInstruction>> instructions_;
};

// 6 instructions a cycle, 2 FMAs a cycle with 4 cycles of latency, an addition of 3 cycles, a
// store of 512 bits every second cycle.
FormCosts Costs() {
  FormCosts costs;
  costs.dispatch_width = 6;
  costs.load = 0.5;
  const auto set = [&](const char* form, CoreUnit unit, double cycles, double latency) {
    FormCost& cost = costs.forms[form];
    cost.units[kDispatchUnit] = 1.0 / 6;
    if (unit != kDispatchUnit) cost.units[unit] = cycles;
    cost.alone = cycles;
    cost.latency = latency;
  };
  set("vfmadd231ps y y y", kFmaUnit, 0.5, 4);
  set("vaddps z z m512", kFpAddUnit, 1, 3);
  set("vmovups m512 z", kVectorStoreUnit, 2, 0);
  set("dec g64", kAluUnit, 0.25, 1);
  return costs;
}

TEST(CoreModel, IndependentMultiplyAddsAreBoundByTheirUnit) {
  std::vector<Bytes> body;
  for (std::uint8_t k = 0; k < 12; ++k) {  // vfmadd231ps ymmK, ymm8, ymm9; K from 8 on in REX.R
    body.push_back({0xc4, static_cast<std::uint8_t>(k < 8 ? 0xc2 : 0x42), 0x3d, 0xb8,
                    static_cast<std::uint8_t>(0xc1 | (k & 7) << 3)});
  }
  body[8] = body[9] = kFma0;  // (ymm8 and ymm9 are operands of the others)
  body[8][2] = body[9][2] = 0x3d;
  body.push_back(kDec);
  body.push_back(kJump);
  // 12 FMAs at 2 a cycle: 6 cycles. ymm0 is written by 3 of them: 3 x 4 = 12 cycles.
  const CoreCycles chained = ModelPath(Code(body).Path(), Costs());
  EXPECT_DOUBLE_EQ(chained.cycles, 12);
  EXPECT_EQ(chained.binds, "chain of 3");
  EXPECT_DOUBLE_EQ(chained.chain.fmas, 3);
  // Without the two: 10 FMAs, 5 cycles, and no chain is longer than 4.
  body.erase(body.begin() + 8, body.begin() + 10);
  const CoreCycles free = ModelPath(Code(body).Path(), Costs());
  EXPECT_DOUBLE_EQ(free.cycles, 5);
  EXPECT_EQ(free.binds, "FMA");
  EXPECT_DOUBLE_EQ(free.chain.cycles, 4);
}

TEST(CoreModel, OneAccumulatorIsAChain) {
  const Code code({kFma0, kFma0, kFma0, kFma0, kDec, kJump});
  const CoreCycles model = ModelPath(code.Path(), Costs());
  EXPECT_DOUBLE_EQ(model.cycles, 16);
  EXPECT_EQ(model.binds, "chain of 4");
  EXPECT_DOUBLE_EQ(model.chain.instructions, 4);
}

// 1,000 executions of each.
TEST(MostSlots, AreThoseThatWereMeasured) {
  FormCosts costs = Costs();
  const auto slots = [&costs](const std::vector<Bytes>& code) {
    return MostSlots(Code(code).Executed(), costs);
  };
  EXPECT_EQ(slots({kFma0, kDec, kJump}), 3000);  // (the last two may be one)
  EXPECT_EQ(slots({kSpill}), 1000);
  costs.forms.at("vmovups m512 z").units[kDispatchUnit] = 2.1 / 6;
  EXPECT_EQ(slots({kSpill}), 2000);
  EXPECT_EQ(slots({kZero}), 2000) << "not measured";
  ExecutedCode division = Code({{0xf7, 0xf9}}).Executed();  // idiv ecx
  division.instructions[0].counts.slow_instructions = 1;
  EXPECT_EQ(MostSlots(division, costs), 10000) << "not measured";
  division = Code({{0x48, 0xf7, 0xf9}}).Executed();  // idiv rcx
  division.instructions[0].counts.slow_instructions = 1;
  EXPECT_EQ(MostSlots(division, costs), 60000) << "not measured";
  ExecutedCode square_root = Code({{0x0f, 0x51, 0xc0}}).Executed();  // sqrtps xmm0, xmm0
  square_root.instructions[0].counts.slow_instructions = 1;
  EXPECT_EQ(MostSlots(square_root, costs), 102000) << "not measured";
  // vaddps zmm0, zmm1, [rsp+rcx]: Intel's cores may split it.
  EXPECT_EQ(slots({kReload}), 1000);
#if defined(__x86_64__)
  const bool splits = !__builtin_cpu_is("amd");
#else
  constexpr bool splits = true;
#endif
  EXPECT_EQ(slots({{0x62, 0xf1, 0x74, 0x48, 0x58, 0x04, 0x0c}}), splits ? 2000 : 1000);
  // vmovups zmm0, [rsp+rcx] only loads.
  costs.forms["vmovups z m512"].units[kDispatchUnit] = 1.0 / 6;
  EXPECT_EQ(slots({{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x04, 0x0c}}), 1000);
}

TEST(CoreModel, ZeroIdiomsOnlyDispatch) {
  // 17 of them, a decrement fused with its branch: 18 operations, 6 a cycle
  std::vector<Bytes> body(17, kZero);
  body.push_back(kDec);
  body.push_back(kJump);
  const CoreCycles model = ModelPath(Code(body).Path(), Costs());
  EXPECT_DOUBLE_EQ(model.cycles, 3);
  EXPECT_EQ(model.binds, "dispatch");
}

TEST(CoreModel, SpillAndReloadAreStoreForwarding) {
  // The reload takes the spilled value after 12 cycles, the addition 3.
  const Code code({kSpill, kReload, kDec, kJump});
  const CoreCycles model = ModelPath(code.Path(), Costs());
  EXPECT_DOUBLE_EQ(model.cycles, 15);
  EXPECT_EQ(model.binds, "store forwarding");
  EXPECT_TRUE(model.chain.forwarded);
}

TEST(CoreModel, CodeThatCrossesALineTakesACycleMore) {
  const std::vector<Bytes> body = {kFma0, kFma1, kDec, kJump};  // 15 bytes
  FormCosts costs = Costs();
  costs.forms["vfmadd231ps y y y"].latency = 1;
  EXPECT_DOUBLE_EQ(ModelPath(Code(body, 0x1000).Path(), costs).cycles, 1);
  const CoreCycles crossing = ModelPath(Code(body, 0x1000 + 56).Path(), costs);
  EXPECT_DOUBLE_EQ(crossing.cycles, 2);
  EXPECT_EQ(crossing.binds, "code lines");
  EXPECT_THAT(ListingOf(Code(body, 0x1000 + 56).Path(), 9)[1],
              testing::HasSubstr("crosses a line"));
}

TEST(CoreModel, WithoutChainsCodeRunsOnce) {
  const Code code({kFma0, kFma0, kFma0, kFma0});
  EXPECT_DOUBLE_EQ(ModelPath(code.Path(), Costs(), /*chains=*/false).cycles, 2);
}

TEST(InstructionForm, NamesKindsAndWidths) {
  const auto form = [](const Bytes& bytes) {
    const Code code({bytes});
    return FormOf(code.Path()[0].instruction->code);
  };
  EXPECT_EQ(form(kFma0), "vfmadd231ps y y y");
  EXPECT_EQ(form({0x62, 0xd2, 0x3d, 0x50, 0xb8, 0x47, 0x01}), "vfmadd231ps z z m32b");
  EXPECT_EQ(form({0x62, 0xf1, 0x74, 0xc9, 0x58, 0xc2}), "vaddps z z z {k}{z}");
  EXPECT_EQ(form({0xc5, 0xfc, 0x10, 0x1c, 0x86}), "vmovups y m256");
  EXPECT_EQ(form(kZero), "xor g32 g32 zero");
  EXPECT_EQ(form({0x31, 0xc8}), "xor g32 g32");
  EXPECT_EQ(form({0x48, 0x8d, 0x44, 0xd1, 0x10}), "lea g64 a64id");
  EXPECT_EQ(form({0xc4, 0xe2, 0x7d, 0x18, 0x0f}), "vbroadcastss y m32");
  EXPECT_EQ(form({0xf0, 0x48, 0x83, 0x07, 0x01}), "add m64 i lock");
  EXPECT_EQ(form({0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88}), "vgatherdps y v32 y");
}

TEST(InstructionForm, OnlyHarmlessInstructionsRunAlone) {
  const auto runs = [](const Bytes& bytes) {
    const Code code({bytes});
    return CanRunAlone(code.Path()[0].instruction->code);
  };
  EXPECT_TRUE(runs(kFma0));
  EXPECT_TRUE(runs({0x40, 0x88, 0x37}));   // mov byte ptr [rdi], sil
  EXPECT_TRUE(runs({0xd3, 0xe0}));         // shl eax, cl
  EXPECT_FALSE(runs({0x48, 0xf7, 0xf9}));  // idiv rcx: may divide by 0
  EXPECT_FALSE(runs({0x55}));              // push rbp: moves the stack
  EXPECT_FALSE(runs({0x0f, 0x05}));        // syscall
  EXPECT_FALSE(runs({0xf3, 0x48, 0xab}));  // rep stosq
  EXPECT_FALSE(runs({0x0f, 0xa2}));        // cpuid
  EXPECT_FALSE(runs(kJump));
  EXPECT_FALSE(runs({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}));  // mov rax, fs:[40]
  EXPECT_FALSE(runs({0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88}));           // a gather
}

TEST(Listing, FoldsRepeatedForms) {
  const Code code({kFma0, kFma1, kFma0, kFma1, kDec, kJump});
  EXPECT_THAT(
      ListingOf(code.Path(), 9),
      testing::ElementsAre("     0   4 x vfmadd231ps ymm0, ymm8, ymm9", "    14       dec rcx",
                           testing::StartsWith("    17       jnz")));
  EXPECT_THAT(
      ListingOf(code.Path(), 1),
      testing::ElementsAre(testing::HasSubstr("4 x"), testing::EndsWith("2 more instructions")));
}

TEST(Listing, MarksSpillsAndReloads) {
  const Code code({kSpill, kReload});
  const std::vector<std::string> lines = ListingOf(code.Path(), 9);
  EXPECT_THAT(lines[0], testing::EndsWith("; spill"));
  EXPECT_THAT(lines[1], testing::EndsWith("; reload"));
}

}  // namespace
}  // namespace topdnn
