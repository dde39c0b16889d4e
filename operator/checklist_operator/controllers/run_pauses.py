"""Sets the condition Paused of runs from their pause annotation."""

from collections.abc import Callable

from checklist_crds.kube.client import KubeClient
from checklist_crds.kube.errors import KubeNotFound
from checklist_crds.resources.kinds import RUN, Key, key_of
from checklist_crds.resources.pause import shows_pause, with_pause
from checklist_crds.resources.run import Run, RunStatus
from checklist_crds.times import Clock
from checklist_crds.values.json_text import JsonObject
from checklist_operator.runtime.kube_events import EventRecorder, ObjectReference, record_pause
from checklist_operator.runtime.run_changes import change_if_readable
from checklist_operator.runtime.work_queue import WorkQueue


class RunPauses:
    """Reconciles the condition Paused of unsettled runs."""

    def __init__(
        self,
        client: KubeClient,
        *,
        kube_events: EventRecorder,
        clock: Clock,
        on_read: Callable[[JsonObject], None],
        on_bug: Callable[[str], None],
    ) -> None:
        """`on_read` receives each freshly read run before its status is written, so that clients may rely on it."""
        self._client = client
        self._on_read = on_read
        self._kube_events = kube_events
        self._clock = clock
        self.queue: WorkQueue[Key] = WorkQueue("run_pauses", self._reconcile, workers=4, on_bug=on_bug)

    def observe(self, type_: str | None, body: JsonObject) -> None:
        if type_ == "DELETED":
            self.queue.forget(key_of(body))
        elif not shows_pause(body):
            self.queue.add(key_of(body))

    async def _reconcile(self, key: Key) -> float | None:
        try:
            body = await self._client.get(RUN, key[1], key[0])
        except KubeNotFound:
            return None
        self._on_read(body)
        if shows_pause(body):
            return None
        metadata = body["metadata"]

        def change(run: Run) -> RunStatus:
            conditions = with_pause(run.status.conditions, metadata, now=self._clock())
            return run.status.model_copy(update={"conditions": conditions})

        if await change_if_readable(self._client, key, change, known=body):
            record_pause(self._kube_events, ObjectReference.of(RUN, body), metadata)
        return None
