"""GENIUS: universal multimodal search by generating the ID of what is sought."""

from genius.errors import explain_ctrl_c_while_importing

explain_ctrl_c_while_importing()
