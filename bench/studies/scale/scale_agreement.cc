#include "bench/studies/scale/scale_agreement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/command_line/command.h"
#include "bench/command_line/ending.h"
#include "bench/machine/libraries.h"
#include "harness/machine/cpu.h"
#include "harness/machine/cpu_set.h"
#include "harness/machine/machine.h"
#include "harness/text/text.h"

namespace topdnn {

namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const RankIdentity& rank) {
  Json json = {{"host", rank.host}, {"cpus", rank.cpus}, {"threads", rank.threads}};
  json["same"] = Json::array();
  for (const auto& [name, value] : rank.same) json["same"].push_back({name, value});
  return json;
}

RankIdentity IdentityOf(const Json& json) {
  RankIdentity rank;
  rank.host = json["host"];
  rank.cpus = json["cpus"].get<std::vector<int>>();
  rank.threads = json["threads"];
  for (const Json& pair : json["same"]) rank.same.emplace_back(pair[0], pair[1]);
  return rank;
}

// The message and the exit status of a failed setup.
std::pair<std::string, int> ExplainFailure(const std::exception_ptr& failure) {
  if (failure == nullptr) return {"", kExitGood};
  Ending ending = EndingOf(failure);
  return {std::move(ending.line), ending.status};
}

}  // namespace

int CpusOfNode() { return static_cast<int>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

RankIdentity DescribeRank(int threads) {
  RankIdentity rank;
  rank.host = HostName();
  rank.cpus = AllowedCpus().cpus;
  rank.threads = threads;
  const Cpu cpu = IdentifyCpu();
  rank.same.emplace_back("CPU", fmt::format("{} (family {}, model {}, stepping {})", cpu.brand,
                                            cpu.family, cpu.model, cpu.stepping));
  const Json versions = LibraryVersions();
  for (const auto& [library, value] : versions.items()) {
    if (!value.is_object()) {
      rank.same.emplace_back(library, value.dump());
      continue;
    }
    for (const auto& [name, text] : value.items()) {
      rank.same.emplace_back(fmt::format("{} {}", library, name),
                             text.is_string() ? text.get<std::string>() : text.dump());
    }
  }
  rank.same.emplace_back("build", BuildIds().front());
  rank.same.emplace_back("command line", CommandLine());
  rank.same.emplace_back("threads", fmt::format("{}", threads));
  return rank;
}

std::string DifferenceOf(const std::vector<RankIdentity>& ranks) {
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    const auto& own = ranks[rank].same;
    const auto& first = ranks[0].same;
    for (std::size_t i = 0; i < std::max(own.size(), first.size()); ++i) {
      if (i < own.size() && i < first.size() && own[i] == first[i]) continue;
      const auto text = [i](const auto& same) {
        return i < same.size() ? same[i].second : std::string("none");
      };
      return fmt::format(
          "scale: rank {} on {} differs from rank 0 on {} in {}: '{}', not '{}'; start the same "
          "program on equal nodes",
          rank, ranks[rank].host, ranks[0].host, i < first.size() ? first[i].first : own[i].first,
          text(own), text(first));
    }
  }
  return "";
}

std::string OversubscriptionOf(const std::vector<RankIdentity>& ranks) {
  std::map<std::string, int> threads;
  std::map<std::string, std::set<int>> cpus;
  for (const RankIdentity& rank : ranks) {
    threads[rank.host] += rank.threads;
    cpus[rank.host].insert(rank.cpus.begin(), rank.cpus.end());
  }
  for (const auto& [host, count] : threads) {
    if (count <= std::ssize(cpus[host])) continue;
    return fmt::format(
        "{} threads of the ranks share {} on {}: the times are not those of ranks with their own "
        "CPUs",
        count, CountText(std::ssize(cpus[host]), "CPU"), host);
  }
  return "";
}

std::vector<RankIdentity> Agree(Transport& transport, const RankIdentity& own,
                                const std::exception_ptr& failure) {
  const auto [error, status] = ExplainFailure(failure);
  const std::vector<std::string> texts =
      transport.Gather(Json{{"error", error}, {"status", status}, {"rank", ToJson(own)}}.dump(
          -1, ' ', false, Json::error_handler_t::replace));
  std::vector<RankIdentity> ranks;
  std::string message;
  int worst = kExitGood;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Json json = Json::parse(texts[i]);
    ranks.push_back(IdentityOf(json["rank"]));
    const std::string reason = json["error"];
    if (reason.empty() || !message.empty()) continue;
    worst = json["status"];
    message = i == 0 ? reason : fmt::format("rank {} on {}: {}", i, ranks.back().host, reason);
  }
  if (message.empty()) {
    message = DifferenceOf(ranks);
    if (!message.empty()) worst = kExitUsage;
  }
  if (message.empty()) return ranks;
  throw Refused{worst, transport.rank() == 0 ? message : ""};
}

}  // namespace topdnn
