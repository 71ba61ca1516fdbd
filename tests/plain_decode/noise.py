"""noise.py - uniform and Gumbel numbers by seed, row key, draw and id (docs/numerics.md 10)."""
import numpy as np

POSITION_ID = 2**32 - 2  # the id by which a position's own number is drawn (docs/decode.md 2.3)

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., SC'11) of counters (4, n) under one key of two words."""
    x0, x1, x2, x3 = (np.asarray(word, np.uint64) for word in counter)
    key0, key1 = key
    for _ in range(10):
        left, right = np.uint64(0xD2511F53) * x0, np.uint64(0xCD9E8D57) * x2
        x0, x1, x2, x3 = ((right >> HALF) ^ x1 ^ np.uint64(key0), right & LOW,
                          (left >> HALF) ^ x3 ^ np.uint64(key1), left & LOW)
        key0, key1 = (key0 + 0x9E3779B9) % 2**32, (key1 + 0xBB67AE85) % 2**32
    return x0, x1, x2, x3


def uniform(seed, row_key, draw, ids):
    """u in (0, 1) for each id: 52 bits and the middle of their step, exact in double."""
    ids = np.asarray(ids, np.uint64)
    same = np.ones_like(ids)
    counter = (ids >> np.uint64(1), same * np.uint64(draw), same * np.uint64(row_key % 2**32),
               same * np.uint64(row_key >> 32))
    x0, x1, x2, x3 = philox(counter, (seed % 2**32, seed >> 32))
    odd = (ids & np.uint64(1)).astype(bool)
    a, b = np.where(odd, x2, x0), np.where(odd, x3, x1)
    w = (a << HALF | b) >> np.uint64(12)
    return (2 * w.astype(np.float64) + 1) * 2.0**-53


def gumbel(u):
    return -np.log(-np.log(u))
