"""Test metrics from raw scores, the same code for every peer; only numpy, so that a child process
stays small."""

import numpy as np

LOWER_IS_BETTER = {"rmse": True, "logloss": True, "accuracy": False, "auc": False}
OF_TASK = {
    "regression": ["rmse"],
    "binary": ["accuracy", "logloss", "auc"],
    "multiclass": ["accuracy", "logloss"],
}


def auc(truth: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve by ranks; equal scores share the mean of their ranks."""
    _, group, size = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(size) - (size - 1) / 2)[group]
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if positives == 0 or negatives == 0:
        return float("nan")
    return float(
        (rank[truth == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    )


def score(task: str, raw: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Every metric of the task. `raw` is the value, the log-odds, or one column of logits a
    class."""
    raw = np.asarray(raw, dtype=np.float64)
    if task == "regression":
        return {"rmse": float(np.sqrt(np.mean((raw - truth) ** 2)))}
    if task == "binary":
        # log(1 + e^z) with z = raw for the negatives and -raw for the positives never overflows in
        # this form.
        loss = np.logaddexp(0.0, np.where(truth == 1, -raw, raw))
        return {
            "accuracy": float(np.mean((raw > 0) == (truth == 1))),
            "logloss": float(loss.mean()),
            "auc": auc(truth, raw),
        }
    logits = raw - raw.max(axis=1, keepdims=True)
    chosen = logits[np.arange(len(truth)), truth.astype(int)]
    return {
        "accuracy": float(np.mean(logits.argmax(axis=1) == truth)),
        "logloss": float(np.mean(np.log(np.exp(logits).sum(axis=1)) - chosen)),
    }
