import type { Millis } from '../domain/clock.ts'
import type { Event } from '../domain/event.ts'
import type { PlanLine, PlanView, TaskLine } from '../domain/plan-views.ts'
import { drawTasks } from './plan-graph.ts'
import { printable, type Screen } from './screen.ts'

interface PlanLooks {
  plan(id: number): Promise<PlanView>
  plans(folder: string): Promise<PlanLine[]>
}

/** The plans of one session while it is talked in: which run does which task, and how far they are. */
export class PlansTold {
  readonly #place: { session: string; folder: string }
  readonly #screen: Screen
  readonly #looks: PlanLooks
  readonly #plans = new Map<number, PlanView>()

  constructor(place: { session: string; folder: string }, screen: Screen, looks: PlanLooks) {
    this.#place = place
    this.#screen = screen
    this.#looks = looks
  }

  /** Whether something of a plan is under way, also between the end of one task and the beginning of the next. */
  get isBusy(): boolean {
    return this.#running.some(({ counts }) => (counts.running ?? 0) > 0)
  }

  /** `plan 2: 7 of 12 done` of each that is under way. */
  get standing(): string[] {
    return this.#running.map(({ id, counts, tasks }) => `plan ${id}: ${counts.completed ?? 0} of ${tasks.length} done`)
  }

  /** Tasks that somebody is at; a run that did not come from ours is found by its task. */
  get atWork(): TaskLine[] {
    return this.#running.flatMap(({ tasks }) => tasks.filter(({ status }) => status === 'running'))
  }

  /** Looks again at the plan that an event is about, if it is one of this session. */
  async hear({ kind, subject, payload }: Event): Promise<void> {
    const id = Number(kind === 'task.changed' ? payload['plan'] : subject.slice('plan:'.length))
    await this.#look(id)
  }

  /** Whether this event gave up a plan of ours: nobody is woken by that, so nobody else tells it. */
  givesUp({ kind, subject, payload }: Event): boolean {
    const id = Number(subject.slice('plan:'.length))
    return kind === 'plan.changed' && payload['status'] === 'cancelled' && this.#plans.has(id)
  }

  /** Looks at what was under way when we came. */
  async begin(): Promise<void> {
    const plans = await this.#looks.plans(this.#place.folder).catch((): PlanLine[] => [])
    for (const { id, status } of plans) if (status === 'running') await this.#look(id)
  }

  async #look(id: number): Promise<void> {
    // Only a show: a plan that cannot be looked at now is left as it was.
    const view = await this.#looks.plan(id).catch(() => undefined)
    if (view?.session === this.#place.session && view.folder === this.#place.folder) this.#plans.set(id, view)
  }

  /** The line of the task that a run is for, as it stands or with what it is at now; undefined for any other run. */
  async ended(runId: string): Promise<string | undefined> {
    const before = this.#taskOf(runId)
    // Its end was told after it had become so: what came of it is there to be seen.
    if (before) await this.#look(before.view.id)
    const found = this.#taskOf(runId)
    return found && drawTasks(found.view, [found.task], this.#screen)[0]
  }

  /** The same while it is at it. */
  doing(runId: string, what: string, took: Millis): string | undefined {
    const found = this.#taskOf(runId)
    if (found?.task.status !== 'running') return undefined
    const task = { ...found.task, doing: printable(what), seconds: took / 1000 }
    return drawTasks(found.view, [task], this.#screen)[0]
  }

  get #running(): PlanView[] {
    return [...this.#plans.values()].filter(({ status }) => status === 'running')
  }

  #taskOf(runId: string): { view: PlanView; task: TaskLine } | undefined {
    for (const view of this.#plans.values()) {
      const task = view.tasks.find((each) => each.runId === runId)
      if (task) return { view, task }
    }
    return undefined
  }
}
