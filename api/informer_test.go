package api_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
)

// inBubble runs f with an informer factory on c, in a synctest bubble that has
// no goroutine left at the end.
func inBubble(t *testing.T, cfg api.Config, f func(t *testing.T, c *fake.Clientset, factory informers.SharedInformerFactory, run func())) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.New(api.NewServer(cfg), "controller")
		ctx, cancel := context.WithCancel(context.Background())
		factory := informers.NewSharedInformerFactory(c, 0)
		defer factory.Shutdown()
		defer cancel()
		f(t, c, factory, func() {
			factory.Start(ctx.Done())
			factory.WaitForCacheSync(ctx.Done())
		})
	})
}

func TestASharedInformerFollowsTheServer(t *testing.T) {
	inBubble(t, api.Config{}, func(t *testing.T, c *fake.Clientset, factory informers.SharedInformerFactory, run func()) {
		var seen []string
		note := func(what string) func(any) {
			return func(obj any) { seen = append(seen, what+" "+obj.(*v1.PersistentVolumeClaim).Name) }
		}
		claims := factory.Core().V1().PersistentVolumeClaims()
		_, err := claims.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: note("add"), UpdateFunc: func(_, obj any) { note("update")(obj) }, DeleteFunc: note("delete"),
		})
		require.NoError(t, err)
		createClaim(t, c, claim("first"))
		run()
		second := createClaim(t, c, claim("second"))
		second.Finalizers = nil
		_, err = c.CoreV1().PersistentVolumeClaims("default").Update(ctx, second, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NoError(t, c.CoreV1().PersistentVolumeClaims("default").Delete(ctx, "second", metav1.DeleteOptions{}))
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		assert.Equal(t, []string{"add first", "add second", "update second", "delete second"}, seen)
		got, err := claims.Lister().PersistentVolumeClaims("default").Get("first")
		require.NoError(t, err)
		assert.Equal(t, "first", got.Name)
	})
}

// slowWatch delivers nothing until it is released, so that the server's cursor
// is left behind.
type slowWatch struct {
	watch.Interface
	initial  bool // events up to the first bookmark pass
	released <-chan struct{}
	result   chan watch.Event
	done     chan struct{}
	once     sync.Once
}

func newSlowWatch(w watch.Interface, initial bool, released <-chan struct{}) *slowWatch {
	s := &slowWatch{Interface: w, initial: initial, released: released, result: make(chan watch.Event), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *slowWatch) run() {
	defer close(s.result)
	for {
		if !s.initial {
			select {
			case <-s.released:
			case <-s.done:
				return
			}
		}
		e, ok := <-s.Interface.ResultChan()
		if !ok {
			return
		}
		s.initial = s.initial && e.Type != watch.Bookmark
		select {
		case s.result <- e:
		case <-s.done:
			return
		}
	}
}

func (s *slowWatch) ResultChan() <-chan watch.Event { return s.result }

func (s *slowWatch) Stop() {
	s.once.Do(func() { close(s.done) })
	s.Interface.Stop()
}

// semantics 8 must 12
func TestAnInformerThatFellBehindRecoversByListingAgain(t *testing.T) {
	for name, streaming := range map[string]bool{"with streamed lists": true, "with plain lists": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, api.Config{LogLimit: 10}, func(t *testing.T, c *fake.Clientset, factory informers.SharedInformerFactory, run func()) {
				release := make(chan struct{})
				watches := slowFirstWatch(c, streaming, release)
				informer := factory.Core().V1().ConfigMaps().Informer()
				m := createMap(t, c, configMap("kept"))
				createMap(t, c, configMap("deleted"))
				run()
				synctest.Wait()
				for i := range 1000 {
					m = updateMap(t, c, m, fmt.Sprint(i))
				}
				require.NoError(t, c.CoreV1().ConfigMaps("default").Delete(ctx, "deleted", metav1.DeleteOptions{}))
				require.Len(t, informer.GetStore().List(), 2, "it has heard of nothing yet")
				before := watches.Load()
				close(release)
				time.Sleep(time.Minute) // the reflector's backoff
				synctest.Wait()
				assert.Greater(t, watches.Load(), before)
				objects := informer.GetStore().List()
				require.Len(t, objects, 1)
				assert.Equal(t, "999", objects[0].(*v1.ConfigMap).Data["value"])
			})
		})
	}
}

// slowFirstWatch makes the client's first watch of ConfigMaps deliver nothing
// beyond the initial events until release is closed. It counts the watches.
func slowFirstWatch(c *fake.Clientset, streaming bool, release chan struct{}) *atomic.Int32 {
	var watches atomic.Int32
	inner := c.WatchReactionChain[0]
	c.PrependWatchReactor("configmaps", func(action clienttesting.Action) (bool, watch.Interface, error) {
		a := action.(clienttesting.WatchActionImpl)
		if !streaming && a.ListOptions.SendInitialEvents != nil {
			return true, nil, apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "", nil) // an older server
		}
		_, w, err := inner.React(action)
		if err == nil && watches.Add(1) == 1 {
			w = newSlowWatch(w, streaming, release)
		}
		return true, w, err
	})
	return &watches
}
