// Element access of reference tensors.
#include <cstring>

#include "base/diagnostic.h"
#include "ops/arithmetic.h"
#include "ops/reference.h"

namespace dlcb::ops {
namespace {

template <class T>
T read(const Tensor& t, int64_t element) {
  T v;
  std::memcpy(&v, t.bytes.data() + element * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}
template <class T>
void write(Tensor& t, int64_t element, T v) {
  std::memcpy(t.bytes.data() + element * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}

}  // namespace

Tensor Tensor::zeros(DType dtype, std::vector<int64_t> dims) {
  Tensor t;
  t.dtype = dtype;
  t.dims = std::move(dims);
  t.bytes.resize(static_cast<size_t>(t.size()) * size_of(dtype));
  return t;
}

int64_t Tensor::size() const {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

int64_t Tensor::integer(int64_t e) const {
  switch (dtype) {
    case DType::I8:
      return read<int8_t>(*this, e);
    case DType::U8:
      return read<uint8_t>(*this, e);
    case DType::I16:
      return read<int16_t>(*this, e);
    case DType::U16:
      return read<uint16_t>(*this, e);
    case DType::I32:
      return read<int32_t>(*this, e);
    case DType::U32:
      return read<uint32_t>(*this, e);
    case DType::I64:
    case DType::U64:
      return read<int64_t>(*this, e);
    case DType::Bool:
      return read<uint8_t>(*this, e) != 0;
    default:
      return float_to_integer(DType::I64, real(e));
  }
}

double Tensor::real(int64_t e) const {
  switch (dtype) {
    case DType::F32:
      return read<float>(*this, e);
    case DType::F64:
      return read<double>(*this, e);
    case DType::F16:
      return half_to_double(read<uint16_t>(*this, e));
    case DType::BF16:
      return bfloat_to_double(read<uint16_t>(*this, e));
    default:
      return integer_to_float(dtype, integer(e), DType::F64);
  }
}

void Tensor::set_integer(int64_t e, int64_t v) {
  switch (size_of(dtype)) {
    case 1:
      return write(*this, e, static_cast<int8_t>(v));
    case 2:
      return write(*this, e, static_cast<int16_t>(v));
    case 4:
      return write(*this, e, static_cast<int32_t>(v));
    default:
      return write(*this, e, v);
  }
}

void Tensor::set_real(int64_t e, double v) {
  switch (dtype) {
    case DType::F32:
      return write(*this, e, static_cast<float>(v));
    case DType::F64:
      return write(*this, e, v);
    case DType::F16:
      return write(*this, e, double_to_half(v));
    case DType::BF16:
      return write(*this, e, double_to_bfloat(v));
    default:
      return set_integer(e, float_to_integer(dtype, v));
  }
}

}  // namespace dlcb::ops
