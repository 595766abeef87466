#include "bench/benchdnn/benchdnn_batch.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "bench/benchdnn/benchdnn_descriptor.h"
#include "bench/benchdnn/benchdnn_drivers.h"
#include "bench/command_line/command.h"
#include "bench/command_line/nearest.h"
#include "harness/text/one_line.h"
#include "harness/text/split_text.h"

namespace topdnn {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostDepth = 16;
constexpr std::size_t kMostFiles = 1'000;
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

// Options about how benchdnn measures and checks. They do not change the problems.
constexpr std::string_view kIgnored =
    "allow-enum-tags-only allow-unimpl attr-same-pd-check attr-scratchpad canonical check-alg"
    " check-ref-impl cold-cache cpu-isa-hints ctx-exe ctx-init debug-check-ws execution-mode"
    " fast-ref fast-ref-gpu fix-times-per-prb global-impl global-skip-impl impl inplace"
    " max-ms-per-prb mem-check memory-kind mode mode-modifier num-streams perf-template"
    " repeats-per-prb skip-impl start stream-kind summary verbose";

struct Word {
  std::string text;
  std::int64_t line = 1;
};

// Words between white space. "#" at the start of a word begins a comment. A backslash at its end
// joins it with the next word.
std::vector<Word> WordsOf(std::string_view text) {
  std::vector<Word> words;
  std::int64_t line = 1;
  bool continued = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (c == '\n') ++line;
      ++at;
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) == 0) ++at;
    std::string_view word = text.substr(begin, at - begin);
    const bool joins_next = word.ends_with('\\');
    if (joins_next) word.remove_suffix(1);
    // (a backslash by itself joins the words beside it)
    if (!words.empty() && (continued || word.empty())) {
      words.back().text += word;
    } else {
      words.push_back({std::string(word), line});
    }
    continued = joins_next;
  }
  std::erase_if(words, [](const Word& word) { return word.text.empty(); });
  return words;
}

// The first word, without reading the others.
std::string_view FirstWord(std::string_view text) {
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    if (text.front() != '#') return text.substr(0, text.find_first_of(" \t\r\n\v\f"));
    text.remove_prefix(std::min(text.find('\n'), text.size()));
  }
}

// The name of the program, which lines in reports begin with.
bool IsProgram(std::string_view word) {
  return word == "benchdnn" || (word.ends_with("/benchdnn") && !word.starts_with('-'));
}

std::string Unquoted(std::string_view text) {
  std::string plain(text);
  std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
  return plain;
}

// The parts between semicolons that no quotes enclose.
std::vector<std::string> AttributeFields(std::string_view text) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : text) {
    if (c == '\'') quoted = !quoted;
    if (c == '"' || c == '\'') continue;
    if (c == ';' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

class BatchReader {
 public:
  // `lenient`: errors refuse problems, not the text.
  BatchReader(const BenchdnnFileReader& reader, bool lenient, std::size_t first)
      : reader_(reader), lenient_(lenient), first_(first) {}

  void Read(std::string_view text, const std::string& origin, bool is_file) {
    open_.push_back({origin, is_file, 1});
    if (open_.size() > kMostDepth || ++files_ > kMostFiles) {
      Refuse(fmt::format("more than {} files, or nested more than {} deep; include fewer",
                         kMostFiles, kMostDepth));
    }
    if (text.size() > kMostBytes) {
      Refuse(fmt::format("is larger than {} MiB; split it", kMostBytes >> 20));
    }
    for (const Word& word : WordsOf(text)) {
      if (IsFull()) break;
      open_.back().line = word.line;
      try {
        Take(word.text);
      } catch (const BenchdnnError& error) {
        if (!lenient_) Refuse(error.what());
        Note(word.text, error.what());
      }
    }
    open_.pop_back();
  }

  BenchdnnText TakeText() { return {std::move(rows_), std::move(refused_)}; }

 private:
  struct Open {
    std::string origin;
    bool is_file;
    std::int64_t line;
  };

  [[noreturn]] void Refuse(std::string_view why) const {
    const Open& place = open_.back();
    throw UsageError(fmt::format("{}, line {}: {}", OneLine(place.origin), place.line, why));
  }

  bool IsFull() const { return rows_.size() + refused_.size() >= first_; }

  // A problem is refused for itself. An option that is not understood refuses the problems for
  // which it is in force.
  void Note(std::string_view word, const std::string& why) {
    if (word.starts_with("--")) {
      misread_[std::string(word.substr(2, word.find('=') - 2))] = why;
      return;
    }
    const Open& place = open_.back();
    std::string reason = fmt::format("{}, line {}: {}", OneLine(place.origin), place.line, why);
    if (!refused_.empty() && refused_.back().reason == reason) return;
    const std::string_view driver = driver_ == nullptr ? "unknown" : driver_->name;
    refused_.push_back({fmt::format("{}/{}", driver, OneLine(word)), std::move(reason)});
  }

  void Take(std::string_view word) {
    if (IsProgram(word)) return;
    if (!word.starts_with('-')) return AddProblem(word);
    if (word.starts_with("-v")) return;
    if (!word.starts_with("--")) {
      throw BenchdnnError(
          fmt::format("'{}' is no option of benchdnn; options begin with --", OneLine(word)));
    }
    misread_.erase(std::string(word.substr(2, word.find('=') - 2)));
    word.remove_prefix(2);
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    if (equals != std::string_view::npos) return TakeOption(name, word.substr(equals + 1));
    if (const BenchdnnDriver* driver = FindBenchdnnDriver(name)) {
      driver_ = driver;
      Reset();
    } else if (name == "reset") {
      Reset();
    } else {
      std::vector<std::string> names = BenchdnnDriverNames();
      names.emplace_back("reset");
      RefuseOption(name, names, "driver of benchdnn");
    }
  }

  [[noreturn]] void RefuseOption(const std::string& name, const std::vector<std::string>& names,
                                 std::string_view what) const {
    const std::string nearest = NearestName(name, names);
    throw BenchdnnError(fmt::format("--{} is no {}; {}", OneLine(name), what,
                                    nearest.empty() ? "see the pages of benchdnn in oneDNN's tests"
                                                    : fmt::format("did you mean --{}?", nearest)));
  }

  // One value for each option: the default.
  void Reset() {
    values_.clear();
    misread_.clear();
    match_.clear();
    for (const BenchdnnOption& option : BenchdnnCommonOptions()) {
      values_[std::string(option.name)] = {std::string(option.value)};
    }
    if (driver_ == nullptr) return;
    for (const BenchdnnOption& option : driver_->options) {
      values_[std::string(option.name)] = {std::string(option.value)};
    }
  }

  void TakeOption(std::string name, std::string_view value) {
    static const std::vector<std::string_view> ignored = SplitText(kIgnored, " ");
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) return;
    if (name == "batch") return Include(Unquoted(value));
    if (name == "engine") {
      engine_ = OneLine(Unquoted(value.substr(0, value.find(':'))));
      return;
    }
    if (name == "match") {
      match_ = Unquoted(value);
      return;
    }
    FindDriver(fmt::format("the option --{}", OneLine(name)));
    if (driver_->row == nullptr) return;
    if (name == "attr") return TakeAttributes(value);
    if (!values_.contains(name)) std::replace(name.begin(), name.end(), '-', '_');
    if (!values_.contains(name)) {
      std::replace(name.begin(), name.end(), '_', '-');
      std::vector<std::string> names;
      for (const auto& [known, values] : values_) names.push_back(known);
      RefuseOption(name, names, fmt::format("option of benchdnn's driver {}", driver_->name));
    }
    // The newer of the two ways to give types counts.
    if (name == "dt" && driver_->Has("cfg")) values_["cfg"] = {""};
    std::vector<std::string> list;
    const std::string plain = Unquoted(value);
    // An empty value is the default again.
    if (plain.empty()) {
      values_[name] = {DefaultOf(name)};
      return;
    }
    for (const std::string_view one : SplitText(plain, ",")) list.emplace_back(one);
    values_[name] = std::move(list);
  }

  std::string DefaultOf(std::string_view name) const {
    for (const BenchdnnOption& option : driver_->options) {
      if (option.name == name) return std::string(option.value);
    }
    for (const BenchdnnOption& option : BenchdnnCommonOptions()) {
      if (option.name == name) return std::string(option.value);
    }
    return {};
  }

  // "post_ops='sum;relu';oscale=common:2" of oneDNN 1.
  void TakeAttributes(std::string_view value) {
    for (const std::string& field : AttributeFields(value)) {
      const std::size_t equals = field.find('=');
      if (equals == std::string::npos) {
        if (field.empty()) continue;
        throw BenchdnnError(fmt::format("--attr={} is not NAME=VALUE", OneLine(field)));
      }
      std::string name = "attr-" + field.substr(0, equals);
      std::replace(name.begin(), name.end(), '_', '-');
      if (!values_.contains(name)) {
        throw BenchdnnError(
            fmt::format("--attr has the unknown name {}; use post_ops", OneLine(name)));
      }
      values_[name] = {field.substr(equals + 1)};
    }
  }

  // The folder's name stands for a driver that is not given.
  void FindDriver(std::string_view what) {
    if (driver_ != nullptr) return;
    for (const Open& file : open_) {
      if (!file.is_file) continue;
      driver_ = FindBenchdnnDriver(fs::absolute(file.origin).parent_path().filename().string());
      if (driver_ != nullptr) return Reset();
    }
    throw BenchdnnError(
        fmt::format("{} has no driver; write --conv or another driver before it", what));
  }

  void Include(const std::string& name) {
    if (name.empty()) Refuse("--batch= names no file");
    fs::path path = name;
    if (open_.back().is_file) {
      if (path.is_absolute() || path.lexically_normal().begin()->string() == "..") {
        Refuse(fmt::format("--batch={} is outside of the file's folder; copy the file there",
                           OneLine(name)));
      }
      path = fs::path(open_.back().origin).parent_path() / path;
    }
    const std::string whole = path.string();
    for (const Open& file : open_) {
      if (file.is_file && fs::path(file.origin).lexically_normal() == path.lexically_normal()) {
        Refuse(fmt::format("--batch={} includes itself", OneLine(name)));
      }
    }
    std::string text;
    try {
      text = reader_(whole);
    } catch (const UsageError& error) {
      Refuse(error.what());
    }
    Read(text, whole, true);
  }

  // The problem with each combination of values.
  void AddProblem(std::string_view text) {
    FindDriver(fmt::format("the problem '{}'", OneLine(text)));
    if (!Matches(text)) return;
    if (!misread_.empty()) throw BenchdnnError(misread_.begin()->second);
    if (driver_->row == nullptr) return AddRow(text, {});
    std::size_t combinations = 1;
    for (const auto& [name, values] : values_) {
      combinations *= values.size();
      if (combinations > kMostBenchdnnProblems) break;
    }
    if (combinations + rows_.size() > kMostBenchdnnProblems && first_ >= kMostBenchdnnProblems) {
      Refuse(fmt::format("more than {} problems; give --first N, or shorten the lists of values",
                         kMostBenchdnnProblems));
    }
    // (refused problems do not fill the list)
    for (std::size_t i = 0; i < std::min(combinations, kMostBenchdnnProblems) && !IsFull(); ++i) {
      BenchdnnChoice choice;
      std::size_t rest = i;
      for (const auto& [name, values] : values_) {
        choice[name] = values[rest % values.size()];
        rest /= values.size();
      }
      AddRow(text, choice);
    }
  }

  void AddRow(std::string_view text, const BenchdnnChoice& choice) {
    if (rows_.size() == kMostBenchdnnProblems) {
      Refuse(fmt::format("more than {} problems; give --first N, or split the file",
                         kMostBenchdnnProblems));
    }
    try {
      rows_.push_back(BenchdnnRow(*driver_, choice, text));
    } catch (const BenchdnnError& error) {
      if (!lenient_) throw;
      Note(text, error.what());  // other combinations of values may be right
      return;
    }
    rows_.back().engine = engine_;
  }

  bool Matches(std::string_view text) const {
    if (match_.empty()) return true;
    regex_t expression;
    if (regcomp(&expression, match_.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
      throw BenchdnnError(fmt::format("--match={} is not a regular expression", OneLine(match_)));
    }
    const bool found = regexec(&expression, std::string(text).c_str(), 0, nullptr, 0) == 0;
    regfree(&expression);
    return found;
  }

  const BenchdnnFileReader& reader_;
  std::vector<Open> open_;
  std::size_t files_ = 0;  // read so far
  const BenchdnnDriver* driver_ = nullptr;
  std::map<std::string, std::vector<std::string>> values_;
  std::string match_;
  std::string engine_ = "cpu";
  const bool lenient_;
  const std::size_t first_;
  std::map<std::string, std::string> misread_;  // options in force that are not understood: why
  std::vector<TraceRow> rows_;
  std::vector<BenchdnnRefusal> refused_;
};

}  // namespace

bool IsBenchdnnText(std::string_view text) {
  const std::string_view first = FirstWord(text);
  if (first.starts_with("--") || IsProgram(first)) return true;
  // A name in quotes may have any characters.
  const std::string_view problem = first.substr(0, first.find('"'));
  return problem.find_first_of("/=") == std::string_view::npos &&
         std::any_of(problem.begin(), problem.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

std::vector<TraceRow> ParseBenchdnnText(std::string_view text, const std::string& origin,
                                        bool is_file, const BenchdnnFileReader& reader) {
  BatchReader batch(reader, /*lenient=*/false, kMostBenchdnnProblems + 1);
  batch.Read(text, origin, is_file);
  return std::move(batch.TakeText().rows);
}

BenchdnnText ParseBenchdnnFile(std::string_view text, const std::string& path,
                               const BenchdnnFileReader& reader, std::size_t first) {
  BatchReader batch(reader, /*lenient=*/true, first);
  batch.Read(text, path, /*is_file=*/true);
  return batch.TakeText();
}

}  // namespace topdnn
