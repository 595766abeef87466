// Explicit im2col and col2im of one image, as in Caffe's convolution (Jia et al. 2014; Chellapilla
// et al. 2006). Each output position's receptive field becomes a column, so that the convolution is
// one matrix product.

#ifndef TOPDNN_KERNELS_CONV_IM2COL_H_
#define TOPDNN_KERNELS_CONV_IM2COL_H_

#include "kernels/conv/conv.h"

namespace topdnn {

// Copies image (C, H, W) of all groups to col (C*R*S, OH*OW), with zeros for padding. With
// `parallel`, threads share the channels; in Caffe one thread copies all.
void Im2Col(const ConvExtents& e, bool parallel, const float* image, float* col);

// The transpose: sums col (C*R*S, OH*OW) into image (C, H, W). The image is overwritten.
void Col2Im(const ConvExtents& e, bool parallel, const float* col, float* image);

// Whether the image is already its own col: 1x1, stride 1, no padding.
bool ColIsImage(const ConvExtents& e);

}  // namespace topdnn

#endif  // TOPDNN_KERNELS_CONV_IM2COL_H_
