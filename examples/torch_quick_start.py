"""From a model to a table of where its graph's time goes."""
import graphtag
import graphtag.torch as gat
import torch

model = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
data = torch.zeros(8, 512, device="cuda")
gat.annotate_modules(model, prefix="mlp")       # every submodule's work by its name: mlp.0, mlp.1, mlp.2
with torch.no_grad():
    model(data)                                 # libraries set themselves up at their first call
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with gat.graph(graph, enable_annotations=True):
        model(data)
with gat.profile("quick_start.json.gz"):        # torch.profiler, or graphtag's own recorder where that writes no node ids
    for _ in range(10):
        graph.replay()
print(graphtag.report("quick_start.json.gz"))
