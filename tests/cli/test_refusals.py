"""What commands refuse, before anything is printed, written or spent; each names the option, column or item."""

from __future__ import annotations

import shlex

import pytest

FILES = {
    "votes.csv": "user,winner,loser\nu,a,b\nu,b,c\nv,a,b\nv,c,a\n",
    "ranks.csv": "user,a,b,c\nu,1,2,3\nv,2,1,3\n",
    "halves.csv": "user,a,b,c\nu,1,2,\nv,2,1,3\n",
    "stars.csv": "user,a,b,c\nu,5,4,4\nv,4,5,1\n",
    "nobody.csv": "a,b\n1,2\n2,1\n",
    "dated.csv": "user,winner,loser,when\nu,a,b,2024-01-01\nv,b,a,2024-01-01\n",
    "pairs.csv": "winner,loser\na,b\nb,a\n",
    "counted.csv": "user,winner,loser,n,x\nu,a,b,2,1\n",
    "tied.csv": "user,winner,loser,tie\nu,a,b,1\nv,a,b,0\n",
    "long.csv": "user,item,rank,e\nu,a,1,1\nu,b,2,2\n",
    "weighted.csv": "user,winner,loser,p\nu,a,b,0\n",
    "choices.csv": "user,chosen,shown\nu,a,a|b\nu,b,b|c\nv,c,a|c\n",
    "battles.csv": "user,winner,loser,left,length\nu,a,b,a,1\nu,b,c,c,2\nv,c,a,c,0.5\nv,b,a,a,-1\n",
    "grouped.csv": "user,winner,loser,first,g\nu,a,b,a,x\nv,a,b,b,y\n",
    "reports.csv": "user,item_1,item_2,report,epsilon\nu,a,b,1,2\nv,b,c,0,1\n",
    "synthetic.csv": "user,synthetic_epsilon,a,b\nu,2,1,2\nv,2,2,1\n",
    "marks.csv": "user,Rank 1,Rank 2\nu,Ann,overvote\nv,Bo,Ann\n",
    "orders.csv": "user,order\nu,a;b\nv,b;a\n",
    "prefs.jsonl": "".join(
        f'{{"user": {k % 3}, "prompt": "q{k}", "chosen": "yes {k}", "rejected": "no", "score_chosen": 9, "e": 1}}\n'
        for k in range(6)
    ),
    "open.jsonl": '{"question": "q", "chosen": "a", "rejected": "b"}\n',
    "equal.jsonl": '{"prompt": "p", "chosen": "a", "rejected": "a"}\n',
}  # fmt: skip

RANK = "rank votes.csv --epsilon 1 --max-per-user 2"
SETS = "rank choices.csv --epsilon 1 --max-per-user 2"
FIT = "rank battles.csv --epsilon 1 --method scores --adjacency flip --side left --covariate length"
CONSENSUS = "aggregate ranks.csv --epsilon 1"
REPORTS = "privatize votes.csv --epsilon 1 --out new.csv"
ORDERS = "privatize ranks.csv --epsilon 1 --out new.csv"
LABELS = "privatize prefs.jsonl --epsilon 1 --out new.jsonl"
STUDY = "reproduce cai-fig5 --out new"
GAUSSIAN = "--noise gaussian --delta 1e-6"

# What nobody has declared to be public: the items, and where rows hold rankings whose they are.
UNDECLARED = [
    ("rank votes.csv --epsilon 1 --max-per-user 2", "--items seen"),
    ("rank votes.csv --epsilon 1 --max-per-user 2", "--items a,b,c"),
    ("rank choices.csv --epsilon 1 --max-per-user 2", "--items seen"),
    ("rank marks.csv --epsilon 1 --max-per-user 2 --blank overvote", "--items seen"),
    ("leaderboard dated.csv --epsilon 1 --max-per-user 2 --every day --time when --start 2024-01-01 --steps 2 "
     "--until 2024-01-02 --state s", "--items seen"),
    ("aggregate ranks.csv --epsilon 1", "--items"),
    ("aggregate long.csv --epsilon 1", "--items seen"),
    ("aggregate nobody.csv --epsilon 1 --items seen", "--user none"),
    ("privatize votes.csv --epsilon 1 --out new.csv", "--items seen"),
    ("privatize long.csv --epsilon 1 --out new.csv", "--items seen"),
    ("privatize ranks.csv --epsilon 1 --out new.csv", "--items"),
]  # fmt: skip

# A command line, and what it must name.
CASES = [
    ("rank votes.csv", "--epsilon"),
    ("rank votes.csv --epsilon 1.1e9", "--epsilon"),
    ("rank votes.csv --epsilon 1e-12", "noise alone"),
    ("rank votes.csv --epsilon 1_0", "1_0"),
    ("rank votes.csv --epsilon 1", "--max-per-user"),
    (f"{RANK} --delta 0.01", "--noise gaussian"),
    (f"{RANK} --noise gaussian", "--delta"),
    (f"{RANK} --seed 1", "--simulate"),
    (f"{RANK} --seed -1 --simulate", "--seed"),
    (f"{RANK} --simulate --seed 1_0", "1_0"),
    (f"{RANK} --unit comparison", "--unit user"),
    (f"{RANK} --winner winer", "'winner'"),
    (f"{RANK} --items a,b", "'c'"),
    (f"{RANK} --items no.txt", "no.txt"),
    (f"{RANK} --probabilities p.png", "--probabilities"),
    (f"{RANK} --noise k-norm", "votes.csv"),
    ("rank no.csv --epsilon 1", "no.csv"),
    ("rank pairs.csv --epsilon 1", "--unit comparison"),
    ("rank counted.csv --epsilon 1", "--count n"),
    ("rank counted.csv --epsilon 1 --count n", "--max-per-user"),
    (f"{SETS} {GAUSSIAN}", "shown"),
    (f"{SETS} --side shown", "choices"),
    (f"{FIT}", "--max-per-user"),
    (f"{FIT} --covariate other:3:1", "--covariate other:3:1"),
    ("rank battles.csv --epsilon 1 --side left --covariate length", "range"),
    (f"rank battles.csv --epsilon 1 --side left --covariate length:-3:3 {GAUSSIAN}", "noise"),
    ("rank battles.csv --method none --covariate length", "--side"),
    ("rank grouped.csv --epsilon 1 --side first --covariate-group g", "groups"),
    ("rank weighted.csv --method none --weight p", "weights"),
    ("rank reports.csv --epsilon 1", "--epsilon"),
    ("rank reports.csv --delta 0.1", "--delta"),
    ("aggregate ranks.csv", "--epsilon"),
    (f"{CONSENSUS} --method bordda", "'borda'"),
    (f"{CONSENSUS} --method noise-all --trust local", "2 users"),
    (f"{CONSENSUS} --items a,b,x", "'x'"),
    (f"{CONSENSUS} --users 2", "--users"),
    (f"{CONSENSUS} --matrix m.csv --out m.csv", "a file each"),
    (f"{CONSENSUS} --ranks --ratings 1:5", "--ranks"),
    ("aggregate nobody.csv --epsilon 1", "--user none"),
    ("aggregate stars.csv --epsilon 1", "--ratings 1:5"),
    ("aggregate orders.csv --epsilon 1", "--order-separator ';'"),
    ("aggregate marks.csv --epsilon 1", "--blank overvote"),
    ("aggregate votes.csv --epsilon 1", "privrank rank"),
    ("aggregate synthetic.csv --epsilon 1", "--epsilon"),
    ("privatize votes.csv --out new.csv", "--epsilon"),
    ("privatize votes.csv --epsilon-column budget --out new.csv", "'budget'"),
    ("privatize votes.csv --epsilon 1 --out new.xlsx", "kind of file"),
    ("privatize votes.csv --epsilon 1 --out votes.csv --force", "lost"),
    ("privatize votes.csv --epsilon 1 --out ranks.csv", "--force"),
    (f"{REPORTS} --epsilon-column user", "not both"),
    (f"{REPORTS} --unit user", "--unit"),
    ("privatize tied.csv --epsilon 1 --out new.csv", "--ties coin"),
    ("privatize reports.csv --epsilon 1 --out new.csv", "randomized"),
    ("privatize synthetic.csv --epsilon 1 --out new.csv", "randomized"),
    ("privatize synthetic.csv --epsilon 1 --out new.csv --ranks", "synthetic"),
    ("privatize reports.csv --epsilon 1 --out new.csv --left item_1 --right item_2 --outcome report", "reports"),
    ("rank reports.csv --epsilon 1 --left item_1 --right item_2 --outcome report", "reports"),
    ("aggregate synthetic.csv --epsilon 1 --ranks", "synthetic"),
    ("aggregate synthetic.csv --epsilon 1 --ignore synthetic_epsilon", "synthetic"),
    (f"{ORDERS} --ties drop", "--ties"),
    ("privatize halves.csv --epsilon 1 --out new.csv", "--public ranked-items"),
    ("privatize nobody.csv --epsilon 1 --user none --items a,user --out new.csv", "'user'"),
    ("privatize long.csv --epsilon-column e --out new.csv", "line 3"),
    (f"{LABELS} --keep score_chosen", "'score_chosen'"),
    (f"{LABELS} --max-per-user 2", "--unit user"),
    ("privatize prefs.jsonl --epsilon 1 --out prefs.jsonl", "answers"),
    ("privatize prefs.jsonl --epsilon 1 --out new.csv", "JSON Lines"),
    ("privatize prefs.jsonl --epsilon-column e --unit user --out new.jsonl", "epsilon"),
    ("privatize open.jsonl --epsilon 1 --out new.jsonl", "--prompt"),
    ("privatize equal.jsonl --epsilon 1 --ties drop --out new.jsonl", "nothing"),
    ("plan --items 5 --users 100 --target 0.3 --epsilon 1 --out plan.exe", ".csv"),
    ("audit", "--list"),
    ("audit randomized-respons", "randomized-response"),
    ("reproduce --out new", "--list"),
    ("reproduce cai-fig55 --out new", "cai-fig5"),
    (f"{STUDY} --set users", "PARAMETER=VALUE"),
    (f"{STUDY} --coordinator here:1 --processes 2 --process-id 2", "--process-id"),
    ("reproduce cai-fig8 --out new --replicates 2", "PRIVRANK_DATA"),
]  # fmt: skip


def refuse(privrank, line, named, folder, **options):
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    result = privrank(*shlex.split(line), **options)
    assert (result.code, result.out) == (2, "")
    assert named in " ".join(result.err.split())
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == FILES


@pytest.mark.parametrize(("line", "named"), CASES, ids=[line for line, _ in CASES])
def test_a_refusal_names_what_it_is_about(privrank, line, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVRANK_DATA", str(tmp_path))
    refuse(privrank, line, named, tmp_path)


@pytest.mark.parametrize(("line", "named"), UNDECLARED)
def test_a_release_of_what_nobody_declared_is_refused(privrank, line, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuse(privrank, line, named, tmp_path, items=None)
