#include "kernels/onednn.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <mutex>
#include <numeric>

#include "kernels/run_failure.h"
#include "kernels/variant.h"

namespace topdnn::onednn {

namespace {

using DnnlType = dnnl::memory::data_type;

constexpr std::array<std::pair<DataType, DnnlType>, 6> kTypes = {{
    {DataType::kF32, DnnlType::f32},
    {DataType::kBF16, DnnlType::bf16},
    {DataType::kF16, DnnlType::f16},
    {DataType::kS32, DnnlType::s32},
    {DataType::kS8, DnnlType::s8},
    {DataType::kU8, DnnlType::u8},
}};

DnnlType ToDnnlType(DataType type) {
  for (const auto& [data_type, dnnl_type] : kTypes) {
    if (data_type == type) return dnnl_type;
  }
  throw dnnl::error(dnnl_unimplemented, "no such element type");
}

// Sets the outer strides, in elements, of a densely packed blocked tensor with the dimensions in
// `order`, outermost first.
void SetStrides(const std::vector<int>& order, dnnl_memory_desc_t& desc) {
  auto& blocking = desc.format_desc.blocking;
  std::array<dnnl_dim_t, DNNL_MAX_NDIMS> block;
  block.fill(1);
  dnnl_dim_t stride = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    block[blocking.inner_idxs[i]] *= blocking.inner_blks[i];
    stride *= blocking.inner_blks[i];
  }
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    const auto d = static_cast<std::size_t>(*dimension);
    desc.padded_dims[d] = (desc.dims[d] + block[d] - 1) / block[d] * block[d];
    blocking.strides[d] = stride;
    stride *= desc.padded_dims[d] / block[d];
  }
}

// The descriptor of a letter tag with any blocking. oneDNN names only the common tags.
dnnl::memory::desc BlockedDesc(const dnnl::memory::dims& dims, DnnlType type,
                               const std::string& tag) {
  dnnl::memory::desc result(dims, type, dnnl::memory::dims{});
  dnnl_memory_desc_t& desc = result.data;
  auto& blocking = desc.format_desc.blocking;
  std::vector<int> order;
  std::size_t at = 0;
  for (; at < tag.size() && std::isalpha(static_cast<unsigned char>(tag[at])) != 0; ++at) {
    order.push_back(std::tolower(static_cast<unsigned char>(tag[at])) - 'a');
  }
  blocking.inner_nblks = 0;
  while (at < tag.size()) {
    if (blocking.inner_nblks == DNNL_MAX_NDIMS) {
      throw dnnl::error(dnnl_unimplemented, "too many blocks");
    }
    std::size_t digits = 0;
    blocking.inner_blks[blocking.inner_nblks] = std::stoll(tag.substr(at), &digits);
    blocking.inner_idxs[blocking.inner_nblks++] = tag[at + digits] - 'a';
    at += digits + 1;
  }
  SetStrides(order, desc);
  return result;
}

// The letter tag of a densely packed blocked descriptor. Empty when no tag defines the positions of
// its elements.
std::string TagOf(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& data = desc.data;
  if (data.format_kind != dnnl_blocked || data.extra.flags != 0 || data.offset0 != 0) return {};
  const auto& blocking = data.format_desc.blocking;
  std::vector<int> order(static_cast<std::size_t>(data.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  std::string blocks;
  std::array<dnnl_dim_t, DNNL_MAX_NDIMS> block;
  block.fill(1);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    const auto dimension = static_cast<std::size_t>(blocking.inner_idxs[i]);
    block[dimension] *= blocking.inner_blks[i];
    blocks += std::to_string(blocking.inner_blks[i]) + static_cast<char>('a' + dimension);
  }
  std::string tag;
  for (const int dimension : order) {
    const bool blocked = block[static_cast<std::size_t>(dimension)] > 1;
    tag += static_cast<char>((blocked ? 'A' : 'a') + dimension);
  }
  dnnl_memory_desc_t packed = data;
  SetStrides(order, packed);
  for (int d = 0; d < data.ndims; ++d) {
    // The stride of a dimension with a single block has no meaning.
    const bool counts = data.padded_dims[d] > block[static_cast<std::size_t>(d)];
    if (packed.padded_dims[d] != data.padded_dims[d]) return {};
    if (counts && packed.format_desc.blocking.strides[d] != blocking.strides[d]) return {};
  }
  return tag + blocks;
}

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

// oneDNN's code for AVX2 uses FMA without checking for it, and an emulated CPU may have AVX2
// without FMA. This runs before main, because oneDNN's first primitive fixes the ISA.
[[maybe_unused]] const bool kLimitedToAvx = [] {
  __builtin_cpu_init();
  const bool lacks_fma = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") == 0;
  return lacks_fma && dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx) == dnnl_success;
}();

std::string EffectiveIsa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::all:  // an ISA below those that oneDNN names
      return "sse2";
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2";
    default:
      return "avx512";
  }
}

Shape ShapeOf(const dnnl::memory::desc& desc) {
  return Shape(std::vector<std::int64_t>(desc.dims()));
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
  return BlockedDesc(dims, type, desc.layout.tag());
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

DataType ToDataType(dnnl::memory::data_type type) {
  for (const auto& [data_type, dnnl_type] : kTypes) {
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
                                                                       {"sse41", "sse41"}}) {
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

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Refusal RefusalOf(const KernelRequest& request, const dnnl::error& error) {
  const dnnl_version_t* version = dnnl_version();
  return {fmt::format("oneDNN {}.{}.{} has no such {} {} in {} ({})", version->major,
                      version->minor, version->patch, request.op->kind(),
                      NameOf(request.execution.pass), NameOf(request.execution.type),
                      error.message)};
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
    const bool same_rank = Dims(shape).size() == operand.desc.dims().size();
    const Layout own = same_rank ? ToLayout(operand.desc) : Layout::Plain(shape.rank());
    operands_.push_back(
        {operand.arg,
         operand.direction,
         {shape,
          operand.desc.is_zero() ? declared.value().type : ToDataType(operand.desc.data_type()),
          operand.layout ? *operand.layout : own}});
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

void PrimitiveKernel::Run() noexcept {
  const dnnl_status_t status = dnnl_primitive_execute(
      primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) RecordRunFailure("dnnl_primitive_execute", status);
}

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
