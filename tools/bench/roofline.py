"""What limits a head at each number of rows, by the fastest read and product of the same file.

A head of R rows reads W and X once and multiplies 2 R V H. Its roof is the longer of the two times
at the highest rates that anything in the file reached; no data sheet is asked.
"""

FAMILIES = ("naive", "tiled", "mma", "sm90", "gemm_chunk", "dllm")
TYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4}


def rates(results):
    """(GB/s, TFLOP/s): the highest that the file has."""
    return max(r.get("gbps") or 0 for r in results), max(r.get("tflops") or 0 for r in results)


def work(result):
    """(bytes, operations) that a head cannot do without."""
    rows, vocab, depth = result["rows"], result["vocab"], result["depth"]
    return (vocab + rows) * depth * TYPE_BYTES[result["type"]], 2 * rows * vocab * depth


def limit(result, roofs):
    """(what binds, the roof's ms)."""
    moved, operations = work(result)
    read_ms, product_ms = moved / (roofs[0] * 1e6), operations / (roofs[1] * 1e9)
    return ("reading W", read_ms) if read_ms >= product_ms else ("multiplying", product_ms)


def heads(results):
    """Heads of the file's first shape, launches interleaved; the plain read multiplies nothing."""
    chosen = [
        r for r in results if r["op"] == "head" and r["method"] == "L" and r["what"] != "read"
    ]
    shape = chosen and (chosen[0]["vocab"], chosen[0]["depth"], chosen[0]["type"])
    return [r for r in chosen if (r["vocab"], r["depth"], r["type"]) == shape]


def best(results):
    """Our fastest family at each number of rows, in order of rows."""
    fastest = {}
    for result in results:
        known = fastest.get(result["rows"])
        if result["what"] in FAMILIES and (known is None or result["ms"] < known["ms"]):
            fastest[result["rows"]] = result
    return [fastest[rows] for rows in sorted(fastest)]
