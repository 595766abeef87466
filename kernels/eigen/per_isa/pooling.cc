// Pooling by columns: all channels of a position at once.
//
// Max pooling as in TensorFlow 2.5: SpatialMaxPool (pooling_ops_common.h) and, for the gradient,
// SpatialMaxPoolWithArgMaxHelper (maxpooling_op.cc). Threads share images. Each element of the
// image updates the maxima of the windows that contain it. Backward finds the maxima again with
// their places (64-bit), and then adds each gradient to its place. TensorFlow's maxima start at the
// lowest number; here they start at minus infinity, so that a window of minus infinities has its
// maximum.
//
// In our way, and for averages, threads share ranges of rows, so that even one image uses all of
// them, and each result gathers from its window.

#include <algorithm>
#include <limits>

#include "kernels/eigen/per_isa/pool.h"
#include "kernels/eigen/per_isa/table.h"

namespace topdnn::eigen {

namespace {

// Calls body(image, row) for every row of every image.
template <typename Body>
void ForEachRow(const Pool& pool, Index images, Index rows, double touched, Body body) {
  pool.For(images * rows, 4 * touched, touched, [&](Index first, Index end) {
    for (Index i = first; i < end; ++i) body(i / rows, i % rows);
  });
}

// Average number of elements read or written per row of outputs (or of inputs, in a backward pass).
double TouchedPerRow(const Pooling& p, Index rows) {
  double covered_rows = 0;
  for (Index y = 0; y < p.oh; ++y) {
    covered_rows += static_cast<double>(p.rows[y].end - p.rows[y].first);
  }
  double covered_cols = 0;
  for (Index x = 0; x < p.ow; ++x) {
    covered_cols += static_cast<double>(p.cols[x].end - p.cols[x].first);
  }
  return covered_rows * covered_cols * static_cast<double>(p.c) / static_cast<double>(rows);
}

// best = max(best, column), with the number of the column that won. Of equal elements the first
// stays. A NaN wins.
void TakeMaxima(Index channels, const float* column, std::int32_t number, float* best,
                std::int32_t* winners) {
  for (Index c = 0; c < channels; ++c) {
    const bool wins = !(column[c] <= best[c]) && best[c] == best[c];
    best[c] = wins ? column[c] : best[c];
    winners[c] = wins ? number : winners[c];
  }
}

void TakeMaxima(Index channels, const float* column, float* best) {
  for (Index c = 0; c < channels; ++c) {
    const bool wins = !(column[c] <= best[c]) && best[c] == best[c];
    best[c] = wins ? column[c] : best[c];
  }
}

// Calls body(in, out) for every element of the image that a window contains, where `in` is its
// position (N, H, W) and `out` that of the window's output (N, OH, OW).
template <typename Body>
void ForEachTap(const Pooling& p, Index image, Body body) {
  for (Index h = 0; h < p.h; ++h) {
    for (Index w = 0; w < p.w; ++w) {
      const Index in = (image * p.h + h) * p.w + w;
      for (Index y = p.row_outs[h].first; y < p.row_outs[h].end; ++y) {
        for (Index x = p.col_outs[w].first; x < p.col_outs[w].end; ++x) {
          body(in, (image * p.oh + y) * p.ow + x);
        }
      }
    }
  }
}

void MaxPool(Pool* pool, const Pooling& p, const float* src, float* dst) {
  using Column = Eigen::Map<Eigen::ArrayXf>;
  using ConstColumn = Eigen::Map<const Eigen::ArrayXf>;
  const Index results = p.oh * p.ow * p.c;  // of an image
  pool->For(p.n, 0, static_cast<double>(p.h * p.w * p.c), [&](Index first, Index end) {
    std::fill(dst + first * results, dst + end * results, -std::numeric_limits<float>::infinity());
    for (Index image = first; image < end; ++image) {
      ForEachTap(p, image, [&](Index in, Index out) {
        Column best(dst + out * p.c, p.c);
        best = best.max(ConstColumn(src + in * p.c, p.c));
      });
    }
  });
}

void MaxPoolBackward(Pool* pool, const Pooling& p, const float* src, const float* diff_dst,
                     float* maxima, std::int64_t* places, float* diff_src) {
  constexpr std::int64_t kNone = -1;
  const Index elements = p.h * p.w * p.c;  // of an image
  const Index results = p.oh * p.ow * p.c;
  const Index window = p.r * p.s;
  pool->For(p.n, 0, static_cast<double>(elements * window), [&](Index first, Index end) {
    std::fill(maxima + first * results, maxima + end * results,
              -std::numeric_limits<float>::infinity());
    std::fill(places + first * results, places + end * results, kNone);
    for (Index image = first; image < end; ++image) {
      ForEachTap(p, image, [&](Index in, Index out) {
        const float* column = src + in * p.c;
        float* best = maxima + out * p.c;
        std::int64_t* at = places + out * p.c;
        for (Index c = 0; c < p.c; ++c) {
          if (best[c] < column[c] || at[c] == kNone) {
            best[c] = column[c];
            at[c] = in * p.c + c;
          }
        }
      });
    }
    std::fill(diff_src + first * elements, diff_src + end * elements, 0.0F);
    for (Index i = first * results; i < end * results; ++i) diff_src[places[i]] += diff_dst[i];
  });
}

void MaxPoolRows(Pool* pool, const Pooling& p, const float* src, float* dst,
                 std::int32_t* winners) {
  ForEachRow(*pool, p.n, p.oh, TouchedPerRow(p, p.oh), [&](Index n, Index y) {
    const float* image = src + n * p.h * p.w * p.c;
    for (Index x = 0; x < p.ow; ++x) {
      const Index at = ((n * p.oh + y) * p.ow + x) * p.c;
      const Range rows = p.rows[y];
      const Range cols = p.cols[x];
      const auto number = [&](Index h, Index w) {
        return static_cast<std::int32_t>((h - (y * p.stride_h - p.pad_top)) * p.s +
                                         (w - (x * p.stride_w - p.pad_left)));
      };
      std::copy_n(image + (rows.first * p.w + cols.first) * p.c, p.c, dst + at);
      if (winners != nullptr) std::fill_n(winners + at, p.c, number(rows.first, cols.first));
      for (Index h = rows.first; h < rows.end; ++h) {
        for (Index w = cols.first; w < cols.end; ++w) {
          const float* column = image + (h * p.w + w) * p.c;
          if (winners != nullptr) {
            TakeMaxima(p.c, column, number(h, w), dst + at, winners + at);
          } else {
            TakeMaxima(p.c, column, dst + at);
          }
        }
      }
    }
  });
}

// Each element gathers from the outputs whose windows cover it, so that no two threads write the
// same element.
void MaxPoolRowsBackward(Pool* pool, const Pooling& p, const float* diff_dst,
                         const std::int32_t* winners, float* diff_src) {
  ForEachRow(*pool, p.n, p.h, TouchedPerRow(p, p.h), [&](Index n, Index h) {
    for (Index w = 0; w < p.w; ++w) {
      float* sum = diff_src + ((n * p.h + h) * p.w + w) * p.c;
      std::fill_n(sum, p.c, 0.0F);
      for (Index y = p.row_outs[h].first; y < p.row_outs[h].end; ++y) {
        for (Index x = p.col_outs[w].first; x < p.col_outs[w].end; ++x) {
          const auto number = static_cast<std::int32_t>((h - (y * p.stride_h - p.pad_top)) * p.s +
                                                        (w - (x * p.stride_w - p.pad_left)));
          const Index at = ((n * p.oh + y) * p.ow + x) * p.c;
          for (Index c = 0; c < p.c; ++c) {
            sum[c] += winners[at + c] == number ? diff_dst[at + c] : 0.0F;
          }
        }
      }
    }
  });
}

void AveragePool(Pool* pool, const Pooling& p, const float* src, float* dst) {
  ForEachRow(*pool, p.n, p.oh, TouchedPerRow(p, p.oh), [&](Index n, Index y) {
    const float* image = src + n * p.h * p.w * p.c;
    for (Index x = 0; x < p.ow; ++x) {
      float* sum = dst + ((n * p.oh + y) * p.ow + x) * p.c;
      std::fill_n(sum, p.c, 0.0F);
      for (Index h = p.rows[y].first; h < p.rows[y].end; ++h) {
        for (Index w = p.cols[x].first; w < p.cols[x].end; ++w) {
          const float* column = image + (h * p.w + w) * p.c;
          for (Index c = 0; c < p.c; ++c) sum[c] += column[c];
        }
      }
      const float divisor = p.divisors[y * p.ow + x];
      for (Index c = 0; c < p.c; ++c) sum[c] /= divisor;
    }
  });
}

void AveragePoolBackward(Pool* pool, const Pooling& p, const float* diff_dst, float* diff_src) {
  ForEachRow(*pool, p.n, p.h, TouchedPerRow(p, p.h), [&](Index n, Index h) {
    for (Index w = 0; w < p.w; ++w) {
      float* sum = diff_src + ((n * p.h + h) * p.w + w) * p.c;
      std::fill_n(sum, p.c, 0.0F);
      for (Index y = p.row_outs[h].first; y < p.row_outs[h].end; ++y) {
        for (Index x = p.col_outs[w].first; x < p.col_outs[w].end; ++x) {
          const float* column = diff_dst + ((n * p.oh + y) * p.ow + x) * p.c;
          const float divisor = p.divisors[y * p.ow + x];
          for (Index c = 0; c < p.c; ++c) sum[c] += column[c] / divisor;
        }
      }
    }
  });
}

const Entry kMaxPool(&Functions::max_pool, MaxPool);
const Entry kMaxPoolBackward(&Functions::max_pool_backward, MaxPoolBackward);
const Entry kMaxPoolRows(&Functions::max_pool_rows, MaxPoolRows);
const Entry kMaxPoolRowsBackward(&Functions::max_pool_rows_backward, MaxPoolRowsBackward);
const Entry kAveragePool(&Functions::average_pool, AveragePool);
const Entry kAveragePoolBackward(&Functions::average_pool_backward, AveragePoolBackward);

}  // namespace

}  // namespace topdnn::eigen
