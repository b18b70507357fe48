"""An inbox of the scripted server. It answers like the real one, and pushes changes."""

from dataclasses import dataclass, field

from scripted_server import Frame, ScriptedServer


@dataclass
class ScriptedInbox:
    server: ScriptedServer
    notifications: dict[str, Frame] = field(default_factory=dict)
    version: int = 1
    next_change_at: int | None = None

    def __post_init__(self) -> None:
        self.server.answers |= {"counts": self._counted, "notifications": self._page, "mark": self._mark}

    def put(self, message: Frame, *, minutes_ago: float = 0, **more: object) -> Frame:
        at = self.server.now_ms - int(minutes_ago * 60_000)
        notification = {
            "id": f"01{len(self.notifications):024}",
            "at": at,
            "delivered_at": at,
            "message": message,
        } | more
        self.notifications[str(notification["id"])] = notification
        self.version += 1
        return notification

    @property
    def counts(self) -> Frame:
        unread = sum(
            not (each.get("is_read") or each.get("is_archived")) for each in self.notifications.values()
        )
        counts: Frame = {
            "inbox": "default",
            "version": self.version,
            "at": self.server.now_ms,
            "unread": unread,
        }
        return counts | ({"next_change_at": self.next_change_at} if self.next_change_at else {})

    async def gives(self, message: Frame) -> Frame:
        notification = self.put(message)
        await self.server.push(inbox={"counts": self.counts, "added": [notification]})
        return notification

    async def broadcasts(self, message: Frame) -> Frame:
        """Push a broadcast. It has no counts: the client requests them."""
        notification = self.put(message)
        await self.server.push(
            broadcast={"inbox": "default", "up_to": len(self.notifications), "added": [notification]}
        )
        return notification

    async def takes_back(self, notification: Frame) -> None:
        del self.notifications[notification["id"]]
        await self.server.push(broadcast={"inbox": "default", "up_to": 9, "removed": [notification["id"]]})

    async def amends(self, notification: Frame, message: Frame) -> None:
        notification |= {"message": message, "version": 2}
        self.version += 1
        await self.server.push(inbox={"counts": self.counts, "amended": [notification]})

    async def recalls(self, notification: Frame) -> None:
        del self.notifications[notification["id"]]
        self.version += 1
        await self.server.push(inbox={"counts": self.counts, "removed": [notification["id"]]})

    async def tells_counts(self) -> None:
        """Push a change without notifications, like a mark of another device."""
        self.version += 1
        await self.server.push(inbox={"counts": self.counts})

    def _counted(self, _: Frame) -> Frame:
        return {"ok": self.counts}

    def _page(self, asked: Frame) -> Frame:
        cursor, limit = asked.get("cursor", "9"), asked.get("limit", 20)
        listed = [
            each
            for name, each in sorted(self.notifications.items(), reverse=True)
            if name < cursor and not each.get("is_archived")
        ]
        page, rest = listed[:limit], listed[limit:]
        return {
            "ok": {"notifications": page, "counts": self.counts}
            | ({"cursor": page[-1]["id"]} if rest else {})
        }

    def _mark(self, asked: Frame) -> Frame:
        marks: dict[str, Frame] = {
            "read": {"is_read": True},
            "unread": {"is_read": False},
            "archived": {"is_archived": True},
        }
        before, to = asked.get("before", self.server.now_ms), marks.get(asked["to"], {})
        ids = asked.get("ids") or [
            name for name, each in self.notifications.items() if each["delivered_at"] <= before
        ]
        for name in ids:
            self.notifications[name].update(to)
        self.version += 1
        return {"ok": self.counts}
