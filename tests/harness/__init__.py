"""lmms-eval and VLMEvalKit themselves, without what they need to run models: each in a process of its own."""
