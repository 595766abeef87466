#include "kernels/library/onednn.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <span>
#include <utility>

#include "kernels/kernel/run_failure.h"
#include "kernels/kernel/variant.h"

namespace topdnn::onednn {

namespace {

using DnnlType = dnnl::memory::data_type;

constexpr std::array<std::pair<DataType, DnnlType>, 6> kDnnlTypes = {{
    {DataType::kF32, DnnlType::f32},
    {DataType::kBF16, DnnlType::bf16},
    {DataType::kF16, DnnlType::f16},
    {DataType::kS32, DnnlType::s32},
    {DataType::kS8, DnnlType::s8},
    {DataType::kU8, DnnlType::u8},
}};

// Returns one shared descriptor for all equal ones, so that equal opaque layouts compare equal.
std::shared_ptr<const void> Intern(const dnnl::memory::desc& desc) {
  static std::mutex mutex;
  static auto* interned = new std::vector<std::shared_ptr<const dnnl::memory::desc>>();
  const std::lock_guard<std::mutex> lock(mutex);
  for (const auto& known : *interned) {
    if (*known == desc) return known;
  }
  return interned->emplace_back(std::make_shared<const dnnl::memory::desc>(desc));
}

#if defined(__x86_64__)

// oneDNN's code for AVX2 uses FMA without checking for it, and an emulated CPU may have AVX2
// without FMA. This runs before main, because oneDNN's first primitive fixes the ISA.
[[maybe_unused]] const bool kLimitedToAvx = [] {
  __builtin_cpu_init();
  const bool lacks_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") == 0;
  return lacks_fma && dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx) == dnnl_success;
}();

// In both major versions an ISA is the set of bits of itself and those below it (dnnl_types.h,
// dnnl_cpu_isa_t).
std::string EffectiveIsa() {
  const auto effective = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  for (const auto& [isa, name] :
       {std::pair{dnnl::cpu_isa::avx512_core, "avx512"}, std::pair{dnnl::cpu_isa::avx2, "avx2"},
        std::pair{dnnl::cpu_isa::avx, "avx"}, std::pair{dnnl::cpu_isa::sse41, "sse41"}}) {
    const auto bits = static_cast<unsigned>(isa);
    if ((effective & bits) == bits) return name;
  }
  return "sse2";  // an ISA below those that oneDNN names
}

#else

// Elsewhere oneDNN does not say what it uses. Its generated code for Arm names its ISA.
std::string EffectiveIsa() { return ""; }

#endif

Shape ShapeOf(const dnnl::memory::desc& desc) {
  return Shape(std::vector<std::int64_t>(DimsOf(desc)));
}

}  // namespace

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::dims Dims(const Shape& shape) {
  return shape.rank() == 0 ? dnnl::memory::dims{1} : shape.extents();
}

dnnl::memory::desc ToMemoryDesc(const TensorDesc& desc) {
  const dnnl::memory::dims dims = Dims(desc.shape);
  const DnnlType type = ToDnnlType(desc.type);
  if (desc.layout.is_any()) return {dims, type, dnnl::memory::format_tag::any};
  if (desc.layout.is_opaque()) {
    return *static_cast<const dnnl::memory::desc*>(desc.layout.descriptor().get());
  }
  return DescOfTag(dims, type, desc.layout.tag());
}

dnnl::memory::desc DescOf(const KernelRequest& request, Arg arg) {
  const std::optional<Operand> operand = request.op->Find(request.execution, arg);
  if (!operand) return {};
  return ToMemoryDesc({operand->shape, operand->type, request.LayoutOf(arg)});
}

dnnl::memory::desc DescOf(const KernelRequest& request, Arg arg, const Layout& default_layout) {
  const Operand operand = *request.op->Find(request.execution, arg);
  const Layout settled = request.LayoutOf(arg);
  return ToMemoryDesc({operand.shape, operand.type, settled.is_any() ? default_layout : settled});
}

dnnl::memory::data_type ToDnnlType(DataType type) {
  for (const auto& [data_type, dnnl_type] : kDnnlTypes) {
    if (data_type == type) return dnnl_type;
  }
  throw dnnl::error(dnnl_unimplemented, "no such element type");
}

DataType ToDataType(dnnl::memory::data_type type) {
  for (const auto& [data_type, dnnl_type] : kDnnlTypes) {
    if (dnnl_type == type) return data_type;
  }
  throw dnnl::error(dnnl_unimplemented, "no such element type");
}

Layout ToLayout(const dnnl::memory::desc& desc) {
  if (const auto layout = Layout::Parse(TagOf(desc))) return *layout;
  return Layout::Opaque("onednn-opaque", desc.get_size(), Intern(desc));
}

std::string IsaOf(std::string_view implementation) {
  for (const auto& [part, isa] :
       std::initializer_list<std::pair<std::string_view, const char*>>{{"amx", "amx"},
                                                                       {"avx512", "avx512"},
                                                                       {"avx2", "avx2"},
                                                                       {"avx", "avx"},
                                                                       {"sse41", "sse41"},
                                                                       {"sve", "sve"}}) {
    if (implementation.find(part) != std::string_view::npos) return isa;
  }
  const bool generated = implementation.find("jit") != std::string_view::npos ||
                         implementation.find("gemm") != std::string_view::npos;
  const bool plain = implementation.find("ref") != std::string_view::npos;
  return generated && !plain ? EffectiveIsa() : "";
}

Layout BlockedActivations() {
  return *Layout::Parse(EffectiveIsa() == "avx512" ? "aBcd16b" : "aBcd8b");
}

bool SumsAreExact() {
#if defined(__x86_64__)
  const auto effective = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  for (const dnnl::cpu_isa isa : {dnnl::cpu_isa::avx512_core_vnni, dnnl::cpu_isa::avx2_vnni}) {
    const auto bits = static_cast<unsigned>(isa);
    if ((effective & bits) == bits) return true;
  }
  return false;
#else
  return true;
#endif
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::prop_kind ForwardKind(const KernelRequest& request) {
  const bool infers = request.execution.pass == Pass::kForward && !request.execution.training;
  return infers ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
}

Refusal RefusalOf(const KernelRequest& request, const dnnl::error& error) {
  const dnnl_version_t* version = dnnl_version();
  return {fmt::format("oneDNN {}.{}.{} has no such {} {} in {} ({})", version->major,
                      version->minor, version->patch, request.op->kind(),
                      NameOf(request.execution.pass), NameOf(request.execution.type),
                      error.message)};
}

int ArgumentOf(Arg arg) {
  static const std::map<Arg, int> kArguments = {{Arg::kSrc, DNNL_ARG_SRC},
                                                {Arg::kSum, DNNL_ARG_SRC_1},
                                                {Arg::kWeights, DNNL_ARG_WEIGHTS},
                                                {Arg::kBias, DNNL_ARG_BIAS},
                                                {Arg::kDst, DNNL_ARG_DST},
                                                {Arg::kMean, DNNL_ARG_MEAN},
                                                {Arg::kVariance, DNNL_ARG_VARIANCE},
                                                {Arg::kScale, DNNL_ARG_SCALE},
                                                {Arg::kShift, DNNL_ARG_SHIFT},
                                                {Arg::kDiffSrc, DNNL_ARG_DIFF_SRC},
                                                {Arg::kDiffWeights, DNNL_ARG_DIFF_WEIGHTS},
                                                {Arg::kDiffBias, DNNL_ARG_DIFF_BIAS},
                                                {Arg::kDiffDst, DNNL_ARG_DIFF_DST},
                                                {Arg::kDiffScale, DNNL_ARG_DIFF_SCALE},
                                                {Arg::kDiffShift, DNNL_ARG_DIFF_SHIFT}};
  return kArguments.at(arg);
}

std::vector<PrimitiveOperand> OperandsByName(const KernelRequest& request,
                                             const dnnl::primitive_desc_base& pd) {
  std::vector<PrimitiveOperand> operands;
  for (const Operand& operand : request.op->Operands(request.execution)) {
    const int argument = ArgumentOf(operand.arg);
    operands.push_back({operand.arg, operand.direction, argument,
                        pd.query_md(dnnl::query::exec_arg_md, argument)});
  }
  return operands;
}

PrimitiveOperand WrittenWorkspace(const dnnl::memory::desc& desc) {
  return {Arg::kWorkspace, Direction::kOut, DNNL_ARG_WORKSPACE, desc,
          Layout::Opaque("onednn-workspace", desc.get_size(), Intern(desc))};
}

std::optional<Refusal> ReadWorkspace(const KernelRequest& request, const dnnl::memory::desc& desc,
                                     std::vector<PrimitiveOperand>& operands) {
  PrimitiveOperand workspace = WrittenWorkspace(desc);
  workspace.direction = Direction::kIn;
  const Layout settled = request.LayoutOf(Arg::kWorkspace);
  if (!settled.is_any() && settled != *workspace.layout) {
    if (!desc.is_zero()) {
      return Refusal{fmt::format("oneDNN's {} cannot read the workspace in layout {}",
                                 request.op->kind(), settled.tag())};
    }
    workspace.layout = settled;
  }
  operands.push_back(std::move(workspace));
  return std::nullopt;
}

PrimitiveKernel::PrimitiveKernel(const KernelRequest& request, std::string implementation,
                                 const dnnl::memory::desc& scratchpad,
                                 std::vector<PrimitiveOperand> operands,
                                 std::function<dnnl::primitive()> make)
    : threads_(request.threads),
      scratchpad_desc_(scratchpad),
      primitive_operands_(std::move(operands)),
      make_(std::move(make)),
      stream_(Engine()) {
  implementation_ = std::move(implementation);
  isa_ = IsaOf(implementation_);
  run_scratch_bytes_ = scratchpad_desc_.get_size();
  for (const PrimitiveOperand& operand : primitive_operands_) {
    if (Find(operand.arg) != nullptr) continue;  // the primitive uses it in two roles
    const auto declared = request.op->Find(request.execution, operand.arg);
    const Shape shape = declared ? declared->shape : ShapeOf(operand.desc);
    // A tensor of another rank (a broadcast bias) holds the operation's operand in row-major order.
    const bool same_rank = Dims(shape).size() == DimsOf(operand.desc).size();
    const auto own = [&] {
      return same_rank ? ToLayout(operand.desc) : Layout::Plain(shape.rank());
    };
    operands_.push_back(
        {operand.arg,
         operand.direction,
         {shape, operand.desc.is_zero() ? declared.value().type : ToDataType(TypeOf(operand.desc)),
          operand.layout ? *operand.layout : own()},
         declared ? declared->unread : 0});
  }
}

void PrimitiveKernel::Prepare(const std::map<Arg, void*>& memory) {
  if (!primitive_) {
    const ThreadWidth width(threads_);
    primitive_ = make_();
  }
  const auto shared_scratch = memory.find(Arg::kScratch);
  if (shared_scratch == memory.end() && scratchpad_.data() == nullptr) {
    scratchpad_ = AlignedMemory(run_scratch_bytes_);
  }
  memories_.clear();
  arguments_.clear();
  const auto bind = [this](int dnnl_arg, const dnnl::memory::desc& desc, void* data) {
    memories_.emplace_back(desc, Engine(), data);
    arguments_.push_back({dnnl_arg, memories_.back().get()});
  };
  for (const PrimitiveOperand& operand : primitive_operands_) {
    bind(operand.dnnl_arg, operand.desc, memory.at(operand.arg));
  }
  bind(DNNL_ARG_SCRATCHPAD, scratchpad_desc_,
       shared_scratch == memory.end() ? scratchpad_.data() : shared_scratch->second);
}

// oneDNN's generated code keeps whole vectors on the stack without aligning them. So the time of
// some stages depends on where in a cache line the stack is, and with it on the size of the
// environment (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
// 2009): a gradient of ReLU on AVX-512 took 107, 184 or 230 us. Here every call has the same place:
// 16 bytes below the start of a line, one of the two fastest of four places for oneDNN 2.6.3; no
// other stage of GoogLeNet depends on it.
[[gnu::noinline]] void Execute(const dnnl::primitive& primitive, const dnnl::stream& stream,
                               std::span<const dnnl_exec_arg_t> arguments) {
  alignas(64) char line[64];
  volatile std::size_t shift = 32;  // volatile, or the compiler moves the shift into the frame
  void* const shifted = __builtin_alloca(shift);
  asm volatile("" : : "r"(line), "r"(shifted) : "memory");
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
  if (status != dnnl_success) RecordRunFailure("dnnl_primitive_execute", status);
}

void PrimitiveKernel::Run() noexcept { Execute(primitive_, stream_, arguments_); }

namespace {

Layout Nchw(const Shape& shape, bool /*chooses*/) { return Layout::Plain(shape.rank()); }
Layout Nhwc(const Shape& shape, bool /*chooses*/) { return Layout::ChannelsLast(shape.rank()); }
// oneDNN's choice for an operation that chooses its layouts. For an operation that keeps its
// source's layout: the layout that a convolution before it would produce.
Layout PreferredOrBlocked(const Shape& /*shape*/, bool chooses) {
  return chooses ? Layout::Any() : BlockedActivations();
}

const std::vector<DataType>& FloatingPoint() {
  static const std::vector<DataType> types = {DataType::kF32, DataType::kBF16};
  return types;
}
// oneDNN's int8 kernels need channels-last tensors or a layout of its own choice. For other layouts
// oneDNN runs plain loops.
const std::vector<DataType>& All() {
  static const std::vector<DataType> types = {DataType::kF32, DataType::kBF16, DataType::kU8,
                                              DataType::kS8};
  return types;
}

const VariantRegistration kVariants[] = {
    VariantRegistration(
        {.name = "onednn", .backend = "onednn", .types = All(), .activations = PreferredOrBlocked}),
    VariantRegistration({.name = "onednn-nchw",
                         .backend = "onednn",
                         .types = FloatingPoint(),
                         .activations = Nchw}),
    VariantRegistration(
        {.name = "onednn-nhwc", .backend = "onednn", .types = All(), .activations = Nhwc}),
};

}  // namespace

}  // namespace topdnn::onednn
