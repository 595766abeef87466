#include "kernels/op/element.h"

#include <string>

#include "kernels/op/registrations.h"

namespace topdnn {

namespace {

constinit Registrations<std::string, ElementFunction> element_functions("element function");

}  // namespace

ElementRegistration::ElementRegistration(std::string_view kind, ElementFunction function) {
  element_functions.Add(std::string(kind), function);
}

ElementFunction FindElement(std::string_view kind) {
  const ElementFunction* function = element_functions.Find(kind);
  return function == nullptr ? nullptr : *function;
}

}  // namespace topdnn
