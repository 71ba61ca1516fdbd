#!/usr/bin/env python3
"""test_report.py - the tables that tools/bench/report.py makes of results"""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools" / "bench"))
import report  # noqa: E402


def result(what, rows=1, **changes):
    made = {"device": "GPU", "arch": "sm_90a", "driver": "580", "clocks": "1980 MHz", "cublas": "13",
            "date": "2026-11-30T00:00:00Z", "command": "bench", "op": "head", "set": "llada-8b",
            "what": what, "vocab": 126464, "depth": 4096, "type": "bf16", "rows": rows,
            "method": "L", "ms": 0.25, "min_ms": 0.2, "ratio": 1.0, "share": None, "samples": 30,
            "workspace_bytes": 0, "tflops": 1.0, "gbps": 4000.0}
    made.update(changes)
    return made


class Tables(unittest.TestCase):
    def test_ratio_and_share_stand_beside_the_time(self):
        text = report.head_table([result("cublas"), result("sm90", ms=0.24, ratio=0.96, share=0.98)])
        self.assertIn("| R | cuBLAS product alone | `sm90` |", text)
        self.assertIn("| 1 | 0.250 | 0.240 (0.96×, 98 %) |", text)

    def test_share_is_left_out_where_reading_does_not_bind(self):
        text = report.head_table([result("sm90", rows=4096, ms=6.0, ratio=0.95, share=0.04)])
        self.assertIn("6.000 (0.95×) |", text)

    def test_more_outputs_tell_their_price(self):
        text = report.head_table([result("sm90", ms=0.2), result("sm90+gumbel", ms=0.21, ratio=1.1)])
        self.assertIn("0.210 (+5.0 %) |", text)
        stream = {"op": "sampler", "depth": 0}
        text = report.sampler_section([result("stream", ms=0.2, **stream),
                                       result("stream+statistics", ms=0.206, **stream)], "L")
        self.assertIn("0.206 (+3.0 %) |", text)

    def test_a_taker_that_is_missing_leaves_a_dash(self):
        text = report.head_table([result("cublas"), result("naive"), result("cublas", rows=512)])
        self.assertIn("| 512 | 0.250 | – |", text)

    def test_of_joined_runs_the_first_ones_baseline_is_shown(self):
        text = report.head_table([result("cublas", ms=0.3), result("sm90", ms=0.24, ratio=0.8),
                                  result("cublas", ms=0.2), result("mma", ms=0.22, ratio=1.1)])
        self.assertIn("| 1 | 0.300 | 0.240 (0.80×) | 0.220 (1.10×) |", text)

    def test_library_is_compared_with_the_compiled_torch(self):
        text = report.head_table([result("torch.compile", ms=0.3, ratio=1.2),
                                  result("dllm", ms=0.25, ratio=0.96)])
        self.assertIn("`dllm` of `torch.compile`", text)
        self.assertIn("0.80× |", text)

    def test_many_shapes_become_lines(self):
        found = report.sections([result("dllm", rows=32),
                                 result("dllm", rows=32, set="gpt2", vocab=50257, depth=768)])
        self.assertEqual(list(found), ["heads L"])
        self.assertIn("| gpt2 | 50,257 | 768 | bf16 | 32 |", found["heads L"])

    def test_methods_have_tables_of_their_own(self):
        found = report.sections([result("sm90"), result("sm90", method="B"),
                                 result("sm90", method="H", ms=0.0035)])
        self.assertEqual(list(found), ["head L", "head B", "host"])
        self.assertIn("bursts", found["head B"])
        self.assertIn("| 3.50 |", found["host"])

    def test_sampler_tells_its_share_of_the_read(self):
        text = report.sampler_section(
            [result("read", op="sampler", depth=0), result("stream", op="sampler", depth=0, share=0.963)],
            "L")
        self.assertIn("| R | bf16 |", text)
        self.assertIn("96.3 % of the read", text)

    def test_a_step_stands_beside_its_head_and_its_own_work(self):
        step = {"op": "step", "rows": 128}
        found = report.sections(
            [result("llada", ms=0.26, **step), result("llada head", ms=0.2485, **step),
             result("llada own", ms=0.0115, **step), result("llada", vocab=256, ms=0.02, **step)])
        self.assertEqual(list(found), ["step"])
        self.assertIn("128 rows where a block begins", found["step"])
        self.assertIn("| `llada` | 126,464 | 260.0 | 248.5 | 11.5 |", found["step"])
        self.assertIn("| `llada` | 256 | 20.0 | – | – |", found["step"])

    def test_workspace_is_that_of_the_families(self):
        text = report.head_section([result("cublas+sampler", workspace_bytes=2**32),
                                    result("sm90", workspace_bytes=2**20)], "L")
        self.assertIn("largest workspace 1.0 MiB", text)

    def test_readme_takes_each_kind_from_the_newest_file(self):
        newest = [result("sm90", command="bench --method B", method="B", date="2026-12-02T00:00:00Z")]
        older = [result("mma", ms=0.5), result("mma", method="B", ms=0.7)]
        text = report.newest_of_each_kind([newest, older])
        self.assertIn("bench --method B", text)
        self.assertIn("0.500", text)
        self.assertNotIn("0.700", text)

    def test_the_plain_read_is_a_roof_and_no_head(self):
        results = [result("read", gbps=4500.0, tflops=0.0), result("sm90", gbps=4400.0)]
        self.assertEqual([r["what"] for r in report.roofline.heads(results)], ["sm90"])
        self.assertEqual(report.roofline.rates(results)[0], 4500.0)

    def test_results_before_shares_are_read_too(self):
        old = result("sm90")
        for field in ("set", "share"):
            del old[field]
        self.assertIn("0.250", report.sections([old])["head L"])


class Files(unittest.TestCase):
    def test_pieces_are_joined_and_name_their_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("a.json", "b.json", "whole.json")]
            for path, command in zip(paths, ("bench --rows 1", "bench --rows 16")):
                path.write_text(json.dumps([result("sm90", command=command)]), encoding="utf-8")
            self.assertEqual(report.main(["--join", str(paths[2]), *map(str, paths[:2])]), 0)
            paths[0].unlink()
            paths[1].unlink()
            [(name, results)] = report.load(pathlib.Path(folder))
            self.assertEqual((name, len(results)), ("whole.json", 2))
            self.assertIn("`bench --rows 1`, `bench --rows 16`", report.place(results))

    def test_the_newest_decode_has_the_drawing(self):
        heads = [{"head": "fused", "step_ms": 20.0, "head_ms": 0.2, "share": 0.01, "tokens_per_s": 200.0,
                  "peak_above_model_bytes": 2**20}]
        run = {"device": "GPU", "torch": "2.11", "command": "end_to_end.py", "tokens": 32, "batch": 4,
               "prompt": 128, "heads": heads, "fused_step_of_published": 0.9,
               "model": {"n_layers": 32, "hidden_size": 4096, "vocab_size": 126464},
               "same_rows": {"rows": 9, "clear_rows": 8, "fused_differ": 1, "fused_differ_where_clear": 0}}
        with tempfile.TemporaryDirectory() as folder:
            for name, day in (("a.json", "02"), ("b.json", "03"), ("c.json", "01")):
                made = json.dumps({**run, "date": f"2026-12-{day}T00:00:00Z"})
                (pathlib.Path(folder) / name).write_text(made, encoding="utf-8")
            texts = report.decode_sections(report.load_decodes(pathlib.Path(folder)))
        self.assertEqual([text.split()[1] for text in texts], ["b.json", "a.json", "c.json"])
        self.assertEqual(["plots/end_to_end.svg" in text for text in texts], [True, False, False])
        self.assertIn("| `fused` | 20.00 | 0.200 | 1.0 % | 200 | 1 |", texts[0])

    def test_a_file_without_its_markers_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "README.md")
            path.write_text(report.BEGIN, encoding="utf-8")
            with self.assertRaises(SystemExit):
                report.replaced(path, "text")
            path.write_text(f"a\n{report.BEGIN}\nold\n{report.END}\nz", encoding="utf-8")
            self.assertEqual(report.replaced(path, "new"), f"a\n{report.BEGIN}\nnew\n{report.END}\nz")


if __name__ == "__main__":
    unittest.main()
