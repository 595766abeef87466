// Explicit im2col and col2im of one image, as Caffe's convolution does them (Jia et al. 2014;
// Chellapilla et al. 2006): each output position's receptive field becomes a column, so that the
// convolution is one matrix product.

#ifndef TOPDNN_KERNELS_CONV_IM2COL_H_
#define TOPDNN_KERNELS_CONV_IM2COL_H_

#include "kernels/conv/conv.h"

namespace topdnn {

// image (C/G, H, W) of one group -> col (C/G*R*S, OH*OW), zeros for padding. Threads share the
// channels.
void Im2Col(const ConvExtents& e, const float* image, float* col);

// The transpose: sums col (C/G*R*S, OH*OW) into image (C/G, H, W), which it overwrites.
void Col2Im(const ConvExtents& e, const float* col, float* image);

// Whether the image already is its own col: 1x1, stride 1, no padding.
bool ColIsImage(const ConvExtents& e);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_IM2COL_H_
