"""Resources and their verbs, declared once: commands, the API and the admin are made from them.

docs/architecture.md has worked examples.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import reduce
from inspect import Parameter, getdoc, signature
from operator import or_
from types import UnionType
from typing import Any, ClassVar, Generic, TypeVar, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from django.db.models import Model, Q, QuerySet

from common.refused import Refused

Row = TypeVar("Row", bound=Model)
Function = TypeVar("Function", bound=Callable[..., Any])

COMMAND, API, ADMIN = SURFACES = ("command", "api", "admin")
# A person doesn't wait longer; workers do the rest. Commands take as long as it takes.
CLICK_BUDGET = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a verb for people, and numbers or other facts for programs.

    Commands print a sentence, or parts: lines, mappings as records, and sequences of mappings as tables.
    """

    sentence: Any
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """Annotates a parameter of a verb.

    `values` are the possible ones. A command names it `option`, or takes it in its place if `is_first`. The
    functions are for the admin, and get the chosen rows.
    """

    help: str
    label: str = ""
    on: tuple[str, ...] = SURFACES
    values: Sequence[str] = ()
    option: str = ""
    metavar: str = ""
    is_first: bool = False
    choices: Callable[[Sequence[Any]], Sequence[tuple[str, str]]] | None = None
    initial: Callable[[Sequence[Any]], Any] | None = None
    zone: Callable[[Sequence[Any]], ZoneInfo] | None = None
    longest: int = 255


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter of a verb that people fill in."""

    name: str
    kind: Any
    default: Any
    argument: Argument

    @property
    def is_required(self) -> bool:
        return self.default is Parameter.empty


@dataclass(slots=True)
class Verb:
    """Declares a method of a resource as something to do: with a row, or without `detail` with none.

    The method gets a row and returns a sentence, the facts of a row, or `Done`. Its docstring is the help;
    parameters with `Argument` become options, fields of a body and of a form.
    `command`: its command, if not "name_noun". `fits`: whether an object's page offers it. `asks` says what
    it will do with the chosen rows: the admin asks first, and the command has `--dry-run`. `is_harmful`,
    `is_rare`, `permission` and `tab` are for the admin (common.ports.panels.Action), which acts on `most`
    rows at once. `numbers`: names, and what they count. `deletes`: statuses of the API's DELETE, with 202 if
    the row may stay for a while.
    """

    title: str
    _: KW_ONLY
    command: str = ""
    on: tuple[str, ...] = SURFACES
    detail: bool = True
    fits: Callable[[Any], bool] | None = None
    asks: Callable[[Sequence[Any]], Sequence[str] | Done] | None = None
    is_harmful: bool = False
    is_rare: bool = False
    permission: str = "act"
    tab: str | None = None
    numbers: Mapping[str, str] = field(default_factory=dict)
    deletes: tuple[int, ...] = ()
    most: int | None = None
    function: Callable[..., Any] = field(init=False)

    def __call__(self, function: Function) -> Function:
        self.function = function
        function.verb = self  # type: ignore[attr-defined]
        return function

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def help(self) -> str:
        return " ".join((getdoc(self.function) or "").split())

    def given(self, surface: str) -> list[Given]:
        """Return the parameters that people fill in there."""
        hints = get_type_hints(self.function, include_extras=True)
        found = []
        for name, each in signature(self.function).parameters.items():
            kind, *arguments = get_args(hints.get(name)) or (None,)
            if get_origin(kind) in (Union, UnionType):
                # `datetime | None` is a datetime that may be left out.
                kind = get_args(kind)[0]
            found += [
                Given(name, kind, each.default, argument)
                for argument in arguments
                if isinstance(argument, Argument) and surface in argument.on
            ]
        return found

    def takes(self, name: str) -> bool:
        return name in signature(self.function).parameters

    def run(self, resource: "Resource[Any]", row: Any, given: Mapping[str, Any], **known: Any) -> Done:
        """`known` are parameters that the surface fills: `now`, `budget`, `to`, `by`. Raises Refused."""
        rows = (row,) if self.detail else ()
        result = self.function(
            resource, *rows, **given, **{name: known[name] for name in known if self.takes(name)}
        )
        if self.detail:
            resource.changed(row)
        if isinstance(result, Done):
            return result
        return Done(result) if isinstance(result, str) else Done(result, result)


verb = Verb


@dataclass(frozen=True, slots=True)
class Filter:
    """Narrows a list: an option of its command, and a parameter of the API.

    `lookup` is Django's; `narrow` gets the rows and the value. The command refuses a value that names no row
    of `owner`; without `is_optional`, its value comes first. `api`: the parameter's name, if it is another.
    """

    name: str
    help: str
    lookup: str = ""
    narrow: Callable[[Any, Any], Any] | None = None
    kind: type = str
    choices: Sequence[str] = ()
    api: str = ""
    on: tuple[str, ...] = (COMMAND, API)
    owner: "Callable[[], Resource[Any]] | None" = None
    is_optional: bool = True
    longest: int = 200

    def applied(self, rows: Any, value: Any) -> Any:
        return self.narrow(rows, value) if self.narrow else rows.filter(**{self.lookup: value})


def search(told: str, *fields: str) -> Filter:
    """Return a filter for rows with a text in one of the fields."""

    def narrow(rows: Any, text: str) -> Any:
        return rows.filter(reduce(or_, (Q((f"{name}__icontains", text)) for name in fields)))

    return Filter("search", told, narrow=narrow)


class Resource(Generic[Row]):
    """A kind of row that people handle.

    `noun` and `plural` name it in commands and sentences; commands find a row by `key`, shown as `metavar`.
    With `list_help` there is a command that lists its rows by `order`, and says `empty` if there are none.
    `made_at` is the field of the API's `created_after` and `created_before`.
    """

    noun: ClassVar[str]
    plural: ClassVar[str] = ""
    key: ClassVar[str] = "pk"
    metavar: ClassVar[str] = ""
    key_help: ClassVar[str] = ""
    list_help: ClassVar[str] = ""
    order: ClassVar[str] = "pk"
    empty: ClassVar[str] = "There is nothing to show."
    filters: ClassVar[tuple[Filter, ...]] = ()
    made_at: ClassVar[str] = "created_at"

    def __init_subclass__(cls) -> None:
        cls.metavar = cls.metavar or ("ID" if cls.key == "pk" else cls.key.upper())
        for each in cls.own_verbs():
            each.command = each.command or f"{each.name}_{cls.noun}"

    @classmethod
    def own_verbs(cls) -> list[Verb]:
        return [each.verb for each in vars(cls).values() if hasattr(each, "verb")]

    @property
    def list_command(self) -> str:
        return f"list_{self.plural or self.noun + 's'}"

    def rows(self) -> "QuerySet[Row]":
        raise NotImplementedError

    def find(self, given: Any) -> Row:
        """Return the row that a command names. Raises Refused."""
        row = self.rows().filter(**{self.key: given}).first()
        if row is None:
            raise Refused(f"There is no {self.noun} {given}. “{self.list_command}” lists them.")
        return row

    def shown(self, row: Row) -> Mapping[str, Any]:
        """Return the facts that commands print of a row."""
        return {}

    def listed(self, rows: Iterable[Row]) -> Iterable[Mapping[str, Any]]:
        return map(self.shown, rows)

    def changed(self, row: Row) -> None:
        """Called after each verb."""

    def verbs(self, surface: str) -> Iterator[Verb]:
        return (each for each in self.own_verbs() if surface in each.on)
