"""What others build to transpose a stream or a memory: our own code, to be measured beside ours.

======================= ============================== ==========================================
`RegisterArray`         N x N registers that shift     Gemmini's way: a block in N cycles
`PingPong`              2 tiles of N x N registers     iDMA's way: a block in N cycles
`Serial`                two address generators         X-HEEP's way: an element a cycle
======================= ============================== ==========================================

The first two move what comes to them; who fetches and stores it (addresses, bursts) is not in them.
"""

from .ping_pong import PingPong
from .register_array import RegisterArray
from .serial import Serial

__all__ = ["PingPong", "RegisterArray", "Serial"]
