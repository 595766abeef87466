// The functions of topdnn/harness.h: handles around the harness's own classes. No exception leaves
// one; its text is the thread's error.

#include "harness/c_api/topdnn/harness.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/c_api/process_counters.h"
#include "harness/c_api/profile_report.h"
#include "harness/c_api/step_meter.h"
#include "harness/counters/clock.h"
#include "harness/counters/source.h"
#include "harness/report/json.h"
#include "harness/text/errors.h"
#include "harness/text/style.h"

struct topdnn_counts {
  std::vector<std::string> names;
  std::vector<topdnn::EventCount> counts;
};

struct topdnn_counters {
  topdnn::ProcessCounters counters;
};

struct topdnn_profile {
  topdnn::StepMeter meter;
  std::string command, program;
};

namespace {

std::string& Error() {
  thread_local std::string error;
  return error;
}

// body(), or `failed` if it throws.
template <class Result, class Body>
Result Guarded(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    try {
      Error() = e.what();
    } catch (const std::exception&) {
      // without memory for the text, the last one stays
    }
    return failed;
  }
}

template <class Body>
std::int32_t Done(const Body& body) noexcept {
  return Guarded(-1, [&] {
    body();
    return 0;
  });
}

const topdnn::TickClock& Clock() {
  static const topdnn::TickClock clock = topdnn::BestClock();
  return clock;
}

std::string TextOf(const char* text) { return text == nullptr ? "" : text; }

char* Copied(const std::string& text) {
  char* const copy = strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

topdnn_profile& Of(topdnn_profile* profile) {
  if (profile == nullptr) throw topdnn::InputError("the profile is NULL: it was not opened");
  return *profile;
}

topdnn_counters& Of(topdnn_counters* counters) {
  if (counters == nullptr) throw topdnn::InputError("the counters are NULL: they were not opened");
  return *counters;
}

// The counts that the counter source `exact` makes.
topdnn_counts* Count(void (*function)(void*), void* argument) {
  for (const topdnn::SourceOffer& offer : topdnn::CounterSources()) {
    if (offer.name != "exact") continue;
    const topdnn::Availability available = offer.probe();
    if (!available.works) {
      throw topdnn::InputError("no exact counts on this machine: " + available.reason +
                               (available.remedy.empty() ? "" : "; " + available.remedy));
    }
    const std::unique_ptr<topdnn::CounterSource> source = offer.open();
    std::vector<std::uint64_t> before(source->slots());
    std::vector<std::uint64_t> after(source->slots());
    source->Read(before.data());
    source->Run(function, argument);
    source->Read(after.data());
    auto counts = std::make_unique<topdnn_counts>();
    counts->names = source->events();
    counts->counts = source->Fold(before, after);
    return counts.release();
  }
  throw std::logic_error("this library has no exact counter");
}

}  // namespace

std::int32_t topdnn_harness_abi() { return TOPDNN_HARNESS_ABI; }

const char* topdnn_version() { return TOPDNN_VERSION; }

const char* topdnn_error() { return Error().c_str(); }

std::uint64_t topdnn_now() { return Clock().now(); }

double topdnn_seconds_between(std::uint64_t from, std::uint64_t to) {
  return Clock().SecondsBetween(from, to).value_or(-1);
}

const char* topdnn_clock() { return Clock().name.data(); }

std::size_t topdnn_counts_size(const topdnn_counts* counts) {
  return counts == nullptr ? 0 : counts->names.size();
}

const char* topdnn_counts_name(const topdnn_counts* counts, std::size_t index) {
  return index < topdnn_counts_size(counts) ? counts->names[index].c_str() : nullptr;
}

std::int32_t topdnn_counts_value(const topdnn_counts* counts, std::size_t index, double* value) {
  if (index >= topdnn_counts_size(counts) || !counts->counts[index].value) return 0;
  if (value != nullptr) *value = *counts->counts[index].value;
  return 1;
}

const char* topdnn_counts_reason(const topdnn_counts* counts, std::size_t index) {
  return index < topdnn_counts_size(counts) ? counts->counts[index].reason.c_str() : nullptr;
}

void topdnn_counts_free(topdnn_counts* counts) { delete counts; }

topdnn_counts* topdnn_count(void (*function)(void*), void* argument) {
  return Guarded<topdnn_counts*>(nullptr, [&] {
    if (function == nullptr) throw topdnn::InputError("there is no function to count");
    return Count(function, argument);
  });
}

topdnn_counters* topdnn_counters_open(const char* const* events, std::size_t count) {
  return Guarded<topdnn_counters*>(nullptr, [&] {
    std::vector<std::string> names;
    if (events == nullptr) count = 0;
    for (std::size_t i = 0; i < count; ++i) names.push_back(TextOf(events[i]));
    return new topdnn_counters{topdnn::ProcessCounters(names)};
  });
}

std::int32_t topdnn_counters_start(topdnn_counters* counters) {
  return Done([&] { Of(counters).counters.Start(); });
}

topdnn_counts* topdnn_counters_stop(topdnn_counters* counters) {
  return Guarded<topdnn_counts*>(nullptr, [&] {
    auto counts = std::make_unique<topdnn_counts>();
    counts->names = Of(counters).counters.events();
    counts->counts = Of(counters).counters.Stop();
    return counts.release();
  });
}

void topdnn_counters_close(topdnn_counters* counters) { delete counters; }

topdnn_profile* topdnn_profile_open(const topdnn_profile_options* options) {
  return Guarded<topdnn_profile*>(nullptr, [&] {
    topdnn_profile_options given = {};
    if (options != nullptr) {
      std::memcpy(&given, options, std::min<std::size_t>(options->size, sizeof given));
    }
    std::optional<double> empty;
    if (given.empty_seconds > 0) empty = given.empty_seconds;
    return new topdnn_profile{topdnn::StepMeter(given.seconds > 0 ? given.seconds : 1, empty),
                              TextOf(given.command), TextOf(given.program)};
  });
}

void topdnn_profile_close(topdnn_profile* profile) { delete profile; }

std::int32_t topdnn_profile_stage(topdnn_profile* profile, const char* name, const char* pass) {
  return Guarded(-1, [&] { return Of(profile).meter.Stage(TextOf(name), TextOf(pass)); });
}

std::int32_t topdnn_profile_next(topdnn_profile* profile) {
  return Guarded(-1, [&] { return Of(profile).meter.Next() ? 1 : 0; });
}

std::int32_t topdnn_step_begin(topdnn_profile* profile) {
  return Done([&] { Of(profile).meter.BeginStep(); });
}

std::int32_t topdnn_step_end(topdnn_profile* profile) {
  return Done([&] { Of(profile).meter.EndStep(); });
}

std::int32_t topdnn_stage_begin(topdnn_profile* profile, std::int32_t stage) {
  return Done([&] { Of(profile).meter.BeginStage(stage); });
}

std::int32_t topdnn_stage_end(topdnn_profile* profile) {
  return Done([&] { Of(profile).meter.EndStage(); });
}

double topdnn_stage_seconds(const topdnn_profile* profile) {
  return profile == nullptr ? 0 : profile->meter.LastSeconds();
}

std::int64_t topdnn_profile_steps(const topdnn_profile* profile) {
  return profile == nullptr ? 0 : profile->meter.steps();
}

char* topdnn_profile_json(topdnn_profile* profile) {
  return Guarded<char*>(nullptr, [&] {
    topdnn_profile& own = Of(profile);
    return Copied(topdnn::JsonText(
        topdnn::ToJson(topdnn::ReportOfSteps(own.meter, own.command, own.program))));
  });
}

char* topdnn_profile_table(topdnn_profile* profile, std::int32_t width) {
  return Guarded<char*>(nullptr, [&] {
    topdnn_profile& own = Of(profile);
    topdnn::Style style{.unicode = true};
    if (width > 0) style.width = std::max(width, 40);
    style.cut = width > 0;
    return Copied(
        topdnn::TableOfSteps(topdnn::ReportOfSteps(own.meter, own.command, own.program), style));
  });
}

void topdnn_text_free(char* text) { std::free(text); }
