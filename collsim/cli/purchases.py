"""`upgrades`: what to buy first, for a step of training or a collective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import collsim as cs
from collsim.errors import CollsimError

from .options import Json, Language, MachineSpec, Progress, Ranks, Size, TableFile
from .output import print_json, require_table_file, save_rows, show
from .shell import command
from .training import Splitting, StepOptions, find_model

if TYPE_CHECKING:
    from collsim.purchases import Upgrades


@command()
def upgrades(
    run: Annotated[
        str, typer.Argument(help="A model (a step of training), layers.csv, or a collective such as allreduce.")
    ],
    machine_spec: MachineSpec,
    splitting: Splitting,
    options: StepOptions,
    nbytes: Size = "64MiB",
    ranks: Ranks = None,
    part: Annotated[
        list[str] | None, typer.Option(help="A part to look at: nic, nics, nvlink, pcie, gpu ...; repeat for more.")
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(help="Of a part or a change, for the whole machine: nic=2400, nic=roce-100=2400."),
    ] = None,
    gpu_hour: Annotated[float | None, typer.Option(help="Price of an hour of one GPU.")] = None,
    kwh: Annotated[float | None, typer.Option(help="Price of a kilowatt-hour, beside the GPU-hours.")] = None,
    watts: Annotated[float | None, typer.Option(help="Power of one GPU; its data sheet's unless given.")] = None,
    epoch: Annotated[float | None, typer.Option(help="Samples of an epoch, to say what it costs.")] = None,
    tokens: Annotated[float | None, typer.Option(help="Tokens of the whole run, to say what it costs.")] = None,
    language: Language = "en",
    out: TableFile = None,
    progress: Progress = None,
    as_json: Json = False,
) -> None:
    """What to buy first: every part that could be better, alone and in pairs, with the time that it saves."""
    require_table_file(out)
    network, prices = machine_spec.build_network(), _parse_prices(price)
    timed: cs.nccl.Prediction | cs.train.StepTrace
    if run in cs.collectives():
        timed = cs.nccl.predict(run, network, nbytes, ranks)
    else:
        split, arguments = splitting.build_strategy(), options.to_arguments(network)
        timed = cs.training_step(find_model(run), network, parallel=split, ranks=ranks, **arguments)
    money = {"gpu_hour": gpu_hour, "kwh": kwh, "watts": watts, "epoch": epoch, "tokens": tokens}
    costs: tuple[cs.purchases.RunningCost, ...] = ()
    if any(value is not None for value in money.values()):
        if not isinstance(timed, cs.train.StepTrace):
            raise CollsimError("costs are of a step of training: name a model in place of {run!r}", run=run)
        costs = cs.purchases.estimate_costs(timed, **money)
    table = cs.upgrades(timed, part, prices, progress=progress)
    save_rows(table.list_records(), out)
    if as_json:
        print_json({**table.to_record(), "costs": costs})
        return
    for cost in costs:
        print(cost.text(language))
    _print_table(table, language)


def _print_table(table: Upgrades, language: str) -> None:
    print(table.explanation(language))
    show(list(table.list_cells(language)), "")
    for change, error in table.refused:
        print(f"{change.text(language)}: {error.text(language)}")


def _parse_prices(words: list[str] | None) -> dict[str, float]:
    """`nic=2400` and `nic=roce-100=2400` as prices by part or change."""
    prices: dict[str, float] = {}
    for word in words or ():
        name, equals, text = word.rpartition("=")
        try:
            prices[name] = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise CollsimError("--price {word!r} is not part=price, for example nic=2400", word=word)
    return prices
