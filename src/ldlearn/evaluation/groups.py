"""Groups of methods that a test could not tell apart."""

from collections.abc import Callable, Iterator, Sequence

Differ = Callable[[str, str], bool]


def maximal_runs(ordered: Sequence[str], differ: Differ) -> tuple[tuple[str, ...], ...]:
    """Return the longest stretches of the ordered methods in which no two differ: bars of a diagram."""
    runs: list[tuple[str, ...]] = []
    last_end = 0
    for start in range(len(ordered)):
        end = start + 1
        while end < len(ordered) and not any(differ(ordered[end], other) for other in ordered[start:end]):
            end += 1
        # A stretch that ends where an earlier one ended lies inside that one.
        if end - start > 1 and end > last_end:
            runs.append(tuple(ordered[start:end]))
            last_end = end
    return tuple(runs)


def maximal_cliques(ordered: Sequence[str], differ: Differ) -> tuple[tuple[str, ...], ...]:
    """Return all largest sets of at least two methods of which no two differ, neighbours or not."""
    alike = {a: {b for b in ordered if b != a and not differ(a, b)} for a in ordered}
    cliques = [clique for clique in _bron_kerbosch(alike, set(), set(ordered), set()) if len(clique) > 1]
    position = {method: i for i, method in enumerate(ordered)}
    in_order = [tuple(sorted(clique, key=position.__getitem__)) for clique in cliques]
    return tuple(sorted(in_order, key=lambda clique: [position[method] for method in clique]))


def _bron_kerbosch(
    alike: dict[str, set[str]], clique: set[str], candidates: set[str], done: set[str]
) -> Iterator[set[str]]:
    if not candidates and not done:
        yield clique
        return
    # A largest clique holds the pivot or someone unlike it, so that no other method needs a branch of its own.
    pivot = max(candidates | done, key=lambda method: len(alike[method] & candidates))
    # sets of strings come in another order in every process
    for method in sorted(candidates - alike[pivot]):
        yield from _bron_kerbosch(alike, clique | {method}, candidates & alike[method], done & alike[method])
        candidates = candidates - {method}
        done = done | {method}
