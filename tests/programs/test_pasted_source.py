"""What a web page has lost of a program is put back where it can be told, and never otherwise."""

import ast
import re
import time

import pytest
from sampling import sample

import collsim as cs
from collsim.app.pages.program.program_drafts import EXAMPLES
from collsim.programs import list_hangs
from collsim.rank_engine.pasted_source import restore_source

#: As the module does, whose own filter pytest takes away: tens of thousands of warnings took longer than the tests.
pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning:<pasted source>")
#: As a Chinese blog shows them: a comment goes over into the code of the next line.
REDUCE = (
    "import numpy as npdef scatter_reduce(data, num_nodes):# data是每个节点上的数组# num_nodes是节点数目"
    "# 第一步:分成N个区块local_blocks = np.array_split(data, num_nodes)# 第二步:累加for i in range(num_nodes):"
    "other_blocks = [local_blocks[j] for j in range(num_nodes) if j != i]"
    "local_blocks[i] += np.sum(other_blocks, axis=0)# 第三步final_result = np.sum(local_blocks, axis=0)"
    "return final_result# 示例\ndata = np.random.randint(0, 10, 20)# 模拟\nresult = scatter_reduce(data, 4)# 打印\n"
    'print("result:", result)\n'
)
GATHER = (
    "import numpy as npdef allgather(local_blocks, num_nodes):"
    "all_blocks = [np.empty_like(local_blocks) for _ in range(num_nodes)]for i in range(num_nodes):# 复制"
    "all_blocks[i][:] = local_blocks[i]for _ in range(num_nodes - 1):# 交换for i in range(num_nodes):"
    "target_node = (i + 1) % num_nodes# 发送np.copyto(all_blocks[target_node], local_blocks[i])# 接收"
    "np.copyto(local_blocks[i], all_blocks[target_node])return all_blocks# 示例\n"
    "print(allgather(np.random.randint(0, 10, (4, 5)), 4))\n"
)


def read_tree(source):
    return ast.dump(ast.parse(source))


@pytest.mark.parametrize(("pasted", "name", "breaks"), [(REDUCE, "scatter", 15), (GATHER, "gather", 15)])
def test_a_blog_whose_line_breaks_are_lost_is_read_as_it_was(pasted, name, breaks):
    restored = restore_source(pasted)
    assert read_tree(restored.text) == read_tree(EXAMPLES[name][1])
    assert restored.text.count("#") == pasted.count("#")
    assert restored.breaks == breaks


def test_a_pasted_blog_is_run_and_says_what_was_put_back():
    run = cs.program(REDUCE)
    assert run.verdict == "ends"
    assert "15 line breaks" in run.explanation()
    assert "One process holds all arrays" in run.explanation()
    assert "15 处换行" in run.explanation("zh")
    assert run.printed[0].startswith("result: [")
    wrong = cs.program(REDUCE, 4, "allreduce", entry="scatter_reduce", nbytes="32B")
    # block by block 8, 12, 14 and 15 times what the ranks hold, in place of once
    assert wrong.verdict == "wrong"
    assert wrong.results[0].tolist() == [[134 * (1 + element) for element in range(4)]]
    error = cs.program(GATHER)
    assert (error.verdict, error.errors[0].kind) == ("error", "ValueError")
    assert "copyto" in error.source.splitlines()[error.errors[0].line - 1]


DAMAGES = {
    "on one line": lambda source: "".join(line.strip() for line in source.splitlines()),
    "bodies on one line": lambda source: re.sub(r"\n[ \t]+", "", source),
    "not indented": lambda source: re.sub(r"\n[ \t]+", "\n", source),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_put_back_is_the_program_or_nothing(damage):
    """Where two readings are possible a program is refused, so that nobody looks at another one."""
    sources = [source for _, source in EXAMPLES.values()]
    for hang in list_hangs().values():
        sources += [hang.source, hang.fixed_source]
    count = 0
    for source in sources:
        restored = restore_source(DAMAGES[damage](ast.unparse(ast.parse(source)) + "\n"))
        if restored is not None:
            assert read_tree(restored.text) == read_tree(source), restored.text
            count += 1
    assert count >= 2


def test_spaces_of_a_web_page_are_spaces_and_python_stays_as_it_is():
    assert restore_source("x = 1\n") is None
    assert restore_source("def f(x):\n\u00a0\u00a0return\u00a0x\u200b\n").text == "def f(x):\n  return x\n"


@pytest.mark.parametrize(
    "source",
    [
        "for i in range(3):total = 0x(i)total += 1print(total)",  # in the loop, or behind it
        "if rank == 0:dist.send(x, 1)dist.recv(x, 1)",
        "a = [1]b = ac = b\nprint(a, b, c)]",
        "def f(x):return x# doubles itreturn 2 * x",
        "(" * 3000,
        "'" * 101,
        "\x00",
        "def f(:",
    ],
)
def test_what_can_be_read_in_two_ways_or_in_none_is_left_alone(source):
    assert restore_source(source) is None


HOSTILE = [
    "#",
    "xfor a in ",
    "a)",
    "'a",
    "for i in x:\n",
    "a b\n",
    "1if ",
    "#中a[",
    "for i in x:y(i)",
    "\\\n",
    "f'{",
    "x=1;",
]


@pytest.mark.parametrize("part", sample(HOSTILE, 4))
def test_a_hostile_source_takes_no_time(part):
    """This runs outside of the sandbox; in a quadratic time of 100,000 characters it would take minutes."""
    began = time.process_time()
    for size in (20_000, 100_000):
        restore_source("$ " + part * (size // len(part)))
    assert time.process_time() - began < 20
