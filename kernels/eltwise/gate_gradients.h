// The gradients of a product whose second source has one element for each row of the first, as the
// gates of a squeeze-and-excitation block (Hu, Shen and Sun 2018) have one for each channel of an
// image, or a trained one for each channel of all images. No library has them.

#ifndef TOPDNN_KERNELS_ELTWISE_GATE_GRADIENTS_H_
#define TOPDNN_KERNELS_ELTWISE_GATE_GRADIENTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "kernels/eltwise/binary.h"
#include "kernels/kernel/kernel.h"

namespace topdnn {

// Pieces of the work that can be done in any order: diff_first = diff_dst * second, diff_second =
// the sums of diff_dst * first over a row (f32 for a trained factor).
class GateGradients {
 public:
  struct Operands {
    const void *first, *second, *diff_dst;
    void *diff_first, *diff_second;
  };

  // Of f32 or bf16. `layout`, of all tensors, is row-major, channels last or in blocks of channels.
  GateGradients(const BinaryOp& op, const Layout& layout, DataType type);

  std::int64_t pieces() const { return pieces_; }
  // Elements of the first source in a piece.
  std::int64_t piece() const { return elements_ / pieces_; }
  // The operands in the memory that Kernel::Prepare gets.
  Operands Bind(const std::map<Arg, void*>& memory) const;
  void Run(const Operands& data, std::int64_t first, std::int64_t end) const;

 private:
  template <typename T>
  void RunIn(const Operands& data, std::int64_t piece) const;
  template <typename T>
  void Elements(const Operands& data, std::int64_t piece) const;
  template <typename T>
  void Row(const Operands& data, std::int64_t row) const;
  template <typename T>
  void Channels(const Operands& data, std::int64_t piece) const;

  template <typename T>
  void StoreSum(const Operands& data, std::int64_t i, double sum) const;

  const std::array<Arg, 5> args_;  // in the order of Operands
  const bool is_bf16_, is_trained_;
  const std::int64_t elements_;
  const std::int64_t repeats_;  // images that share a factor; otherwise 1
  const std::int64_t length_;   // of a row
  std::int64_t adjacent_ = 0;   // channels next to each other in memory; 0: row-major
  std::int64_t chunks_ = 0;     // of adjacent channels
  std::int64_t pieces_ = 0;
};

// The layout that all tensors of the request can have, or nothing if GateGradients does not know
// it.
std::optional<Layout> GateLayout(const KernelRequest& request);

// On OpenMP's threads.
KernelOrRefusal MakeGateGradients(const KernelRequest& request);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_ELTWISE_GATE_GRADIENTS_H_
