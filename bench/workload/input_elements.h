// The elements of an ONNX file's input: what a drawn number becomes in its type, and whether the
// user's numbers are of it. A network computes all types in f32.

#ifndef TOPDNN_BENCH_WORKLOAD_INPUT_ELEMENTS_H_
#define TOPDNN_BENCH_WORKLOAD_INPUT_ELEMENTS_H_

#include <span>

#include "networks/onnx/import/importer.h"

namespace topdnn {

// A number around 0 with variance 1 as an element of the input: itself for floating point, a pixel
// around the middle of uint8 and int8, 0 or 1 for bool, and a small index for int32 and int64.
double ElementOf(const ImportedInput& input, double number);

// Rounds the numbers to f16 for an input of that type. Throws UsageError for a number that the
// input's integer type does not have, and for an integer that f32 does not represent.
void TakeElements(const ImportedInput& input, std::span<double> numbers);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_WORKLOAD_INPUT_ELEMENTS_H_
