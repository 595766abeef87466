#include "bench/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bench/command_line/command.h"

namespace topdnn {

namespace {

using SortedJson = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
// Enough for a hundred thousand tensors; parsed JSON takes many times the memory of its text.
constexpr std::uint64_t kMaxHeader = std::uint64_t{16} << 20;
constexpr int kDeepest = 3;  // the object, a tensor, its list

std::optional<DataType> TypeOf(const std::string& code) {
  const std::pair<const char*, DataType> known[] = {
      {"F32", DataType::kF32},   {"F64", DataType::kF64}, {"F16", DataType::kF16},
      {"BF16", DataType::kBF16}, {"I64", DataType::kS64}, {"I32", DataType::kS32},
      {"I8", DataType::kS8},     {"U8", DataType::kU8}};
  for (const auto& [name, type] : known) {
    if (code == name) return type;
  }
  return std::nullopt;
}

[[noreturn]] void RefuseSafetensors(const std::string& where, const std::string& why) {
  throw UsageError(fmt::format("{}: {}; save it again", where, why));
}

// Names may contain any characters; a message is one line.
std::string Printable(const std::string& name) {
  std::string text = name.substr(0, 80);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Refuses a header that would grow without bounds, or that names a tensor twice. This is a separate
// pass before the one that builds the header: a parser callback for each value would make that pass
// quadratic in the number of tensors.
class HeaderCheck : public nlohmann::json_sax<SortedJson> {
 public:
  explicit HeaderCheck(const std::string& where) : where_(where) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return Enter(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool key(string_t& name) override {
    if (depth_ == 1 && !names_.insert(name).second) {
      RefuseSafetensors(where_, Printable(name) + " is a duplicate");
    }
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const SortedJson::exception&) override {
    RefuseSafetensors(where_, "its header is not JSON");
  }

 private:
  bool Enter() {
    if (++depth_ > kDeepest) RefuseSafetensors(where_, "a header nested too deeply");
    return true;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  const std::string& where_;
  int depth_ = 0;
  std::set<std::string> names_;
};

SortedJson ParseHeader(std::string_view text, const std::string& where) {
  HeaderCheck check(where);
  SortedJson::sax_parse(text, &check);
  SortedJson header = SortedJson::parse(text);
  if (!header.is_object()) RefuseSafetensors(where, "its header is not a JSON object");
  return header;
}

// A list of numbers of 0 or more.
std::optional<std::vector<std::int64_t>> Numbers(const SortedJson& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const SortedJson& number : *found) {
    if (!number.is_number_integer()) return std::nullopt;
    if (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(number.get<std::int64_t>());
    if (numbers.back() < 0) return std::nullopt;
  }
  return numbers;
}

SafetensorsEntry ReadEntry(const std::string& name, const SortedJson& entry, std::size_t data_bytes,
                           const std::string& where) {
  const auto fail = [&](const std::string& why) { RefuseSafetensors(where, why); };
  if (!entry.is_object()) fail("no description");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail("no dtype");
  const auto type = TypeOf(dtype->get<std::string>());
  if (!type) fail("dtype " + Printable(dtype->get<std::string>()) + " is not taken");
  const auto extents = Numbers(entry, "shape");
  const auto offsets = Numbers(entry, "data_offsets");
  constexpr std::size_t kMaxDimensions = 32;
  if (!extents || extents->size() > kMaxDimensions) fail("no shape");
  if (!offsets || offsets->size() != 2) fail("no data_offsets");
  std::size_t bytes = SizeOf(*type);
  for (const std::int64_t extent : *extents) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      fail(fmt::format("an extent of {} is impossible", extent));
    }
  }
  const auto begin = static_cast<std::size_t>((*offsets)[0]);
  const auto end = static_cast<std::size_t>((*offsets)[1]);
  if (begin > end || end > data_bytes || end - begin != bytes) {
    fail(fmt::format("bytes {} to {} of {} are not its {}", begin, end, data_bytes, bytes));
  }
  return {name, Shape(*extents), *type, begin, end};
}

// Tensors may not share bytes: a small file could then claim huge data.
void RefuseOverlaps(const std::vector<SafetensorsEntry>& entries, const std::string& where) {
  std::vector<const SafetensorsEntry*> sorted;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != entry.end) sorted.push_back(&entry);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->begin < b->begin; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->begin >= sorted[i - 1]->end) continue;
    RefuseSafetensors(where, fmt::format("its tensors {} and {} overlap at byte {}",
                                         Printable(sorted[i - 1]->name), Printable(sorted[i]->name),
                                         sorted[i]->begin));
  }
}

}  // namespace

SafetensorsReader::SafetensorsReader(std::string bytes, const std::string& where)
    : bytes_(std::move(bytes)) {
  if (bytes_.size() < kLengthBytes)
    RefuseSafetensors(where, "not a safetensors file, or a truncated one");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes_.data(), kLengthBytes);
  if (length > bytes_.size() - kLengthBytes || length > kMaxHeader) {
    RefuseSafetensors(where,
                      fmt::format("a header of {} bytes in a file of {}", length, bytes_.size()));
  }
  const SortedJson header =
      ParseHeader(std::string_view(bytes_).substr(kLengthBytes, length), where);
  data_ = kLengthBytes + length;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    entries_.push_back(ReadEntry(name, entry, bytes_.size() - data_,
                                 fmt::format("{}: {}", where, Printable(name))));
  }
  RefuseOverlaps(entries_, where);
}

NpyArray SafetensorsReader::Read(std::size_t index) const {
  const SafetensorsEntry& entry = entries_[index];
  NpyArray array{entry.shape, entry.type, {}};
  const auto* data = reinterpret_cast<const std::byte*>(bytes_.data()) + data_;
  array.data.assign(data + entry.begin, data + entry.end);
  if (entry.type != DataType::kF16 && entry.type != DataType::kBF16) return array;
  Tensor tensor(entry.shape);
  if (!array.data.empty()) {
    FromDouble(
        ToDouble({entry.shape, entry.type, Layout::Plain(entry.shape.rank())}, array.data.data()),
        tensor.desc(), tensor.data());
  }
  return ToNpy(tensor);
}

NamedArrays DecodeSafetensors(std::string_view bytes, const std::string& where) {
  const SafetensorsReader reader(std::string(bytes), where);
  NamedArrays arrays;
  for (std::size_t i = 0; i < reader.entries().size(); ++i) {
    arrays.emplace_back(reader.entries()[i].name, reader.Read(i));
  }
  return arrays;
}

}  // namespace topdnn
