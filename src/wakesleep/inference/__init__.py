"""What is made of a model's samples: rows in blocks, posterior means, SMC, missing bits.

Import from its modules: training needs the rows alone, and no imputation.
"""
