#include "kernels/element.h"

#include <stdexcept>
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
  if (!TheFunctions().emplace(std::string(kind), function).second) {
    throw std::logic_error("two element functions for " + std::string(kind) + ": remove one");
  }
}

ElementFunction FindElement(std::string_view kind) {
  const auto found = TheFunctions().find(kind);
  return found == TheFunctions().end() ? nullptr : found->second;
}

}  // namespace topdnn
