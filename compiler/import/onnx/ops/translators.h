// Every translator, by family: from one ONNX node to core operators. All may throw Refusal (import/emitter.h).
#pragma once

namespace dlcb::importer::onnx {

class NodeContext;

// elementwise.cpp
void unary(NodeContext&);
void binary(NodeContext&);
void variadic(NodeContext&);
void mean(NodeContext&);
void pow(NodeContext&);
void mod(NodeContext&);
void bit_shift(NodeContext&);
void where(NodeContext&);
void clip(NodeContext&);
void cast(NodeContext&);
void cast_like(NodeContext&);
void is_inf(NodeContext&);
void identity(NodeContext&);
void dropout(NodeContext&);

// activation.cpp
void leaky_relu(NodeContext&);
void prelu(NodeContext&);
void thresholded_relu(NodeContext&);
void elu(NodeContext&);
void celu(NodeContext&);
void selu(NodeContext&);
void hard_sigmoid(NodeContext&);
void gelu(NodeContext&);
void swish(NodeContext&);
void shrink(NodeContext&);

// squeeze.cpp
void squeeze(NodeContext&);

// shape.cpp
void shape(NodeContext&);
void size(NodeContext&);
void constant(NodeContext&);
void constant_of_shape(NodeContext&);
void range(NodeContext&);
void eye_like(NodeContext&);
void reshape(NodeContext&);
void flatten(NodeContext&);
void unsqueeze(NodeContext&);
void expand(NodeContext&);

// movement.cpp
void transpose(NodeContext&);
void concat(NodeContext&);
void split(NodeContext&);
void slice(NodeContext&);
void tile(NodeContext&);
void pad(NodeContext&);
void depth_to_space(NodeContext&);
void space_to_depth(NodeContext&);
void center_crop_pad(NodeContext&);
void trilu(NodeContext&);

// indexing.cpp
void gather(NodeContext&);
void gather_elements(NodeContext&);
void gather_nd(NodeContext&);
void one_hot(NodeContext&);
void cum_sum(NodeContext&);
void reverse_sequence(NodeContext&);

// resize.cpp
void resize(NodeContext&);
void upsample(NodeContext&);

// reduce.cpp
void reduce(NodeContext&);
void arg_reduce(NodeContext&);
void softmax(NodeContext&);
void hardmax(NodeContext&);

// linear.cpp
void matmul(NodeContext&);
void gemm(NodeContext&);
void einsum(NodeContext&);

// conv.cpp
void conv(NodeContext&);
void conv_transpose(NodeContext&);
void max_pool(NodeContext&);
void average_pool(NodeContext&);
void lp_pool(NodeContext&);
void global_pool(NodeContext&);
void global_lp_pool(NodeContext&);

// norm.cpp
void batch_norm(NodeContext&);
void layer_norm(NodeContext&);
void rms_norm(NodeContext&);
void group_norm(NodeContext&);
void instance_norm(NodeContext&);
void lp_norm(NodeContext&);
void lrn(NodeContext&);
void mean_variance_norm(NodeContext&);

// recurrent.cpp
void rnn(NodeContext&);
void gru(NodeContext&);
void lstm(NodeContext&);

// quantize.cpp
void quantize_linear(NodeContext&);
void dequantize_linear(NodeContext&);
void dynamic_quantize_linear(NodeContext&);
void matmul_integer(NodeContext&);
void conv_integer(NodeContext&);
void qlinear_matmul(NodeContext&);
void qlinear_conv(NodeContext&);

// attention.cpp
void attention(NodeContext&);
void rotary_embedding(NodeContext&);

}  // namespace dlcb::importer::onnx
