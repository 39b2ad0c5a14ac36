// What follows a product and can be part of its library call: out = relu(alpha product + bias + residual). Each step
// looks at the only user of the call's result, so nobody else sees what is absorbed.
#pragma once
#include <string_view>
#include <vector>

#include "fuse/region.h"

namespace dlcb::library {

// False of transposed convolutions, for which cuDNN has no such engines, and of products that may have no terms: those
// are tensors that are cleared.
bool has_epilogue(graph::Graph& graph, const fuse::Claim& claim);

class EpilogueMatcher {
 public:
  using Users = std::vector<std::vector<graph::NodeId>>;
  EpilogueMatcher(graph::Graph& graph, const Users& users, fuse::Claim& claim);

  void take_scale();  // a literal factor of a matrix product; before anything else
  void take_bias();   // constants, one for each column or channel
  void take_relu();   // nothing can follow it
  // A tensor that lies in memory as the result does, element by element. False if there is none.
  bool take_residual();

 private:
  const graph::Node* next(std::string_view op) const;
  void absorb(const graph::Node& node);

  graph::Graph& graph_;
  const Users& users_;
  fuse::Claim& claim_;
  fuse::Epilogue& call_;
};

}  // namespace dlcb::library
