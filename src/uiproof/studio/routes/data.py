"""Data sets: boxes on screenshots, collected interactions."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
