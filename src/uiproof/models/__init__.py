"""Ask chat models: messages of texts and pictures in, text out; no answer is paid for twice.

    from uiproof.models.chat import connect
    from uiproof.models.types import Image, Message, Request

    model = connect("openai/gpt-4o")
    reply = await model.ask(Request((Message("user", ("What is this?", Image(path))),)))
    await model.close()

`docs/models.md` is for users; `chat.py` begins with how the modules belong together.
"""
