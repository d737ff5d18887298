"""A training step in a CUDA graph: forward, backward and optimizer named, and a table of where the GPU's time went.

    python examples/torch_train_step.py [--out trace.json.gz]
"""
import argparse

import graphtag
import graphtag.torch as gat
import torch


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.attention = torch.nn.MultiheadAttention(width, 8, batch_first=True)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        normed = self.norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.mlp(x)


def explained(graphs):
    """How much of the graphed work is explained: it has a name, or was outside every scope."""
    total = sum(row["named"] + sum(row["unnamed"].values()) for row in graphs)
    known = sum(row["named"] + row["unnamed"].get("outside-scope", 0) for row in graphs)
    return f"{known} of {total} records of graphs are explained ({known / max(total, 1):.0%}), {sum(row['named'] for row in graphs)} of them named"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--out", default="train_step.json.gz")
    options = arguments.parse_args()

    model = torch.nn.Sequential(*[Block(256) for _ in range(4)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    x = torch.randn(8, 128, 256, device="cuda")
    gat.annotate_modules(model, prefix="model")

    def step():
        with gat.mark_kernels("loss"):
            loss = model(x).square().mean()
        loss.backward()
        with gat.mark_kernels("optimizer"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    # Capturing wants buffers that exist already: a few steps on a side stream make them.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)

    graph = torch.cuda.CUDAGraph()
    with gat.graph(graph, enable_annotations=True, label={"step": "train"}):
        step()
    # torch.profiler where it says which node of a graph a kernel is of (PyTorch 2.12 and newer), else graphtag's own recording.
    with gat.profile(options.out):
        for _ in range(5):
            graph.replay()
    print(graphtag.report(options.out, by=["phase"], top=20))
    print(explained(graphtag.check(options.out)))


if __name__ == "__main__":
    main()
