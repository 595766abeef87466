// The rows of a log for operations over one to three spatial axes.

#ifndef TOPDNN_BENCH_BENCHDNN_ROW_OF_SPATIAL_PROBLEM_H_
#define TOPDNN_BENCH_BENCHDNN_ROW_OF_SPATIAL_PROBLEM_H_

#include "bench/benchdnn/row_maker.h"
#include "kernels/conv_nd/conv_nd.h"
#include "kernels/conv_transpose/conv_transpose.h"
#include "kernels/interpolate/interpolate.h"
#include "kernels/pool_nd/pool_nd.h"

namespace topdnn {

// Each throws NotTranslated for what oneDNN does not have.
void ConvNdRow(const ConvNdOp& op, RowMaker& maker);
void ConvTransposeRow(const ConvTransposeOp& op, RowMaker& maker);
void InterpolateRow(const InterpolateOp& op, RowMaker& maker);
void PoolNdRow(const PoolNdOp& op, RowMaker& maker);

}  // namespace topdnn

#endif  // TOPDNN_BENCH_BENCHDNN_ROW_OF_SPATIAL_PROBLEM_H_
