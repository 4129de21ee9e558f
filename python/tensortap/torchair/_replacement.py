"""Patterns of operators that a program replaces by others in every compiled graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from torch.fx import GraphModule

from ._messages import say

_patterns: list[Any] = []
"""The pass of torch that holds them, made with the first one."""


def register_replacement(
    search_fn: Callable[..., Any],
    replace_fn: Callable[..., Any],
    example_inputs: Iterable[Any],
    trace_fn: Callable[..., Any] | None = None,
    extra_check: Callable[[Any], bool] | None = None,
    **options: Any,
) -> None:
    """Replace a pattern of operators in all graphs that are compiled from now on.

    Parameters
    ----------
    search_fn, replace_fn : callable
        The pattern and what comes into its place, as functions of the same arguments.
    example_inputs : iterable
        Arguments to trace both with.
    trace_fn, extra_check
        As for ``torch._inductor.pattern_matcher.register_replacement``.
    **options
        ``search_fn_pattern``, ``scalar_workaround`` and ``skip_duplicates`` of that function; the last one has an effect in releases that
        have it.

    Raises
    ------
    TypeError
        When there is another option.
    RuntimeError
        As torch's function, such as for a pattern that exists already.
    """
    from torch._inductor import pattern_matcher

    if not _patterns:
        _patterns.append(pattern_matcher.PatternMatcherPass())
    for name in options:
        if name not in ("search_fn_pattern", "scalar_workaround", "skip_duplicates"):
            raise TypeError(f"register_replacement() got an unexpected keyword argument {name!r}")
    known = inspect.signature(pattern_matcher.register_replacement).parameters
    options = {**options, "extra_check": extra_check}
    given = {name: value for name, value in options.items() if value is not None and name in known}
    pattern_matcher.register_replacement(
        search_fn, replace_fn, list(example_inputs), trace_fn or pattern_matcher.fwd_only, _patterns[0], **given
    )


def replace_patterns(graph: GraphModule) -> None:
    """Replace the patterns of a graph; a failure is reported on standard error, and the graph stays as it is then."""
    for patterns in _patterns:
        try:
            patterns.apply(graph.graph)
        except Exception as error:
            say(f"register_replacement: patterns are not replaced: {error}")
