#include "networks/onnx/model/parsed_size.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>

namespace topdnn {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// More than any message class of ONNX needs, including its entry in the parent's list.
constexpr std::size_t kMessage = 512;
// The object of a string and its allocation; also an entry of a scalar in a list that grows by
// doubling.
constexpr std::size_t kField = 64;
// protobuf itself refuses deeper nesting.
constexpr int kDeepest = 100;

std::size_t SizeOfPart(CodedInputStream& in, int bytes, const Descriptor* type, int depth);

// Of a string, message or list of `bytes` bytes. Reads or skips them.
std::size_t SizeOfDelimited(CodedInputStream& in, int bytes, const FieldDescriptor* field,
                            int depth) {
  if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return SizeOfPart(in, bytes, field->message_type(), depth + 1);
  }
  in.Skip(bytes);
  const auto size = static_cast<std::size_t>(bytes);
  if (field == nullptr) return kField + 2 * size;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_FLOAT:  // packed, of known size
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return kField + size;
    default:
      // Packed integers: one byte in the file may be an eight-byte integer, in a list that grows by
      // doubling.
      return kField + 16 * size;
  }
}

std::size_t SizeOfPart(CodedInputStream& in, int bytes, const Descriptor* type, int depth) {
  std::size_t size = kMessage;
  const CodedInputStream::Limit outer = in.PushLimit(bytes);
  while (depth <= kDeepest) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) break;
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) break;
      size += kField;
      continue;
    }
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length) || static_cast<std::int64_t>(length) > in.BytesUntilLimit()) {
      break;
    }
    size += SizeOfDelimited(in, static_cast<int>(length),
                            type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), depth);
  }
  in.Skip(in.BytesUntilLimit());
  in.PopLimit(outer);
  return size;
}

}  // namespace

std::size_t ParsedSizeAtMost(google::protobuf::io::ZeroCopyInputStream& stream, int bytes,
                             const Descriptor& type) {
  CodedInputStream in(&stream);
  return SizeOfPart(in, bytes, &type, 0);
}

}  // namespace topdnn
