#include "bench/studies/corun/corun_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <sstream>

#include "bench/command_line/command.h"
#include "bench/command_line/command_words.h"
#include "bench/command_line/nearest.h"
#include "bench/workload/network_source.h"
#include "harness/sharing/probe_member.h"
#include "harness/text/parse_number.h"
#include "kernels/kernel/registry.h"

namespace topdnn {

namespace {

[[noreturn]] void Refuse(const std::string& words, const std::string& why) {
  throw UsageError(fmt::format("workload '{}': {}", words, why));
}

std::int64_t NumberOf(const std::string& words, const std::string& key, const std::string& text,
                      std::int64_t least, std::int64_t most) {
  const auto value = ParseNumber<std::int64_t>(text);
  if (!(value >= least && value <= most)) {
    Refuse(words,
           fmt::format("{} {}: must be a whole number from {} to {}", key, text, least, most));
  }
  return *value;
}

// "0,2" or "0-3".
std::vector<int> CpusOf(const std::string& words, const std::string& text) {
  constexpr std::int64_t kMostCpu = 65535;
  std::vector<int> cpus;
  for (const std::string& part : SplitAtCommas(text)) {
    const std::size_t dash = part.find('-');
    const std::int64_t first = NumberOf(words, "cpus", part.substr(0, dash), 0, kMostCpu);
    const std::int64_t last = dash == std::string::npos
                                  ? first
                                  : NumberOf(words, "cpus", part.substr(dash + 1), first, kMostCpu);
    for (std::int64_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  if (std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end()) {
    Refuse(words, fmt::format("cpus {}: names a CPU twice", text));
  }
  return cpus;
}

void CheckProbe(const std::string& probe) {
  std::vector<std::string> names;
  for (const ProbeLoad& load : ProbeLoads()) names.push_back(load.name);
  CheckName("probe", probe, names);
}

class WordsParser {
 public:
  explicit WordsParser(const std::string& words) : all_(words) {
    std::istringstream stream(words);
    for (std::string word; stream >> word;) words_.push_back(word);
    result_.words = fmt::format("{}", fmt::join(words_, " "));
  }

  CorunWorkload Parse() {
    if (words_.empty()) Refuse(all_, "is empty: give NET train|infer, probe NAME or command ...");
    if (Peek() == "cpus") TakeSetting({"cpus"});
    const std::string what = Take("NET, probe or command");
    if (what == "command") return ParseCommand();
    if (what == "probe") {
      result_.probe = Take("the name of a probe");
      CheckProbe(result_.probe);
      while (!AtEnd()) TakeSetting({"threads", "cpus"});
    } else {
      ParseNetwork(what);
    }
    return result_;
  }

 private:
  bool AtEnd() const { return next_ == words_.size(); }
  std::string Peek() const { return AtEnd() ? "" : words_[next_]; }
  std::string Take(const std::string& what) {
    if (AtEnd()) Refuse(result_.words, fmt::format("{} is missing at its end", what));
    return words_[next_++];
  }

  CorunWorkload ParseCommand() {
    if (AtEnd()) Refuse(result_.words, "the program is missing: give command PROGRAM ARGUMENT...");
    // The text as given: the shell reads its spaces and quotes.
    const std::size_t at = all_.find("command");
    result_.command = all_.substr(all_.find_first_not_of(" \t\n", at + 7));
    return result_;
  }

  void ParseNetwork(const std::string& network) {
    CheckNetworkName(network);
    result_.network.network = network;
    const std::string mode = Take("train or infer");
    if (mode != "train" && mode != "infer") {
      Refuse(result_.words, fmt::format("'{}': must be train or infer", mode));
    }
    result_.training = mode == "train";
    while (!AtEnd()) TakeSetting({"batch", "threads", "backend", "dtype", "size", "cpus"});
  }

  void TakeSetting(const std::vector<std::string>& known) {
    constexpr std::int64_t kMost = 1 << 20;
    const std::string key = Take("a setting");
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      Refuse(result_.words,
             fmt::format("no setting '{}'; there are: {}", key, fmt::join(known, " ")));
    }
    const std::string value = Take("the value of " + key);
    const auto number = [&](std::int64_t most) {
      return NumberOf(result_.words, key, value, 1, most);
    };
    if (key == "cpus") {
      result_.wish.cpus = CpusOf(result_.words, value);
    } else if (key == "threads") {
      result_.network.threads = static_cast<int>(number(kMaxThreads));
      result_.wish.threads = static_cast<std::size_t>(result_.network.threads);
    } else if (key == "batch") {
      result_.network.batch = number(kMost);
    } else if (key == "size") {
      result_.network.size = number(kMost);
    } else if (key == "backend") {
      CheckName("backend", value, Backends());
      result_.network.backend = value;
    } else {
      CheckName("dtype", value, {"f32", "bf16", "f16"});
      result_.network.dtype = value;
    }
  }

  std::string all_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  CorunWorkload result_;
};

}  // namespace

CorunWorkload ParseCorunWords(const std::string& words) { return WordsParser(words).Parse(); }

std::vector<CorunWorkload> ParseCorunList(const std::string& list) {
  std::vector<CorunWorkload> workloads;
  for (const std::string& part : SplitAtCommas(list)) {
    workloads.push_back(ParseCorunWords(part));
  }
  return workloads;
}

std::string CorunProbesText() {
  std::vector<std::string> texts;
  for (const ProbeLoad& load : ProbeLoads()) texts.push_back(load.name + " " + load.what);
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace topdnn
