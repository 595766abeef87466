// What limits a row of a trace: its Top-Down on a simulated PMU, and bounds from counts that are
// given.

#include "bench/replay/row_topdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/log/read/trace.h"
#include "bench/profile/limits/stage_bounds.h"
#include "bench/replay/measured_trace.h"
#include "bench/replay/trace_report.h"
#include "harness/exact/counter.h"
#include "tests/bench/timed_pmu.h"

namespace topdnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kConvolutionLog =
    "onednn_verbose,exec,cpu,convolution,jit:avx2,forward_training,src_f32::blocked:abcd:f0 "
    "wei_f32::blocked:abcd:f0 bia_undef::undef::f0 dst_f32::blocked:abcd:f0,,"
    "alg:convolution_direct,mb2_ic16oc32_ih14oh14kh3sh1dh0ph1_iw14ow14kw3sw1dw0pw1,1.5\n";
constexpr const char* kUnmeasuredLog =
    "onednn_verbose,exec,cpu,rnn,ref:any,forward_inference,src_layer_f32::blocked:abc:f0,,"
    "alg:vanilla_rnn,l1t2mb3sic4slc4dhc4dic4,0.25\n";

MeasuredTrace MeasuredLog(const std::string& log, const RowCounting& counting) {
  TraceReader reader;
  reader.Add(log);
  MeasuredTrace trace = TranslateTrace(reader.Finish());
  TraceMeasuring options;
  options.seconds = 0.02;
  options.alternatives = 0;
  options.counting = counting;
  MeasureRows(options, trace);
  return trace;
}

// By hand: 12 slots in two cycles, of which 6 retire, 3 are lost to the back end and 2 to the front
// end; the last is that of bad speculation.
TEST(RowTopdownTest, IsThatOfThePmu) {
  const OpenedPerf opened = OpenTimedPmu();
  ASSERT_TRUE(opened.source) << opened.availability.reason;
  const MeasuredTrace trace =
      MeasuredLog(std::string(kConvolutionLog) + kUnmeasuredLog,
                  {.sources = {opened.source.get()}, .table = &FindTopdownTable("zen4")});
  ASSERT_EQ(trace.rows.size(), 2u);
  ASSERT_TRUE(trace.rows[0].hot) << trace.rows[0].reason;
  const Record& hot = *trace.rows[0].hot;
  ASSERT_TRUE(hot.topdown);
  EXPECT_NEAR(hot.topdown->at("Retiring").value(), 6.0 / 12, 0.02);
  EXPECT_NEAR(hot.topdown->at("Backend_Bound").value(), 3.0 / 12, 0.02);
  EXPECT_NEAR(hot.topdown->at("Frontend_Bound").value(), 2.0 / 12, 0.02);
  EXPECT_NEAR(hot.topdown->at("Bad_Speculation").value(), 1.0 / 12, 0.02);
  EXPECT_GT(hot.events.at("ex_ret_ops").value(), 0);
  // Only the hot runs are counted, and nothing was counted exactly.
  EXPECT_FALSE(trace.rows[0].cold->topdown);
  EXPECT_FALSE(hot.topdown_bounds);
  EXPECT_EQ(hot.bounds_reason, "");
  ASSERT_THAT(trace.notes, Not(IsEmpty()));
  EXPECT_THAT(trace.notes[0], HasSubstr("Top-Down of zen4"));

  const nlohmann::ordered_json json = TraceJson(trace);
  EXPECT_EQ(json["notes"][0], trace.notes[0]);
  EXPECT_EQ(json["rows"][0]["topdown"]["Retiring"], hot.topdown->at("Retiring").value());
  EXPECT_TRUE(json["rows"][0]["topdown_bounds"].is_null());
  EXPECT_FALSE(json["rows"][1].contains("topdown"));  // it was not measured
  const std::string text = TraceText(trace, /*all=*/false, Style{.width = 160});
  EXPECT_THAT(text, AllOf(HasSubstr("Top-Down %"), HasSubstr("note: Top-Down of zen4")));
  // Of the one row that was measured, and of no step.
  EXPECT_THAT(text, Not(HasSubstr("\nstep ")));
}

TEST(RowTopdownTest, WithoutATableOrCountsItIsAbsent) {
  const OpenedPerf opened = OpenTimedPmu();
  ASSERT_TRUE(opened.source) << opened.availability.reason;
  const MeasuredTrace trace = MeasuredLog(kConvolutionLog, {.sources = {opened.source.get()}});
  ASSERT_TRUE(trace.rows[0].hot) << trace.rows[0].reason;
  EXPECT_FALSE(trace.rows[0].hot->topdown);
  EXPECT_GT(trace.rows[0].hot->events.at("ex_ret_ops").value(), 0);
  EXPECT_FALSE(OpenTimedPmu(ENOENT).source);
  const MeasuredTrace uncounted =
      MeasuredLog(kConvolutionLog, {.sources = {}, .table = &FindTopdownTable("zen4")});
  ASSERT_TRUE(uncounted.rows[0].hot) << uncounted.rows[0].reason;
  EXPECT_FALSE(uncounted.rows[0].hot->topdown);
  EXPECT_THAT(uncounted.rows[0].hot->events, IsEmpty());
  EXPECT_EQ(TraceText(uncounted, true, Style{}).find("Top-Down"), std::string::npos);
}

// A row that was counted exactly has bounds, or a reason; never both. On a machine that is not
// quiet, it is a reason.
TEST(RowTopdownTest, AnExactCountGivesBoundsOrAReason) {
  if (!ExactCounter::Probe().works) GTEST_SKIP() << ExactCounter::Probe().reason;
  std::unique_ptr<CounterSource> exact;
  for (const SourceOffer& offer : CounterSources()) {
    if (offer.name == "exact") exact = offer.open();
  }
  ASSERT_TRUE(exact);
  const MeasuredTrace trace =
      MeasuredLog(std::string(kConvolutionLog) + kUnmeasuredLog, RowCounting::Here({exact.get()}));
  ASSERT_TRUE(trace.rows[0].hot) << trace.rows[0].reason;
  const Record& hot = *trace.rows[0].hot;
  EXPECT_GT(hot.events.at("exact/instructions").value(), 0);
  EXPECT_NE(hot.topdown_bounds.has_value(), !hot.bounds_reason.empty()) << hot.bounds_reason;
  // The clock and the rates were read around the row.
  EXPECT_THAT(hot.bounds_reason, Not(HasSubstr("clock")));
  EXPECT_THAT(hot.bounds_reason, Not(HasSubstr("rates of the cores were not")));
  EXPECT_FALSE(trace.rows[0].cold->topdown_bounds);
  const nlohmann::ordered_json row = TraceJson(trace)["rows"][0];
  EXPECT_NE(row["topdown_bounds"].is_null(), row["topdown_bounds_reason"].is_null());
  EXPECT_EQ(row["topdown_bounds_basis"].is_null(), row["topdown_bounds"].is_null());
  EXPECT_THAT(TraceText(trace, false, Style{.width = 200}), HasSubstr("Top-Down bounds"));
}

// A machine of six slots, at 1 GHz, whose measured rates did not spread.
BoundsMachine QuietMachine() {
  BoundsMachine machine;
  CoreRates rates;
  rates.slots = 6;
  rates.mispredict_cycles = 15;
  rates.link_cycles = 10;
  rates.spreads = {{"slots", 0.0}};
  machine.rates = rates;
  machine.pipeline.slots = 6;
  machine.pipeline.source = "a test";
  machine.seen.core_hertz_before = machine.seen.core_hertz_after = 1e9;
  machine.regime = "isolated-hot";
  return machine;
}

// A million cycles in which three million instructions retire, none of which may share a slot.
Record HotRecord() {
  Record record;
  record.regime = "isolated-hot";
  record.seconds = Summary{.median = 1e-3, .min = 1e-3, .p90 = 1e-3, .n = 9};
  for (const char* name :
       {"openmp_instructions", "slow_instructions", "fusible_instructions", "instruction_bytes",
        "conditional_branches", "indirect_branches", "openmp_branches", "branches_taken",
        "system_calls", "loads", "stores", "load_bytes", "store_bytes", "code_bytes"}) {
    record.events[std::string("exact/") + name] = 0;
  }
  record.events["exact/instructions"] = 3e6;
  return record;
}

TEST(RowBoundsTest, AreThoseOfTheCountsAndTheHotTime) {
  Record record = HotRecord();
  AddBounds(QuietMachine(), record);
  ASSERT_TRUE(record.topdown_bounds) << record.bounds_reason;
  // The clock is known to 2 %: 3e6 instructions in 6 * 1.02e6 slots.
  EXPECT_NEAR(record.topdown_bounds->at("Retiring").low, 3.0 / 6.12, 1e-9);
  EXPECT_EQ(record.bounds_reason, "");
  // Twice the time has twice the slots.
  Record slower = HotRecord();
  slower.seconds->median = 2e-3;
  AddBounds(QuietMachine(), slower);
  ASSERT_TRUE(slower.topdown_bounds) << slower.bounds_reason;
  EXPECT_NEAR(slower.topdown_bounds->at("Retiring").low, 3.0 / 12.24, 1e-9);
}

// Core complexes of 32 MiB each: the memory's roof applies to what the threads' caches cannot hold.
TEST(RowBoundsTest, DependOnAllLastCachesThatTheThreadsUse) {
  const auto dram_applies = [](int threads, std::int64_t mebibytes) {
    BoundsMachine machine = QuietMachine();
    machine.rates->threads = threads;
    machine.caches = {{3, "unified", 32 << 20, 64, 8, 16}};
    Record record = HotRecord();
    record.flops = 1e6;
    record.bytes = static_cast<double>(mebibytes << 20);
    AddBounds(machine, record);
    return record.roofline.value().dram_applies;
  };
  EXPECT_FALSE(dram_applies(1, 32));
  EXPECT_TRUE(dram_applies(1, 48));
  EXPECT_FALSE(dram_applies(2, 48));
  EXPECT_TRUE(dram_applies(2, 65));
  EXPECT_FALSE(dram_applies(64, 256));
}

struct MissingDatum {
  const char* name;
  void (*remove)(BoundsMachine& machine, Record& record);
  const char* reason;
};

class RowWithoutBoundsTest : public testing::TestWithParam<MissingDatum> {};

TEST_P(RowWithoutBoundsTest, HasTheReason) {
  BoundsMachine machine = QuietMachine();
  Record record = HotRecord();
  GetParam().remove(machine, record);
  AddBounds(machine, record);
  EXPECT_FALSE(record.topdown_bounds);
  EXPECT_THAT(record.bounds_reason, HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Data, RowWithoutBoundsTest,
    testing::Values(
        MissingDatum{"Rates", [](BoundsMachine& machine, Record&) { machine.rates.reset(); },
                     "rates of the cores were not recorded"},
        MissingDatum{"Clock",
                     [](BoundsMachine& machine, Record&) { machine.seen.core_hertz_after.reset(); },
                     "core clock is not known"},
        MissingDatum{
            "Count",
            [](BoundsMachine&, Record& record) { record.events["exact/loads"] = std::nullopt; },
            "a count that the bounds need is absent"},
        MissingDatum{"Table",
                     [](BoundsMachine& machine, Record&) { machine.pipeline = CorePipeline{}; },
                     "pipeline are not known"},
        MissingDatum{"Quiet",
                     [](BoundsMachine&, Record& record) { record.status = Status::kDegraded; },
                     "the record is DEGRADED"},
        // The clock was read around another run than that of the record.
        MissingDatum{"Run", [](BoundsMachine& machine, Record&) { machine.regime = "in-network"; },
                     "core clock was not read around"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace topdnn
