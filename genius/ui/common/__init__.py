"""What all tabs use."""

import gradio.component_meta

# At every start Gradio writes a .pyi file for editors next to the source of each class of components
gradio.component_meta.create_or_modify_pyi = lambda *_: None
