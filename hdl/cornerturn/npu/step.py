"""How a micro-op steps over a lane: the same for reads and writes."""

__all__ = ["step_op"]


def step_op(m, i_op, o_op):
    """Forward `i_op` to `o_op` past one lane; returns the bit "it hits this lane".

    `skip` counts the lanes to pass; a hit reloads it, moves on by one element in the beat, and ends
    the micro-op if that was the last. (An along micro-op has position = last_position.)
    """
    hit = i_op.valid & (i_op.skip == 0)
    m.d.comb += o_op.eq(i_op)
    with m.If(hit):
        m.d.comb += [
            o_op.valid.eq(i_op.position != i_op.last_position),
            o_op.skip.eq(i_op.step_m1),
            o_op.position.eq(i_op.position + (1 << i_op.code)),
        ]
    with m.Else():
        m.d.comb += o_op.skip.eq(i_op.skip - 1)
    return hit
