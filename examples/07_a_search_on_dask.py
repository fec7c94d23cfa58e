"""A search over model sizes with scikit-learn's GridSearchCV, whose fits run on a Dask cluster.

Usage: python examples/07_a_search_on_dask.py

The cluster is two processes of this machine. On a real one, give `Client` its scheduler's address;
nothing else changes.
"""

import joblib
from distributed import Client, LocalCluster
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from wakesleep.sklearn import HelmholtzMachineDensity


def main() -> None:
    X = (load_digits().data[:600] > 7.5).astype(int)
    search = GridSearchCV(
        HelmholtzMachineDensity("sbn/sbn 5", max_iter=10, random_state=0),
        {"architecture": ["sbn/sbn 2", "sbn/sbn 20"]},
        cv=2,
    )
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        with joblib.parallel_backend("dask", client=client):
            search.fit(X)
        print(f"fitted on {len(client.nthreads())} workers")
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"{parameters['architecture']:<12} held-out log-likelihood {score:.2f} nats")
    print("best:", search.best_params_["architecture"])


if __name__ == "__main__":
    main()
