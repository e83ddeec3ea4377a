"""Studies of the peers on a line: found by the Studies page and by `python -m studies`."""

from __future__ import annotations

from pathlib import Path

from hexcursion_peers.studies import neural_line, one_dimension
from hexcursion_peers.studies.neural_line import NeuralSettings
from hexcursion_peers.studies.one_dimension import OneDimensionSettings
from studies.registry import make_study, presets
from studies.reporting.figures import Figure, slug

RESULTS = Path(__file__).resolve().parent / "results"
_LAWS = ("Gaussian kernel", "Matern 3/2", "weakly periodic", "sawtooth")
_LINE = (
        *(Figure(f"line-{noise:g}", "line", f"Noisy function, noise {noise:g}: intervals of 90 %", "epsilon",
                 ("coverage",), "reading", (("noise", noise),), log_x=True, x_title="epsilon (log scale)",
                 y_title="share of held-out values inside")
          for noise in (0.1, 0.5)),
    )  # fmt: skip
_NEURAL = (
        *(Figure(f"neural-{slug(law)}-{by}", "synthetic", f"{law}: {said}", by, ("NLL",), "method",
                 (("law", law), (other, at)), log_x=True, x_title=f"{by} (log scale)",
                 y_title="negative log-likelihood of a held-out response")
          for law in _LAWS
          for by, other, at, said in (("epsilon", "records", 512, "512 records"),
                                      ("records", "epsilon", 1.0, "epsilon 1"))),
        *(Figure(f"neural-{response}", "people", f"{response} over age, 256 people", "epsilon", ("NLL",),
                 "method", (("response", response), ("records", 256)), log_x=True,
                 x_title="epsilon (log scale)", y_title="negative log-likelihood of a held-out person")
          for response in ("height", "weight")),
    )  # fmt: skip

ONE_DIMENSION = make_study(
    "one-dimension",
    "Beyond maps",
    "Do the peers show on a line what their papers show?",
    "Smith et al. 2018, figures 1 and 4; Honkela and Melkas 2021, figure 2.",
    presets(OneDimensionSettings.quick, OneDimensionSettings.full, one_dimension.run),
    figures=_LINE,
    folder=RESULTS,
)
NEURAL_LINE = make_study(
    "neural-line",
    "Neural process",
    "How close does the neural process come to what no privacy allows, and to the sparse process?",
    "Raisa et al. 2024, section 5.2, figures 6 and 7, at a reduced scale.",
    presets(NeuralSettings.quick, NeuralSettings.full, neural_line.run),
    figures=_NEURAL,
    folder=RESULTS,
)
