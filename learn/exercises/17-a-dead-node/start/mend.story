# Your commands. They are played on the broken cluster, in order. Nothing moves by itself:
# settle runs until the cluster is at rest, run-for 5m lets time pass.
#
# You may use: delete, taint, patch, start, cordon, uncordon, drain, and what looks: get, describe, events, explain, trace, logs, ls, read.
