start csi-attacher/csi.storagesim.io

start csi-driver/csi.storagesim.io/node-1
