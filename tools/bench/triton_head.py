"""A fused head in Triton, written from the published description: a peer for peers.py.

A program has a tile of rows and a split of the vocabulary. It walks the split tile by tile, the
product in fp32 in registers, and keeps the largest logit, the sum of exponentials relative to it and
the lowest column of the largest a row. A second kernel merges the splits. Logits never reach memory.
"""
import torch
import triton
import triton.language as tl

VERSION = triton.__version__


@triton.jit
def head_part(hidden, weight, part_max, part_sum, part_column, rows, vocab, depth, split_columns,
              TILE_ROWS: tl.constexpr, TILE_VOCAB: tl.constexpr, TILE_DEPTH: tl.constexpr):
    """hidden (rows, depth), weight (vocab, depth); parts (splits, rows)."""
    row = tl.program_id(0) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    split = tl.program_id(1)
    steps = tl.arange(0, TILE_DEPTH)
    begin = split * split_columns
    end = tl.minimum(begin + split_columns, vocab)
    largest = tl.full([TILE_ROWS], float("-inf"), tl.float32)
    total = tl.zeros([TILE_ROWS], tl.float32)
    best = tl.zeros([TILE_ROWS], tl.int32)
    for first in range(begin, end, TILE_VOCAB):
        column = first + tl.arange(0, TILE_VOCAB)
        x = hidden + row[:, None].to(tl.int64) * depth + steps[None, :]
        w = weight + column[None, :].to(tl.int64) * depth + steps[:, None]
        z = tl.zeros([TILE_ROWS, TILE_VOCAB], tl.float32)
        for at in range(0, depth, TILE_DEPTH):
            inside = at + steps < depth
            a = tl.load(x + at, mask=(row[:, None] < rows) & inside[None, :], other=0.0)
            b = tl.load(w + at, mask=(column[None, :] < end) & inside[:, None], other=0.0)
            z = tl.dot(a, b, z)
        z = tl.where(column[None, :] < end, z, float("-inf"))
        tile_largest, tile_best = tl.max(z, 1, return_indices=True, return_indices_tie_break_left=True)
        raised = tl.maximum(largest, tile_largest)
        total = total * tl.exp(largest - raised) + tl.sum(tl.exp(z - raised[:, None]), 1)
        best = tl.where(tile_largest > largest, first + tile_best, best)
        largest = raised
    out = split * rows + row
    tl.store(part_max + out, largest, mask=row < rows)
    tl.store(part_sum + out, total, mask=row < rows)
    tl.store(part_column + out, best, mask=row < rows)


@triton.jit
def head_merge(part_max, part_sum, part_column, argmax, lse, confidence, rows, splits,
               SPLITS: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0)
    split = tl.arange(0, SPLITS)
    at = split * rows + row
    there = split < splits
    largest = tl.load(part_max + at, mask=there, other=float("-inf"))
    total = tl.load(part_sum + at, mask=there, other=0.0)
    most, which = tl.max(largest, 0, return_indices=True, return_indices_tie_break_left=True)
    sum_of_all = tl.sum(total * tl.exp(largest - most), 0)
    tl.store(argmax + row, tl.load(part_column + which * rows + row))
    tl.store(lse + row, most + tl.log(sum_of_all))
    tl.store(confidence + row, 1.0 / sum_of_all)


# (TILE_ROWS, TILE_VOCAB, TILE_DEPTH, warps, stages); a row count takes those of its own size
TILES = [(16, 64, 256, 4, 4), (16, 128, 128, 4, 5), (16, 256, 64, 8, 5), (64, 128, 64, 4, 5),
         (64, 256, 64, 8, 4), (128, 128, 64, 8, 4), (128, 256, 64, 8, 4)]


def tiles_for(rows):
    """Tiles of the smallest size that holds the rows, the largest for many."""
    sizes = sorted({tile[0] for tile in TILES})
    size = next((s for s in sizes if s >= rows), sizes[-1])
    return [tile for tile in TILES if tile[0] == size]


class Head:
    """The head for one shape; the fastest tile is found at the first run."""

    def __init__(self, rows, vocab, depth, device="cuda", multiprocessors=None):
        self.shape, self.device, self.best = (rows, vocab, depth), device, None
        self.multiprocessors = multiprocessors
        if multiprocessors is None:
            self.multiprocessors = torch.cuda.get_device_properties(device).multi_processor_count
        self.argmax = torch.empty(rows, dtype=torch.int32, device=device)
        self.lse, self.confidence = (torch.empty(rows, dtype=torch.float32, device=device)
                                     for _ in range(2))

    def splits_for(self, tile):
        """(splits, columns of one): blocks for every multiprocessor, in whole tiles."""
        rows, vocab, _ = self.shape
        tiles = triton.cdiv(vocab, tile[1])
        wanted = max(1, self.multiprocessors // triton.cdiv(rows, tile[0]))
        tiles_a_split = triton.cdiv(tiles, min(wanted, tiles))
        return triton.cdiv(tiles, tiles_a_split), tiles_a_split * tile[1]

    def launch(self, hidden, weight, tile):
        rows, vocab, depth = self.shape
        splits, columns = self.splits_for(tile)
        part_max, part_sum = (torch.empty(splits, rows, dtype=torch.float32, device=self.device)
                              for _ in range(2))
        part_column = torch.empty(splits, rows, dtype=torch.int32, device=self.device)
        head_part[(triton.cdiv(rows, tile[0]), splits)](
            hidden, weight, part_max, part_sum, part_column, rows, vocab, depth, columns,
            TILE_ROWS=tile[0], TILE_VOCAB=tile[1], TILE_DEPTH=tile[2], num_warps=tile[3],
            num_stages=tile[4])
        head_merge[(rows,)](part_max, part_sum, part_column, self.argmax, self.lse,
                            self.confidence, rows, splits, SPLITS=triton.next_power_of_2(splits))
        return self.argmax, self.lse, self.confidence

    def time(self, hidden, weight, tile):
        """ms of a run, infinite where the tile does not fit the GPU."""
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        try:
            self.launch(hidden, weight, tile)
        except triton.runtime.errors.OutOfResources:
            return float("inf")
        pair[0].record()
        for _ in range(3):
            self.launch(hidden, weight, tile)
        pair[1].record()
        torch.cuda.synchronize()
        return pair[0].elapsed_time(pair[1])

    def run(self, hidden, weight):
        if self.best is None:
            self.best = min(tiles_for(self.shape[0]), key=lambda t: self.time(hidden, weight, t))
        return self.launch(hidden, weight, self.best)
