// The windows of ONNX's convolutions and poolings: their attributes as axes, and the image that
// they read.

#ifndef TOPDNN_NETWORKS_ONNX_NODES_WINDOW_AXES_H_
#define TOPDNN_NETWORKS_ONNX_NODES_WINDOW_AXES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/op/spatial_axis.h"
#include "networks/onnx/import/node_import.h"

namespace topdnn {

// Throws UnsupportedNode unless the number is so small that products of two such numbers, and sums
// of these, fit 64 bits.
std::int64_t BoundedWindow(std::int64_t number, std::int64_t least);

// An attribute of `count` numbers, `otherwise` when the node has none. Throws UnsupportedNode for
// another count.
std::vector<std::int64_t> NumbersOf(const ModelNode& node, const std::string& attribute,
                                    std::size_t count, std::int64_t otherwise);

// The windows over an image (N, C, ...), which already has the padding of a Pad before it, from
// the attributes strides, dilations, pads and auto_pad. One kernel extent for each spatial axis.
std::vector<SpatialAxis> WindowsOf(const ModelNode& node, const Shape& image,
                                   const std::vector<std::int64_t>& kernel);

// The image that a window operation reads, and the padding that the operation must apply.
struct PaddedImage {
  ImportedValue value;  // without the padding
  PendingPad pad;

  std::size_t axes() const { return static_cast<std::size_t>(value.shape.rank()) - 2; }
  // The shape with padding. SAME is computed from it.
  Shape PaddedShape() const;
};

// Throws UnsupportedNode unless the first input is (N, C) and one to three spatial axes.
PaddedImage ImageAt(NodeImport& node);

// Adds a layer for the padding of a Pad, where no window can contain it.
void PadByLayer(NodeImport& node, PaddedImage& image);

// Makes the padding of a Pad part of the windows.
void Join(const PendingPad& pad, std::vector<SpatialAxis>& axes);

// An image of one axis as one of two axes, of which the first has extent 1: (N, C, W) as (N, C, 1,
// W). Other images stay as they are.
ValueId AsImage(NodeImport& node, const ImportedValue& value);
std::vector<SpatialAxis> AsImage(std::vector<SpatialAxis> axes);
// Sets the node's result: without the axis that AsImage added, if the node's source has one axis.
void ProduceImage(NodeImport& node, ValueId result, std::size_t axes);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_NODES_WINDOW_AXES_H_
