"""The specs that come with promptpo: one module a task, named after it, helpers beside them."""
