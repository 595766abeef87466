// Decodes instructions, including those that this machine cannot execute, and checks their counts.

#include <gtest/gtest.h>

#include "harness/exact/instructions/counts.h"

#if defined(__x86_64__)

#include <cstdint>
#include <vector>

#include "harness/exact/instructions/decode.h"

namespace topdnn {
namespace {

using Code = std::vector<std::uint8_t>;

Instruction Decoded(const Code& code) {
  PrepareDecoder();
  Instruction instruction;
  Decode(AddressOf(code.data()), &instruction);
  EXPECT_EQ(instruction.raw.length, code.size());
  return instruction;
}

Tally Classified(const Code& code) {
  Tally tally;
  Classify(Decoded(code), &tally);
  return tally;
}

TEST(ExactDecode, FloatingPointClasses) {
  // vfmadd231ps zmm0, zmm1, zmm2
  EXPECT_EQ(Classified({0x62, 0xf2, 0x75, 0x48, 0xb8, 0xc2}).fp[kF32][kPacked512], 2U);
  // vfnmsub132sd xmm0, xmm1, xmm2
  EXPECT_EQ(Classified({0xc4, 0xe2, 0xf1, 0x9f, 0xc2}).fp[kF64][kScalar], 2U);
  // dpps xmm0, xmm1, 0xff
  EXPECT_EQ(Classified({0x66, 0x0f, 0x3a, 0x40, 0xc1, 0xff}).fp[kF32][kPacked128], 2U);
  // vsqrtpd ymm0, ymm1: also a slow instruction
  EXPECT_EQ(Classified({0xc5, 0xfd, 0x51, 0xc1}).fp[kF64][kPacked256], 1U);
  EXPECT_EQ(Classified({0xc5, 0xfd, 0x51, 0xc1}).slow_instructions, 1U);
  // rcpss xmm0, xmm1
  EXPECT_EQ(Classified({0xf3, 0x0f, 0x53, 0xc1}).fp[kF32][kScalar], 1U);
  // cmpps, cvtps2pd, movss, pextrd: nothing, and nothing slow
  for (const Code& code :
       {Code{0x0f, 0xc2, 0xc1, 0x00}, Code{0x0f, 0x5a, 0xc1}, Code{0xf3, 0x0f, 0x10, 0xc1},
        Code{0x66, 0x0f, 0x3a, 0x16, 0xc0, 0x01}}) {
    const Tally tally = Classified(code);
    EXPECT_EQ(tally.instructions, 1U);
    EXPECT_EQ(tally.slow_instructions, 0U);
    for (const auto& widths : tally.fp) {
      for (const std::uint64_t count : widths) EXPECT_EQ(count, 0U);
    }
  }
}

TEST(ExactDecode, InstructionsThatCoresFuse) {
  // nop, a long nop, endbr64, mov rax, rbx
  for (const Code& code : {Code{0x90}, Code{0x0f, 0x1f, 0x44, 0x00, 0x00},
                           Code{0xf3, 0x0f, 0x1e, 0xfa}, Code{0x48, 0x89, 0xd8}}) {
    EXPECT_EQ(Classified(code).fusible_instructions, 1U);
    EXPECT_EQ(Classified(code).instruction_bytes, code.size());
  }
  // mov rax, [rbx]; mov eax, 1; add rax, rbx; movaps xmm0, xmm1
  for (const Code& code : {Code{0x48, 0x8b, 0x03}, Code{0xb8, 0x01, 0x00, 0x00, 0x00},
                           Code{0x48, 0x01, 0xd8}, Code{0x0f, 0x28, 0xc1}}) {
    EXPECT_EQ(Classified(code).fusible_instructions, 0U);
  }
}

TEST(ExactDecode, HalfPrecision) {
  // vaddph zmm0, zmm1, zmm2
  EXPECT_EQ(Classified({0x62, 0xf5, 0x74, 0x48, 0x58, 0xc2}).fp[kF16][kPacked512], 1U);
  // vfmadd231ph ymm0, ymm1, ymm2
  EXPECT_EQ(Classified({0x62, 0xf6, 0x75, 0x28, 0xb8, 0xc2}).fp[kF16][kPacked256], 2U);
  // vmulsh xmm0, xmm1, xmm2
  EXPECT_EQ(Classified({0x62, 0xf5, 0x76, 0x08, 0x59, 0xc2}).fp[kF16][kScalar], 1U);
}

TEST(ExactDecode, DotProducts) {
  // vdpbf16ps zmm0, zmm1, zmm2
  EXPECT_EQ(Classified({0x62, 0xf2, 0x76, 0x48, 0x52, 0xc2}).bf16_dot[kPacked512], 1U);
  // vpdpbusd zmm0, zmm1, zmm2: 16 lanes of 4 products and 4 sums
  const Tally bytes = Classified({0x62, 0xf2, 0x75, 0x48, 0x50, 0xc2});
  EXPECT_EQ(bytes.vnni[kPacked512], 1U);
  EXPECT_EQ(bytes.vnni_ops, 16U * 8U);
  // {vex} vpdpwssds xmm0, xmm1, xmm2
  EXPECT_EQ(Classified({0xc4, 0xe2, 0x71, 0x53, 0xc2}).vnni_ops, 4U * 4U);
}

TEST(ExactDecode, BytesLoadedAndStored) {
  // vmovups [rax], zmm0
  EXPECT_EQ(Classified({0x62, 0xf1, 0x7c, 0x48, 0x11, 0x00}).store_bytes, 64U);
  // vaddps zmm0, zmm1, [rax]{1to16}
  EXPECT_EQ(Classified({0x62, 0xf1, 0x74, 0x58, 0x58, 0x00}).load_bytes, 4U);
  // add qword [rax], 1: both
  const Tally both = Classified({0x48, 0x83, 0x00, 0x01});
  EXPECT_EQ(both.load_bytes, 8U);
  EXPECT_EQ(both.store_bytes, 8U);
  EXPECT_EQ(both.loads + both.stores, 2U);
  // prefetcht0 [rax]; nop word [rax + rax]; lea rax, [rax]; clflush [rax]: none
  for (const Code& code : {Code{0x0f, 0x18, 0x08}, Code{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
                           Code{0x48, 0x8d, 0x00}, Code{0x0f, 0xae, 0x38}}) {
    EXPECT_EQ(Classified(code).loads + Classified(code).stores, 0U);
  }
}

TEST(ExactDecode, GathersAndScatters) {
  // vgatherdps zmm0{k1}, [rax + zmm1]; vgatherqps ymm0{k1}, [rax + zmm1]: 16 and 8 of 4 bytes
  EXPECT_EQ(Classified({0x62, 0xf2, 0x7d, 0x49, 0x92, 0x04, 0x08}).load_bytes, 64U);
  EXPECT_EQ(Classified({0x62, 0xf2, 0x7d, 0x49, 0x93, 0x04, 0x08}).load_bytes, 32U);
  // vpgatherdq ymm0, [rax + xmm1], ymm2: 4 of 8 bytes
  EXPECT_EQ(Classified({0xc4, 0xe2, 0xed, 0x90, 0x04, 0x08}).load_bytes, 32U);
  // vpgatherqd xmm0, [rax + xmm1], xmm2: 2 of 4 bytes, in a register of four
  EXPECT_EQ(Classified({0xc4, 0xe2, 0x69, 0x91, 0x04, 0x08}).load_bytes, 8U);
  // vscatterdps [rax + zmm1]{k1}, zmm0
  EXPECT_EQ(Classified({0x62, 0xf2, 0x7d, 0x49, 0xa2, 0x04, 0x08}).store_bytes, 64U);
}

TEST(ExactDecode, RepeatedStrings) {
  const Instruction movsq = Decoded({0xf3, 0x48, 0xa5});
  EXPECT_TRUE(movsq.rep);
  EXPECT_EQ(movsq.load, 8U);
  EXPECT_EQ(movsq.store, 8U);
  EXPECT_EQ(Classified({0xf3, 0x48, 0xa5}).load_bytes, 0U)
      << "its iterations are counted separately";
  EXPECT_FALSE(Decoded({0x48, 0xa5}).rep);
  EXPECT_EQ(Classified({0x48, 0xa5}).load_bytes, 8U);
}

TEST(ExactDecode, ControlFlow) {
  const Code branch = {0x74, 0x10};
  EXPECT_EQ(Decoded(branch).flow, Flow::kConditional);
  EXPECT_EQ(Decoded(branch).target, AddressOf(branch.data()) + 0x12);
  EXPECT_EQ(Decoded({0xe2, 0xfe}).flow, Flow::kConditional);  // loop
  EXPECT_EQ(Decoded({0xeb, 0x00}).flow, Flow::kJump);
  EXPECT_EQ(Decoded({0xff, 0xe0}).flow, Flow::kIndirectJump);  // jmp rax
  EXPECT_EQ(Decoded({0xe8, 0, 0, 0, 0}).flow, Flow::kCall);
  EXPECT_EQ(Decoded({0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0}).flow, Flow::kCall);  // __tls_get_addr
  EXPECT_EQ(Decoded({0xff, 0x10}).flow, Flow::kIndirectCall);                  // call [rax]
  EXPECT_EQ(Decoded({0xc3}).flow, Flow::kReturn);
  EXPECT_EQ(Decoded({0x0f, 0x05}).flow, Flow::kSystemCall);
  EXPECT_EQ(Decoded({0xcb}).flow, Flow::kUnknown);                 // retf
  EXPECT_EQ(Decoded({0xcd, 0x80}).flow, Flow::kUnknown);           // int 0x80
  EXPECT_EQ(Decoded({0xf3, 0x0f, 0x1e, 0xfa}).flow, Flow::kNext);  // endbr64
  EXPECT_EQ(Decoded({0x66, 0x90}).flow, Flow::kNext);
  EXPECT_EQ(Decoded({0xc4, 0xe2, 0x78, 0x49, 0x00}).flow, Flow::kTileConfiguration);
}

// The register or flags that may be overwritten before an instruction: none that it reads.
TEST(ExactDecode, DeadRegistersAndFlags) {
  EXPECT_EQ(Decoded({0x48, 0x39, 0xc8}).overwrites, kFlags);          // cmp rax, rcx
  EXPECT_EQ(Decoded({0x48, 0x11, 0xc8}).overwrites, kNothing);        // adc rax, rcx
  EXPECT_EQ(Decoded({0x48, 0xff, 0xc0}).overwrites, kNothing);        // inc: not CF
  EXPECT_EQ(Decoded({0x48, 0xd3, 0xe0}).overwrites, kNothing);        // shl rax, cl
  EXPECT_EQ(Decoded({0x48, 0x89, 0xc8}).overwrites, 0);               // mov rax, rcx
  EXPECT_EQ(Decoded({0x4c, 0x8b, 0x48, 0x08}).overwrites, 9);         // mov r9, [rax+8]
  EXPECT_EQ(Decoded({0x48, 0x8b, 0x00}).overwrites, kNothing);        // mov rax, [rax]
  EXPECT_EQ(Decoded({0x48, 0x8d, 0x04, 0x01}).overwrites, kNothing);  // lea rax, [rcx+rax]
  EXPECT_EQ(Decoded({0x66, 0x89, 0xc8}).overwrites, kNothing);        // mov ax, cx
  EXPECT_EQ(Decoded({0x48, 0x89, 0x08}).overwrites, kNothing);        // mov [rax], rcx
  EXPECT_EQ(Decoded({0x5b}).overwrites, 3);                           // pop rbx
  EXPECT_EQ(Decoded({0x5c}).overwrites, kNothing);                    // pop rsp
  EXPECT_EQ(Decoded({0x48, 0x0f, 0x44, 0xc1}).overwrites, kNothing);  // cmove rax, rcx
}

TEST(ExactDecode, TilesUseTheCurrentConfiguration) {
  TileConfiguration configuration = {};
  configuration.rows[0] = 10;
  configuration.row_bytes[0] = 48;  // C: 10 x 12
  configuration.rows[1] = 10;
  configuration.row_bytes[1] = 28;  // A: 10 x 7 groups of 4 bytes
  configuration.rows[2] = 7;
  configuration.row_bytes[2] = 48;  // B
  const auto added = [&](const Code& code, int tile0, int tile1) {
    ExactCounts counts;
    const Instruction instruction = Decoded(code);
    EXPECT_TRUE(instruction.tile);
    AddTiles(instruction.raw.mnemonic, tile0, tile1, configuration, 3, &counts);
    return counts;
  };
  const ExactCounts bf16 =
      added({0xc4, 0xe2, 0x6a, 0x5c, 0xc1}, 0, 1);  // tdpbf16ps tmm0, tmm1, tmm2
  EXPECT_EQ(bf16.amx_bf16, 3U);
  EXPECT_EQ(bf16.amx_bf16_flops, 3U * 10U * 12U * 14U * 2U);
  const ExactCounts int8 = added({0xc4, 0xe2, 0x6b, 0x5e, 0xc1}, 0, 1);  // tdpbssd tmm0, tmm1, tmm2
  EXPECT_EQ(int8.amx_int8_ops, 3U * 10U * 12U * 28U * 2U);
  // tileloadd tmm0, [rax + rcx]; tilestored [rax + rcx], tmm0
  EXPECT_EQ(added({0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x08}, 0, 0).load_bytes, 3U * 480U);
  EXPECT_EQ(added({0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x08}, 0, 0).store_bytes, 3U * 480U);
}

}  // namespace
}  // namespace topdnn

#endif  // __x86_64__
