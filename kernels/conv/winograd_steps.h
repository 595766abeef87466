// The steps of a convolution by Winograd's F(4x4, 3x3) or F(2x2, 5x5), by vectors of channels,
// compiled for several ISAs: see winograd_tiles.cc. The matrices for 3x3 are those of Lavin and
// Gray (CVPR 2016, section 4.3). Those for other sizes have the same interpolation points: 0, 1,
// -1, 2, -2 and infinity.

#ifndef TOPDNN_KERNELS_CONV_WINOGRAD_STEPS_H_
#define TOPDNN_KERNELS_CONV_WINOGRAD_STEPS_H_

#include <cstdint>

#include "kernels/conv/lane_epilogue.h"
#include "kernels/conv/register_product.h"
#include "kernels/simd/lane_vectors.h"

namespace topdnn {

// A tile of the source is 6x6 pixels, which become 36 points. The tile of the result, or of its
// gradient, is 4x4 pixels for windows of 3x3, and 2x2 pixels for windows of 5x5.
inline constexpr int kTileSource = 6;
inline constexpr int kTilePoints = kTileSource * kTileSource;
inline constexpr int TileSideFor(int window) { return kTileSource + 1 - window; }

// The extents of images, and the distances between their pixels, vectors of channels and images, in
// elements.
struct TileImages {
  std::int64_t h = 0, w = 0, pixel = 0, vector = 0, image = 0;
};

// A forward pass, or the correlation that computes the gradient of the source. In backward_weights
// `dst` are the images of diff_dst.
struct WinogradProblem {
  std::int64_t tile_rows = 0, tile_columns = 0;  // of an image
  std::int64_t pad_top = 0, pad_left = 0;
  std::int64_t inputs = 0;  // channels of src
  TileImages src, dst;
  const float* src_data = nullptr;
  float* dst_data = nullptr;
  const float* diff_dst_data = nullptr;  // backward_weights
  const float* bias = nullptr;           // nullptr: none
  LaneEpilogue epilogue;
};

// Positions of weights, in elements: the sum of one value of each list. `taps` has the taps of the
// window in row-major order, as a correlation uses them.
struct WinogradWeights {
  const float* data = nullptr;
  float* gradient = nullptr;  // backward_weights
  const std::int64_t* outputs = nullptr;
  const std::int64_t* inputs = nullptr;
  std::int64_t taps[25] = {};
};

// Consecutive tiles, and `vectors` (at most kMostVectors) vectors of their outputs, from
// `first_vector`. Each array has one plane per point; `*_plane` is the distance between planes.
struct WinogradBlock {
  std::int64_t first_tile = 0, tiles = 0;
  std::int64_t first_vector = 0, vectors = 0;
  float* sources = nullptr;  // (points, tiles, inputs)
  std::int64_t source_plane = 0;
  // (points, inputs, vectors); in backward_weights the gradients of dst, (points, tiles, vectors)
  float* weights = nullptr;
  std::int64_t weights_plane = 0;
  // (points, tiles, vectors); in backward_weights (points, inputs, vectors)
  float* sums = nullptr;
  std::int64_t sums_plane = 0;
  // backward_weights: `copies` arrays of sums, at this distance, are added.
  std::int64_t copies = 1, copy = 0;
  float* bias_sums = nullptr;  // backward_weights: (vectors), to which the gradients are added
};

struct WinogradSteps {
  void (*transform_sources)(const WinogradProblem& problem, const WinogradBlock& block);
  void (*transform_weights)(const WinogradProblem& problem, const WinogradWeights& weights,
                            const WinogradBlock& block);
  void (*multiply)(const WinogradProblem& problem, const WinogradBlock& block);
  void (*transform_sums)(const WinogradProblem& problem, const WinogradBlock& block);
  // backward_weights. With `adds` the products are added to the sums.
  void (*transform_gradients)(const WinogradProblem& problem, const WinogradBlock& block);
  void (*multiply_gradients)(const WinogradProblem& problem, const WinogradBlock& block, bool adds);
  void (*transform_weights_gradient)(const WinogradProblem& problem, const WinogradWeights& weights,
                                     const WinogradBlock& block);
};

// One axis of a tile of the source: B^T d.
template <typename Floats>
inline void SourceAxis(const Floats (&d)[kTileSource], Floats (&t)[kTileSource]) {
  const Floats even = d[4] - 4 * d[2];
  const Floats odd = d[3] - 4 * d[1];
  const Floats even_far = d[4] - d[2];
  const Floats odd_far = 2 * (d[3] - d[1]);
  t[0] = 4 * d[0] - 5 * d[2] + d[4];
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = even_far + odd_far;
  t[4] = even_far - odd_far;
  t[5] = 4 * d[1] - 5 * d[3] + d[5];
}

// One axis of what multiplies the source, weights or a gradient of the result: G g.
template <int kValues, typename Floats>
inline void FactorAxis(const Floats (&g)[kValues], Floats (&u)[kTileSource]) {
  Floats even = g[0];
  Floats odd = g[1];
  Floats even_far = g[0] * (1.0F / 24);
  Floats odd_far = g[1] * (1.0F / 12);
  if constexpr (kValues > 2) {
    even += g[2];
    even_far += g[2] * (1.0F / 6);
  }
  if constexpr (kValues > 3) {
    odd += g[3];
    odd_far += g[3] * (1.0F / 3);
  }
  if constexpr (kValues > 4) {
    even += g[4];
    even_far += g[4] * (2.0F / 3);
  }
  even *= -1.0F / 6;
  odd *= -1.0F / 6;
  u[0] = g[0] * 0.25F;
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = even_far + odd_far;
  u[4] = even_far - odd_far;
  u[5] = g[kValues - 1];
}

// One axis of the sums: A^T m.
template <int kResults, typename Floats>
inline void SumsAxis(const Floats (&m)[kTileSource], Floats (&y)[kResults]) {
  const Floats sum = m[1] + m[2];
  const Floats difference = m[1] - m[2];
  const Floats sum_far = m[3] + m[4];
  const Floats difference_far = m[3] - m[4];
  y[0] = m[0] + sum + sum_far;
  y[1] = difference + 2 * difference_far;
  if constexpr (kResults > 2) y[2] = sum + 4 * sum_far;
  if constexpr (kResults > 3) y[3] = difference + 8 * difference_far;
  if constexpr (kResults > 4) y[4] = sum + 16 * sum_far;
  y[kResults - 1] += m[5];
}

// The second axis of the sums, for one row of results. `columns`: by column of points, then row of
// results.
template <int kResults, typename Floats>
inline void SumsOfRow(const Floats (&columns)[kTileSource][kResults], int row,
                      Floats (&results)[kResults]) {
  Floats m[kTileSource];
#pragma GCC unroll 6
  for (int x = 0; x < kTileSource; ++x) m[x] = columns[x][row];
  SumsAxis(m, results);
}

// The second axis of a transform to points, and their stores. `columns`: by column, then row of
// points.
template <int kColumns, typename Floats>
inline void StorePoints(const Floats (&columns)[kColumns][kTileSource],
                        void (*axis)(const Floats (&)[kColumns], Floats (&)[kTileSource]),
                        float* points, std::int64_t plane) {
#pragma GCC unroll 6
  for (int y = 0; y < kTileSource; ++y) {
    Floats row[kColumns];
    Floats transformed[kTileSource];
#pragma GCC unroll 6
    for (int x = 0; x < kColumns; ++x) row[x] = columns[x][y];
    axis(row, transformed);
#pragma GCC unroll 6
    for (int x = 0; x < kTileSource; ++x) {
      StoreFloats(transformed[x], points + (y * kTileSource + x) * plane);
    }
  }
}

struct TilePlace {
  std::int64_t image, row, column;  // of the first result
};

template <int kLanes, int kSide>
inline TilePlace PlaceOfTile(const WinogradProblem& p, std::int64_t tile) {
  const std::int64_t in_image = p.tile_rows * p.tile_columns;
  const std::int64_t at = tile % in_image;
  return {tile / in_image, at / p.tile_columns * kSide, at % p.tile_columns * kSide};
}

// Transforms the tile of a vector of channels that starts at `image`; the element (0, 0) of the
// tile is at (top, left). kEdge: part of the tile may be outside the image, where the source is 0.
template <int kLanes, bool kEdge>
inline void TransformSourceTile(const TileImages& images, const float* image, std::int64_t top,
                                std::int64_t left, float* points, std::int64_t plane) {
  using Floats = typename Vectors<kLanes>::Floats;
  Floats columns[kTileSource][kTileSource];  // by column, then row
#pragma GCC unroll 6
  for (int x = 0; x < kTileSource; ++x) {
    Floats d[kTileSource];
#pragma GCC unroll 6
    for (int y = 0; y < kTileSource; ++y) {
      const bool inside =
          !kEdge || (top + y >= 0 && top + y < images.h && left + x >= 0 && left + x < images.w);
      d[y] = inside ? LoadFloats<kLanes>(image + ((top + y) * images.w + left + x) * images.pixel)
                    : Floats{};
    }
    SourceAxis(d, columns[x]);
  }
  StorePoints(columns, SourceAxis<Floats>, points, plane);
}

template <int kLanes, int kSide>
void TransformSources(const WinogradProblem& problem, const WinogradBlock& block) {
  const WinogradProblem p = problem;  // local copies: stores cannot change them
  const WinogradBlock b = block;
  for (std::int64_t tile = 0; tile < b.tiles; ++tile) {
    const TilePlace place = PlaceOfTile<kLanes, kSide>(p, b.first_tile + tile);
    const std::int64_t top = place.row - p.pad_top;
    const std::int64_t left = place.column - p.pad_left;
    const bool inside =
        top >= 0 && top + kTileSource <= p.src.h && left >= 0 && left + kTileSource <= p.src.w;
    const float* image = p.src_data + place.image * p.src.image;
    float* points = b.sources + tile * p.inputs;
    for (std::int64_t c = 0; c < p.inputs; c += kLanes) {
      if (inside) {
        TransformSourceTile<kLanes, false>(p.src, image, top, left, points + c, b.source_plane);
      } else {
        TransformSourceTile<kLanes, true>(p.src, image, top, left, points + c, b.source_plane);
      }
      image += p.src.vector;
    }
  }
}

// Whether the weights of a vector of outputs are next to each other.
template <int kLanes>
inline bool AreAdjacent(const std::int64_t* outputs) {
  bool adjacent = true;
  for (int lane = 1; lane < kLanes; ++lane) adjacent &= outputs[lane] == outputs[0] + lane;
  return adjacent;
}

// The weights of a vector of outputs.
template <int kLanes>
inline typename Vectors<kLanes>::Floats LoadWeights(bool adjacent, const std::int64_t* outputs,
                                                    const float* data) {
  if (adjacent) return LoadFloats<kLanes>(data + outputs[0]);
  typename Vectors<kLanes>::Floats values;
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = data[outputs[lane]];
  return values;
}

template <int kLanes, int kWindow>
inline void TransformWeightsOf(const WinogradWeights& w, bool adjacent, const std::int64_t* outputs,
                               std::int64_t input, float* points, std::int64_t plane) {
  using Floats = typename Vectors<kLanes>::Floats;
  const float* data = w.data + input;
  Floats columns[kWindow][kTileSource];
#pragma GCC unroll 5
  for (int s = 0; s < kWindow; ++s) {
    Floats g[kWindow];
#pragma GCC unroll 5
    for (int r = 0; r < kWindow; ++r) {
      g[r] = LoadWeights<kLanes>(adjacent, outputs, data + w.taps[kWindow * r + s]);
    }
    FactorAxis(g, columns[s]);
  }
  StorePoints(columns, FactorAxis<kWindow, Floats>, points, plane);
}

template <int kLanes, int kWindow>
void TransformWeights(const WinogradProblem& problem, const WinogradWeights& weights,
                      const WinogradBlock& block) {
  const WinogradWeights w = weights;  // local copies: stores cannot change them
  const WinogradBlock b = block;
  for (std::int64_t vector = 0; vector < b.vectors; ++vector) {
    const std::int64_t* outputs = w.outputs + (b.first_vector + vector) * kLanes;
    const bool adjacent = AreAdjacent<kLanes>(outputs);
    float* points = b.weights + vector * kLanes;
    for (std::int64_t input = 0; input < problem.inputs; ++input) {
      TransformWeightsOf<kLanes, kWindow>(w, adjacent, outputs, w.inputs[input], points,
                                          b.weights_plane);
      points += b.vectors * kLanes;
    }
  }
}

// The products of all points. `rows`: of the sums. The left factor has `inputs` floats per tile.
template <int kLanes, bool kTransposed>
inline void MultiplyPoints(const WinogradBlock& block, std::int64_t inputs, std::int64_t rows,
                           std::int64_t terms, bool adds) {
  const WinogradBlock b = block;  // a local copy: stores cannot change it
  const auto& functions = b.vectors == kMostVectors
                              ? kMultiplyFunctions<kLanes, kMostVectors, kTransposed>
                              : kMultiplyFunctions<kLanes, 1, kTransposed>;
  const std::int64_t row_stride = kTransposed ? 1 : inputs;
  const std::int64_t groups = (rows + kMostRows<kLanes> - 1) / kMostRows<kLanes>;
  for (int point = 0; point < kTilePoints; ++point) {
    const float* left = b.sources + point * b.source_plane;
    const float* right = b.weights + point * b.weights_plane;
    float* sums = b.sums + point * b.sums_plane;
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = rows * group / groups;
      const std::int64_t end = rows * (group + 1) / groups;
      ProductFactors next = {left + end * row_stride, right};
      if (group + 1 == groups) next = {left + b.source_plane, right + b.weights_plane};
      functions.of[end - first - 1]({left + first * row_stride, right}, next, terms, inputs, adds,
                                    sums + first * b.vectors * kLanes);
    }
  }
}

template <int kLanes>
void Multiply(const WinogradProblem& problem, const WinogradBlock& block) {
  MultiplyPoints<kLanes, false>(block, problem.inputs, block.tiles, problem.inputs, false);
}

template <int kLanes>
void MultiplyGradients(const WinogradProblem& problem, const WinogradBlock& block, bool adds) {
  MultiplyPoints<kLanes, true>(block, problem.inputs, problem.inputs, block.tiles, adds);
}

template <int kLanes, int kSide>
void TransformSums(const WinogradProblem& problem, const WinogradBlock& block) {
  using Floats = typename Vectors<kLanes>::Floats;
  const WinogradProblem p = problem;  // local copies: stores cannot change them
  const WinogradBlock b = block;
  for (std::int64_t tile = 0; tile < b.tiles; ++tile) {
    const TilePlace place = PlaceOfTile<kLanes, kSide>(p, b.first_tile + tile);
    const std::int64_t rows = p.dst.h - place.row;
    const std::int64_t columns = p.dst.w - place.column;
    for (std::int64_t vector = 0; vector < b.vectors; ++vector) {
      const std::int64_t output = b.first_vector + vector;
      const float* sums = b.sums + (tile * b.vectors + vector) * kLanes;
      Floats half[kTileSource][kSide];  // by column of points, then row of results
#pragma GCC unroll 6
      for (int x = 0; x < kTileSource; ++x) {
        Floats m[kTileSource];
#pragma GCC unroll 6
        for (int y = 0; y < kTileSource; ++y) {
          m[y] = LoadFloats<kLanes>(sums + (y * kTileSource + x) * b.sums_plane);
        }
        SumsAxis(m, half[x]);
      }
      const Floats bias =
          p.bias == nullptr ? Floats{} : LoadFloats<kLanes>(p.bias + output * kLanes);
      float* dst = p.dst_data + place.image * p.dst.image + output * p.dst.vector +
                   (place.row * p.dst.w + place.column) * p.dst.pixel;
#pragma GCC unroll 4
      for (int y = 0; y < kSide; ++y) {
        if (y >= rows) break;
        Floats results[kSide];
        SumsOfRow(half, y, results);
#pragma GCC unroll 4
        for (int x = 0; x < kSide; ++x) {
          if (x >= columns) break;
          StoreResult<kLanes>(p.epilogue, results[x] + bias, dst + (y * p.dst.w + x) * p.dst.pixel);
        }
      }
    }
  }
}

template <int kLanes, int kSide>
void TransformGradients(const WinogradProblem& problem, const WinogradBlock& block) {
  using Floats = typename Vectors<kLanes>::Floats;
  const WinogradProblem p = problem;  // local copies: stores cannot change them
  const WinogradBlock b = block;
  for (std::int64_t vector = 0; vector < b.vectors; ++vector) {
    Floats bias_sum = {};
    for (std::int64_t tile = 0; tile < b.tiles; ++tile) {
      const TilePlace place = PlaceOfTile<kLanes, kSide>(p, b.first_tile + tile);
      const std::int64_t rows = p.dst.h - place.row;
      const std::int64_t columns = p.dst.w - place.column;
      const float* from = p.diff_dst_data + place.image * p.dst.image +
                          (b.first_vector + vector) * p.dst.vector +
                          (place.row * p.dst.w + place.column) * p.dst.pixel;
      Floats half[kSide][kTileSource];  // by column of the gradient, then row of points
#pragma GCC unroll 4
      for (int x = 0; x < kSide; ++x) {
        Floats g[kSide];
#pragma GCC unroll 4
        for (int y = 0; y < kSide; ++y) {
          g[y] = y < rows && x < columns
                     ? LoadFloats<kLanes>(from + (y * p.dst.w + x) * p.dst.pixel)
                     : Floats{};
        }
        bias_sum += g[0] + g[1];
        if constexpr (kSide == 4) bias_sum += g[2] + g[3];
        FactorAxis(g, half[x]);
      }
      float* points = b.weights + (tile * b.vectors + vector) * kLanes;
      StorePoints(half, FactorAxis<kSide, Floats>, points, b.weights_plane);
    }
    float* sum = b.bias_sums + vector * kLanes;
    StoreFloats(LoadFloats<kLanes>(sum) + bias_sum, sum);
  }
}

// Stores the gradient of the weights of a vector of outputs.
template <int kLanes>
inline void StoreWeights(const typename Vectors<kLanes>::Floats& values, bool adjacent,
                         const std::int64_t* outputs, float* to) {
  if (adjacent) {
    StoreFloats(values, to + outputs[0]);
  } else {
    for (int lane = 0; lane < kLanes; ++lane) to[outputs[lane]] = values[lane];
  }
}

template <int kLanes, int kWindow>
void TransformWeightsGradient(const WinogradProblem& problem, const WinogradWeights& weights,
                              const WinogradBlock& block) {
  using Floats = typename Vectors<kLanes>::Floats;
  const WinogradWeights w = weights;  // local copies: stores cannot change them
  const WinogradBlock b = block;
  for (std::int64_t vector = 0; vector < b.vectors; ++vector) {
    const std::int64_t* outputs = w.outputs + (b.first_vector + vector) * kLanes;
    const bool adjacent = AreAdjacent<kLanes>(outputs);
    for (std::int64_t input = 0; input < problem.inputs; ++input) {
      const float* sums = b.sums + (input * b.vectors + vector) * kLanes;
      Floats half[kTileSource][kWindow];  // by column of points, then row of taps
#pragma GCC unroll 6
      for (int x = 0; x < kTileSource; ++x) {
        Floats m[kTileSource];
#pragma GCC unroll 6
        for (int y = 0; y < kTileSource; ++y) {
          const float* sum = sums + (y * kTileSource + x) * b.sums_plane;
          m[y] = LoadFloats<kLanes>(sum);
          for (std::int64_t copy = 1; copy < b.copies; ++copy) {
            m[y] += LoadFloats<kLanes>(sum + copy * b.copy);
          }
        }
        SumsAxis(m, half[x]);
      }
      float* to = w.gradient + w.inputs[input];
#pragma GCC unroll 5
      for (int r = 0; r < kWindow; ++r) {
        Floats taps[kWindow];
        SumsOfRow(half, r, taps);
#pragma GCC unroll 5
        for (int s = 0; s < kWindow; ++s) {
          StoreWeights<kLanes>(taps[s], adjacent, outputs, to + w.taps[kWindow * r + s]);
        }
      }
    }
  }
}

template <int kLanes, int kWindow>
WinogradSteps WinogradStepsForWindow() {
  constexpr int kSide = TileSideFor(kWindow);
  return {TransformSources<kLanes, kSide>,
          TransformWeights<kLanes, kWindow>,
          Multiply<kLanes>,
          TransformSums<kLanes, kSide>,
          TransformGradients<kLanes, kSide>,
          MultiplyGradients<kLanes>,
          TransformWeightsGradient<kLanes, kWindow>};
}

// `window`: 3 or 5.
template <int kLanes>
WinogradSteps WinogradStepsOf(int window) {
  return window == 3 ? WinogradStepsForWindow<kLanes, 3>() : WinogradStepsForWindow<kLanes, 5>();
}

// Need the ISA of their file.
WinogradSteps WinogradStepsAvx2(int window);
WinogradSteps WinogradStepsAvx512(int window);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_WINOGRAD_STEPS_H_
