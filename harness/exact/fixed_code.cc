// The code that all blocks of a context share: the way to the dispatcher and back, and the look-up
// of an indirect branch's target.

#if defined(__x86_64__)

#include "harness/exact/context.h"
#include "harness/exact/emitter.h"

namespace topdnn {

void EmitFixedCode(Context* c) noexcept {
  Emitter e(c);
  c->slow_stub = c->code;
  e.Store(&c->spill[0], kRax);
  e.Bytes({0x48, 0x8d, 0x05});  // lea rax, [context]
  e.Displacement(c);
  e.JumpThrough(&c->slow_path);
  c->resume_code = AddressOf(c->code);
  e.Load(kRax, &c->registers[kRax]);
  e.JumpThrough(&c->go_to);
  // The look-up runs if the target differs from the previous one. rax holds minus the previous
  // target, and rcx the new target minus the previous one. Both registers are spilled.
  const auto restore = [&] {
    e.Load(kRax, &c->spill[0]);
    e.Load(kRcx, &c->spill[1]);
    e.Load(kRdx, &c->spill[2]);
  };
  const std::uint8_t* found = c->code;
  restore();
  e.JumpThrough(&c->jump_to);
  c->lookup_code = c->code;
  e.Bytes({0x48, 0xf7, 0xd0});           // not rax
  e.Bytes({0x48, 0x8d, 0x4c, 0x01, 1});  // lea rcx, [rcx + rax + 1]
  e.Store(&c->branch_target, kRcx);
  e.Store(&c->spill[2], kRdx);
  e.Bytes({0x0f, 0xb7, 0xc1});  // movzx eax, cx
  e.Bytes({0x48, 0x8d, 0x15});  // lea rdx, [lookup]
  e.Displacement(c->lookup);
  e.Bytes({0x48, 0x8d, 0x04, 0x85, 0, 0, 0, 0});  // lea rax, [rax * 4]
  e.Bytes({0x48, 0x8d, 0x14, 0xc2});              // lea rdx, [rdx + rax * 8]
  for (const int way : {0, 16}) {
    e.Bytes({0x48, 0x8b, 0x42, way + 8});  // mov rax, [rdx + way + 8]
    e.Store(&c->jump_to, kRax);
    e.Bytes({0x48, 0x8b, 0x42, way});  // mov rax, [rdx + way]
    if (way != 0) e.Load(kRcx, &c->branch_target);
    e.Bytes({0x48, 0x8d, 0x0c, 0x01, 0xe3});  // lea rcx, [rcx + rax]; jrcxz
    e.Byte(static_cast<int>(found - c->code - 1));
  }
  restore();
  e.Leave(Exit::kIndirect, 0);
  c->fixed_end = c->code;
}

}  // namespace topdnn

#endif  // __x86_64__
