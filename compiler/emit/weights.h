// weights.bin as pieces: constants that are stored as the model has them are written from where they lie; those whose
// layout was changed are permuted into memory of our own first.
#pragma once
#include <memory>
#include <vector>

#include "bundle_format/writer.h"
#include "plan/plan.h"

namespace dlcb::emit {

struct WeightPieces {
  std::vector<bundle::Piece> pieces;                // in file order, with the zeros between them
  std::vector<std::unique_ptr<std::byte[]>> owned;  // permuted copies
};

WeightPieces weight_pieces(const plan::Plan& plan);

// Copies a dense row-major tensor so that its dims lie in physical order `order` (outermost first).
void permute(const std::byte* from, std::byte* to, std::span<const int64_t> dims, std::span<const uint8_t> order,
             size_t element_size);

}  // namespace dlcb::emit
