"""A single interpretable tree: searched, printed as rules, used in SQL."""

# %% The data: breast cancer, as a data frame with names.
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

from swarmwood import SwarmTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :8]
y = y.map({0: "malignant", 1: "benign"})

# %% A searched tree of four leaves and CART's, cross-validated.
for method in ("cart", "swarm-tree"):
    tree = SwarmTreeClassifier(method=method, max_leaves=4, n_jobs=1)
    print(f"{method}: accuracy {cross_val_score(tree, X, y, cv=3).mean():.3f}")

# %% As rules.
tree = SwarmTreeClassifier(max_leaves=4).fit(X, y)
print(tree.export_rules())
print(tree.export_rules("sql"))
assert len(tree.trees_to_dataframe()) <= 7

# %% Misclassification costs: a missed tumour costs ten times as much as a false alarm.
careful = SwarmTreeClassifier(max_leaves=4, costs=[[0, 1], [10, 0]]).fit(X, y)
missed = ((careful.predict(X) == "benign") & (y == "malignant")).sum()
print(
    f"{missed} tumours missed, {((tree.predict(X) == 'benign') & (y == 'malignant')).sum()} before"
)
