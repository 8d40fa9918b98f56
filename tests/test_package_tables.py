"""Every table of the package keeps its schema, which asks for a source, and is in the wheel."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

import collsim
from collsim.package_data import read_csv
from collsim.topology.machines import machine_files

PACKAGE = Path(collsim.__file__).parent
NUMBER, NATURAL, TEXT, FLAG = (
    {"type": "number", "minimum": 0},
    {"type": "integer", "minimum": 0},
    {"type": "string"},
    {"type": "boolean"},
)
RATE, WORDS = {"type": "number", "exclusiveMinimum": 1e8}, {"type": "string", "minLength": 3}
ALPHA = {"type": "number", "exclusiveMinimum": 1e-8, "exclusiveMaximum": 1e-3}
ORDERS = {"type": "array", "items": {"type": "array", "items": NATURAL, "uniqueItems": True}}
DEVICES = {"type": "string", "pattern": r"^[a-z]+(\d+(\.\.\d+( by \d+)?)?)?$"}


def table(required, **optional):
    """The schema of an object with these fields and no others."""
    fields = required | optional
    return {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}


def listed(row, least=1):
    return {"type": "array", "items": row, "minItems": least}


def named(row):
    """The schema of rows by name."""
    return {"type": "object", "additionalProperties": row, "minProperties": 1}


def columns(**patterns):
    """The schema of a row of a CSV: a pattern for each column."""
    return listed(table({name: {"type": "string", "pattern": f"^(?:{form})$"} for name, form in patterns.items()}))


WORD = {"type": "string", "pattern": r"^[^A-Z\s]+$"}
WHOLE, YES_NO, SOME = r"\d+", "[01]", ".{2,}"
CABLES = table(
    {
        "works": named(WORDS),
        "pcie": table(
            {
                "source": WORDS,
                "generations": named(
                    table({"nominal": RATE, "effective": RATE, "lane": NUMBER, "alpha": ALPHA, "alpha_source": WORDS})
                ),
            }
        ),
        "nvlink": table(
            {
                "alpha": ALPHA,
                "alpha_source": WORDS,
                "source": WORDS,
                "generations": named(table({"gpus": WORDS, "nominal": RATE, "effective": RATE})),
            }
        ),
        "bridge": table({"nominal": RATE, "effective": RATE, "source": WORDS}),
        "xgmi": listed(table({"gcn": TEXT, "gpus": WORDS, "nominal": RATE, "effective": RATE, "source": WORDS})),
        **{
            name: table(
                {"kind": WORDS, "label": WORDS, "bandwidth": RATE, "alpha": ALPHA, "nominal": RATE, "source": WORDS},
                effective=RATE,
            )
            for name in ("c2c", "grace")
        },
        **{name: table({"alpha": ALPHA, "source": WORDS}) for name in ("socket", "memory")},
        "gpu_memory": table(
            {"alpha": ALPHA, "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "source": WORDS}
        ),
        "nics": listed(
            table(
                {
                    "name": {"type": "string", "pattern": r"^[a-z]+(-(\d+|[a-z]+|\{gigabits\}))?$"},
                    "label": WORDS,
                    "kind": {"enum": ["infiniband", "ethernet"]},
                    "alpha": ALPHA,
                    "source": WORDS,
                },
                nominal=RATE,
                effective=RATE,
                gigabits=listed(NATURAL),
                share={"type": "number", "exclusiveMinimum": 0.5, "maximum": 1},
                rdma=FLAG,
                sharp=FLAG,
            )
        ),
    }
)
PROCESSORS = named(
    table(
        {
            "title": WORDS,
            "label": WORDS,
            "gigatransfers": {"type": "number", "exclusiveMinimum": 1},
            "links": NATURAL,
            "nccl": {"type": "number", "exclusiveMinimum": 1},
            "memory": {"type": "array", "prefixItems": [WORDS, NATURAL, NATURAL], "minItems": 3, "maxItems": 3},
            "vendor": TEXT,
            "source": WORDS,
        },
        lanes=NATURAL,
        families=listed(NATURAL),
        models=listed(NATURAL),
    )
)
CONNECTION = {"type": "array", "prefixItems": [DEVICES, DEVICES, WORDS], "minItems": 3, "items": TEXT}
MACHINE = table(
    {
        "source": WORDS,
        "cables": named(
            {"type": "object", "required": ["part"], "properties": {"part": {"enum": list(machine_files.PARTS)}}}
        ),
    },
    title=WORDS,
    gpu=WORDS,
    sm=NATURAL,
    nic=WORDS,
    nvswitches=NATURAL,
    bridge={"enum": ["PHB", "NODE"]},
    **dict.fromkeys(("amd_cpu", "p2p_over_pcie", "gdr"), FLAG),
    **dict.fromkeys(("rings", "paths"), ORDERS),
    devices=listed(DEVICES),
    connections=listed(CONNECTION),
    dims=listed(NATURAL),
    torus=WORDS,
)
MPI_RULES = {"type": "object", "required": ["rules"]}
SYNONYMS = table(
    {
        "rows": listed(table({"words": listed(WORD), "means": listed(WORD)})),
        "absent": listed(table({"words": listed(WORD), "reason": WORDS})),
        "commands": listed(table({"words": listed(WORD), "means": WORD})),
        **dict.fromkeys(("spellings", "abbreviations"), named(WORD)),
    }
)
THREE = {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 320}, "minItems": 3, "maxItems": 3}
GENERATIONS = ("Volta", "Ampere", "Hopper", "Blackwell")
#: GB/s of channels that a search tries, fastest first.
SPEEDS = listed({"type": "number", "exclusiveMinimum": 0, "maximum": 100}, least=11)
FACTORS = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 2}}


def sourced(row, *names):
    """The schema of a table with a source and these rows."""
    return table({"source": WORDS, **dict.fromkeys(names, row)})


ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
NCCL_CONSTANTS = table(
    {
        "base_latency": sourced(THREE, *ALGORITHMS),
        "step_latency": table(
            {"source": WORDS, **{link: table(dict.fromkeys(ALGORITHMS, THREE)) for link in ("NVLINK", "PCI", "NET")}}
        ),
        **{
            name: sourced(THREE, *GENERATIONS)
            for name in (
                "ll_max",
                "ring_ll128_max",
                "tree_ll128_max",
                "tree_max",
                "nvlstree_max",
            )
        },
        "nvls_efficiency": sourced({"type": "number", "minimum": 0, "maximum": 1}, *GENERATIONS),
        "tree_correction": sourced(FACTORS | {"minItems": 24, "maxItems": 24}, *PROTOCOLS),
        "nvlink": sourced(
            {"type": "number", "minimum": 12, "maximum": 50}, *["60", "70", "75", "80", "86", "89", "90", "100"]
        ),
        "pcie_x16": sourced({"type": "number", "minimum": 3}, *"123456"),
        **{name: sourced(SPEEDS, "0", "90", "100") for name in ("speeds_intra", "speeds_inter")},
        "nvls_channels": sourced({"type": "array", "items": NATURAL, "minItems": 2, "maxItems": 2}, "90", "100"),
    }
)
RANGE = {"type": "array", "items": NATURAL, "minItems": 2, "maxItems": 2}
SOURCED_NUMBERS = named(NUMBER) | {"properties": {"source": WORDS}, "required": ["source"]}
LINKS = table(
    {
        "carries": named(table({"share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}, "source": WORDS})),
        **dict.fromkeys(
            ("nvls_carries", "nvls_multicast", "net_p2p", "channel", "step", "step_bulk", "software", "eager", "fill"),
            SOURCED_NUMBERS,
        ),
        **dict.fromkeys(("fade", "wait"), SOURCED_NUMBERS),
        "read_off": named(WORDS),
    }
)
#: A tag of NVIDIA/nccl with its commit, or the library of a package whose sources were not at hand.
RELEASE_SOURCE = r"^(v2\.\d+\.\d+-1( \([0-9a-f]{7}\))?|libnccl\.so\.2 of nvidia-nccl-cu13 2\.\d+\.\d+)$"
RELEASES = table(
    {
        "release": listed(
            table(
                {"since": NATURAL, "source": {"type": "string", "pattern": RELEASE_SOURCE}},
                like=NATURAL,
                algorithms=listed({"enum": [*ALGORITHMS]}),
                ll128_capabilities=listed(NATURAL, 0),
                ll128_path=TEXT,
                **dict.fromkeys(("ll_share", "plateau_factors"), listed(NUMBER, 2)),
                **dict.fromkeys(("lone_ll128_share", "ll_intra_factor", "plain_tree_factor", "nvls_factor"), NUMBER),
                **dict.fromkeys(("has_post_overhead", "has_return_hops", "has_lone_tree_steps"), FLAG),
                **dict.fromkeys(("base_latency", "ll_max", "ring_ll128", "tree_ll128", "tree_max"), named(THREE)),
                step_latency=named(named(THREE)),
                **dict.fromkeys(("ring_ll128_for", "bus_caps"), named(NUMBER)),
            )
        )
    }
)
LLAMA_LAYERS = dict.fromkeys(("gated", "bias", "tied", "positions"), FLAG)
DECODER = {**dict.fromkeys(("h", "layers", "heads"), NATURAL), "source": WORDS}
RCCL = table(
    {
        "architectures": named({"type": "string", "pattern": "^gfx9[0-9]{2}$"}),
        "step_latency": named(table({"Tree": THREE, "Ring": THREE})),
        "share": table(
            {key: {"type": "array", "items": THREE, "minItems": 2, "maxItems": 2} for key in ("Tree", "Ring")}
        ),
        "tuning": named(
            table(
                {
                    **dict.fromkeys(
                        ("tree", "ring"), table(dict.fromkeys(PROTOCOLS, FACTORS | {"minItems": 27, "maxItems": 27}))
                    ),
                    "ranges": named(table({"LL": RANGE, "LL128": RANGE})),
                }
            )
        ),
    }
)
EXAMPLES = named(table({"collective": WORDS, "code": WORDS}))
#: Words of other tools and ours.
NAMES = named({"type": "string"})
FACTS = listed(
    table(
        {},
        kind=WORD,
        variables=named(listed(TEXT, 0)),
        **{key: {"type": "array"} for key in ("values", "other_than")},
        words=listed(WORDS),
        most=NATURAL,
    )
)
CAUSE = table(
    {"source": WORDS},
    **dict.fromkeys(("ends_job", "needs_gap", "is_by_design"), FLAG),
    **dict.fromkeys(("facts", "supporting", "excluding"), FACTS),
    hypothesis=TEXT,
    conclusive=listed(WORD),
)
#: By the path of a table, or by its folder.
SCHEMAS = {
    "programs/job_records/flight_recorder.toml": table({"plain": listed(TEXT)}),
    "teach/exercises/tasks": named(WORDS),
    "viz/pictures/machine_picture.toml": table(dict.fromkeys(("latin", "chinese"), listed(WORDS))),
    "sandbox/allowlist.toml": table(dict.fromkeys(("arrays", "methods", "builtins", "nodes"), listed(TEXT))),
    "io/formats.toml": named(
        table({"suffixes": listed(TEXT), "holds": WORD, "about": listed(TEXT, 2)}, options=named(WORDS))
    ),
    "app/scenario/run_files.toml": table({"seconds": named(listed(NUMBER, 2))}),
    "io/msccl/msccl_program.toml": table({"types": named(listed(FLAG, 5))}),
    "programs/job_records/recorded_run.toml": table({"types": NAMES}),
    "rank_engine/execute.toml": table({"substitutes": named(WORDS)}),
    "topology/files/guesses.toml": table(
        dict.fromkeys(("cards", "gpus", "processors"), named(listed({"type": "string"})))
    ),
    "topology/files/nccl_tree.toml": table({"nvlinks": listed(listed(NUMBER, 4))}),
    "topology/files/unread.toml": table(
        {"output": listed(table({"pattern": WORDS, "advice": WORD}, tool=WORDS, format=WORD, is_evidence=FLAG))}
    ),
    "rank_engine/mpi_dialect.toml": table({"substitutes": named(WORDS), "types": NAMES}),
    "nccl/measured/gaps.toml": named(
        table(
            {"description": WORDS},
            contradicts=WORD,
            **dict.fromkeys(("needs_small", "needs_log"), FLAG),
            settings={"type": "object"},
            routes={"type": "object"},
        )
    ),
    "training_scripts/names.toml": table(
        dict.fromkeys(
            (
                *("launchers", "shells", "wrappers", "naming_options", "torchrun_options", "backends", "sharded"),
                *("frameworks", "calls_of_all", "gathering_calls", "questions"),
            ),
            listed(TEXT),
        ),
        **dict.fromkeys(("launching_modules", "homes"), NAMES),
    ),
    "diagnosis/causes.toml": named(CAUSE),
    "diagnosis/job.toml": table({"machines": NAMES}),
    "diagnosis/readers/tool_lines.toml": table(
        {"line": listed(table({"tool": TEXT, "kind": WORD, "pattern": WORDS}, word=WORDS, read=WORD, value={}))}
    ),
    "rank_engine/torch_dialect.toml": named(
        table(
            {"parameters": WORDS},
            **dict.fromkeys(("sends", "fills", "tensor", "parts", "objects", "result", "root"), WORD),
            **dict.fromkeys(("cuts", "memory"), listed(WORD)),
            default_root={"type": "integer"},
            joined={"const": True},
        )
    ),
    "app/scenario/pytorch.toml": table(
        {
            **dict.fromkeys(("script", "parts", "exchange"), WORDS),
            "calls": named(table({"input": WORDS, "call": WORDS}, output=WORDS)),
        }
    ),
    "app/server/content_policy.toml": table({"sources": NAMES}),
    "io/chakra.csv": columns(message=SOME, field=SOME, number=WHOLE, type="[A-Z0-9]+", label="optional|repeated"),
    "programs/job_records/operations.csv": columns(word=SOME, operation=SOME, output="1|n|1/n"),
    "programs/library_calls.csv": columns(word=SOME, algorithm=SOME, size="(all|one) ranks?"),
    "rank_engine/stand_ins/tensors.toml": table(
        {"methods": listed(WORD), "moves": listed(WORD), "types": NAMES, "elementwise": NAMES, "functions": NAMES}
    ),
    "rank_engine/stand_ins/standard_library.toml": table({"whole": listed(TEXT), "names": named(listed(TEXT))}),
    "cli/streams.toml": table({"characters": NAMES}),
    "diagnosis/job_diagnosis.toml": table({"causes": NAMES}),
    "diagnosis/readers/network_tools.toml": table(dict.fromkeys(("losses", "errors"), listed(TEXT))),
    "io/nccl/nccl_tests.toml": table({"types": NAMES, "tests": NAMES}),
    "io/torch_profiler.toml": table(
        {
            "collectives": named({"type": "array", "prefixItems": [WORD, {"enum": ["in", "out"]}], "minItems": 2}),
            "dtypes": named({"type": "integer", "minimum": 1}),
        }
    ),
    "io/osu.toml": table({"columns": listed(listed(WORD, 2)), "tests": NAMES}),
    "nccl/difference.toml": table({"algorithms": NAMES, "evidence": named(WORDS)}),
    "nccl/libraries/backends.toml": table(
        {"operations": named({"type": "string", "pattern": "^([yn?]{2} ){2}[yn?]{2}$"})}
    ),
    "programs/array_functions.toml": table({"kinds": named({"enum": ["sum", "gather"]})}),
    "programs/job_records/timeouts.toml": table({"open_mpi": WORDS, "operations": NAMES}),
    "topology/files/collsim_yaml.toml": table(dict.fromkeys(("top", "cable", "machine"), listed(WORD))),
    "topology/files/nccl_xml.toml": table({"attributes": named(listed(WORD, 0))}),
    "train/measured_steps.toml": table(
        {
            "names": NAMES,
            "gpus": listed(named({})),
            "recipes": listed(table({"rows": NAMES}, columns=NAMES, settings=NAMES, mode=NAMES, compute=named(NUMBER))),
        }
    ),
    "train/workload/collective_model.toml": table({"algorithms": NAMES}),
    "viz/diagnosis/job_links.toml": table({"kinds": named(listed(WORD))}),
    "app/pages/program/examples.toml": EXAMPLES,
    "app/pages/write/examples.toml": named({"anyOf": [EXAMPLES["additionalProperties"], NAMES]}),
    "cli/help.toml": named(named(WORDS)),
    "io/nccl/nccl_log_lines.toml": table(
        {"line": listed(table(dict.fromkeys(("kind", "word", "pattern"), WORDS), read=WORDS, value={"const": 1}))}
    ),
    "locale/glossary.csv": columns(**dict.fromkeys(("section", "term", "meaning"), SOME), chinese=".+", refused=".*"),
    "locale/zh/glossary.csv": columns(term=SOME, meaning=SOME),
    "locale/synonyms.toml": SYNONYMS,
    "locale/name_families.toml": table(
        {"families": listed(table(dict.fromkeys(("form", "pattern", "en", "zh"), WORDS), names=listed(WORDS)))}
    ),
    "nccl/model/links.toml": LINKS,
    "nccl/model/rccl.toml": RCCL,
    "nccl/model/releases.toml": RELEASES,
    "nccl/search/constants.toml": NCCL_CONSTANTS,
    "nccl/libraries/mpich.toml": MPI_RULES,
    "nccl/libraries/openmpi.toml": MPI_RULES,
    "programs/hangs/catalogue.toml": named({"type": "object"}),
    "purchases/failure_rates.toml": table(
        {
            "source": WORDS,
            "hours": table({part: {"type": "number", "minimum": 1000} for part in ("gpu", "link", "node")}),
        }
    ),
    "sandbox/syscalls.csv": columns(name=r"\w+", x86_64=WHOLE, arm64=r"\d*", purpose=SOME),
    "topology/cables.toml": CABLES,
    "topology/files/boards.csv": columns(machine=SOME, gpus=SOME, source=SOME),
    "topology/files/modules.csv": columns(device="0x[0-9a-f]{4}", gpu=r".*", title=SOME, source=SOME),
    "topology/machines": MACHINE,
    "topology/parts/announcements.csv": columns(name=SOME, maker="NVIDIA|AMD|Google", year=r"20\d\d", source=SOME),
    "topology/parts/gpus.csv": columns(
        **dict.fromkeys(("sm", "nvlink", "links", "pcie", "lanes"), WHOLE),
        **dict.fromkeys(("p2p", "gdr"), YES_NO),
        **dict.fromkeys(("name", "card", "source"), SOME),
        **dict.fromkeys(("module_watts", "card_watts"), r"(\d+)?"),
        **dict.fromkeys(("series", "power_source"), ".*"),
    ),
    "topology/parts/processors.toml": PROCESSORS,
    "train/compute/eager_operations.csv": listed({"type": "object", "required": ["gpu", "operation", "share"]}),
    "topology/parts/gpu_speeds.csv": columns(
        name=SOME, **dict.fromkeys(("fp32", "tf32", "half", "memory", "capacity"), r"\d+(\.\d+)?"), source=SOME
    ),
    "train/model_families/gpt.toml": named(table(DECODER | {"seq": NATURAL})),
    "train/model_families/llama.toml": named(
        table(DECODER | LLAMA_LAYERS | dict.fromkeys(("kv_heads", "ffn", "vocab", "seq"), NATURAL))
    ),
    "train/model_families/mixtures.toml": named(
        table(
            DECODER
            | LLAMA_LAYERS
            | dict.fromkeys(("head_dim", "kv_heads", "ffn", "experts", "top_k", "vocab"), NATURAL),
            window=NATURAL,
        )
    ),
    "train/pytorch": named(WORDS),
    "train/timing/step_intervals.csv": columns(kind=SOME, low=r"0\.\d+", high=r"\d\.\d+", rows=WHOLE, sources=WHOLE),
}
TABLES = sorted(path for form in ("*.toml", "*.csv") for path in PACKAGE.rglob(form) if ".streamlit" not in path.parts)


def read_table(path):
    if path.suffix == ".csv":
        return read_csv(str(path), path.name)
    return tomllib.loads(path.read_text(encoding="utf-8"))


def find_schema(path):
    name = path.relative_to(PACKAGE)
    return SCHEMAS.get(name.as_posix()) or SCHEMAS.get(name.parent.as_posix())


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_table_keeps_its_schema(path):
    schema = find_schema(path)
    assert schema is not None, f"say in SCHEMAS what is in {path.name}"
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(read_table(path), schema)


def test_no_schema_is_left_of_a_table_that_went():
    assert [name for name in SCHEMAS if not (PACKAGE / name).exists()] == []


@pytest.mark.parametrize("wrong", ["nominal", "alpha", "source"])
def test_a_row_that_lacks_what_it_needs_is_found(wrong):
    rows = read_table(PACKAGE / "topology" / "cables.toml")
    del rows["pcie"]["generations"]["4"]["alpha_source" if wrong == "source" else wrong]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(rows, CABLES)


@pytest.mark.parametrize("name", machine_files.list_machine_files())
def test_the_wiring_of_a_machine_uses_each_cable_and_comes_out_even(name):
    facts = read_table(PACKAGE / "topology" / "machines" / f"{name}.toml")
    used = {facts.get("torus")}
    for near, *rest in facts.get("connections", ()):
        used |= set(rest[1::2])
        for far in rest[::2]:
            counts = sorted(len(machine_files.expand_devices(side)) for side in (near, far))
            assert counts[1] % counts[0] == 0, (near, far)
    assert used - {None} == set(facts["cables"])


def test_machines_have_a_sentence_each():
    texts = json.loads((PACKAGE / "locale" / "en" / "machines" / "catalogue.json").read_text(encoding="utf-8"))
    titles = {key.removesuffix(".title") for key in texts if key.endswith(".title")}
    assert sorted(key for key in texts if not key.endswith(".title")) == sorted(machine_files.list_machine_files())
    for name in machine_files.list_machine_files():  # in one place each
        facts = read_table(PACKAGE / "topology" / "machines" / f"{name}.toml")
        assert ("title" in facts) != (name in titles), name
