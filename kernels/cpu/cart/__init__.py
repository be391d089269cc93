"""Growth of one classical tree by one thread; trees of a forest are grown side by side.

Features are codes: ranks of the distinct values (exact search) or bins; code 0 is the missing
value. A node looks only at the features it draws, so nothing is kept from its parent. For each
feature

    1. the codes of the rows     from the matrix by columns, or by rows if the node has few of them
    2. sums of each code present ascending by code, one after another: ``cells`` (codes.py)
    3. the cuts                  between them, in that order or as categories are divided
    4. scores of the cuts        scores.py, distances.py; the best one, or the one that was drawn

Sums are fixed-point integers of at most 52 bits, which float64 holds exactly: no order can change a
score. Random choices depend on the path from the root to the node, not on when the node is grown.
"""
