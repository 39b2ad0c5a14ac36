"""Runs a bundle from Python through the C interface (runtime_stub/include/dlcb.h), on torch tensors, without copies.

    model = Model("resnet50.dlcb", library="build/release/lib/libdlcb.so")
    y, = model(x)            # x: a CUDA tensor; runs on torch's current stream
"""
import copy
import ctypes as C

import torch


class _Device(C.Structure):
    _fields_ = [("type", C.c_int32), ("id", C.c_int32)]


class _DType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class _Tensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device", _Device), ("ndim", C.c_int32), ("dtype", _DType),
                ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class _Options(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("device", C.c_int), ("device_index", C.c_int), ("use_graphs", C.c_int),
                ("graph_cache_entries", C.c_int), ("allow_tf32_conv", C.c_int), ("allow_tf32_matmul", C.c_int),
                ("allocator", C.c_void_p), ("sim_cache_dir", C.c_char_p), ("use_libraries", C.c_int)]


_CODES = {torch.float32: (2, 32), torch.float16: (2, 16), torch.bfloat16: (4, 16), torch.float64: (2, 64), torch.int64: (0, 64),
          torch.int32: (0, 32), torch.int8: (0, 8), torch.uint8: (1, 8), torch.bool: (6, 8)}
_TYPES = {code: dtype for dtype, code in _CODES.items()}


class Refused(RuntimeError):
    pass


class Model:
    def __init__(self, path, library, **options):
        """options: fields of dlcb_options by name. Raises Refused with the library's message."""
        self.lib = C.CDLL(library)
        self.lib.dlcb_last_error.restype = C.c_char_p
        self.lib.dlcb_last_error.argtypes = [C.c_void_p]
        self.model, self.context, self.owner = C.c_void_p(), C.c_void_p(), True
        chosen = _Options()
        self.lib.dlcb_options_init(C.byref(chosen))
        for name, value in options.items():
            setattr(chosen, name, value)
        self._check(self.lib.dlcb_load_file(path.encode(), C.byref(chosen), C.byref(self.model)))
        self._check(self.lib.dlcb_context_create(self.model, C.byref(self.context)))
        self.n_in = self.lib.dlcb_input_count(self.model)
        self.n_out = self.lib.dlcb_output_count(self.model)
        self.lib.dlcb_output_dtype.restype = _DType
        self.ranks = [self.lib.dlcb_output_rank(self.model, i) for i in range(self.n_out)]
        kinds = [self.lib.dlcb_output_dtype(self.model, i) for i in range(self.n_out)]
        self.dtypes = [_TYPES[(k.code, k.bits)] for k in kinds]

    def _check(self, status):
        if status:
            context = self.context if self.context.value else None
            raise Refused((self.lib.dlcb_last_error(context) or b"").decode())

    @staticmethod
    def _describe(t):
        shape = (C.c_int64 * t.dim())(*t.shape)
        code, bits = _CODES[t.dtype]
        device = _Device(2, t.device.index or 0) if t.is_cuda else _Device(1, 0)
        return _Tensor(t.data_ptr(), device, t.dim(), _DType(code, bits, 1), shape, None, 0), shape

    def bind(self, *inputs):
        """Resolves shapes and allocates outputs once; returns (run, outputs). run() launches on torch's current stream."""
        described = [self._describe(t.contiguous()) for t in inputs]
        array = (_Tensor * self.n_in)(*[d[0] for d in described])
        shapes = [(C.c_int64 * max(r, 1))() for r in self.ranks]
        pointers = (C.POINTER(C.c_int64) * self.n_out)(*[C.cast(s, C.POINTER(C.c_int64)) for s in shapes])
        self._check(self.lib.dlcb_resolve(self.context, array, self.n_in, pointers, None))
        outputs = [torch.empty(tuple(s[:r]), dtype=d, device=inputs[0].device) for s, r, d in zip(shapes, self.ranks, self.dtypes)]
        out_described = [self._describe(t) for t in outputs]
        out_array = (_Tensor * self.n_out)(*[d[0] for d in out_described])
        invoke, context, check = self.lib.dlcb_invoke, self.context, self._check
        n_in, n_out = self.n_in, self.n_out

        def run(keep=(described, out_described, inputs)):
            check(invoke(context, array, n_in, out_array, n_out, C.c_void_p(torch.cuda.current_stream().cuda_stream)))

        return run, outputs

    def __call__(self, *inputs):
        run, outputs = self.bind(*inputs)
        run()
        return outputs

    def another(self):
        """A further context of the same loaded model, for another thread; close() it before the model."""
        other = copy.copy(self)
        other.context, other.owner = C.c_void_p(), False
        self._check(self.lib.dlcb_context_create(self.model, C.byref(other.context)))
        return other

    def close(self):
        self.lib.dlcb_context_free(self.context)
        if self.owner:
            self.lib.dlcb_model_free(self.model)
