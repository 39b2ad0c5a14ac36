"""Why a case of ONNX's suite may be refused, or give other numbers. What no row explains is a failure."""
import re

# (what the message says, why that is right); the first row that fits counts.
REASONS = [
    (r"element type (sequence|optional)|SequenceConstruct|Sequence\w+ \(|Optional\w* \(", "sequences and optionals of tensors"),
    (r"element type (string|float4|float8|u?int[24]\b|complex)", "element types that no kernel has: strings, complex numbers, "
     "floats of 4 and 8 bits, integers of 2 and 4 bits"),
    (r"domain '[^']+' is not known", "operators of other domains than ONNX's own"),
    (r": unknown operator", "operators that DLCB does not have"),
    (r"training mode|training_mode", "training"),
    (r"the Indices output", "MaxPool with indices"),
    (r"antialias", "Resize with antialias"),
    (r"sequence_lens that differ", "recurrent layers over sequences of several lengths"),
    (r"Scan before opset 9", "Scan before opset 9"),
    (r"the branches of If give different ranks", "an If whose branches give different ranks, and the one that is not compiled is taken"),
    (r"trip count is not a constant|number of rounds is not a constant|the sequence's length is not a constant",
     "loops whose number of rounds depends on an input"),
    (r"(is|are) not (a )?constants?|that are not constant", "axes, scales and other operands that decide what is compiled, computed by the model"),
    (r"the last dim of the indices is not a literal|sizes can only be read from small tensors of literal size",
     "ranks that depend on an input's size"),
]

# (cases, why other numbers than the suite's are right)
DIFFERENCES = [
    (r"^test_resize_downsample_scales_(linear|cubic)_align_corners$", "Resize with align_corners divides by the size of the result, as ONNX's text and "
     "onnxruntime do; the suite divides by that size before it was rounded"),
]


def difference_of(case):
    return next((reason for pattern, reason in DIFFERENCES if re.search(pattern, case)), None)


def reason_of(text):
    return next((reason for pattern, reason in REASONS if re.search(pattern, text)), None)
