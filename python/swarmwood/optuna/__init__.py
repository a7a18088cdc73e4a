"""Search engines of swarmwood as samplers of Optuna: `pip install swarmwood[optuna]`.

`SchemataSampler` exploits common values of the best trials, `SwarmSampler` is the discrete particle
swarm, and `EngineSampler` takes any engine by name. Their state is in the storage of the study: a
study can be resumed in another process, and several processes can work on it. `load_study` converts
a study of the command line to Optuna.
"""

try:
    import optuna as _optuna
except ImportError as _error:
    raise ImportError("swarmwood.optuna needs Optuna: pip install swarmwood[optuna]") from _error

from swarmwood.optuna._journal import load_study
from swarmwood.optuna._samplers import EngineSampler, SchemataSampler, SwarmSampler

del _optuna

__all__ = ["EngineSampler", "SchemataSampler", "SwarmSampler", "load_study"]
