# Every target makes its own virtual environment; a second run does not install again.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
INSTALLED := $(VENV)/installed

# Compiled kernels stay in the project.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.cache/numba

.PHONY: browser demo docs paper test lint format bench bench-kernels bench-levels bench-certificates bench-learner bench-tay \
	bench-newton bench-optimality bench-constants bench-main-effects bench-hard bench-seeds bench-partition bench-bootstrap \
	bench-choice bench-criteria bench-large bench-rows bench-dense bench-machines bench-proteins bench-pseudolikelihood bench-page \
	bench-sparsity bench-told bench-inference bench-held-out bench-gpu test-gpu compiler clean

demo: $(INSTALLED)
	$(RUN)/sparsefield demo

# The paper's experiments again: about a quarter of an hour on two cores.
paper: $(INSTALLED)
	$(RUN)/sparsefield paper --output docs/paper

# Tests run in two processes: most of them use one processor.
JOBS ?= 2
test: $(INSTALLED) browser compiler
	OPENBLAS_NUM_THREADS=1 $(RUN)/python -m pytest -n $(JOBS) --dist loadfile

# The interactive page is tested in a real browser. Where it cannot be installed these tests say so and are skipped.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || command -v google-chrome > /dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium > /dev/null; \
	else echo "No Chromium here, and no way to install it: the page will not be tested in a browser."; fi; }

# The kernels of GPUs are tested on this machine, by the C++ compiler. Without one these tests are skipped.
compiler:
	@command -v g++ > /dev/null || command -v clang++ > /dev/null || { \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ > /dev/null; \
	else echo "No C++ compiler here, and no way to install it: the kernels of GPUs will not be tested."; fi; }

# The same tests on a GPU, with chi-squares of 16 million draws: a minute.
test-gpu: $(VENV)/cuda
	SPARSEFIELD_GPU=1 $(RUN)/python -m pytest tests/kernels/cuda/test_sweeps.py tests/inference/gpu/test_cuda.py \
	tests/inference/gpu/test_dense.py tests/inference/test_conformance.py tests/inference/test_device_choice.py

# Warnings are errors. Examples on data that are not part of the project are built where SPARSEFIELD_OUTSIDE has them.
docs: $(VENV)/docs
	rm -rf docs/examples docs/generated
	$(RUN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "Written: docs/_build/html/index.html"

lint: $(INSTALLED)
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	PYTHONPATH=.ci $(RUN)/lint-imports

format: $(INSTALLED)
	$(RUN)/ruff format .
	$(RUN)/ruff check --fix .

bench: bench-kernels bench-levels bench-certificates bench-learner bench-tay bench-newton bench-sparsity bench-optimality \
	bench-constants bench-main-effects bench-hard bench-seeds bench-partition bench-bootstrap bench-choice bench-criteria bench-large \
	bench-rows bench-dense bench-pseudolikelihood bench-machines bench-page bench-inference $(if $(SPARSEFIELD_OUTSIDE),bench-proteins bench-held-out)

# `make bench PEERS=1` also measures jax, thrml, skglm and adabmDCA, which it installs.
bench-kernels: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/kernels.py $(if $(PEERS),--peers)

# Sweeps over more than two levels: about three minutes.
bench-levels: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/levels.py $(if $(PEERS),--peers)

bench-certificates: $(INSTALLED)
	$(RUN)/python benchmarks/certificates.py

bench-learner: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/learner.py $(if $(PEERS),--peers)

# TAY and SPG, time to an AUC on networks of 10 and 20 nodes: about two minutes.
bench-tay: $(INSTALLED)
	$(RUN)/python benchmarks/tay.py

bench-newton: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/newton.py $(if $(PEERS),--peers) $(if $(LARGEST),--largest)

# Fits of up to 1000 variables with and without sparse curvatures, three seeds: about three minutes.
bench-sparsity: $(INSTALLED)
	$(RUN)/python benchmarks/sparsity.py

# Bounds on gaps against exact ones, 1000 problems: about five minutes.
bench-optimality: $(INSTALLED)
	$(RUN)/python benchmarks/optimality.py

# Every constant of the solvers that is a choice, varied alone: about three minutes.
bench-constants: $(INSTALLED)
	$(RUN)/python benchmarks/constants.py

# Free main effects beside penalised ones: about ten minutes. Columns are shuffled where SPARSEFIELD_OUTSIDE has a table.
bench-main-effects: $(INSTALLED)
	$(RUN)/python benchmarks/main_effects.py

# Three hundred hard tables: about five minutes.
bench-hard: $(INSTALLED)
	$(RUN)/python benchmarks/hard.py

# Fits with different seeds: about five minutes, with the tables of others.
bench-seeds: $(INSTALLED)
	$(RUN)/python benchmarks/seeds.py

# The log-partition function against enumeration, and of the Senate's fits: about three minutes.
bench-partition: $(INSTALLED)
	$(RUN)/python benchmarks/partition.py

# Intervals on two hundred known fields, and a hundred resamples of the Senate's votes: about ten minutes.
bench-bootstrap: $(INSTALLED)
	$(RUN)/python benchmarks/bootstrap.py

# Intervals and false discovery rates on known fields, and tables where SPARSEFIELD_OUTSIDE has them: about forty minutes;
# a run that was stopped goes on, and MINUTES=10 is for less.
bench-inference: $(INSTALLED)
	OPENBLAS_NUM_THREADS=1 $(RUN)/python benchmarks/inference.py $(if $(MINUTES),--minutes $(MINUTES))

# Edges and weights of known fields beside what people would use: about twenty minutes; a run that was stopped goes on.
bench-choice: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/choice.py $(if $(PEERS),--peers)

# What a posterior finds that is told what nobody knows, beside the stored figures of bench-choice: about half an hour.
bench-told: $(INSTALLED)
	$(RUN)/python benchmarks/told.py

# Rows held out of tables where SPARSEFIELD_OUTSIDE has them: about an hour; a run that was stopped goes on.
bench-held-out: $(INSTALLED)
	OPENBLAS_NUM_THREADS=1 $(RUN)/python benchmarks/held_out.py

# Penalties chosen by every criterion: about forty minutes of one processor; a run that was stopped goes on.
bench-criteria: $(INSTALLED)
	$(RUN)/python benchmarks/criteria.py

# A million rows with one edge, and spikes: about two minutes.
bench-large: $(INSTALLED)
	$(RUN)/python benchmarks/large.py

# The pseudo-likelihood of 20 to 1000 variables and 1000 to 1,000,000 rows, beside nodewise regressions.
bench-pseudolikelihood: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/pseudolikelihood.py $(if $(PEERS),--peers)

# A hundred variables that all interact, beside adabmDCA: about four minutes.
bench-dense: $(INSTALLED) $(if $(PEERS),$(VENV)/peers)
	$(RUN)/python benchmarks/dense.py $(if $(PEERS),--peers)

# A hundred million rows of parquet, which take 0.7 GB of disk while it runs: about five minutes; ROWS=1000000 for less.
bench-rows: $(INSTALLED)
	$(RUN)/python benchmarks/rows.py $(if $(ROWS),--rows $(ROWS))

# Draws on two worker processes, and a model of a thousand: about two minutes.
bench-machines: $(INSTALLED)
	$(RUN)/python benchmarks/machines.py

# A GPU beside the processors of its machine: about four minutes.
bench-gpu: $(VENV)/cuda
	$(RUN)/python benchmarks/gpu.py

# Contacts of a protein family, which SPARSEFIELD_OUTSIDE has: mean-field DCA, pseudo-likelihood and likelihood.
bench-proteins: $(INSTALLED)
	$(RUN)/python benchmarks/proteins.py

# Frames a second of the network of a page, in Chromium: a minute. PEERS=1 fetches other engines from the npm registry.
bench-page: $(INSTALLED) browser
	$(RUN)/python benchmarks/page.py $(if $(PEERS),--peers)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint constraints.txt
	touch $@

$(VENV)/docs: $(INSTALLED)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]' --constraint constraints.txt
	touch $@

$(VENV)/cuda: $(INSTALLED)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cuda]' --constraint constraints.txt
	touch $@

$(VENV)/peers: $(INSTALLED)
	$(RUN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]' --constraint constraints.txt
	touch $@

clean:
	rm -rf $(VENV) docs/_build docs/generated docs/examples .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
