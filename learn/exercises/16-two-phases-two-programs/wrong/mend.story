start csi-attacher/csi.storagesim.io
