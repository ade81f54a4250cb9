"""einops patterns as permutations of axes: what a re-layout has to move.

::

    'b (h h2) w -> b w (h2 h)', shape --einops' parser--> axes b h h2 w --> order b w h2 h
                                     --join what stays together--> the fewest axes
"""

import math
from typing import NamedTuple

import einops
from einops.parsing import ParsedExpression

__all__ = ["Permutation", "resolve"]


class Permutation(NamedTuple):
    """A permutation of axes: the source's sizes, and the destination's order of them.

    Axes of size 1 are gone, and axes that are neighbours in both tensors are one, so two axes
    are a matrix transpose and one is a copy.
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]


def resolve(pattern, shape, sizes):
    """The permutation of axes that a pattern makes of an array; never without any axis.

    Parameters
    ----------
    pattern : str
        Of ``einops.rearrange``.
    shape : tuple of int
        Of the array.
    sizes : dict of str to int
        Axes that the shape leaves open.

    Raises
    ------
    ValueError
        If einops would not rearrange an array of this shape so.
    """
    if pattern.count("->") != 1:
        raise ValueError(f"pattern must have one '->', not {pattern!r}")
    left, right = _expand(pattern, len(shape)).split("->")
    try:
        source, destination = ParsedExpression(left), ParsedExpression(right)
    except einops.EinopsError as error:
        raise ValueError(f"pattern must be one of einops: {_first_line(error)}") from None
    if source.identifiers != destination.identifiers:
        lost = sorted(map(str, source.identifiers ^ destination.identifiers))
        raise ValueError(
            f"pattern must have the same axes on both sides, not {', '.join(lost)} on one"
        )
    if len(source.composition) != len(shape):
        raise ValueError(
            f"pattern must have {len(shape)} axes on its left side, as the array, "
            f"not {len(source.composition)}"
        )
    length = _lengths(source.composition, shape, sizes)
    names = [name for group in source.composition for name in group if length[name] != 1]
    order = [name for group in destination.composition for name in group if length[name] != 1]
    return _join(names, order, length)


def _expand(pattern, ndim):
    """The pattern with names for the axes of an ellipsis."""
    if "..." not in pattern:
        return pattern
    left = pattern.split("->")[0].replace("...", " dots ")
    named = len(ParsedExpression(left).composition) - 1
    return pattern.replace("...", " ".join(f"dots{axis}" for axis in range(ndim - named)))


def _lengths(composition, shape, sizes):
    length = {}
    for group, size in zip(composition, shape, strict=True):
        length |= {name: sizes[name] for name in group if name in sizes}
        unknown = [name for name in group if name not in sizes]
        known = math.prod(length[name] for name in group if name in sizes)
        if len(unknown) > 1:
            raise ValueError(
                f"sizes must be given of all but one of {', '.join(group)}, "
                f"not of {', '.join(sorted(sizes)) or 'none'}"
            )
        if known < 1 or size % known or (not unknown and known != size):
            raise ValueError(
                f"sizes of {' '.join(group) or '1'} must multiply to {size}, not {known}"
            )
        length |= dict.fromkeys(unknown, size // known)
    unused = sorted(set(sizes) - set(length))
    if unused:
        raise ValueError(f"sizes must name axes of the pattern, not {', '.join(unused)}")
    return length


def _join(names, order, length):
    groups = []
    for name in names:
        follows = groups and order.index(name) == order.index(groups[-1][-1]) + 1
        if follows:
            groups[-1].append(name)
        else:
            groups.append([name])
    if not groups:
        return Permutation((1,), (0,))
    heads = [group[0] for group in groups]
    return Permutation(
        sizes=tuple(math.prod(length[name] for name in group) for group in groups),
        order=tuple(heads.index(name) for name in order if name in heads),
    )


def _first_line(error):
    return str(error).strip().splitlines()[0].strip()
