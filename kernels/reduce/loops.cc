#include "kernels/reduce/loops.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/kernel/fidelity.h"
#include "kernels/kernel/omp_loops.h"
#include "kernels/kernel/registry.h"
#include "kernels/tensor/bf16.h"

namespace topdnn {

namespace {

// Runs are cut into pieces of this many elements, shared by the threads. Each piece has a separate
// sum in f32, because a longer f32 sum would lose small terms.
constexpr std::int64_t kPiece = 4096;
// This many rows are added in f32 before their sum is added to the total.
constexpr std::size_t kRows = 256;

// A reduction as runs of adjacent elements of src. The runs begin at kept[k] + reduced[r]. If the
// axes of a run are reduced, the run is summed into dst[k]; otherwise its element j is added to
// dst[k * length + j].
struct Runs {
  bool reduces_run = true;
  std::int64_t length = 1;
  // Offsets along the kept and the reduced axes, without the axes of a run.
  std::vector<std::int64_t> kept = {0};
  std::vector<std::int64_t> reduced = {0};
};

// Adds an axis of `extent` steps of `stride` to the offsets.
void Extend(std::vector<std::int64_t>& offsets, std::int64_t extent, std::int64_t stride) {
  std::vector<std::int64_t> next;
  next.reserve(offsets.size() * static_cast<std::size_t>(extent));
  for (const std::int64_t offset : offsets) {
    for (std::int64_t i = 0; i < extent; ++i) next.push_back(offset + i * stride);
  }
  offsets = std::move(next);
}

// The last dimensions that are all reduced or all kept make a run. Dimensions of extent 1 count as
// either.
Runs RunsOf(const ReduceOp& op) {
  const Shape& shape = op.src_shape();
  Runs runs;
  int outer = shape.rank();
  for (; outer > 0; --outer) {
    const std::int64_t extent = shape[outer - 1];
    if (extent == 1) continue;
    if (runs.length == 1) runs.reduces_run = op.Reduces(outer - 1);
    if (op.Reduces(outer - 1) != runs.reduces_run) break;
    runs.length *= extent;
  }
  std::vector<std::int64_t> strides(static_cast<std::size_t>(outer), runs.length);
  for (int d = outer - 2; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = strides[static_cast<std::size_t>(d) + 1] * shape[d + 1];
  }
  for (int d = 0; d < outer; ++d) {
    Extend(op.Reduces(d) ? runs.reduced : runs.kept, shape[d],
           strides[static_cast<std::size_t>(d)]);
  }
  return runs;
}

// T is float, or std::uint16_t for bf16 (backward only).
template <typename T>
class ReduceLoops : public LoopsKernel {
 public:
  ReduceLoops(const KernelRequest& request, const ReduceOp& op)
      : LoopsKernel(request),
        elements_(op.src_shape().elements()),
        threads_(request.threads),
        divisor_(static_cast<float>(op.count())),
        mean_(op.algorithm() == ReduceAlgorithm::kMean),
        runs_(RunsOf(op)),
        pieces_((runs_.length + kPiece - 1) / kPiece),
        parts_(PartsOfRows()) {
    const auto sums = static_cast<std::int64_t>(runs_.kept.size()) * runs_.length;
    ReserveScratch(parts_ > 1 ? parts_ * sums : 0);
    scratch_bytes_ += (runs_.kept.size() + runs_.reduced.size()) * sizeof(std::int64_t);
  }

  void Run() noexcept override {
    if (pass() == Pass::kBackwardData) {
      runs_.reduces_run ? FillRuns() : CopyRuns();
    } else if constexpr (std::is_same_v<T, float>) {
      if (!runs_.reduces_run) {
        AddRows();
      } else if (runs_.kept.size() == 1) {
        SumAll();
      } else {
        SumRuns();
      }
    }
  }

 private:
  // Into how many parts the rows of a sum of rows are divided, so that each thread has work: a
  // gradient of a bias has only one short row of sums.
  std::int64_t PartsOfRows() const {
    if (pass() == Pass::kBackwardData || runs_.reduces_run || !InParallel()) return 1;
    const std::int64_t pieces = static_cast<std::int64_t>(runs_.kept.size()) * pieces_;
    if (pieces >= threads_) return 1;
    const auto blocks = static_cast<std::int64_t>((runs_.reduced.size() + kRows - 1) / kRows);
    return std::min<std::int64_t>((threads_ + pieces - 1) / pieces, blocks);
  }

  bool InParallel() const { return elements_ >= kMinParallelElements; }
  std::int64_t LengthOf(std::int64_t piece) const {
    return std::min(kPiece, runs_.length - piece * kPiece);
  }

  T Divided(T value) const {
    if constexpr (std::is_same_v<T, float>) {
      return mean_ ? value / divisor_ : value;
    } else {
      return mean_ ? Bf16FromFloat(Bf16ToFloat(value) / divisor_) : value;
    }
  }

  // The sum of one piece of a run.
  double SumOf(const T* run, std::int64_t piece) const {
    const T* first = run + piece * kPiece;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < LengthOf(piece); ++j) sum += first[j];
    return static_cast<double>(sum);
  }

  // Each sum is computed by one thread.
  void SumRuns() const {
    const T* src = Data<T>(Arg::kSrc);
    T* dst = Data<T>(Arg::kDst);
#pragma omp parallel for if (InParallel())
    for (std::size_t k = 0; k < runs_.kept.size(); ++k) {
      double sum = 0;
      for (const std::int64_t offset : runs_.reduced) {
        for (std::int64_t p = 0; p < pieces_; ++p) sum += SumOf(src + runs_.kept[k] + offset, p);
      }
      dst[k] = Divided(static_cast<float>(sum));
    }
  }

  // There is only one sum; all threads share it.
  void SumAll() const {
    const T* src = Data<T>(Arg::kSrc);
    double sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum) if (InParallel())
    for (std::size_t r = 0; r < runs_.reduced.size(); ++r) {
      for (std::int64_t p = 0; p < pieces_; ++p) sum += SumOf(src + runs_.reduced[r], p);
    }
    *Data<T>(Arg::kDst) = Divided(static_cast<float>(sum));
  }

  // Sums rows, one piece of a row at a time.
  void AddRows() const {
    const T* src = Data<T>(Arg::kSrc);
    T* dst = Data<T>(Arg::kDst);
    T* sums = parts_ > 1 ? Scratch() : dst;  // (parts, kept, length)
    const auto kept = static_cast<std::int64_t>(runs_.kept.size());
    const auto rows = static_cast<std::int64_t>(runs_.reduced.size());
#pragma omp parallel for collapse(3) if (InParallel())
    for (std::int64_t part = 0; part < parts_; ++part) {
      for (std::int64_t k = 0; k < kept; ++k) {
        for (std::int64_t p = 0; p < pieces_; ++p) {
          AddPiece(src + runs_.kept[static_cast<std::size_t>(k)] + p * kPiece, part * rows / parts_,
                   (part + 1) * rows / parts_, LengthOf(p),
                   sums + (part * kept + k) * runs_.length + p * kPiece);
        }
      }
    }
    const std::int64_t length = kept * runs_.length;
    for (std::int64_t part = 1; part < parts_; ++part) {
      for (std::int64_t j = 0; j < length; ++j) sums[j] += sums[part * length + j];
    }
    for (std::int64_t j = 0; j < length; ++j) dst[j] = Divided(sums[j]);
  }

  // sums (length) = the sum of the rows at src + the offsets [begin, end) of the reduced axes.
  void AddPiece(const T* src, std::int64_t begin, std::int64_t end, std::int64_t length,
                T* sums) const {
    std::fill(sums, sums + length, T{0});
    const auto rows = static_cast<std::size_t>(end);
    for (auto first = static_cast<std::size_t>(begin); first < rows; first += kRows) {
      T block[kPiece];
      std::fill(block, block + length, T{0});
      for (std::size_t r = first; r < std::min(first + kRows, rows); ++r) {
        const T* row = src + runs_.reduced[r];
#pragma omp simd
        for (std::int64_t j = 0; j < length; ++j) block[j] += row[j];
      }
#pragma omp simd
      for (std::int64_t j = 0; j < length; ++j) sums[j] += block[j];
    }
  }

  // Each run gets one value.
  void FillRuns() const {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
    if (runs_.kept.size() == 1) {
      const T value = Divided(*diff_dst);
#pragma omp parallel for collapse(2) if (InParallel())
      for (std::size_t r = 0; r < runs_.reduced.size(); ++r) {
        for (std::int64_t p = 0; p < pieces_; ++p) {
          std::fill_n(diff_src + runs_.reduced[r] + p * kPiece, LengthOf(p), value);
        }
      }
      return;
    }
#pragma omp parallel for if (InParallel())
    for (std::size_t k = 0; k < runs_.kept.size(); ++k) {
      const T value = Divided(diff_dst[k]);
      for (const std::int64_t offset : runs_.reduced) {
        std::fill_n(diff_src + runs_.kept[k] + offset, runs_.length, value);
      }
    }
  }

  // Many runs get the same row: it is divided into the first run and copied from there.
  void CopyRuns() const {
    const T* diff_dst = Data<T>(Arg::kDiffDst);
    T* diff_src = Data<T>(Arg::kDiffSrc);
#pragma omp parallel for collapse(2) if (InParallel())
    for (std::size_t k = 0; k < runs_.kept.size(); ++k) {
      for (std::int64_t p = 0; p < pieces_; ++p) {
        const T* row = diff_dst + static_cast<std::int64_t>(k) * runs_.length + p * kPiece;
        T* first = diff_src + runs_.kept[k] + p * kPiece;
        for (std::int64_t j = 0; j < LengthOf(p); ++j) first[j] = Divided(row[j]);
        for (std::size_t r = 1; r < runs_.reduced.size(); ++r) {
          std::copy_n(first, LengthOf(p), first + runs_.reduced[r]);
        }
      }
    }
  }

  const std::int64_t elements_;
  const int threads_;
  const float divisor_;
  const bool mean_;
  const Runs runs_;
  const std::int64_t pieces_;  // pieces per run
  const std::int64_t parts_;   // of the reduced rows
};

}  // namespace

KernelOrRefusal MakeReduceLoops(const KernelRequest& request) {
  const auto& op = request.OpAs<ReduceOp>();
  const Execution& execution = request.execution;
  if (execution.type == DataType::kBF16 && execution.pass == Pass::kBackwardData) {
    if (std::string why = RowMajorRefusal(request, "a loop"); !why.empty())
      return Refusal{std::move(why)};
    return std::make_unique<ReduceLoops<std::uint16_t>>(request, op);
  }
  if (!op.IsLinear()) return MakeOmpRange<ReduceLoop>(request);
  if (std::string why = LoopsRefusal(request); !why.empty()) return Refusal{std::move(why)};
  return std::make_unique<ReduceLoops<float>>(request, op);
}

ReduceLoop::ReduceLoop(const KernelRequest& request)
    : op_(request.OpAs<ReduceOp>()), definition_(DefinitionOf(op_.algorithm())) {
  const Shape& shape = op_.src_shape();
  std::int64_t stride = 1;
  bool in_row = true;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const std::int64_t extent = shape[d];
    if (extent == 1) continue;
    if (stride == 1) reduces_row_ = op_.Reduces(d);
    in_row = in_row && op_.Reduces(d) == reduces_row_;
    if (in_row) {
      row_ *= extent;
    } else {
      (op_.Reduces(d) ? reduced_ : kept_).push_back({extent, stride});
      if (op_.Reduces(d)) reduced_rows_ *= extent;
    }
    stride *= extent;
  }
}

// The axes are in the order of their strides, the smallest first.
std::int64_t ReduceLoop::PlaceOf(const std::vector<Axis>& axes, std::int64_t index) {
  std::int64_t place = 0;
  for (const Axis& axis : axes) {
    place += index % axis.extent * axis.stride;
    index /= axis.extent;
  }
  return place;
}

void ReduceLoop::Combine(const ReduceDefinition& definition, const float* src, std::int64_t at,
                         std::int64_t count, double shift, double* results) const {
  std::fill(results, results + count, definition.initial);
  const float* start =
      src + (reduces_row_ ? PlaceOf(kept_, at) : PlaceOf(kept_, at / row_) + at % row_);
  for (std::int64_t r = 0; r < reduced_rows_; ++r) {
    definition.combine_row(start + PlaceOf(reduced_, r), reduces_row_ ? row_ : count, shift,
                           results, reduces_row_ ? 0 : 1);
  }
}

void ReduceLoop::Run(const LoopOperands& data, std::int64_t first, std::int64_t end) const {
  constexpr std::int64_t kResults = 256;
  const bool shifts = op_.algorithm() == ReduceAlgorithm::kLogSumExp;
  for (std::int64_t at = first; at < end;) {
    // A shift is that of one result.
    const std::int64_t count =
        reduces_row_ || shifts ? 1 : std::min({end - at, row_ - at % row_, kResults});
    double results[kResults];
    double shift = 0;
    if (shifts) {
      Combine(DefinitionOf(ReduceAlgorithm::kMax), data[0], at, 1, 0, &shift);
      if (std::isinf(shift)) shift = 0;
    }
    Combine(definition_, data[0], at, count, shift, results);
    for (std::int64_t i = 0; i < count; ++i) {
      data[2][at + i] = static_cast<float>(definition_.finish(results[i], shift));
    }
    at += count;
  }
}

namespace {

const KernelRegistration kLoops("reduce", "native", MakeReduceLoops);
const FidelityDeclaration kLoopsFidelity({"reduce", "native", Fidelity::kOurs,
                                          "loops; Caffe calls dot and set for each row",
                                          "layers/reduction_layer.cpp"});

}  // namespace

}  // namespace topdnn
