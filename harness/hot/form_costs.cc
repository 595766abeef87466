#include "harness/hot/form_costs.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/hot/form_benchmark.h"
#include "harness/hot/instruction_form.h"

namespace topdnn {

std::string_view NameOf(CoreUnit unit) {
  constexpr std::array<std::string_view, kCoreUnits> kNames = {"dispatch",
                                                               "integer ALUs",
                                                               "loads",
                                                               "loads",
                                                               "stores",
                                                               "stores",
                                                               "FMA",
                                                               "FP adders",
                                                               "shuffles",
                                                               "vector ALUs",
                                                               "multiplier",
                                                               "mask registers",
                                                               "vector to integer",
                                                               "divider"};
  return kNames[unit];
}

void AddMeasured(const FormCosts& measured, FormCosts& costs) {
  constexpr double kSameWidth = 0.95;
  if (measured.dispatch_width < kSameWidth * costs.dispatch_width) return;
  if (costs.dispatch_width < kSameWidth * measured.dispatch_width) {
    costs = measured;
    return;
  }
  const double before = costs.dispatch_width;
  costs.dispatch_width = std::max(before, measured.dispatch_width);
  costs.load = measured.load;
  for (auto& [name, cost] : costs.forms) {
    cost.units[kDispatchUnit] *= before / costs.dispatch_width;
  }
  for (const auto& [name, cost] : measured.forms) {
    costs.forms[name] = cost;
    costs.forms[name].units[kDispatchUnit] *= measured.dispatch_width / costs.dispatch_width;
  }
}

#if defined(__x86_64__)

namespace {

// Instructions that keep one unit busy. With AVX-512 the vectors are 512 bits wide.
struct UnitProbe {
  CoreUnit unit;
  std::size_t count;
  std::vector<MachineCode> narrow, wide;
};

// The code of one instruction each, as assembled by GNU as 2.40.
const std::vector<UnitProbe>& Probes() {
  static const std::vector<UnitProbe> probes = {
      // xor rax, rax; mov rcx, r12: of 3 bytes each, because a line of 64 bytes with more
      // instructions is delivered more slowly at some places (5.3 a cycle instead of 5.9, Emerald
      // Rapids with the 2 bytes of xor eax, eax).
      {kDispatchUnit, 96, {{0x48, 0x31, 0xc0}, {0x4c, 0x89, 0xe1}}, {}},
      {kAluUnit, 64, {{0x48, 0x83, 0xc0, 0x01}}, {}},  // add rax, 1
      {kLoadUnit, 48, {{0x48, 0x8b, 0x06}}, {}},       // mov rax, [rsi]
      {kVectorLoadUnit,
       16,
       {{0xc5, 0xfc, 0x10, 0x06}},  // vmovups v, [rsi]
       {{0x62, 0xf1, 0x7c, 0x48, 0x10, 0x06}}},
      {kStoreUnit, 32, {{0x4c, 0x89, 0x27}}, {}},  // mov [rdi], r12
      {kVectorStoreUnit,
       8,
       {{0xc5, 0xfc, 0x11, 0x0f}},  // vmovups [rdi], v
       {{0x62, 0xf1, 0x7c, 0x48, 0x11, 0x0f}}},
      {kFmaUnit,
       16,
       {{0xc4, 0xe2, 0x75, 0xb8, 0xc2}},  // vfmadd231ps v, v, v
       {{0x62, 0xf2, 0x75, 0x48, 0xb8, 0xc2}}},
      {kFpAddUnit,
       16,
       {{0xc5, 0xf4, 0x58, 0xc2}},  // vaddps v, v, v
       {{0x62, 0xf1, 0x74, 0x48, 0x58, 0xc2}}},
      {kShuffleUnit,
       16,
       {{0xc5, 0xf4, 0xc6, 0xc2, 0x1b}},  // vshufps v, v, v, 27
       {{0x62, 0xf1, 0x74, 0x48, 0xc6, 0xc2, 0x1b}}},
      {kVectorIntegerUnit,
       32,
       {{0xc5, 0xf5, 0xfe, 0xc2}},  // vpaddd v, v, v
       {{0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2}}},
      {kMultiplyUnit, 16, {{0x49, 0x6b, 0xc4, 0x05}}, {}},  // imul rax, r12, 5
      {kMaskUnit, 16, {}, {{0xc5, 0xcc, 0x41, 0xef}}},      // kandw k5, k6, k7
      {kVectorToIntegerUnit,
       16,
       {{0xc5, 0xf9, 0x7e, 0xd0}},
       {{0x62, 0xf1, 0x7d, 0x08, 0x7e, 0xd0}}},  // vmovd eax, xmm2
      {kDivideUnit,
       3,
       {{0xc5, 0xf4, 0x5e, 0xc2}},  // vdivps v, v, v
       {{0x62, 0xf1, 0x74, 0x48, 0x5e, 0xc2}}},
  };
  return probes;
}

bool HasWideVectors() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

Instruction DecodedFrom(const MachineCode& code) {
  std::uint8_t padded[2 * ZYDIS_MAX_INSTRUCTION_LENGTH] = {};
  std::memcpy(padded, code.data(), code.size());
  Instruction i;
  Decode(AddressOf(static_cast<const std::uint8_t*>(padded)), &i);
  return i;
}

using Body = std::vector<MachineCode>;

// The body that keeps the unit busy; empty: this CPU has no such instruction.
Body BodyOf(const UnitProbe& probe) {
  const bool wide = HasWideVectors();
  const auto& code = wide && !probe.wide.empty() ? probe.wide : probe.narrow;
  Body body;
  for (std::size_t j = 0; j < probe.count && !code.empty(); ++j) {
    auto copy = EncodeCopy(DecodedFrom(code[j % code.size()]), j, RegistersOfProbes(wide));
    if (!copy) return {};
    body.push_back(*std::move(copy));
  }
  return body;
}

// `count` copies; empty if one cannot be encoded.
Body CopiesOf(const Instruction& form, std::size_t count, CopyUse use) {
  Body body;
  for (std::size_t j = 0; j < count; ++j) {
    auto copy = EncodeCopy(form, j, RegistersOfForms(use));
    if (!copy) return {};
    body.push_back(*std::move(copy));
  }
  return body;
}

// `few` spread evenly over `many`.
Body Woven(const Body& many, const Body& few) {
  Body body;
  std::size_t next = 0;
  for (std::size_t k = 0; k < many.size(); ++k) {
    for (; next < few.size() && next * many.size() <= k * few.size(); ++next) {
      body.push_back(few[next]);
    }
    body.push_back(many[k]);
  }
  body.insert(body.end(), few.begin() + static_cast<std::ptrdiff_t>(next), few.end());
  return body;
}

constexpr std::size_t kAloneCopies = 24, kChainCopies = 12, kBesideCopies = 4;
constexpr int kRounds = 8;

// The bodies of all measurements and where their cycles go.
class CostTable {
 public:
  explicit CostTable(const FormExamples& examples) {
    for (const UnitProbe& probe : Probes()) {
      Body body = BodyOf(probe);
      base_[probe.unit] = body.empty() ? kNone : Add(body);
      probes_.push_back({&probe, std::move(body)});
    }
    for (const auto& [name, form] : examples) AddForm(name, form);
  }

  const std::vector<Body>& bodies() const { return bodies_; }
  // All but the mask registers, which only AVX-512 has.
  bool HasEveryUnit() const {
    return std::all_of(probes_.begin(), probes_.end(), [](const Probed& probed) {
      return !probed.body.empty() || probed.probe->narrow.empty();
    });
  }

  FormCosts Read(const std::vector<double>& cycles) const {
    FormCosts costs;
    const auto base = [&](CoreUnit unit) { return cycles[base_[unit]]; };
    costs.dispatch_width = static_cast<double>(probes_[kDispatchUnit].probe->count) /
                           std::max(1.0, base(kDispatchUnit));
    costs.load = base(kLoadUnit) / static_cast<double>(probes_[kLoadUnit].probe->count);
    for (const Place& place : places_) {
      FormCost& cost = costs.forms[place.form];
      cost.alone = cycles[place.alone] / kAloneCopies;
      if (place.chain != kNone) cost.latency = cycles[place.chain] / kChainCopies;
      for (int u = 0; u < kCoreUnits; ++u) {
        if (place.beside[u] == kNone) continue;
        const double added = (cycles[place.beside[u]] - cycles[base_[u]]) / kBesideCopies;
        // No instruction takes more of a unit than by itself.
        cost.units[u] = added < kLeast ? 0 : std::min(added, cost.alone);
      }
      const double one = 1 / costs.dispatch_width;
      const double dispatched =
          (cycles[place.beside[kDispatchUnit]] - base(kDispatchUnit)) / kBesideCopies;
      cost.units[kDispatchUnit] =
          cost.alone < kOneOperation * one ? one : std::max(dispatched, one);
    }
    return costs;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  static constexpr double kLeast = 0.06;        // fewer cycles are noise
  static constexpr double kOneOperation = 1.8;  // at such a rate a form is one operation

  struct Probed {
    const UnitProbe* probe;
    Body body;
  };
  struct Place {
    std::string form;
    std::size_t alone = kNone, chain = kNone;
    std::array<std::size_t, kCoreUnits> beside = {};
  };

  std::size_t Add(Body body) {
    bodies_.push_back(std::move(body));
    return bodies_.size() - 1;
  }

  void AddForm(const std::string& name, const Instruction& form) {
    Body alone = CopiesOf(form, kAloneCopies, CopyUse::kAlone);
    const Body beside = CopiesOf(form, kBesideCopies, CopyUse::kBeside);
    if (alone.empty() || beside.empty()) return;
    Place place;
    place.form = name;
    place.alone = Add(std::move(alone));
    place.beside.fill(kNone);
    if (CanChain(form)) {
      Body chain = CopiesOf(form, kChainCopies, CopyUse::kChain);
      if (!chain.empty()) place.chain = Add(std::move(chain));
    }
    for (const Probed& probed : probes_) {
      if (!probed.body.empty()) place.beside[probed.probe->unit] = Add(Woven(probed.body, beside));
    }
    places_.push_back(std::move(place));
  }

  std::vector<Probed> probes_;
  std::array<std::size_t, kCoreUnits> base_ = {};
  std::vector<Body> bodies_;
  std::vector<Place> places_;
};

}  // namespace

std::string MeasureFormCosts(const FormExamples& examples, FormCosts& measured) {
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) {
    return "the costs of instructions are measured with AVX2 and FMA, which this CPU lacks";
  }
  PrepareDecoder();
  FormExamples runnable = examples;
  std::erase_if(runnable, [](const auto& example) { return !CanRunAlone(example.second); });
  const CostTable table(runnable);
  if (!table.HasEveryUnit()) return "the code that keeps a unit busy cannot be encoded";
  const FormBenchmarks benchmarks(table.bodies());
  if (!benchmarks.failure().empty()) return benchmarks.failure();
  measured = table.Read(benchmarks.Cycles(kRounds));
  return "";
}

#else

std::string MeasureFormCosts(const FormExamples&, FormCosts&) {
  return "the core model knows x86-64 code only";
}

#endif

}  // namespace topdnn
