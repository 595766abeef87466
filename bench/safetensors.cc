#include "bench/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bench/command.h"

namespace topdnn {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
// A hundred thousand tensors' worth; JSON takes many times its text in memory.
constexpr std::uint64_t kMostHeader = std::uint64_t{16} << 20;
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

[[noreturn]] void Refuse(const std::string& where, const std::string& why) {
  throw UsageError(fmt::format("{}: {}; save it again", where, why));
}

// Names may hold anything; a message is one line.
std::string Printable(const std::string& name) {
  std::string text = name.substr(0, 80);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

// Refuses while parsing what would grow without bounds, or names a tensor twice.
Json ParseHeader(std::string_view text, const std::string& where) {
  std::set<std::string> names;
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepest) Refuse(where, "a header nested too deeply");
    if (event == Json::parse_event_t::key && depth == 1) {
      const auto& name = value.get_ref<const std::string&>();
      if (!names.insert(name).second) Refuse(where, Printable(name) + " is there twice");
    }
    return true;
  };
  Json header;
  try {
    header = Json::parse(text, check);
  } catch (const Json::exception&) {
    Refuse(where, "its header is no JSON");
  }
  if (!header.is_object()) Refuse(where, "its header is no JSON object");
  return header;
}

// A list of numbers that are 0 or more.
std::optional<std::vector<std::int64_t>> Numbers(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_integer()) return std::nullopt;
    if (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(number.get<std::int64_t>());
    if (numbers.back() < 0) return std::nullopt;
  }
  return numbers;
}

NpyArray DecodeTensor(const Json& entry, std::string_view data, const std::string& where) {
  const auto fail = [&](const std::string& why) { Refuse(where, why); };
  if (!entry.is_object()) fail("no description");
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end() || !dtype->is_string()) fail("no dtype");
  const auto type = TypeOf(dtype->get<std::string>());
  if (!type) fail("dtype " + Printable(dtype->get<std::string>()) + " is not taken");
  const auto extents = Numbers(entry, "shape");
  const auto offsets = Numbers(entry, "data_offsets");
  constexpr std::size_t kMostDimensions = 32;
  if (!extents || extents->size() > kMostDimensions) fail("no shape");
  if (!offsets || offsets->size() != 2) fail("no data_offsets");
  std::size_t bytes = SizeOf(*type);
  for (const std::int64_t extent : *extents) {
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) {
      fail(fmt::format("an extent of {} cannot be", extent));
    }
  }
  const auto begin = static_cast<std::size_t>((*offsets)[0]);
  const auto end = static_cast<std::size_t>((*offsets)[1]);
  if (begin > end || end > data.size() || end - begin != bytes) {
    fail(fmt::format("bytes {} to {} of {} are not its {}", begin, end, data.size(), bytes));
  }
  NpyArray array{Shape(*extents), *type, {}};
  const auto* from = reinterpret_cast<const std::byte*>(data.data()) + begin;
  if (*type != DataType::kF16 && *type != DataType::kBF16) {
    array.data.assign(from, from + bytes);
    return array;
  }
  // A copy: the data may lie at any byte.
  const std::vector<std::byte> halves(from, from + bytes);
  Tensor tensor(array.shape);
  if (bytes > 0) {
    FromDouble(ToDouble({array.shape, *type, Layout::Plain(array.shape.rank())}, halves.data()),
               tensor.desc(), tensor.data());
  }
  return ToNpy(tensor);
}

}  // namespace

NamedArrays DecodeSafetensors(std::string_view bytes, const std::string& where) {
  if (bytes.size() < kLengthBytes) Refuse(where, "no safetensors file, or a truncated one");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes || length > kMostHeader) {
    Refuse(where, fmt::format("a header of {} bytes in a file of {}", length, bytes.size()));
  }
  const Json header = ParseHeader(bytes.substr(kLengthBytes, length), where);
  const std::string_view data = bytes.substr(kLengthBytes + length);
  NamedArrays arrays;
  std::size_t taken = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    NpyArray array = DecodeTensor(entry, data, fmt::format("{}: {}", where, Printable(name)));
    // Two tensors on the same bytes would make more of a file than is in it. (f16 grows to f32.)
    taken += array.data.size() / 2;
    if (taken > data.size()) Refuse(where, "its tensors overlap");
    arrays.emplace_back(name, std::move(array));
  }
  return arrays;
}

}  // namespace topdnn
