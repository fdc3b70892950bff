// Package control says what a controller is and what it is given. It holds no
// controller and no driver.
//
// A controller is a Factory: given an Env it makes caches (NewCache) and queues
// (Env.Queue), connects the two with handlers, and reconciles one key at a time
// in plain sequential Go. Calls to the API, Sleep and Poll may take (virtual)
// time; everything between them is atomic. A driver (package engine today)
// decides what runs next, moves the clock and may crash the controller at any of
// those calls; the controller cannot tell.
//
// A minimal controller:
//
//	func New(env control.Env) error {
//		pods := control.NewCache[*v1.Pod](env, control.Pods())
//		queue := env.Queue(control.QueueConfig{Name: "pods", Reconcile: func(ctx context.Context, key string) error {
//			pod, ok := pods.Get(key)
//			...
//			_, err := env.Client().CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod.DeepCopy(), metav1.UpdateOptions{})
//			return err
//		}})
//		pods.Handle(control.Enqueue(queue.Add))
//		return nil
//	}
package control
