"""A small model with random weights in FOLDER, for servers that load Hugging Face checkpoints: Llama's shape, a byte-level BPE
tokenizer trained on the text files given. Needs tokenizers, numpy, safetensors.

    tiny_model.py FOLDER TEXT...
"""
import json
import os
import sys

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

folder, texts = sys.argv[1], sys.argv[2:]
HIDDEN, LAYERS, HEADS, INNER, VOCAB = 256, 4, 4, 768, 2048

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.train(texts, trainers.BpeTrainer(vocab_size=VOCAB, special_tokens=["<|end|>", "<|user|>", "<|assistant|>"],
                                           initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
os.makedirs(folder, exist_ok=True)
tokenizer.save(os.path.join(folder, "tokenizer.json"))
vocab = tokenizer.get_vocab_size()


def write(name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        json.dump(content, f, indent=1)


write("config.json", {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": vocab,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    "bos_token_id": 0, "eos_token_id": 0, "torch_dtype": "float32"})
write("generation_config.json", {"bos_token_id": 0, "eos_token_id": 0})
write("tokenizer_config.json", {
    "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|end|>", "eos_token": "<|end|>",
    "clean_up_tokenization_spaces": False,
    "chat_template": "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}<|assistant|>"})

rng = np.random.default_rng(1)


def random(*shape):
    return (rng.standard_normal(shape) * 0.05).astype(np.float32)


weights = {"model.embed_tokens.weight": random(vocab, HIDDEN), "model.norm.weight": np.ones(HIDDEN, np.float32)}
for i in range(LAYERS):
    p = f"model.layers.{i}."
    for name in "qkvo":
        weights[f"{p}self_attn.{name}_proj.weight"] = random(HIDDEN, HIDDEN)
    weights[p + "mlp.gate_proj.weight"] = random(INNER, HIDDEN)
    weights[p + "mlp.up_proj.weight"] = random(INNER, HIDDEN)
    weights[p + "mlp.down_proj.weight"] = random(HIDDEN, INNER)
    for name in ("input_layernorm", "post_attention_layernorm"):
        weights[f"{p}{name}.weight"] = np.ones(HIDDEN, np.float32)
save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "np"})
print(folder, vocab)
