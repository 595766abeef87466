// How far a measured figure can be trusted: one scale for records, ceilings and rates.

#ifndef TOPDNN_HARNESS_STATISTICS_STATUS_H_
#define TOPDNN_HARNESS_STATISTICS_STATUS_H_

#include <optional>
#include <string>
#include <string_view>

namespace topdnn {

// Best first.
enum class Status {
  kOk,
  kDegraded,  // measured, but the machine was disturbed: the reason says how
  kInvalid,   // measured, but it contradicts itself or another measurement
  kSkipped,   // not measured: the machine or a library lacks something
  kFailed,    // the result was wrong or the code failed; never carries a time
};

// "OK", "DEGRADED", ...
std::string_view NameOf(Status status);
// The status of that name; absent for any other text.
std::optional<Status> ParseStatus(std::string_view name);

struct Verdict {
  Status status = Status::kOk;
  std::string reason;  // empty when OK

  bool operator==(const Verdict&) const = default;
};

// Keeps the worse status of the two; the reasons are joined by "; ", each of them once.
void Worsen(Verdict& verdict, Status status, std::string_view reason);

}  // namespace topdnn

#endif  // TOPDNN_HARNESS_STATISTICS_STATUS_H_
