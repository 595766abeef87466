#include "kernels/onednn.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <array>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>

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
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  throw dnnl::error(dnnl_unimplemented, "no such element type");
}

struct NamedTag {
  std::string name;
  dnnl::memory::format_tag tag;
};

// Every letter tag that oneDNN knows, by rank, in its order (plain ones first). The enumeration
// itself is the source, so a newer oneDNN brings its new tags along.
const std::vector<NamedTag>& TagsOfRank(int rank) {
  static const auto* by_rank = [] {
    auto* tags = new std::array<std::vector<NamedTag>, DNNL_MAX_NDIMS + 1>();
    for (int value = dnnl_format_tag_any + 1; value < dnnl_format_tag_last; ++value) {
      const std::string name = dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(value));
      if (!Layout::Parse(name)) continue;
      std::size_t letters = 0;
      while (letters < name.size() && (std::isalpha(static_cast<unsigned char>(name[letters])))) {
        ++letters;
      }
      if (letters <= DNNL_MAX_NDIMS) {
        (*tags)[letters].push_back({name, static_cast<dnnl::memory::format_tag>(value)});
      }
    }
    return tags;
  }();
  return (*by_rank)[static_cast<std::size_t>(rank)];
}

struct BytewiseLess {
  bool operator()(const dnnl::memory::desc& a, const dnnl::memory::desc& b) const {
    return std::memcmp(&a.data, &b.data, sizeof(a.data)) < 0;
  }
};

// One shared descriptor for all equal ones, so that equal opaque layouts compare equal.
std::shared_ptr<const void> Intern(const dnnl::memory::desc& desc) {
  static std::mutex mutex;
  static auto* interned =
      new std::map<dnnl::memory::desc, std::shared_ptr<const void>, BytewiseLess>();
  const std::lock_guard<std::mutex> lock(mutex);
  auto& entry = (*interned)[desc];
  if (entry == nullptr) entry = std::make_shared<const dnnl::memory::desc>(desc);
  return entry;
}

std::string EffectiveIsa() {
  switch (dnnl::get_effective_cpu_isa()) {
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
  for (const NamedTag& candidate : TagsOfRank(static_cast<int>(dims.size()))) {
    if (candidate.name == desc.layout.tag()) return {dims, type, candidate.tag};
  }
  throw dnnl::error(dnnl_unimplemented, "no such layout");
}

dnnl::memory::desc DescOf(const KernelRequest& request, Arg arg) {
  const std::optional<Operand> operand = request.op->Find(request.execution, arg);
  if (!operand) return {};
  return ToMemoryDesc({operand->shape, operand->type, request.LayoutOf(arg)});
}

DataType ToDataType(dnnl::memory::data_type type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  throw dnnl::error(dnnl_unimplemented, "no such element type");
}

Layout ToLayout(const dnnl::memory::desc& desc) {
  const auto rank = static_cast<int>(desc.dims().size());
  for (const NamedTag& candidate : TagsOfRank(rank)) {
    if (dnnl::memory::desc(desc.dims(), desc.data_type(), candidate.tag, true) == desc) {
      return *Layout::Parse(candidate.name);
    }
  }
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
  scratch_bytes_ = scratchpad_desc_.get_size();
  for (const PrimitiveOperand& operand : primitive_operands_) {
    const auto declared = request.op->Find(request.execution, operand.arg);
    const Shape shape = declared ? declared->shape : ShapeOf(operand.desc);
    operands_.push_back({operand.arg,
                         operand.direction,
                         {shape, ToDataType(operand.desc.data_type()), ToLayout(operand.desc)}});
  }
}

void PrimitiveKernel::Prepare(const std::map<Arg, void*>& memory) {
  if (!primitive_) {
    const ThreadWidth width(threads_);
    primitive_ = make_();
    scratchpad_ = AlignedMemory(scratchpad_desc_.get_size());
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
  bind(DNNL_ARG_SCRATCHPAD, scratchpad_desc_, scratchpad_.data());
}

void PrimitiveKernel::Run() noexcept {
  dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                         arguments_.data());
}

}  // namespace topdnn::onednn
