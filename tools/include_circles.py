"""Circles in a graph of includes."""

from __future__ import annotations

from collections.abc import Mapping


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """List the groups of nodes that reach each other, the largest first (Tarjan's algorithm, without recursion)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    found: list[list[str]] = []
    for start in graph:
        if start in numbers:
            continue
        steps = [(start, iter(sorted(graph[start])))]
        numbers[start] = lowest[start] = len(numbers)
        waiting.append(start)
        is_waiting.add(start)
        while steps:
            node, rest = steps[-1]
            other = next((name for name in rest if name in graph and name != node), None)
            if other is None:
                steps.pop()
                if steps:
                    lowest[steps[-1][0]] = min(lowest[steps[-1][0]], lowest[node])
                if lowest[node] == numbers[node]:
                    group = waiting[waiting.index(node) :]
                    del waiting[waiting.index(node) :]
                    is_waiting -= set(group)
                    found.append(sorted(group))
            elif other not in numbers:
                numbers[other] = lowest[other] = len(numbers)
                waiting.append(other)
                is_waiting.add(other)
                steps.append((other, iter(sorted(graph[other]))))
            elif other in is_waiting:
                lowest[node] = min(lowest[node], numbers[other])
    return sorted((group for group in found if len(group) > 1), key=len, reverse=True)
