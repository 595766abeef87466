#include "networks/onnx/parsed_size.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>

namespace topdnn {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;

// More than any message class of ONNX needs, including its entry in the parent's list.
constexpr std::size_t kMessage = 512;
// The object of a string and its allocation; also an entry of a scalar in a list that grows by
// doubling.
constexpr std::size_t kField = 64;
// protobuf itself refuses deeper nesting.
constexpr int kDeepest = 100;

std::size_t SizeOfPart(std::string_view bytes, const Descriptor* type, int depth);

std::size_t SizeOfDelimited(std::string_view content, const FieldDescriptor* field, int depth) {
  if (field == nullptr) return kField + 2 * content.size();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return SizeOfPart(content, field->message_type(), depth + 1);
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_FLOAT:  // packed, of known size
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return kField + content.size();
    default:
      // Packed integers: one byte in the file may be an eight-byte integer, in a list that grows by
      // doubling.
      return kField + 16 * content.size();
  }
}

std::size_t SizeOfPart(std::string_view bytes, const Descriptor* type, int depth) {
  std::size_t size = kMessage;
  if (depth > kDeepest) return size;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  while (const std::uint32_t tag = in.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&in, tag)) break;
      size += kField;
      continue;
    }
    std::uint32_t length = 0;
    if (!in.ReadVarint32(&length)) break;
    const auto at = static_cast<std::size_t>(in.CurrentPosition());
    if (length > bytes.size() - at) break;
    size += SizeOfDelimited(bytes.substr(at, length),
                            type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)), depth);
    in.Skip(static_cast<int>(length));
  }
  return size;
}

}  // namespace

std::size_t ParsedSizeAtMost(std::string_view bytes, const Descriptor& type) {
  return SizeOfPart(bytes, &type, 0);
}

}  // namespace topdnn
