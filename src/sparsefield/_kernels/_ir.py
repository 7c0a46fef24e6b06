"""The few words of LLVM that the vector kernels are written in."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
I1x8 = ir.VectorType(ir.IntType(1), 8)
F32 = ir.FloatType()
F32x4 = ir.VectorType(F32, 4)
F32x8 = ir.VectorType(F32, 8)
F64x8 = ir.VectorType(ir.DoubleType(), 8)
I8x16 = ir.VectorType(I8, 16)
I8x32 = ir.VectorType(I8, 32)
I16x16 = ir.VectorType(I16, 16)
I32x8 = ir.VectorType(I32, 8)
I64x4 = ir.VectorType(I64, 4)
I64x8 = ir.VectorType(I64, 8)


def word(value: int) -> ir.Constant:
    """Make a 64-bit constant, for addresses."""
    return ir.Constant(I64, value)


def fill(kind: ir.VectorType, value: float) -> ir.Constant:
    """Make a constant vector with one value in every lane."""
    return ir.Constant(kind, [value] * kind.count)


def spread(builder: Any, scalar: Any, kind: ir.VectorType) -> Any:
    """Copy a scalar into every lane."""
    empty = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(I32, 0))
    lanes = ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count)
    return builder.shuffle_vector(first, empty, lanes)


def twice(builder: Any, half: Any) -> Any:
    """Repeat a 128-bit vector in both halves of a 256-bit one (one broadcasting load)."""
    n = half.type.count
    lanes = ir.Constant(ir.VectorType(I32, 2 * n), [*range(n), *range(n)])
    return builder.shuffle_vector(half, ir.Constant(half.type, ir.Undefined), lanes)


def load(builder: Any, address: Any, kind: Any, offset: int = 0, align: int = 1) -> Any:
    """Read a value of some type at an address."""
    place = builder.inttoptr(builder.add(address, word(offset)), kind.as_pointer())
    return builder.load(place, align=align)


def store(builder: Any, value: Any, address: Any, offset: int = 0, align: int = 1) -> None:
    """Write a value at an address."""
    place = builder.inttoptr(builder.add(address, word(offset)), value.type.as_pointer())
    builder.store(value, place, align=align)


def call(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    """Call an LLVM intrinsic by name, declaring it on first use."""
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        kinds = [argument.type for argument in arguments]
        function = ir.Function(module, ir.FunctionType(result, kinds), name)
    return builder.call(function, arguments)
