// The rows of a log that a problem and a choice of options describe, for each driver of benchdnn.

#ifndef TOPDNN_BENCH_BENCHDNN_BENCHDNN_ROWS_H_
#define TOPDNN_BENCH_BENCHDNN_BENCHDNN_ROWS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "bench/benchdnn/benchdnn_values.h"
#include "bench/log/read/trace.h"

namespace topdnn {

// One value for each option of the driver.
using BenchdnnChoice = std::map<std::string, std::string, std::less<>>;

// The attributes of every driver. An empty value: not set.
std::span<const std::string_view> BenchdnnAttributes();

// The value of an option that the driver has.
const std::string& At(const BenchdnnChoice& choice, std::string_view name);
// The value of "mb"; 0: that of the problem. This function and those below may throw BenchdnnError.
std::int64_t MinibatchOf(const BenchdnnChoice& choice);
// A row with the attributes. `rank`: of the result.
TraceRow RowWith(const BenchdnnChoice& choice, int rank);
// A tensor of this rank in the layout of a tag.
TracedTensor TensorOf(std::string_view name, std::string_view type, std::string_view tag, int rank);
// The types of src, weights and dst: "cfg" of oneDNN 2, or "dt".
BenchdnnConfiguration TypesOf(const BenchdnnChoice& choice, std::size_t count);
// Adds an attribute for each of these options that is set: topdnn's kernels do not have it.
void AddUnsupported(const BenchdnnChoice& choice, std::initializer_list<std::string_view> names,
                    TraceRow& row);
// The direction, and the tensors data and diff of an operation that keeps its shape.
void AddDataAndDiff(const BenchdnnChoice& choice, int rank, TraceRow& row);

// benchdnn_window_rows.cc: problems with letters.
TraceRow ConvolutionRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow DeconvolutionRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow InnerProductRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow PoolingRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow ResamplingRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow BatchNormRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow LrnRow(const BenchdnnChoice& choice, std::string_view text);

// benchdnn_shape_rows.cc: problems of shapes.
TraceRow MatmulRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow EltwiseRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow SoftmaxRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow ReorderRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow SumRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow BinaryRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow ConcatRow(const BenchdnnChoice& choice, std::string_view text);
TraceRow ReductionRow(const BenchdnnChoice& choice, std::string_view text);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_BENCHDNN_ROWS_H_
