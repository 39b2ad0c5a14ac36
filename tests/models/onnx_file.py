"""Writes ONNX models without the onnx package: the few message fields that the checks need, by number."""
import numpy

F32, U8, I8, I32, I64, F16, F64, BF16 = 1, 2, 3, 6, 7, 10, 11, 16  # TensorProto.DataType
TYPES = {numpy.dtype(kind): number for kind, number in
         (("f4", F32), ("u1", U8), ("i1", I8), ("i4", I32), ("i8", I64), ("f2", F16), ("f8", F64))}


def varint(value):
    value &= (1 << 64) - 1
    low = value & 127
    return bytes([low]) if value < 128 else bytes([low | 128]) + varint(value >> 7)


def field(number, value):
    """An integer, or what has a length: text, bytes, a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    payload = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def message(*fields):
    return b"".join(field(number, value) for number, value in fields)


def attribute(name, value):
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    return message((1, name), *[(8, v) for v in value], (20, 7))


def node(op, inputs, output, **attributes):
    named = [(5, attribute(name, value)) for name, value in attributes.items()]
    return message(*[(1, name) for name in inputs], (2, output), (3, output), (4, op), *named)


def tensor(name, array):
    dims = [(1, int(size)) for size in array.shape]
    return message(*dims, (2, TYPES[array.dtype]), (8, name), (9, numpy.ascontiguousarray(array).tobytes()))


def declared(name, kind, dims=None):
    """dims: numbers, or names of those that vary; None says nothing of the shape."""
    shape = [] if dims is None else [(2, message(*[(1, message((2, d) if isinstance(d, str) else (1, int(d)))) for d in dims]))]
    return message((1, name), (2, message((1, message((1, kind), *shape)))))


def model(nodes, inputs, outputs, constants):
    """inputs: (name, type, dims); outputs: (name, type); constants: name -> array."""
    graph = [(1, n) for n in nodes] + [(5, tensor(name, array)) for name, array in constants.items()]
    graph += [(11, declared(*given)) for given in inputs] + [(12, declared(*made)) for made in outputs]
    return message((1, 9), (7, message((2, "calls"), *graph)), (8, message((2, 20))))
