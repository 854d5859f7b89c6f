"""What language models are asked: what every prompt says of a task, and a folder for each method.

A method's folder holds its templates beside the functions that fill them.
"""

from promptpo.prompts.task import CHARS_PER_TOKEN, count_tokens, filled, imports_text, task_text

__all__ = ["CHARS_PER_TOKEN", "count_tokens", "filled", "imports_text", "task_text"]
