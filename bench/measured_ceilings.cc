#include "bench/measured_ceilings.h"

#include <map>

namespace topdnn {

const std::vector<Ceiling>& MeasuredCeilings(int threads) {
  static auto* measured = new std::map<int, std::vector<Ceiling>>();
  auto& ceilings = (*measured)[threads];
  if (ceilings.empty()) ceilings = MeasureCeilings(threads);
  return ceilings;
}

const Ceiling* CeilingOfKernel(std::string_view isa, DataType type, int threads) {
  if (isa.empty()) return nullptr;
  // (the integer probes multiply u8 by s8, as the instructions do, and are named after s8)
  const std::string_view name = NameOf(type == DataType::kU8 ? DataType::kS8 : type);
  const Ceiling* ceiling = CeilingFor(MeasuredCeilings(threads), isa, name, threads);
  return ceiling != nullptr && ceiling->value ? ceiling : nullptr;
}

}  // namespace topdnn
