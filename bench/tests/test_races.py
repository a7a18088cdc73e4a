"""Races are replayed as the tuner runs them."""

import numpy as np

import races


def test_rules_by_hand():
    assert not races.own_error(np.array([1.0]), None)
    assert races.own_error(np.array([1.0, 1.5]), None)
    assert not races.own_error(np.array([2.0, -0.5]), None)
    # After one of five folds the mean may still move by √(4/5) deviations.
    assert not races.to_come(1.0)(np.array([0.89]), 1.0)
    assert races.to_come(1.0)(np.array([0.90]), 1.0)
    assert not races.to_come(1.0)(np.array([9.0]), None)


def test_a_hopeless_trial_costs_one_fold_and_the_best_stays():
    losses = np.array([[1.0, 1.1, 0.9, 1.0, 1.2]] * 7 + [[9.0] * 5, [0.5] * 5])
    losses[1:7] += np.random.default_rng(0).normal(0.0, 0.01, (6, 5))
    seconds = np.ones_like(losses)
    fits, time, worse, wrong = races.replay(losses, seconds, races.to_come(1.0))
    assert fits < 5.0 and time < 1.0 and worse == 0.0 and wrong <= 2
    assert races.replay(losses, seconds, races.never) == [5.0, 1.0, 0.0, 0]


def test_scatter_is_that_of_the_nearest():
    near = [np.array([1.0, -1.0, 1.0, -1.0, 0.0])] * races.NEAREST
    assert races.scatter([*near, np.array([100.0, 0.0, 50.0])]) == 1.0
    assert races.scatter([np.array([1.0, 2.0])]) is None
