#include "kernels/element.h"

#include <string>

namespace topdnn {

namespace {

// Registration objects fill it before main, in any order. Therefore it is a function-local object.
std::map<std::string, ElementFunction, std::less<>>& TheFunctions() {
  static std::map<std::string, ElementFunction, std::less<>> functions;
  return functions;
}

}  // namespace

ElementRegistration::ElementRegistration(std::string_view kind, ElementFunction function) {
  TheFunctions().emplace(std::string(kind), function);
}

ElementFunction FindElement(std::string_view kind) {
  const auto found = TheFunctions().find(kind);
  return found == TheFunctions().end() ? nullptr : found->second;
}

}  // namespace topdnn
