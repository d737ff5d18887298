"""A decode loop with one CUDA graph a batch size, as servers have it: each graph has a label, and reports split by batch size.

    python examples/torch_decode.py [--out decode.json.gz]
"""
import argparse

import graphtag
import graphtag.torch as gat
import torch

BATCH_SIZES = (1, 4, 16)


class Layer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.SiLU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        return x + self.mlp(x + self.attention(x))


def explained(graphs):
    """How much of the graphed work is explained: it has a name, or was outside every scope."""
    total = sum(row["named"] + sum(row["unnamed"].values()) for row in graphs)
    known = sum(row["named"] + row["unnamed"].get("outside-scope", 0) for row in graphs)
    return f"{known} of {total} records of graphs are explained ({known / max(total, 1):.0%}), {sum(row['named'] for row in graphs)} of them named"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", default="decode.json.gz")
    options = arguments.parse_args()

    model = torch.nn.Sequential(*[Layer(512) for _ in range(8)]).cuda().eval().requires_grad_(False)
    gat.annotate_modules(model, prefix="layers")

    graphs = {}
    for batch_size in BATCH_SIZES:
        hidden = torch.zeros(batch_size, 512, device="cuda")
        model(hidden)  # libraries set themselves up at their first call
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with gat.graph(graph, enable_annotations=True, label={"batch_size": batch_size}):
            with gat.mark_kernels({"bs": batch_size}):
                output = model(hidden)
                with gat.mark_kernels("sampler"):
                    output.argmax(-1)
        graphs[batch_size] = graph

    # torch.profiler where it says which node of a graph a kernel is of (PyTorch 2.12 and newer), else graphtag's own recording.
    with gat.profile(options.out):
        for batch_size in (16, 16, 4, 1, 1, 1):
            graphs[batch_size].replay()
    print(graphtag.report(options.out, by=["bs"], top=20))
    print(explained(graphtag.check(options.out)))


if __name__ == "__main__":
    main()
