// Estimates, before parsing, how much memory protobuf needs to parse a message. An empty message
// has two bytes in a file and hundreds in memory, so a small file could need a hundred times its
// size.

#ifndef TOPDNN_NETWORKS_ONNX_MODEL_PARSED_SIZE_H_
#define TOPDNN_NETWORKS_ONNX_MODEL_PARSED_SIZE_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>

namespace topdnn {

// An upper bound in bytes for the message in the first `bytes` bytes. A damaged message counts as
// far as it can be read. Skips the contents of strings.
std::size_t ParsedSizeAtMost(google::protobuf::io::ZeroCopyInputStream& stream, int bytes,
                             const google::protobuf::Descriptor& type);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_MODEL_PARSED_SIZE_H_
