"""Tasks and their queues: what people see and say."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
