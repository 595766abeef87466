#include "harness/statistics/status.h"

#include <algorithm>

namespace topdnn {

std::string_view NameOf(Status status) {
  switch (status) {
    case Status::kOk:
      return "OK";
    case Status::kDegraded:
      return "DEGRADED";
    case Status::kInvalid:
      return "INVALID";
    case Status::kSkipped:
      return "SKIPPED";
    case Status::kFailed:
      return "FAILED";
  }
  return "FAILED";
}

std::optional<Status> ParseStatus(std::string_view name) {
  for (const Status status :
       {Status::kOk, Status::kDegraded, Status::kInvalid, Status::kSkipped, Status::kFailed}) {
    if (NameOf(status) == name) return status;
  }
  return std::nullopt;
}

void Worsen(Verdict& verdict, Status status, std::string_view reason) {
  verdict.status = std::max(verdict.status, status);
  if (reason.empty() || verdict.reason.find(reason) != std::string::npos) return;
  if (!verdict.reason.empty()) verdict.reason += "; ";
  verdict.reason += reason;
}

}  // namespace topdnn
