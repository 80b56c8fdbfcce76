import { createHash } from 'node:crypto'
import { relative } from 'node:path'
import { type Approval, type Coverage, coverageWords, type Fact } from '../domain/approval.ts'
import type { Millis } from '../domain/clock.ts'
import type { OwnChanges } from '../domain/tool.ts'
import { visible } from '../domain/visible.ts'
import { baselineOf } from '../store/approvals.ts'
import { changesIn } from '../store/folder-changes.ts'
import { changedSincePreview, coverageOf, previewCall, type ReadyCall } from '../tools/call.ts'
import type { ActiveRun } from './active-run.ts'

/** A write is a row before the file is touched: how long that can take. */
const slowestWrite: Millis = 60_000

/** A call as a person is shown it, with everything that must still be so when it is made. */
export interface FrozenCall {
  facts: Fact[]
  change: string
  hash: string
  /** The hash it has when it is asked about a second time. */
  hashAgain: string
  covers: string
  coverage: Coverage
  baseline: string | null
}

/** Freezes a call as it is now. Throws what the call would be refused with. */
export async function freezeCall(run: ActiveRun, ready: ReadyCall): Promise<FrozenCall> {
  const context = run.contextOf(ready.call.id)
  const { facts, change, frozen, baseline = null } = await previewCall(ready, context)
  const coverage = await coverageOf(ready, context)
  const [hash, hashAgain] = [false, true].map((isAgain) =>
    hashOfCall(ready.call, run.claimed.session.folder, frozen, isAgain),
  ) as [string, string]
  return { facts, change, hash, hashAgain, covers: visible(coverageWords(coverage)), coverage, baseline }
}

/** The hash of a call in a folder, and of what it rests on; another one when it is asked about a second time. */
export function hashOfCall(
  { name, input }: { name: string; input: unknown },
  folder: string,
  frozen: unknown,
  isAgain = false,
): string {
  const all = [name, input, folder, frozen, ...(isAgain ? ['again'] : [])]
  return createHash('sha256').update(JSON.stringify(all)).digest('hex')
}

/** What has changed since a call was approved, one line each, and the call as it would be asked about now. */
export async function changesSinceAsked(
  run: ActiveRun,
  ready: ReadyCall,
  approval: Approval,
): Promise<{ changed: string[]; now: FrozenCall }> {
  const { store } = run.engine
  // Frozen anew before the look at what changed: a change in between is seen by one of the two.
  const now = await freezeCall(run, ready)
  const hash = approval.isAskedAgain ? now.hashAgain : now.hash
  const changed = hash === approval.hash ? [] : ['what it would do, or where']
  const baseline = await store.read((rows) => baselineOf(rows, approval.id))
  if (baseline !== null) {
    const own = await ownChanges(run, now.coverage.folder, approval.askedAt)
    changed.push(...(await changedSincePreview(ready, baseline, run.contextOf(ready.call.id), own)))
  }
  return { changed, now }
}

/** What this request has changed in a folder since a moment: its own runs are no strangers to it. */
async function ownChanges({ engine, claimed }: ActiveRun, folder: string, since: Millis): Promise<OwnChanges> {
  const all = await engine.store.read((rows) => changesIn(rows, folder, since - slowestWrite))
  const own = new Map<string, string[] | null>()
  for (const { rootRunId, path, after, at } of all) {
    if (rootRunId !== claimed.run.rootRunId || path === undefined) continue
    const name = relative(folder, path)
    const known = own.get(name)
    if (typeof after === 'string' && known !== null) own.set(name, [...(known ?? []), after])
    // What a command left is known by no hash.
    if (after === undefined && at !== null && at >= since) own.set(name, null)
  }
  return Object.fromEntries(own)
}
