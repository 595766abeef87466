// A name that is registered twice is a mistake of the program: one of the two entries would never
// be used.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "kernels/kernel/registry.h"
#include "kernels/kernel/variant.h"
#include "kernels/op/element.h"
#include "kernels/op/problem.h"
#include "kernels/op/registrations.h"

namespace topdnn {
namespace {

using testing::ElementsAre;

TEST(RegistrationsTest, HoldsItsEntriesSortedByName) {
  Registrations<std::string, int> list("number");
  EXPECT_EQ(list.Find("one"), nullptr);
  EXPECT_THAT(list.Keys(), ElementsAre());
  EXPECT_THAT(list.Values(), ElementsAre());
  list.Add("two", 2);
  list.Add("one", 1);
  ASSERT_NE(list.Find("two"), nullptr);
  EXPECT_EQ(*list.Find("two"), 2);
  EXPECT_EQ(list.Find("three"), nullptr);
  EXPECT_THAT(list.Keys(), ElementsAre("one", "two"));
  EXPECT_THAT(list.Values(), ElementsAre(1, 2));
}

TEST(RegistrationsTest, RefusesADuplicateAndNamesIt) {
  Registrations<std::string, int> list("number");
  list.Add("one", 1);
  try {
    list.Add("one", 2);
    FAIL() << "the duplicate was accepted";
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "the number one is registered twice: remove or rename one");
  }
  EXPECT_EQ(*list.Find("one"), 1);
}

KernelOrRefusal RefuseAll(const KernelRequest& /*request*/) { return Refusal{"a test's"}; }

TEST(RegistrationTest, ANameIsRegisteredOnce) {
  EXPECT_THROW(KernelRegistration("relu", "reference", RefuseAll), std::logic_error);
  EXPECT_THROW(ProblemRegistration("relu", nullptr), std::logic_error);
  EXPECT_THROW(VariantRegistration({.name = "onednn", .backend = "onednn"}), std::logic_error);
  EXPECT_THROW(ElementRegistration("conv", nullptr), std::logic_error);
}

TEST(RegistrationTest, TheFirstRegistrationStays) {
  EXPECT_THROW(KernelRegistration("relu", "reference", RefuseAll), std::logic_error);
  const auto op = ParseProblem("relu/8");
  EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(
      MakeKernel("reference", {op, {Pass::kForward}, 1, {}, ""})));
}

}  // namespace
}  // namespace topdnn
