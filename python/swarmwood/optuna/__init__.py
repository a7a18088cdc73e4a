"""Search engines of swarmwood as samplers of Optuna; `pip install swarmwood[optuna]`.

`SchemataSampler` exploits what the best trials have in common, `SwarmSampler` is the discrete particle swarm, and
`EngineSampler` takes any engine by name. What they know is in the study's storage: a study goes on in another
process, and many processes may work on one. `load_study` brings a study of the command line into Optuna.
"""

try:
    import optuna as _optuna
except ImportError as _fault:
    raise ImportError("swarmwood.optuna needs Optuna: pip install swarmwood[optuna]") from _fault

from swarmwood.optuna._journal import load_study
from swarmwood.optuna._samplers import EngineSampler, SchemataSampler, SwarmSampler

del _optuna

__all__ = ["EngineSampler", "SchemataSampler", "SwarmSampler", "load_study"]
