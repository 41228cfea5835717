"""Resources and their verbs, declared once: commands, the API and the admin are made from them.

docs/architecture.md has worked examples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from inspect import Parameter, getdoc, signature
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_type_hints
from zoneinfo import ZoneInfo

from django.db.models import Model, QuerySet

from common.refused import Refused

Row = TypeVar("Row", bound=Model)
Function = TypeVar("Function", bound=Callable[..., Any])

COMMAND, API, ADMIN = SURFACES = ("command", "api", "admin")
# A person doesn't wait longer; workers do the rest. Commands take as long as it takes.
CLICK_BUDGET = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a verb: a sentence, and numbers or other facts for programs."""

    sentence: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """Annotates a parameter of a verb. The functions are for the admin, and get the chosen rows."""

    help: str
    label: str = ""
    on: tuple[str, ...] = SURFACES
    choices: Callable[[Sequence[Any]], Sequence[tuple[str, str]]] | None = None
    initial: Callable[[Sequence[Any]], Any] | None = None
    zone: Callable[[Sequence[Any]], ZoneInfo] | None = None
    longest: int = 255


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter of a verb that people fill in."""

    name: str
    kind: type
    is_required: bool
    argument: Argument


@dataclass(frozen=True, slots=True)
class Verb:
    """Something to do with a row of a resource. `verb` describes the fields."""

    name: str
    title: str
    function: Callable[..., str | Done]
    command: str
    on: tuple[str, ...]
    fits: Callable[[Any], bool] | None
    asks: Callable[[Sequence[Any]], Sequence[str] | Done] | None
    is_harmful: bool
    is_rare: bool
    permission: str
    tab: str | None
    numbers: Mapping[str, str]
    deletes: tuple[int, ...]
    most: int | None

    @property
    def help(self) -> str:
        return " ".join((getdoc(self.function) or "").split())

    def given(self, surface: str) -> list[Given]:
        """Return the parameters that people fill in there."""
        hints = get_type_hints(self.function, include_extras=True)
        found = []
        for name, each in signature(self.function).parameters.items():
            kind, *arguments = get_args(hints.get(name)) or (None,)
            # `datetime | None` is a datetime that may be left out.
            kind = next(iter(get_args(kind)), kind)
            found += [
                Given(name, kind, each.default is Parameter.empty, argument)
                for argument in arguments
                if isinstance(argument, Argument) and surface in argument.on
            ]
        return found

    def takes(self, name: str) -> bool:
        return name in signature(self.function).parameters

    def run(self, resource: "Resource[Any]", row: Any, given: Mapping[str, Any], **known: Any) -> Done:
        """`known` are parameters that the surface fills: `now`, `budget`, `to`, `by`. Raises Refused."""
        names = signature(self.function).parameters
        result = self.function(
            resource, row, **given, **{name: known[name] for name in known if name in names}
        )
        resource.changed(row)
        return result if isinstance(result, Done) else Done(result)


def verb(
    title: str,
    *,
    command: str = "",
    on: tuple[str, ...] = SURFACES,
    fits: Callable[[Any], bool] | None = None,
    asks: Callable[[Sequence[Any]], Sequence[str] | Done] | None = None,
    is_harmful: bool = False,
    is_rare: bool = False,
    permission: str = "act",
    tab: str | None = None,
    numbers: Mapping[str, str] | None = None,
    deletes: tuple[int, ...] = (),
    most: int | None = None,
) -> Callable[[Function], Function]:
    """Declare a method of a resource as one of its verbs.

    The method gets a row and returns a sentence, or `Done` with `numbers` (names, and what they count). Its
    docstring is the help; parameters with `Argument` become options, fields of a body and of a form.
    `command`: its command, if not "name_noun". `fits`: whether an object's page offers it. `asks` says what
    it will do with the chosen rows: the admin asks first, and the command has `--dry-run`. `is_harmful`,
    `is_rare`, `permission` and `tab` are for the admin (common.ports.panels.Action), which acts on `most`
    rows at once. `deletes`: statuses of the API's DELETE, with 202 if the row may stay for a while.
    """

    def declare(function: Function) -> Function:
        function.verb = lambda noun: Verb(  # type: ignore[attr-defined]
            function.__name__,
            title,
            function,
            command or f"{function.__name__}_{noun}",
            on,
            fits,
            asks,
            is_harmful,
            is_rare,
            permission,
            tab,
            numbers or {},
            deletes,
            most,
        )
        return function

    return declare


class Resource(Generic[Row]):
    """A kind of row that people handle.

    `noun` and `plural` name it in commands and sentences; `key` is the field by which commands find a row.
    """

    noun: ClassVar[str]
    plural: ClassVar[str] = ""
    key: ClassVar[str] = "pk"
    key_help: ClassVar[str] = ""

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

    def changed(self, row: Row) -> None:
        """Called after each verb."""

    def verbs(self, surface: str) -> Iterator[Verb]:
        for each in vars(type(self)).values():
            if hasattr(each, "verb") and surface in (declared := each.verb(self.noun)).on:
                yield declared
