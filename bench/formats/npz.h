// NumPy's .npz archives: a zip (libzip) of .npy arrays (NumPy Enhancement Proposal 1, format
// version 1.0), which numpy.load reads.

#ifndef TOPDNN_BENCH_FORMATS_NPZ_H_
#define TOPDNN_BENCH_FORMATS_NPZ_H_

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace topdnn {

// A row-major array of f32, f64, f16, s32, s64, s8 or u8. An array of bool is read as u8.
struct NpyArray {
  Shape shape;
  DataType type = DataType::kF32;
  std::vector<std::byte> data;
};

// Copies a row-major tensor.
NpyArray ToNpy(const Tensor& tensor);

// The bytes of a .npy file, and back. `where` names the source in an error.
std::vector<std::byte> EncodeNpy(const NpyArray& array);
NpyArray DecodeNpy(const std::vector<std::byte>& bytes, const std::string& where);

using NamedArrays = std::vector<std::pair<std::string, NpyArray>>;

// An archive open for reading. Opening it reads only the headers of its arrays, so that an array
// can be refused before it is unpacked: a megabyte can inflate to gigabytes.
class NpzReader {
 public:
  struct Entry {
    std::string name;  // without .npy
    Shape shape;
    DataType type = DataType::kF32;
  };

  explicit NpzReader(std::filesystem::path path);
  ~NpzReader();

  // In the archive's order.
  const std::vector<Entry>& entries() const { return entries_; }
  // Allocates memory for the data in the file, at most for what the header says.
  NpyArray Read(std::size_t entry) const;

 private:
  std::string Where(std::size_t entry) const;

  struct Archive;
  std::filesystem::path path_;
  std::unique_ptr<Archive> archive_;
  std::vector<Entry> entries_;
};

// Writes every array, at least one, as the entry NAME.npy, by an AtomicFile. Throws InputError for
// arrays that make no archive and for a name that cannot be written, and WriteError.
void WriteNpz(const std::filesystem::path& path, const NamedArrays& arrays);
// Every array of an archive.
NamedArrays ReadNpz(const std::filesystem::path& path);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_FORMATS_NPZ_H_
