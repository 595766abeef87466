#include "kernels/pool/max_row.h"

namespace topdnn {

void MaxRowAvx2(const MaxRows& rows, std::int64_t piece, std::int64_t y) {
  MaxRowOf<8>(rows, piece, y);
}

MaxRowFunction MaxGradientRowAvx2(const MaxRows& rows) { return MaxGradientRowOf<8>(rows); }

}  // namespace topdnn
