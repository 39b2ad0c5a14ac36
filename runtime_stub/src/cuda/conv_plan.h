// A convolution step as a cuDNN execution plan: builds the operation graph (convolution or its transpose, bias,
// residual, ReLU), asks the heuristic and takes the first engine that the call's precision allows. Needs no GPU when it
// is given a device-property descriptor instead of a handle.
#pragma once
#include "cudnn_api.h"

namespace dlcb::rt {

struct ConvPlan {
  cudnn::Descriptor plan;
  int64_t workspace_bytes = 0;
  bool runtime_compiled = false;
  bool zero_bias = false;  // the call has none, but the plan wants one: k zeros
  // Tensors in the order of `ids`, from a call's pointers.
  std::vector<int64_t> ids;
  std::vector<void*> pointers(const ConvCall& call) const;
};

struct ConvTarget {
  const cudnn::Api* api = nullptr;
  cudnn::Handle handle = nullptr;
  const cudnn::Descriptor* device = nullptr;  // used when handle is null
};

// What a failing status means: DLCB_MISSING_LIBRARY where cuDNN does not take the case.
Error conv_failure(const cudnn::Api& api, cudnn::Status status, const char* what);

// DLCB_MISSING_LIBRARY when cuDNN has no engine for the case.
Error build_conv_plan(const ConvTarget& target, const ConvCall& call, ConvPlan* out);

}  // namespace dlcb::rt
