"""Several processes that train one model: how they find each other and what they tell each other.

It knows no model and no folder. Arrays are summed by JAX's distributed runtime and gloo, inside
the compiled step; what is not arrays goes by messages of JSON.
"""
