# Commands to look with, played when everything else has been done, for example:
#
#   explain pvc/data
#   events --for pod/web
#   get pv,pvc,pods -o wide
