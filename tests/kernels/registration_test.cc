// A name that is registered twice is a mistake of the program's: one of the two would never run.

#include <gtest/gtest.h>

#include <stdexcept>

#include "kernels/element.h"
#include "kernels/problem.h"
#include "kernels/registry.h"
#include "kernels/variant.h"

namespace topdnn {
namespace {

KernelOrRefusal RefuseAll(const KernelRequest& /*request*/) { return Refusal{"a test's"}; }

TEST(RegistrationTest, ANameIsRegisteredOnce) {
  EXPECT_THROW(KernelRegistration("relu", "reference", RefuseAll), std::logic_error);
  EXPECT_THROW(ProblemRegistration("relu", nullptr), std::logic_error);
  EXPECT_THROW(VariantRegistration({.name = "onednn", .backend = "onednn"}), std::logic_error);
}

TEST(RegistrationTest, TheFirstStays) {
  EXPECT_THROW(KernelRegistration("relu", "reference", RefuseAll), std::logic_error);
  const auto op = ParseProblem("relu/8");
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(
      MakeKernel("reference", {op, {Pass::kForward}, 1, {}, ""})));
}

}  // namespace
}  // namespace topdnn
