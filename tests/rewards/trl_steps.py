"""Two steps of GRPO with our reward, on a tiny random model; prints the log as JSON.

Runs in an environment that has TRL. Every token of the tokenizer is a piece of HTML, so whatever
the model writes is a page.
"""

import json
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from uiproof.rewards.frameworks import trl_reward

PAGE = "<h1>Prices</h1><p>From 3 to 9</p>"
TOKENS = ["<pad>", "<eos>", "Make:", "<h1>Prices</h1>", "<p>From 3 to 9</p>", "<h2>Hours</h2>"]
TOKENS += ["<ul><li>Tea</li></ul>", "<p>Open</p>", "<hr>", "<b>Cake</b>"]


def make_tokenizer():
    known = {token: number for number, token in enumerate(TOKENS)}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<eos>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("|", "removed")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def main(folder: str) -> None:
    torch.manual_seed(0)
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 64}
    special = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": None}
    model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(TOKENS), **small, **heads, **special))
    before = model.model.embed_tokens.weight.detach().clone()
    rows = Dataset.from_dict({"prompt": ["Make:"] * 4, "reference": [PAGE] * 4})
    arguments = GRPOConfig(
        output_dir=folder,
        max_steps=2,
        logging_steps=1,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=6,
        learning_rate=1e-2,
        use_cpu=True,
        bf16=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=trl_reward,
        args=arguments,
        train_dataset=rows,
        processing_class=make_tokenizer(),
    )
    trainer.train()
    moved = float((model.model.embed_tokens.weight.detach() - before).abs().max())
    done = {"steps": trainer.state.global_step, "moved": moved, "log": trainer.state.log_history}
    print("\n" + json.dumps(done))


if __name__ == "__main__":
    main(sys.argv[1])
