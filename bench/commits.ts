import { performance } from 'node:perf_hooks'
import type { CrashPoint } from '../src/domain/crash-points.ts'

/** The moments of commits, which the named points tell exactly. */
export class Commits {
  #passed: { point: CrashPoint; at: number }[] = []

  note(point: CrashPoint): void {
    this.#passed.push({ point, at: performance.now() })
  }

  forget(): void {
    this.#passed = []
  }

  /** From the first commit of this kind until that of the claim: nothing, when one commit is both. */
  untilClaimed(ready: 'submit' | 'settle'): number {
    const first = this.#passed.findIndex(({ point }) => point === `${ready}.after_commit`)
    const from = this.#passed[first]
    const then = this.#passed
      .slice(first + 1)
      .find(({ point }) => point === 'claim.after_commit' || point === 'model.before_request')
    if (!from || !then) throw new Error(`nothing was claimed after ${ready}`)
    return then.point === 'claim.after_commit' ? then.at - from.at : 0
  }

  /** How often a commit of this kind was noted. */
  count(kind: 'settle' | 'claim'): number {
    return this.#passed.filter(({ point }) => point === `${kind}.after_commit`).length
  }

  /** From the first end of a run until the last claim that was noted: nothing, when one commit is both. */
  untilLastClaimed(): number {
    const from = this.#passed.find(({ point }) => point === 'settle.after_commit')
    const last = this.#passed.findLast(({ point }) => point === 'claim.after_commit')
    if (!from) throw new Error('nothing was ended')
    return last && last.at > from.at ? last.at - from.at : 0
  }
}
