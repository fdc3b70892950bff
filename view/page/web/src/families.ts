// Which cards stand beside each other: a claim with its volume, the pods above the claim, the attachments above the volume.
import type { Page } from "./model.js";
import { get, text, type State, type Value } from "./state.js";

/** A row of cards, by the indexes of objects; -1 is an empty place. */
export interface Family { claim: number; volume: number; pods: number[]; attachments: number[] }

/** What points where between a claim and a volume. */
export interface Pointers { volumeName: boolean; claimRef: boolean; otherUid: boolean }

/** Families finds which objects belong together at a state. A pair that comes together later stands together from the start, so that cards do not move. */
export class Families {
  private claims: number[];
  private volumes: number[];
  private pods: number[];
  private attachments: number[];
  private later = new Map<number, number>(); // claim to the volume that it gets

  constructor(private page: Page) {
    const of = (kind: string) => page.objects.flatMap((o, i) => (o.kind === kind ? [i] : []));
    this.claims = of("PersistentVolumeClaim");
    this.volumes = of("PersistentVolume");
    this.pods = of("Pod").filter((i) => page.objects[i]!.namespace !== undefined);
    this.attachments = of("VolumeAttachment");
    this.foresee();
  }

  private foresee(): void {
    const byName = new Map(this.volumes.map((v) => [this.page.objects[v]!.name, v]));
    for (const step of this.page.steps) {
      if (step.about === undefined || !step.write || this.later.has(step.about)) continue;
      for (const change of step.write.changes ?? []) {
        const name = change.path === "/spec/volumeName" ? change.value : change.path === "" ? get(change.value, "spec", "volumeName") : undefined;
        const volume = typeof name === "string" ? byName.get(name) : undefined;
        if (volume !== undefined && this.page.objects[step.about]!.kind === "PersistentVolumeClaim") this.later.set(step.about, volume);
      }
    }
  }

  /** The families at a state. */
  at(state: State): Family[] {
    const out: Family[] = [];
    const exists = (i: number) => state.objects[i] !== undefined;
    const placed = new Set<number>();
    const claims = this.claims.filter(exists);
    const volumes = this.volumes.filter(exists);
    const partner = new Map<number, number>();
    for (const claim of claims) {
      const points = volumes.find((v) => !placed.has(v) && this.pointers(state, claim, v).claimRef) ?? volumes.find((v) => !placed.has(v) && this.pointers(state, claim, v).volumeName);
      if (points !== undefined) {
        partner.set(claim, points);
        placed.add(points);
      }
    }
    for (const claim of claims) {
      const will = this.later.get(claim);
      if (!partner.has(claim) && will !== undefined && exists(will) && !placed.has(will)) {
        partner.set(claim, will);
        placed.add(will);
      }
    }
    for (const claim of claims) out.push({ claim, volume: partner.get(claim) ?? -1, pods: this.podsOf(state, claim), attachments: [] });
    this.placeLone(out, volumes.filter((v) => !placed.has(v)));
    for (const family of out) if (family.volume >= 0) family.attachments = this.attachmentsOf(state, family.volume);
    const shown = new Set(out.flatMap((f) => f.pods));
    for (const pod of this.pods.filter(exists)) if (!shown.has(pod)) out.push({ claim: -1, volume: -1, pods: [pod], attachments: [] });
    return out;
  }

  /** Puts volumes of no claim beside claims that never get one, else into rows of their own. */
  private placeLone(out: Family[], volumes: number[]): void {
    const empty = out.filter((f) => f.volume < 0 && !this.later.has(f.claim));
    for (const volume of volumes) {
      const at = empty.shift();
      if (at) at.volume = volume;
      else out.push({ claim: -1, volume, pods: [], attachments: [] });
    }
  }

  /** What points where. */
  pointers(state: State, claim: number, volume: number): Pointers {
    const c = state.objects[claim];
    const v = state.objects[volume];
    const object = this.page.objects[claim]!;
    const ref = get(v, "spec", "claimRef");
    const named = text(ref, "name") === object.name && text(ref, "namespace") === (object.namespace ?? "");
    const uid = text(ref, "uid");
    return {
      volumeName: text(c, "spec", "volumeName") === this.page.objects[volume]!.name,
      claimRef: named,
      otherUid: named && uid !== "" && uid !== text(c, "metadata", "uid"),
    };
  }

  private podsOf(state: State, claim: number): number[] {
    const { name, namespace } = this.page.objects[claim]!;
    return this.pods.filter((p) => this.page.objects[p]!.namespace === namespace && volumesOf(state.objects[p]).some((v) => text(v, "persistentVolumeClaim", "claimName") === name));
  }

  private attachmentsOf(state: State, volume: number): number[] {
    const { name } = this.page.objects[volume]!;
    return this.attachments.filter((a) => text(state.objects[a], "spec", "source", "persistentVolumeName") === name);
  }
}

function volumesOf(pod: Value): Value[] {
  const list = get(pod, "spec", "volumes");
  return Array.isArray(list) ? list : [];
}
