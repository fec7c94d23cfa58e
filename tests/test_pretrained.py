import json

import jax
import numpy as np
import pytest

import wakesleep as ws
from wakesleep.cli import main
from wakesleep.data import DATASETS
from wakesleep.errors import UsageError
from wakesleep.pretrained import CARD_FIELDS, add_pretrained, list_pretrained

CARDS = list_pretrained()


def test_three_to_five_models_come_with_the_package():
    assert 3 <= len(CARDS) <= 5


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_model_is_what_its_card_says(card):
    model = ws.load_pretrained(card.name)
    assert ws.describe(model) == card.about["model"]
    assert model.features == DATASETS[card.about["data"]].features
    assert set(card.about) == set(CARD_FIELDS)
    assert "dirty" not in card.about["commit"]


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_model_reaches_the_likelihood_of_its_card(card):
    """On 200 random test rows, at fewer samples than the card's: near it, and not far above."""
    try:
        data = ws.load_dataset(card.about["data"])
    except UsageError as error:
        pytest.skip(str(error))
    rows = np.sort(np.random.default_rng(0).choice(len(data.test), 200, replace=False))
    model = ws.load_pretrained(card.name)
    score = ws.log_likelihood(model, data.test[rows], 200, key=jax.random.key(0))
    # Five standard errors of the choice of rows; few samples may cost some nats more.
    allowed = 2.5 * score.test_set_error + card.about["interval"]
    assert -allowed < -score.mean - card.about["nll"] < allowed + 3.0


def test_half_precision_hardly_moves_the_likelihood(tmp_path, key):
    model = ws.build("sbn/nade 4-6", features=8, key=key)
    for name, half in (("whole", False), ("half", True)):
        ws.save_model(model, tmp_path / f"{name}.safetensors", half=half)
    rows = np.eye(8, dtype=np.uint8)
    scores = [
        ws.log_likelihood(ws.load_model(tmp_path / f"{name}.safetensors"), rows, method="exact")
        for name in ("whole", "half")
    ]
    np.testing.assert_allclose(scores[0].values, scores[1].values, atol=5e-3)
    assert (tmp_path / "half.safetensors").stat().st_size < (
        tmp_path / "whole.safetensors"
    ).stat().st_size


def test_adding_a_model_writes_it_and_its_card(tmp_path, key):
    ws.save_model(ws.build("sbn", features=3, key=key), tmp_path / "run.safetensors")
    result = {field: field for field in CARD_FIELDS} | {"unrelated": 1}
    (tmp_path / "result.json").write_text(json.dumps(result))
    add_pretrained("mine", tmp_path / "run.safetensors", tmp_path / "result.json", tmp_path)
    assert json.loads((tmp_path / "mine.json").read_text()) == {f: f for f in CARD_FIELDS}
    assert ws.load_model(tmp_path / "mine.safetensors").features == 3


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(
        UsageError, match=f"no pretrained model is called 'x'; valid:.*{CARDS[0].name}"
    ):
        ws.load_pretrained("x")


def test_the_command_lists_the_cards(capsys):
    assert main(["models", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == [card.name for card in CARDS]
    assert main(["models"]) == 0
