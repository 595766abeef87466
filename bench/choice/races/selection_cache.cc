#include "bench/choice/races/selection_cache.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/machine/libraries.h"
#include "harness/machine/cpu.h"
#include "harness/text/one_line.h"
#include "harness/user_cache/cache_folder.h"

namespace topdnn {

namespace {

constexpr int kSchema = 1;
// A cache takes some kilobytes; a larger file than this is not a cache.
constexpr std::uintmax_t kMaxBytes = 64U << 20;
constexpr std::size_t kMaxOfReason = 120;  // characters: a parser may quote all of its input

// Throws nlohmann::json::exception or std::runtime_error if the file is not a cache.
std::map<SelectionKey, RememberedSelection> Parse(const std::string& path) {
  if (std::filesystem::file_size(path) > kMaxBytes) throw std::runtime_error("it is too large");
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  if (json.at("schema").get<int>() != kSchema) throw std::runtime_error("another schema");
  std::map<SelectionKey, RememberedSelection> known;
  for (const auto& [machine, selections] : json.at("machines").items()) {
    for (const auto& [problem, s] : selections.items()) {
      RememberedSelection selection{s.at("variant").get<std::string>(),
                                    s.at("against").get<std::string>(),
                                    s.at("gain").get<double>(),
                                    s.at("error").get<double>(),
                                    {}};
      if (s.contains("layers")) s.at("layers").get_to(selection.layers);
      if (!std::isfinite(selection.gain)) throw std::runtime_error("a gain that is not a number");
      known.insert_or_assign({problem, machine}, std::move(selection));
    }
  }
  return known;
}

std::string TextOf(const std::map<SelectionKey, RememberedSelection>& known) {
  nlohmann::ordered_json json = {{"schema", kSchema},
                                 {"machines", nlohmann::ordered_json::object()}};
  for (const auto& [key, selection] : known) {
    auto& entry = json["machines"][key.machine][key.problem];
    entry = {{"variant", selection.variant},
             {"against", selection.against},
             {"gain", selection.gain},
             {"error", selection.error}};
    if (!selection.layers.empty()) entry["layers"] = selection.layers;
  }
  return json.dump(1) + "\n";
}

}  // namespace

SelectionKey SelectionKey::Here(std::string problem) {
  static const std::string machine = [] {
    const Cpu cpu = IdentifyCpu();
    return fmt::format("{} {}/{}/{} {}", cpu.vendor, cpu.family, cpu.model, cpu.stepping,
                       LibraryVersions().dump());
  }();
  return {std::move(problem), machine};
}

SelectionKey SelectionKey::Of(const Op& op, const Execution& execution, int threads) {
  return Here(fmt::format("{}/{}/{}{}/{}/t{}", op.kind(), op.Problem(), NameOf(execution.pass),
                          execution.training ? "" : "-inference", NameOf(execution.type), threads));
}

SelectionCache::SelectionCache(std::string path) : path_(std::move(path)) {
  if (!Read()) Store([] {});
}

SelectionCache& SelectionCache::OfUser() {
  static SelectionCache cache(UserPath());
  return cache;
}

std::string SelectionCache::UserPath() {
  const std::filesystem::path folder = CacheFolder::OfUser().path();
  return folder.empty() ? std::string() : (folder / kSelectionFile).string();
}

bool SelectionCache::Read() {
  std::error_code error;
  if (path_.empty() || !std::filesystem::exists(path_, error)) return true;
  try {
    for (auto& [key, selection] : Parse(path_)) known_.insert_or_assign(key, selection);
    return true;
  } catch (const std::exception& failure) {
    const std::string why = OneLine(failure.what()).substr(0, kMaxOfReason);
    WarnOnce(fmt::format("{}: not a cache of selections ({}); it is replaced", path_, why));
    return false;
  }
}

void SelectionCache::Store(const std::function<void()>& change) {
  if (path_.empty()) return;
  const std::filesystem::path path(path_);
  const std::string why = CacheFolder(path.parent_path())
                              .Update(path.filename(), [&](const std::optional<std::string>&) {
                                Read();  // the entries of other processes, under the lock
                                change();
                                return TextOf(known_);
                              });
  if (!why.empty()) WarnOnce(fmt::format("selections are not stored: {}", why));
}

void SelectionCache::WarnOnce(const std::string& line) {
  if (!warned_) fmt::print(stderr, "topdnn: {}\n", OneLine(line));
  warned_ = true;
}

std::optional<RememberedSelection> SelectionCache::Find(const SelectionKey& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void SelectionCache::Add(const SelectionKey& key, const RememberedSelection& selection) {
  const auto add = [&] { known_.insert_or_assign(key, selection); };
  Store(add);
  add();
}

}  // namespace topdnn
