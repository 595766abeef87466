#include "bench/formats/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/files/atomic_file.h"
#include "harness/text/errors.h"

namespace topdnn {

namespace {

struct NpyType {
  DataType type;
  std::string_view code;  // of a little-endian machine
};

constexpr std::array<NpyType, 8> kTypes = {{{DataType::kF32, "<f4"},
                                            {DataType::kF64, "<f8"},
                                            {DataType::kF16, "<f2"},
                                            {DataType::kS32, "<i4"},
                                            {DataType::kS64, "<i8"},
                                            {DataType::kS8, "|i1"},
                                            {DataType::kU8, "|u1"},
                                            {DataType::kU8, "|b1"}}};  // bool: 0 and 1

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kPreamble = kMagic.size() + 2;  // magic, version, header length

std::string_view CodeOf(DataType type) {
  for (const NpyType& known : kTypes) {
    if (known.type == type) return known.code;
  }
  throw InputError(fmt::format("NumPy has no type for {}", NameOf(type)));
}

// The text after "'KEY':" in the header's dictionary.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}'", key);
  const std::size_t at = header.find(quoted);
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + quoted.size());
  const std::size_t first = value.find_first_not_of(": ");
  return first == std::string_view::npos ? std::string_view() : value.substr(first);
}

// "(8, 3, 32)" -> extents.
std::optional<Shape> ParseShape(std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  std::vector<std::int64_t> extents;
  while (!text.empty()) {
    const std::size_t digit = text.find_first_not_of(" ,");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    std::int64_t extent = -1;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc() || extent < 0 || extents.size() == 32) return std::nullopt;
    extents.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  }
  return Shape(std::move(extents));
}

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;

Archive OpenArchive(const std::filesystem::path& path, int flags) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), flags, &code));
  if (archive == nullptr) {
    if (code == ZIP_ER_MEMORY) throw std::bad_alloc();
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw InputError(fmt::format("{}: {}", path.string(), message));
  }
  return archive;
}

// The data that a .npy header describes.
struct NpyHeader {
  Shape shape;
  DataType type = DataType::kF32;
  std::size_t start = 0;  // where the data begins
  std::size_t bytes = 0;  // of data
};

// The length of the header, from the preamble.
std::size_t HeaderLength(std::span<const std::byte> preamble) {
  return std::to_integer<std::size_t>(preamble[8]) | std::to_integer<std::size_t>(preamble[9]) << 8;
}

// Bytes of data. Throws InputError for more than memory can address: with a product that overflows,
// a short file would pass as a huge array.
std::size_t DataBytes(const Shape& shape, DataType type, const std::string& where) {
  std::size_t bytes = 0;
  try {
    if (!__builtin_mul_overflow(static_cast<std::size_t>(shape.elements()), SizeOf(type), &bytes)) {
      return bytes;
    }
  } catch (const std::overflow_error&) {
  }
  throw InputError(fmt::format("{}: an array of shape {} is too large for memory; save it again",
                               where, shape.ToString()));
}

NpyHeader ParseHeader(std::span<const std::byte> head, const std::string& where) {
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: {}", where, what));
  };
  const auto* text = reinterpret_cast<const char*>(head.data());
  if (head.size() < kPreamble || std::memcmp(text, "\x93NUMPY", 6) != 0) fail("no .npy array");
  if (head[6] != std::byte{1}) fail("a .npy version other than 1.0; save it again with NumPy");
  const std::size_t length = HeaderLength(head);
  if (head.size() - kPreamble < length) fail("truncated in its header");
  const std::string_view dictionary(text + kPreamble, length);
  if (!ValueOf(dictionary, "fortran_order").starts_with("False")) {
    fail("column-major (or no header); save numpy.ascontiguousarray of it");
  }
  NpyHeader header;
  const std::string_view code = ValueOf(dictionary, "descr");
  bool known = false;
  for (const NpyType& type : kTypes) {
    if (code.size() < 5 || code.substr(1, 3) != type.code) continue;
    header.type = type.type;
    known = true;
  }
  if (!known) fail(fmt::format("element type {} is not supported", code.substr(0, code.find(','))));
  const auto shape = ParseShape(ValueOf(dictionary, "shape"));
  if (!shape) fail("no shape in its header");
  header.shape = *shape;
  header.start = kPreamble + length;
  header.bytes = DataBytes(header.shape, header.type, where);
  return header;
}

using EntryFile = std::unique_ptr<zip_file_t, CloseEntry>;

EntryFile OpenEntry(zip_t* archive, zip_uint64_t index, const std::string& where) {
  EntryFile entry(zip_fopen_index(archive, index, 0));
  if (entry == nullptr) throw InputError(fmt::format("{}: {}", where, zip_strerror(archive)));
  return entry;
}

// Appends up to `most` bytes. Returns whether there were as many.
bool ReadMore(zip_file_t* entry, std::size_t most, std::vector<std::byte>& bytes,
              const std::string& where) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  while (most > 0) {
    const std::size_t size = bytes.size();
    const std::size_t asked = std::min(most, kChunk);
    bytes.resize(size + asked);
    const zip_int64_t got = zip_fread(entry, bytes.data() + size, asked);
    if (got < 0) {
      throw InputError(fmt::format("{}: damaged ({})", where, zip_file_strerror(entry)));
    }
    bytes.resize(size + static_cast<std::size_t>(got));
    if (got == 0) return false;
    most -= static_cast<std::size_t>(got);
  }
  return true;
}

// Reads only what precedes the data.
std::vector<std::byte> ReadHead(zip_file_t* entry, const std::string& where) {
  std::vector<std::byte> head;
  if (ReadMore(entry, kPreamble, head, where)) ReadMore(entry, HeaderLength(head), head, where);
  return head;
}

// Reads an entry up to the end of its array. The size that the archive declares is not trusted.
std::vector<std::byte> ReadEntry(zip_t* archive, zip_uint64_t index, const std::string& where) {
  const EntryFile entry = OpenEntry(archive, index, where);
  std::vector<std::byte> bytes = ReadHead(entry.get(), where);
  const NpyHeader header = ParseHeader(bytes, where);
  ReadMore(entry.get(), header.bytes, bytes, where);
  std::byte beyond;
  const zip_int64_t more =
      zip_fread(entry.get(), &beyond, 1);  // reading the end verifies the checksum
  if (more < 0) {
    throw InputError(fmt::format("{}: damaged ({})", where, zip_file_strerror(entry.get())));
  }
  if (more > 0) {
    throw InputError(fmt::format("{}: too long, {} takes {} bytes of data", where,
                                 header.shape.ToString(), header.bytes));
  }
  return bytes;
}

}  // namespace

NpyArray ToNpy(const Tensor& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.data());
  const std::size_t bytes =
      static_cast<std::size_t>(tensor.shape().elements()) * SizeOf(tensor.desc().type);
  return {tensor.shape(), tensor.desc().type, {data, data + bytes}};
}

std::vector<std::byte> EncodeNpy(const NpyArray& array) {
  std::string shape;
  for (const std::int64_t extent : array.shape.extents()) shape += fmt::format("{},", extent);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   CodeOf(array.type), shape);
  // The data starts on a 64-byte boundary, as the format asks; the header ends in a newline.
  const std::size_t used = kPreamble + header.size() + 1;
  header.append((64 - used % 64) % 64, ' ');
  header += '\n';
  std::vector<std::byte> bytes(kPreamble + header.size() + array.data.size());
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  bytes[8] = static_cast<std::byte>(header.size() & 0xff);
  bytes[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(bytes.data() + kPreamble, header.data(), header.size());
  if (!array.data.empty()) {
    std::memcpy(bytes.data() + kPreamble + header.size(), array.data.data(), array.data.size());
  }
  return bytes;
}

NpyArray DecodeNpy(const std::vector<std::byte>& bytes, const std::string& where) {
  const NpyHeader header = ParseHeader(bytes, where);
  const std::size_t have = bytes.size() - header.start;
  if (have != header.bytes) {
    throw InputError(fmt::format("{}: {} bytes of data instead of {} for {}; save it again", where,
                                 have, header.bytes, header.shape.ToString()));
  }
  const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(header.start);
  return {header.shape, header.type, {first, bytes.end()}};
}

void WriteNpz(const std::filesystem::path& path, const NamedArrays& arrays) {
  if (arrays.empty()) {  // libzip writes no file for an empty archive
    throw InputError(fmt::format("{}: there are no arrays to write", path.string()));
  }
  AtomicFile file(path.string());
  Archive archive = OpenArchive(file.temporary(), ZIP_CREATE | ZIP_TRUNCATE);
  std::vector<std::vector<std::byte>> encoded;  // must live until the archive is closed
  encoded.reserve(arrays.size());
  for (const auto& [name, array] : arrays) {
    encoded.push_back(EncodeNpy(array));
    zip_source_t* source =
        zip_source_buffer(archive.get(), encoded.back().data(), encoded.back().size(), 0);
    const std::string entry = name + ".npy";
    const zip_int64_t index =
        source == nullptr ? -1
                          : zip_file_add(archive.get(), entry.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      const std::string message = zip_strerror(archive.get());
      zip_source_free(source);
      if (zip_error_code_zip(zip_get_error(archive.get())) == ZIP_ER_MEMORY) throw std::bad_alloc();
      throw InputError(fmt::format("{}: {}: {}", path.string(), entry, message));
    }
    // Stored without compression: full-precision numbers hardly shrink.
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  if (zip_close(archive.get()) != 0) {
    throw WriteError(
        fmt::format("cannot write '{}': {} (an input/output error); free some space, "
                    "raise the limit of file sizes (ulimit -f), or name another file",
                    path.string(), zip_strerror(archive.get())));
  }
  static_cast<void>(archive.release());  // zip_close freed it
  file.Publish();
}

struct NpzReader::Archive {
  topdnn::Archive zip;
};

NpzReader::NpzReader(std::filesystem::path path)
    : path_(std::move(path)),
      archive_(new Archive{OpenArchive(path_, ZIP_RDONLY | ZIP_CHECKCONS)}) {
  zip_t* zip = archive_->zip.get();
  const auto entries =
      static_cast<zip_uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(zip, 0), 0));
  for (zip_uint64_t i = 0; i < entries; ++i) {
    Entry entry;
    entry.name = zip_get_name(zip, i, 0);
    if (entry.name.ends_with(".npy")) entry.name.resize(entry.name.size() - 4);
    entries_.push_back(std::move(entry));
    const std::string where = Where(entries_.size() - 1);
    const NpyHeader header = ParseHeader(ReadHead(OpenEntry(zip, i, where).get(), where), where);
    entries_.back().shape = header.shape;
    entries_.back().type = header.type;
  }
}

NpzReader::~NpzReader() = default;

std::string NpzReader::Where(std::size_t entry) const {
  return fmt::format("{}: {}.npy", path_.string(), entries_[entry].name);
}

NpyArray NpzReader::Read(std::size_t entry) const {
  const std::string where = Where(entry);
  return DecodeNpy(ReadEntry(archive_->zip.get(), entry, where), where);
}

NamedArrays ReadNpz(const std::filesystem::path& path) {
  const NpzReader reader(path);
  NamedArrays arrays;
  for (std::size_t i = 0; i < reader.entries().size(); ++i) {
    arrays.emplace_back(reader.entries()[i].name, reader.Read(i));
  }
  return arrays;
}

}  // namespace topdnn
