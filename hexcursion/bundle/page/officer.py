"""A text for a data protection officer: what the numbers of one statement mean, and what they leave open."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpgp_core.numbers import upper
from hexcursion import promises, words
from hexcursion.bundle.page.facts import belief_of
from hexcursion.project.response import ResponseScale

SOURCES = (
    "Regulation (EU) 2016/679 (GDPR), recital 26: whether a person can be identified by means "
    "that are reasonably likely to be used.",
    "Article 29 Data Protection Working Party, Opinion 05/2014 on Anonymisation Techniques (WP "
    "216): the three questions in section 2.2. For differential privacy its table of techniques "
    'answers "may not" to each question whether the risk remains.',
    "European Data Protection Board, Opinion 28/2024 (on AI models, not on maps): a model is not "
    "anonymous in all cases. How likely personal data can be extracted from it has to be "
    "insignificant, which is judged case by case.",
    "A. Cohen and K. Nissim, Towards formalizing the GDPR's notion of singling out, PNAS 117 "
    "(2020), doi:10.1073/pnas.1914598117: the theorem named under Singling out.",
    "J. Dong, A. Roth and W. J. Su, Gaussian differential privacy, JRSS B 84 (2022), "
    "doi:10.1111/rssb.12454: the best guess of an attacker as a test between two datasets.",
    "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (2025).",
)
NO_ADVICE = "This text explains numbers. It is no legal advice and decides no question of law."
STATED = {
    "trust_model": "Who is trusted with the records",
    "actors": "Who provides, holds and receives the data",
    "collection": "How the records were collected",
    "retention": "How long the records are kept",
    "access": "Who may read the records",
    "justification": "Why this epsilon suits the harm that is feared",
    "further_releases": "What else is published from these records",
    "contact": "Whom to ask",
}


def officer_text(statement: Mapping[str, Any]) -> str:
    """Return the text, Markdown without markup from the bundle: headings and paragraphs.

    Every number is one of the checked statement, or follows from it. Bounds are rounded up.

    Parameters
    ----------
    statement : mapping
        A checked privacy statement.
    """
    parts = [
        ("What is published", _published(statement)),
        ("What is promised", _promised(statement)),
        ("What the noise covers", _covered(statement)),
        ("Singling out", _singling_out(statement)),
        ("Linkability", _linkability(statement)),
        ("Inference", _inference(statement)),
        ("What is not covered", _open(statement)),
        ("What the office states", _stated(statement)),
        ("Sources", [f"* {source}" for source in SOURCES]),
    ]
    title = words.asked(statement["subject"], statement["guarantee"]["unit_word"])
    lines = [f"# For the data protection officer: {_plain(title)}", ""]
    for heading, paragraphs in parts:
        lines += [f"## {heading}", "", *_spaced(paragraphs)]
    return "\n".join([*lines, NO_ADVICE, ""])


def _spaced(paragraphs: list[str]) -> list[str]:
    """Paragraphs with an empty line between them; the items of a list follow one another."""
    lines: list[str] = []
    for place, text in enumerate(paragraphs):
        last = place + 1 == len(paragraphs)
        listed = text.startswith("* ") and not last and paragraphs[place + 1].startswith("* ")
        lines += [text] if listed else [text, ""]
    return lines


def _plain(text: object) -> str:
    """A text from the bundle on one line, without characters that Markdown reads."""
    line = "".join(" " if letter in "\r\n\t" else letter for letter in str(text))
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>#|" else letter for letter in line).strip()


def _published(statement: Mapping[str, Any]) -> list[str]:
    subject, release = statement["subject"], statement["release"]
    limit = _plain(words.quantity(subject["threshold"], subject["unit"]))
    places = "" if statement["guarantee"]["protects"] != "values" else " The places of records are public."
    sentences = [
        f"Release {_plain(release['id'])} of {_plain(release['created'])} is a map of "
        f"{subject['domain']['cells']:,} hexagons. Each says how likely "
        f"{_plain(subject['value'])} is {subject['direction']} {limit}. No record is in the "
        f"files.{places}"
    ]
    if release["simulation"]:
        sentences.append("This release is a simulation. It protects nobody and is not a private release.")
    return sentences


def _promised(statement: Mapping[str, Any]) -> list[str]:
    guarantee = statement["guarantee"]
    epsilon, delta = guarantee["epsilon"], guarantee["delta"]
    sentences = [
        f"Protected: {_plain(guarantee['protected'])} The guarantee is (epsilon, "
        f"delta)-differential privacy with epsilon {upper(epsilon)} and delta {upper(delta, 3)}.",
        f"In words: take two datasets that differ as follows. {_plain(guarantee['neighbours'])} "
        f"Any published result is at most {words.times(epsilon)} as likely under one as under the "
        f"other, apart from a chance of {upper(delta, 3)}.",
    ]
    surest = belief_of(statement)
    if surest is None:
        sentences.append(
            "Delta is at least one in the number of records. Such a delta allows whole records "
            "to be published by chance, so no bound on a guess is given."
        )
    else:
        sentences.append(
            "An attacker who knows all other records and who holds two claims about one "
            f"{promises.protected_word(guarantee)} for equally likely is right at most "
            f"{math.ceil(100 * surest)} times in 100 after seeing everything that is published. "
            "Without the release it is 50."
        )
    return sentences


def _covered(statement: Mapping[str, Any]) -> list[str]:
    response = statement["response"]
    if response["transform"] == "probit":
        return ["Answers count as yes or no. The noise covers an exchange of one answer for the other."]
    scale = ResponseScale(response["transform"], response["centre"], response["clip"], response["origin"])
    unit = statement["subject"]["unit"]
    limits_origin = (
        f"These limits were chosen without the records ({_plain(response['origin'])})."
        if statement["tuning"]["accounted"]
        else "The office looked at the records when it chose the design. The promise does not cover "
        "that look."
    )
    if statement["prior_mean_used"]:
        return [
            "Each value counts as its difference from a public map, cut at a limit on either "
            f"side. {limits_origin} The noise covers an exchange of the lowest difference for the "
            "highest, so the promise holds for every value, however extreme."
        ]
    low, high = (words.quantity(float(value), unit, 4) for value in scale.value(np.array([-1.0, 1.0])))
    return [
        f"Values below {_plain(low)} count as that, values above {_plain(high)} as that. {limits_origin} "
        "The noise covers an exchange of the lowest value for the highest, so the promise holds "
        "for every value, however extreme."
    ]


def _singling_out(statement: Mapping[str, Any]) -> list[str]:
    return [
        f"Can a person be isolated in what is published? {_bounded(statement)} Cohen and Nissim prove "
        "that differential privacy prevents predicate singling out among independent persons as their "
        "number grows; that is a theorem about the method, and gives no number for this release."
    ]


def _bounded(statement: Mapping[str, Any]) -> str:
    """What the bound on a guess says of one record, or that there is no bound."""
    if belief_of(statement) is None:
        return "No bound on a guess about one record is given above, so none is given here."
    return (
        "The number of times in 100 above bounds how well anybody decides between two claims about "
        "one record, such as that it is there or that another is."
    )


def _linkability(statement: Mapping[str, Any]) -> list[str]:
    lines = {line["topic"]: line["text"] for line in statement["receipt"]}
    sentences = [
        "Can records about one person be linked, within these files or with others? The files hold "
        "none, and the promise holds whatever other data an attacker has. Releases of the same "
        "records add up, each as its own statement says."
    ]
    sentences += [
        f"The ledger of the office: {_plain(lines[topic])}"
        for topic in ("Ledger", "Budget")
        if topic in lines
    ]
    sentences.append("Releases that other offices make of the same persons are not in this ledger.")
    return sentences


def _inference(statement: Mapping[str, Any]) -> list[str]:
    groups = [f"* {_plain(line['in_words'])}" for line in statement["guarantee"]["groups"]]
    sentences = [
        f"Can a value of a person be deduced from that person's own record? {_bounded(statement)} "
        "What is true of an area as a whole can be learnt, and can be applied to a person who lives "
        "there, whether or not that person's record was used."
    ]
    return [*sentences, "Someone with several records is protected less:", *groups] if groups else sentences


def _open(statement: Mapping[str, Any]) -> list[str]:
    return [
        *(f"* {_plain(text)}" for text in promises.limits(statement)),
        "* Whether the office ran the program on the records as stated: no reader can see that.",
        "* Loss, theft or misuse of the records before the release: the promise is about what is published.",
        "* The time that computations take, and the memory that they use, while the release is made.",
    ]


def _stated(statement: Mapping[str, Any]) -> list[str]:
    return [
        f"* {name}: {_plain(statement['evaluation'].get(key, 'not stated by the curator'))}."
        for key, name in STATED.items()
    ]
