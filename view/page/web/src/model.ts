// The one value of a page. Package view writes it as JSON into the page, this script reads it: view/model.go has the same fields.
// Sentences are only shown; nothing is computed from them. A delivery has no text, and the number of the record before it.

export interface Page {
  schema: "storagesim.page/v1";
  title: string;            // e.g. "run -f examples/static-binding", the museum entry's name, the test's name
  intro?: string;           // one or two sentences, plain text
  release: string;          // "v1.37.2"
  start: string;            // RFC 3339, virtual time of t = 0
  repeat?: string;          // the command or replay line that plays this again
  missing?: string[];       // sentences: what was not kept or is left out (records dropped, not modelled)
  lanes: Lane[];            // in the order to draw them, left to right
  objects: Obj[];           // every object that a step is about; steps refer by index
  steps: Step[];            // in order of the log
  base?: Base[];            // objects as they were when a log lost its beginning
  chapters?: { step: number; title: string; stop?: boolean }[];   // stop: a note at which the page stops while it plays; a story's commands and comments: "$ kubectl apply -f x.yaml"
}
export interface Lane {
  id: string;               // the actor's name, "kubelet/node-1"; the API server is "apiserver"
  name: string;             // short: "kubelet", "PV controller"
  kind: "user" | "apiserver" | "controller" | "scheduler" | "provisioner" | "sidecar" | "attachdetach" | "kubelet" | "driver" | "machine" | "program";
  node?: string;            // for kubelets and node drivers
}
export interface Obj { kind: string; short: string /* "pvc" */; namespace?: string; name: string; uid?: string; }
export interface Base { object: number; value: unknown; rv: number; }
export interface Step {
  n: number;                // number of the record in the log: #step=N
  t: number;                // milliseconds of virtual time since start
  lane: number;             // who: index into lanes
  kind: "write" | "event" | "decision" | "call" | "retry" | "down" | "up" | "fault" | "mount" | "command" | "file" | "delivery" | "gap" | "other";
  text: string;             // the record's sentence, without its subject
  about?: number;           // object
  also?: number[];          // other objects (claimRef's volume, pod's claim)
  detail?: boolean;         // folded unless asked for (heartbeats, routine calls, deliveries, status patches of pods)
  write?: {
    verb: string; sub?: string; rv: number;
    created?: boolean; gone?: boolean;
    refused?: { code: number; reason: string; message: string };
    changes?: Change[];     // a creation has one change with path "" and the whole object as value
  };
  event?: { type: string; reason: string; message: string; repeated?: boolean };
  decision?: {
    rule?: string;          // short name, "smallest that fits", "NodeResourcesFit"
    function?: string;      // the upstream function it mirrors, "syncUnboundClaim"
    source?: string;        // link to that function upstream at the release
    chosen?: string;
    more?: number;          // candidates that are left out
    for?: string;           // in volumes: the claim, "default/data"
    volumes?: Step["decision"][]; // a scheduler's choice of a volume for each claim of the pod, on the chosen node
    candidates?: { name: string; ok: boolean; filter?: string; reason?: string; score?: number; scores?: { [plugin: string]: number } }[];
  };
  call?: { to?: number /* lane */; driver: string; machine?: string; service: string; method: string; code: string; err?: string; fault?: string; tookMs?: number; request?: unknown; answer?: unknown };
  delivery?: { rv: number; resource: string; of?: number /* index in steps of the write */ };   // this lane's cache has now seen that write
  mount?: { op: "mount" | "unmount"; machine: string; source: string; target: string; volume?: string; err?: string };
  file?: { op: "make" | "remove" | "keep"; machine: string; path: string; volume?: string };
  command?: { machine?: string; argv: string[]; err?: string };
  off?: boolean;            // down: its machine is switched off, so that the mounts there are gone
  for?: number;             // ms: how long a process is down, a cache is held, a retry waits
}
export interface Change { path: string /* JSON pointer */; old?: unknown; value?: unknown; removed?: boolean; }
