//go:build wasip1

// A program with goroutines of its own: an informer tells of claims, and workers label them, each
// after a while that is left to chance.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	t := &transport{open: map[uint32]*io.PipeWriter{}}
	go t.deliver()
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://storagesim", Transport: t})
	claims := make(chan string, 100)
	factory := informers.NewSharedInformerFactory(client, 0)
	_, err := factory.Core().V1().PersistentVolumeClaims().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { claims <- obj.(*v1.PersistentVolumeClaim).Name },
	})
	if err != nil {
		log.Fatal(err)
	}
	for worker := range 4 {
		go func() {
			for name := range claims {
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
				patch := fmt.Appendf(nil, `{"metadata":{"labels":{"worker":"%d"}}}`, worker)
				_, err := client.CoreV1().PersistentVolumeClaims("default").Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
				if err != nil {
					log.Fatal(err)
				}
			}
		}()
	}
	factory.Start(context.Background().Done())
	time.Sleep(10 * time.Second)
}
