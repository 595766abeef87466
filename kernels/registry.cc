#include "kernels/registry.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <set>
#include <stdexcept>

namespace topdnn {

namespace {

using Makers = std::map<std::pair<std::string, std::string>, KernelMaker>;

// Registration objects fill it before main, in any order. Therefore it is a function-local object.
Makers& TheMakers() {
  static Makers makers;
  return makers;
}

// Why an operand is beyond what a library is known to get right: generated code addresses elements
// with 32-bit offsets in places. The reference counts in 64 bits throughout.
std::string TooLarge(std::string_view backend, const Op& op, const Execution& execution) {
  if (backend == "reference") return {};
  for (const Operand& operand : op.Operands(execution)) {
    if (operand.shape.elements() <= std::numeric_limits<std::int32_t>::max()) continue;
    return fmt::format("{} has {} elements as {}, and {} is trusted up to 2^31 - 1",
                       operand.shape.ToString(), operand.shape.elements(), NameOf(operand.arg),
                       backend);
  }
  return {};
}

}  // namespace

KernelRegistration::KernelRegistration(std::string_view kind, std::string_view backend,
                                       KernelMaker maker) {
  if (!TheMakers().emplace(std::pair{std::string(kind), std::string(backend)}, maker).second) {
    throw std::logic_error(fmt::format("{} has two kernels on {}: remove one", kind, backend));
  }
}

KernelOrRefusal MakeKernel(std::string_view backend, const KernelRequest& request) {
  const auto found = TheMakers().find({std::string(request.op->kind()), std::string(backend)});
  if (found == TheMakers().end()) {
    return Refusal{fmt::format("backend {} has no {}", backend, request.op->kind())};
  }
  if (!request.op->Has(request.execution)) {
    return Refusal{
        fmt::format("{} has no pass {}", request.op->kind(), NameOf(request.execution.pass))};
  }
  if (std::string why = TooLarge(backend, *request.op, request.execution); !why.empty()) {
    return Refusal{std::move(why)};
  }
  return found->second(request);
}

std::vector<std::string> Backends() {
  std::set<std::string> names;
  for (const auto& [key, maker] : TheMakers()) names.insert(key.second);
  return {names.begin(), names.end()};
}

std::vector<std::pair<std::string, std::string>> RegisteredKernels() {
  std::vector<std::pair<std::string, std::string>> keys;
  for (const auto& [key, maker] : TheMakers()) keys.push_back(key);
  return keys;
}

}  // namespace topdnn
