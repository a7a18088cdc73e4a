#!/bin/sh
# What a newcomer does: install the wheel in an empty environment, train, predict, write a report page.
#
#   newcomer.sh PYTHON WHEEL FOLDER
set -eu
python=$1 wheel=$(realpath "$2") folder=$3
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder"
"$python" -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
PATH=$PWD/venv/bin:$PATH

# In the shell.
swarmwood train --demo --total-leaves 24 --quiet --out wine.json
swarmwood inspect wine.json >inspected.txt
swarmwood report wine.json --out shell.html

# In Python, with arrays: pandas is not needed.
python - <<'CODE'
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from swarmwood import SwarmBoostClassifier

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = SwarmBoostClassifier(total_leaves=32).fit(X, y)
assert model.score(X_test, y_test) > 0.9
model.report("arrays.html", X_test, y_test)
CODE

# With data frames, as on the first page of the documentation.
python -m pip install --quiet --disable-pip-version-check pandas
python - <<'CODE'
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from swarmwood import SwarmTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = SwarmTreeClassifier(max_leaves=6).fit(X, y)
assert model.score(X_test, y_test) > 0.85
model.report("python.html", X_test, y_test)
CODE

for page in shell.html arrays.html python.html; do
	grep -q '</html>' "$page" || { echo "$page is not a page"; exit 1; }
	[ "$(wc -c <"$page")" -lt 1000000 ] || { echo "$page is larger than a megabyte"; exit 1; }
done
grep -q 'Drift since training' python.html
echo "  ok  from the wheel to a report page: $PWD/python.html"
