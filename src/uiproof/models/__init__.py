"""Asking chat models: messages of texts and pictures in, text out; never paid for twice.

    from uiproof.models.chat import connect
    from uiproof.models.types import Image, Message, Request

    model = connect("openai/gpt-4o")
    reply = await model.ask(Request((Message("user", ("What is this?", Image(path))),)))
    await model.close()

`docs/models.md` says what a user has to know; `chat.py` begins with how the parts belong together.
"""
