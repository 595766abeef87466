// The shapes of a model's inputs: what the model fixes, what the user gives, and what the batch and
// the size of the image settle.

#ifndef TOPDNN_NETWORKS_ONNX_IMPORT_INPUT_SHAPES_H_
#define TOPDNN_NETWORKS_ONNX_IMPORT_INPUT_SHAPES_H_

#include <cstdint>
#include <vector>

#include "networks/onnx/import/importer.h"

namespace topdnn {

// Returns a shape for each of `inputs`, of which the first one is the image. Its first extent is
// the batch: the user's, otherwise the model's. An input whose first extent is open, or is the
// batch that the model fixes for the image, has the same batch, unless it is a single number.
// Throws OnnxError for an input of a type that is not supported, for extents that stay open, and
// for shapes that contradict the model.
std::vector<Shape> SettleInputShapes(const std::vector<const ModelInput*>& inputs,
                                     const ImportOptions& options);

// The same options with another batch: the shapes that begin with `from` begin with `to`.
ImportOptions WithBatch(ImportOptions options, std::int64_t from, std::int64_t to);

// Throws OnnxError if the user gives a shape for an input that the model does not have.
void CheckGivenNames(const std::vector<ModelInput>& inputs, const ImportOptions& options);

}  // namespace topdnn

#endif  // TOPDNN_NETWORKS_ONNX_IMPORT_INPUT_SHAPES_H_
