"""uiproof's benchmarks as tasks of inspect_ai; needs `pip install 'uiproof[inspect]'`.

    inspect eval uiproof/design2code --model openai/gpt-4o -T prompt=text-augmented --limit 5
    inspect eval uiproof/interaction2code --model openai/gpt-4o -T prompt=mark:all
    inspect eval uiproof/grounding --model openai/gpt-4o --limit 20

inspect asks the model, caches and logs; the prompts and the judges are those of `uiproof run`.
inspect finds this module by its entry point; nothing else of uiproof imports it.
"""

from uiproof.inspect_tasks.design2code import design2code, design2code_judge, design2code_prompt
from uiproof.inspect_tasks.grounding import grounding, grounding_judge, grounding_prompt
from uiproof.inspect_tasks.interaction2code import (
    interaction2code,
    interaction2code_judge,
    interaction2code_prompt,
)

__all__ = [
    "design2code",
    "design2code_judge",
    "design2code_prompt",
    "grounding",
    "grounding_judge",
    "grounding_prompt",
    "interaction2code",
    "interaction2code_judge",
    "interaction2code_prompt",
]
