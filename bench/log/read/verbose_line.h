// One line of the log that oneDNN prints with ONEDNN_VERBOSE, in the dialects from DNNL 1.0 to
// oneDNN 3 ("Verbose Mode" in oneDNN's developer guide of each version):
//
//   mkldnn_verbose,exec,...                              MKL-DNN 0.x (mkldnn_line.h)
//   dnnl_verbose,exec,cpu,...                            1.x
//   onednn_verbose,exec,cpu,...                          2.x, 3.0
//   onednn_verbose,1693533460229.437,exec,cpu,...        with ONEDNN_VERBOSE_TIMESTAMP
//   onednn_verbose,primitive,exec,cpu,...                3.1 and later
//   onednn_verbose,v1,1693533460229.437,primitive,exec,cpu,...
//
// The log's template line gives the order of the fields that follow. Without a template line it is
// that of VerboseTemplate(), which every version so far has.

#ifndef TOPDNN_BENCH_LOG_READ_VERBOSE_LINE_H_
#define TOPDNN_BENCH_LOG_READ_VERBOSE_LINE_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace topdnn {

enum class VerboseField : std::size_t {
  kOperation,       // exec, create:cache_hit
  kEngine,          // cpu, gpu
  kPrimitive,       // convolution
  kImplementation,  // jit:avx512_core
  kPropKind,        // forward_training; undef if the primitive has none
  kTensors,         // src_f32::blocked:abcd:f0 dst_f32::blocked:aBcd16b:f0
  kAttributes,      // attr-scratchpad:user attr-post-ops:eltwise_relu
  kAuxiliary,       // alg:convolution_direct
  kProblem,         // mb2_ic3oc64_ih224oh112kh7sh2dh0ph3_iw224ow112kw7sw2dw0pw3
  kTime,            // milliseconds
};
inline constexpr std::size_t kVerboseFields = 10;

// The order of the fields. A field that topdnn does not use is std::nullopt in the list.
class VerboseTemplate {
 public:
  // operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,
  // problem_desc,exec_time.
  VerboseTemplate();
  // From the names after "template:". Absent if a field is missing or is named twice, or for more
  // than 64 names.
  static std::optional<VerboseTemplate> Parse(std::string_view names);

  std::size_t size() const { return fields_.size(); }
  const std::vector<std::optional<VerboseField>>& fields() const { return fields_; }
  // Whether the fields are those of the default, in its order.
  bool is_default() const { return is_default_; }

 private:
  std::vector<std::optional<VerboseField>> fields_;
  bool is_default_ = true;
};

enum class VerboseKind {
  kText,      // not a verbose line
  kInfo,      // about the library and the machine
  kTemplate,  // the order of the fields
  kExec,      // a primitive was executed
  kUntimed,   // the same, but the line ends before the time
  kCreate,    // a primitive was created; `nested`: by the creation of another one
  kGraph,     // of the graph API
  kOther,     // another event: a check, a dispatch, an error
  kDamaged,   // truncated, or not as the template says
};

struct VerboseLine {
  VerboseKind kind = VerboseKind::kText;
  std::string_view marker;      // "dnnl_verbose", "onednn_verbose" or "mkldnn_verbose"
  std::string_view version;     // "v1"; or empty
  bool names_api = false;       // the line has the field "primitive"
  std::optional<double> stamp;  // seconds; the start of the call
  double seconds = 0;           // of kExec and kCreate
  bool nested = false;          // of kCreate
  // Of kExec and kCreate: by VerboseField; empty where the dialect lacks one.
  std::array<std::string_view, kVerboseFields> fields;
  // Of kInfo and kTemplate: what follows "info,", and the names after "template:".
  std::string_view rest;
  bool has_formats = false;  // the tensors are those of MKL-DNN 0.x: "fsrc:nChw16c"
  // An incomplete line of another process precedes this one in the same text.
  bool interleaved = false;

  std::string_view operator[](VerboseField field) const {
    return fields[static_cast<std::size_t>(field)];
  }
  // "onednn_verbose,v1,primitive": what the line begins with.
  std::string Dialect() const;
};

// Pure. The views point into `text`, a line without its newline.
VerboseLine ParseVerboseLine(std::string_view text, const VerboseTemplate& order);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_LOG_READ_VERBOSE_LINE_H_
