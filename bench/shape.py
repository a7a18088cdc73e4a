"""What every contender is asked to train: one description, translated by each of them into its own
parameters."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A request for a model. `equal` fixes regularisation and bins too; without it a library keeps
    its own defaults."""

    task: str  # regression, binary or multiclass
    classes: int = 1
    trees: int = 100
    learning_rate: float = 0.1
    growth: str = "depth"  # depth, leaf or oblivious
    depth: int = 6  # 0: no limit
    leaves: int = 0  # 0: as many as the depth allows
    threads: int = 2
    equal: bool = True
    l2: float = 1.0
    min_child_weight: float = 1.0
    bins: int = 255

    @property
    def max_leaves(self) -> int:
        """The number of leaves a tree may have, whether it was given or follows from the depth."""
        return self.leaves or 2**self.depth
