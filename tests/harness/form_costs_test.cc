// Benchmarks of instruction forms: how they are encoded, and costs that hold on every CPU.

#include "harness/hot/form_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/hot/form_benchmark.h"
#include "harness/hot/instruction_form.h"
#include "harness/hot/known_form_costs.h"
#include "tests/process/test_folder.h"

namespace topdnn {
namespace {

Cpu SomeCpu(int stepping) {
  Cpu cpu;
  cpu.vendor = "AuthenticAMD";
  cpu.brand = "some \"CPU\"";
  cpu.stepping = stepping;
  return cpu;
}

FormCosts SomeCosts() {
  FormCosts costs;
  costs.dispatch_width = 6;
  costs.load = 0.5;
  costs.forms["add g64 i"] = {.units = {0.25, 0.25}, .alone = 0.25, .latency = 1};
  costs.forms["vmovups y m256"] = {.units = {0.25}, .alone = 0.5, .latency = std::nullopt};
  return costs;
}

TEST(KnownFormCosts, AreThoseOfTheCpu) {
  const TestFolder home;
  const CacheFolder folder(home.path());
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)).dispatch_width, 0);
  EXPECT_EQ(StoreFormCosts(folder, SomeCpu(1), SomeCosts()), "");
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)), SomeCosts());
  EXPECT_TRUE(ReadFormCosts(folder, SomeCpu(2)).forms.empty());
}

TEST(KnownFormCosts, KeepWhatOthersAdded) {
  const TestFolder home;
  const CacheFolder folder(home.path());
  StoreFormCosts(folder, SomeCpu(1), SomeCosts());
  FormCosts other = SomeCosts();
  other.forms = {{"dec g64", {.units = {0.25}, .alone = 0.25, .latency = 1}}};
  StoreFormCosts(folder, SomeCpu(1), other);
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)).forms.size(), 3U);
}

FormCosts CostsOfBzhi(double width) {
  FormCosts costs;
  costs.dispatch_width = width;
  costs.load = 0.5;
  costs.forms["bzhi g64 g64 g64"] = {.units = {2 / width}, .alone = 1, .latency = 1};
  return costs;
}

// A run beside other work reads half of the width of 6.
TEST(KnownFormCosts, AreThoseOfTheWiderRun) {
  const TestFolder home;
  const CacheFolder folder(home.path());
  StoreFormCosts(folder, SomeCpu(1), CostsOfBzhi(3));
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)), CostsOfBzhi(3));
  StoreFormCosts(folder, SomeCpu(1), SomeCosts());
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)), SomeCosts());
  StoreFormCosts(folder, SomeCpu(1), CostsOfBzhi(3));
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)), SomeCosts());
}

TEST(KnownFormCosts, KeepTheirSlotsIfTheWidthScatters) {
  const auto slots = [](const FormCosts& costs, const char* form) {
    return costs.forms.at(form).units[kDispatchUnit] * costs.dispatch_width;
  };
  for (const double width : {5.8, 6.2}) {
    FormCosts costs = SomeCosts();  // of 6 a cycle
    AddMeasured(CostsOfBzhi(width), costs);
    EXPECT_EQ(costs.dispatch_width, std::max(width, 6.0));
    EXPECT_DOUBLE_EQ(slots(costs, "bzhi g64 g64 g64"), 2);
    EXPECT_DOUBLE_EQ(slots(costs, "add g64 i"), 1.5);
  }
}

TEST(KnownFormCosts, IgnoreADamagedFile) {
  const TestFolder home;
  const CacheFolder folder(home.path());
  for (const char* text : {"", "[", "{\"schema\": 2}", "{\"schema\": 2, \"cpus\": {\"x\": 3}}"}) {
    folder.Update(kFormCostsFile, [&](const auto&) { return text; });
    EXPECT_TRUE(ReadFormCosts(folder, SomeCpu(1)).forms.empty()) << text;
  }
  StoreFormCosts(folder, SomeCpu(1), SomeCosts());
  const std::string text = *folder.Read(kFormCostsFile);
  const auto negative = text.find("\"alone\":0.25");
  ASSERT_NE(negative, std::string::npos);
  folder.Update(kFormCostsFile, [&](const auto&) {
    return text.substr(0, negative) + "\"alone\":-1" + text.substr(negative + 12);
  });
  EXPECT_EQ(ReadFormCosts(folder, SomeCpu(1)).forms.size(), 1U);
}

#if defined(__x86_64__)

Instruction DecodedOf(std::vector<std::uint8_t> bytes) {
  PrepareDecoder();
  bytes.resize(2 * ZYDIS_MAX_INSTRUCTION_LENGTH);
  Instruction i;
  Decode(AddressOf(static_cast<const std::uint8_t*>(bytes.data())), &i);
  return i;
}

const Instruction& Fma() {  // vfmadd231ps ymm0, ymm8, ymm9
  static const Instruction fma = DecodedOf({0xc4, 0xc2, 0x3d, 0xb8, 0xc1});
  return fma;
}

TEST(FormBenchmark, EncodesWithOtherRegistersAndAddresses) {
  const auto third = EncodeCopy(Fma(), 3, RegistersOfForms(CopyUse::kAlone));
  // vfmadd231ps ymm3, ymm12, ymm13
  EXPECT_EQ(third, (MachineCode{0xc4, 0xc2, 0x1d, 0xb8, 0xdd}));
  const auto chained = EncodeCopy(Fma(), 3, RegistersOfForms(CopyUse::kChain));
  // vfmadd231ps ymm0, ymm0, ymm12
  EXPECT_EQ(chained, (MachineCode{0xc4, 0xc2, 0x7d, 0xb8, 0xc4}));
  // mov byte ptr [rdi], sil: mov byte ptr [rdi+64], r12b
  const auto store =
      EncodeCopy(DecodedOf({0x40, 0x88, 0x37}), 1, RegistersOfForms(CopyUse::kAlone));
  EXPECT_EQ(store, (MachineCode{0x44, 0x88, 0x67, 0x40}));
  // xor eax, eax stays one: xor r9d, r9d
  EXPECT_EQ(EncodeCopy(DecodedOf({0x31, 0xc0}), 1, RegistersOfForms(CopyUse::kAlone)),
            (MachineCode{0x45, 0x31, 0xc9}));
  // movups xmm2, [rsi+rcx]: the address without the index
  const auto load =
      EncodeCopy(DecodedOf({0x0f, 0x10, 0x14, 0x0e}), 1, RegistersOfForms(CopyUse::kAlone));
  EXPECT_EQ(load, (MachineCode{0x0f, 0x10, 0x4e, 0x40}));
}

TEST(FormCosts, OfAMultiplyAdd) {
  FormCosts costs;
  const FormExamples examples = {{FormOf(Fma()), Fma()},
                                 {"idiv g64", DecodedOf({0x48, 0xf7, 0xf9})},  // never run
                                 {"vmovups y m256", DecodedOf({0xc5, 0xfc, 0x10, 0x06})}};
  const std::string why = MeasureFormCosts(examples, costs);
  if (!why.empty()) GTEST_SKIP() << why;
  ASSERT_EQ(costs.forms.size(), 2U);
  const FormCost& fma = costs.forms.at("vfmadd231ps y y y");
  ASSERT_TRUE(fma.latency);
  // Every CPU with FMA starts one a cycle or more, and takes 4 or 5 cycles for each.
  EXPECT_GT(*fma.latency, 2 * fma.alone);
  EXPECT_GT(fma.units[kFmaUnit], 0);
  EXPECT_GT(fma.units[kDispatchUnit], 0);
  const FormCost& load = costs.forms.at("vmovups y m256");
  EXPECT_FALSE(load.latency);  // its result is no address
  EXPECT_GT(load.units[kVectorLoadUnit], 0);
  EXPECT_GT(costs.dispatch_width, 1);
  EXPECT_LT(costs.dispatch_width, 20);
}

// Of a width that no core has: what this run measures was measured beside other work, or the file
// was.
TEST(FormCosts, BesideOtherWorkAreUsedAndNotKept) {
  const TestFolder home;
  const CacheFolder folder(home.path());
  const FormExamples examples = {{FormOf(Fma()), Fma()}};
  for (const double width : {30.0, 0.01}) {
    const Cpu cpu = IdentifyCpu();
    folder.Update(kFormCostsFile, [](const auto&) { return ""; });
    StoreFormCosts(folder, cpu, CostsOfBzhi(width));
    std::string why;
    const FormCosts costs = CostsOfForms(folder, examples, &why);
    if (!why.empty()) GTEST_SKIP() << why;
    EXPECT_EQ(costs.forms.size(), 2U);
    EXPECT_GT(costs.forms.at(FormOf(Fma())).units[kDispatchUnit] * costs.dispatch_width, 0.99);
    EXPECT_NEAR(costs.forms.at("bzhi g64 g64 g64").units[kDispatchUnit] * costs.dispatch_width, 2,
                1e-9);
    const FormCosts kept = ReadFormCosts(folder, cpu);
    EXPECT_EQ(kept.forms.size(), 1U);
    EXPECT_EQ(kept.forms.contains(FormOf(Fma())), width < 1);
    EXPECT_EQ(kept.dispatch_width, costs.dispatch_width);
  }
  folder.Update(kFormCostsFile, [](const auto&) { return ""; });
  StoreFormCosts(folder, IdentifyCpu(), CostsOfBzhi(1000));
  EXPECT_TRUE(ReadFormCosts(folder, IdentifyCpu()).forms.empty()) << "such a file is damaged";
}

#endif  // __x86_64__

}  // namespace
}  // namespace topdnn
