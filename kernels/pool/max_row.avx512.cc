#include "kernels/pool/max_row.h"

namespace topdnn {

void MaxRowAvx512(const MaxRows& rows, std::int64_t piece, std::int64_t y) {
  MaxRowOf<16>(rows, piece, y);
}

MaxRowFunction MaxGradientRowAvx512(const MaxRows& rows) { return MaxGradientRowOf<16>(rows); }

}  // namespace topdnn
