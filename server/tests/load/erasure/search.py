"""Search all stores for secrets: in clear, decoded, and opened with keys."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from load.erasure.declared import Form
from load.erasure.decoding import views
from load.erasure.sealed import KeyTrial, heads
from load.erasure.secret_words import PlantedSecret, SecretIndex, words_in_files
from load.erasure.stores import StoredBytes
from tidings.kernel.ids import TenantId

INDEX = "index"


@dataclass
class Finds:
    """Secrets by store, place and form."""

    by_place: dict[tuple[str, str, Form], set[PlantedSecret]] = field(
        default_factory=lambda: defaultdict(set)
    )

    def add(self, stored: StoredBytes, form: Form, secrets: Collection[PlantedSecret]) -> None:
        if secrets:
            self.by_place[stored.store, stored.place, form] |= set(secrets)

    def in_store(self, store: str) -> set[PlantedSecret]:
        return set().union(*(found for (of, _, _), found in self.by_place.items() if of == store))

    @property
    def stores(self) -> set[str]:
        return {store for store, _, _ in self.by_place}

    @property
    def secrets(self) -> set[PlantedSecret]:
        return set().union(*self.by_place.values())


@dataclass
class SecretSearch:
    """Searches stored bytes. `sealed`: contents that could be opened before, by their first bytes, with their secrets."""

    index: SecretIndex
    trial: KeyTrial
    tenant: TenantId
    sealed: Mapping[bytes, frozenset[PlantedSecret]] = field(default_factory=dict)
    finds: Finds = field(default_factory=Finds)

    def search(self, stored: StoredBytes) -> None:
        for view in views(stored.data):
            self.finds.add(stored, Form.CLEAR, self.index.found_in(view))
            opened = set()
            for content in self.trial.opened(view, stored.hints, is_known=stored.is_file):
                opened.add(content.head)
                is_of_tenant = content.owner.startswith(f"{self.tenant} ")
                form = Form.TENANT_KEY if is_of_tenant else Form.USER_KEY
                self.finds.add(stored, form, content.secrets)
            for head, _ in heads(view):
                if head in self.sealed and head not in opened:
                    self.finds.add(stored, Form.SEALED, self.sealed[head])
        if stored.store == INDEX:
            self.finds.add(stored, Form.CLEAR, self._indexed(stored.data))

    def _indexed(self, content: bytes) -> set[PlantedSecret]:
        words = {each.mixed: each for each in self.index.planted if each.mixed}
        return {words[word] for word in words_in_files(content, words)}
