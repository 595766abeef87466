// The text macros expand EIGEN_WORLD_VERSION and similar macros before turning them into text.

#include "kernels/eigen/per_isa/table.h"

#define TOPDNN_TEXT(x) #x
#define TOPDNN_VERSION(world, major, minor) \
  TOPDNN_TEXT(world) "." TOPDNN_TEXT(major) "." TOPDNN_TEXT(minor)

namespace topdnn::eigen {

// Initialized as constants, because entries in other files may be constructed first.
constinit Functions table = {};
constinit FailureRecorder record_failure = nullptr;

namespace {

void SetFailureRecorder(FailureRecorder record) { record_failure = record; }

#ifdef TOPDNN_EIGEN_SGEMM
constexpr const char* kInner = "sgemm";
#else
constexpr const char* kInner = "gebp";
#endif

const Entry kSetFailureRecorder(&Functions::set_failure_recorder, SetFailureRecorder);
const Entry kIsa(&Functions::isa, TOPDNN_ISA);
const Entry kContraction(&Functions::contraction, kInner);
const Entry kVersion(&Functions::version,
                     TOPDNN_VERSION(EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION));

}  // namespace

}  // namespace topdnn::eigen

__attribute__((visibility("default"))) const topdnn::eigen::Functions* topdnn_eigen_functions() {
  return &topdnn::eigen::table;
}
