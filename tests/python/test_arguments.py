"""Arguments are used, or refused: nothing is passed over in silence."""
import pytest

import bioinfer


def test_scores_of_mutations_come_again(tiny):
    scores = tiny.score([("a", "MKTAYIAK"), ("b", "MKV")],
                        mutations=(text for text in ["K2R"]))
    first, again = ([score.mutation("K2R") for score in scores] for _ in range(2))
    assert len(first) == 2 and first == again
    assert scores.to_pandas().shape[0] == 2


def test_mutations_are_a_list(tiny):
    for mutations in ("K2R", b"K2R", {"a": "K2R"}):
        with pytest.raises(bioinfer.InvalidArgument, match="expected a list of texts, got b?'K2R'"):
            list(tiny.score([("a", "MKTAYIAK")], mutations=mutations))
