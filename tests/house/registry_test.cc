// Everything that registers itself is present. If the linker drops a registration object, its
// operation, network or counter source is missing without any message.

#include "kernels/kernel/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/counters/source.h"
#include "kernels/kernel/native.h"

namespace topdnn {
namespace {

// The operations of a training step of `cnn`; each listed backend has all of them, or topdnn's own
// code serves it.
constexpr const char* kOperations[] = {
    "conv", "pool", "inner_product", "relu", "softmax_cross_entropy", "sgd", "adam", "reorder"};
constexpr const char* kBackends[] = {"onednn", "openblas", "reference"};

TEST(RegistryTest, EveryOperationOfATrainingStepIsOnEachBackend) {
  const auto registered = RegisteredKernels();
  for (const char* operation : kOperations) {
    for (const char* backend : kBackends) {
      EXPECT_THAT(registered, testing::Contains(testing::Pair(
                                  operation, testing::AnyOfArray(WithNative(backend)))));
    }
  }
}

TEST(RegistryTest, EveryOperationHasAReference) {
  const auto registered = RegisteredKernels();
  for (const auto& [operation, backend] : registered) {
    EXPECT_THAT(registered, testing::Contains(testing::Pair(operation, "reference"))) << backend;
  }
}

TEST(RegistryTest, BackendsAreThoseOfTheRegisteredKernels) {
  EXPECT_THAT(Backends(), testing::IsSupersetOf(kBackends));
}

TEST(RegistryTest, CounterSourcesAreNamedAndSorted) {
  const std::vector<SourceOffer>& sources = CounterSources();
  EXPECT_FALSE(sources.empty());
  for (const SourceOffer& source : sources) {
    EXPECT_FALSE(source.name.empty());
    EXPECT_FALSE(source.what.empty()) << source.name;
    EXPECT_NE(source.probe, nullptr) << source.name;
    EXPECT_NE(source.open, nullptr) << source.name;
  }
  EXPECT_TRUE(std::is_sorted(sources.begin(), sources.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST(RegistryTest, EverySourceWorksOrGivesTheReason) {
  for (const SourceOffer& source : CounterSources()) {
    const Availability availability = source.probe();
    EXPECT_TRUE(availability.works || !availability.reason.empty()) << source.name;
  }
}

}  // namespace
}  // namespace topdnn
