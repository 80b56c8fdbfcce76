import type { PlanLine, PlanView, TaskLine } from '../../api/views/plan.ts'
import type { Millis } from '../../domain/clock.ts'
import type { Event } from '../../domain/event.ts'
import { drawTasks } from '../pages/plan-graph.ts'
import { printable, type Screen } from '../terminal/screen.ts'

interface PlanLookups {
  plan(id: number): Promise<PlanView>
  plans(folder: string): Promise<PlanLine[]>
}

/** Plans of one session while it is shown: which run does which task, and their progress. */
export class PlanProgress {
  readonly #place: { session: string; folder: string }
  readonly #screen: Screen
  readonly #lookups: PlanLookups
  readonly #plans = new Map<number, PlanView>()

  constructor(place: { session: string; folder: string }, screen: Screen, lookups: PlanLookups) {
    this.#place = place
    this.#screen = screen
    this.#lookups = lookups
  }

  /** Whether a task is running, also between the end of one run and the start of the next. */
  get isBusy(): boolean {
    return this.#running.some(({ counts }) => (counts.running ?? 0) > 0)
  }

  /** `plan 2: 7 of 12 done` for each running plan. */
  get standing(): string[] {
    return this.#running.map(({ id, counts, tasks }) => `plan ${id}: ${counts.completed ?? 0} of ${tasks.length} done`)
  }

  /** Running tasks. A run that was not started by the session's own runs is found by its task. */
  get runningTasks(): TaskLine[] {
    return this.#running.flatMap(({ tasks }) => tasks.filter(({ status }) => status === 'running'))
  }

  /** Reloads the plan of an event, if it belongs to this session. */
  async apply({ kind, subject, payload }: Event): Promise<void> {
    const id = Number(kind === 'task.changed' ? payload['plan'] : subject.slice('plan:'.length))
    await this.#look(id)
  }

  /** Whether this event cancelled a plan of this session: no run is woken by that, so nothing else reports it. */
  isCancelled({ kind, subject, payload }: Event): boolean {
    const id = Number(subject.slice('plan:'.length))
    return kind === 'plan.changed' && payload['status'] === 'cancelled' && this.#plans.has(id)
  }

  /** Loads the plans that are running at the start. */
  async begin(): Promise<void> {
    const plans = await this.#lookups.plans(this.#place.folder).catch((): PlanLine[] => [])
    for (const { id, status } of plans) if (status === 'running') await this.#look(id)
  }

  async #look(id: number): Promise<void> {
    // Display only: a plan that cannot be read keeps its last state.
    const view = await this.#lookups.plan(id).catch(() => undefined)
    if (view?.session === this.#place.session && view.folder === this.#place.folder) this.#plans.set(id, view)
  }

  /** Line of the task that an ended run was for; undefined for other runs. */
  async ended(runId: string): Promise<string | undefined> {
    const before = this.#taskOf(runId)
    // The event follows the commit: the result can be read now.
    if (before) await this.#look(before.view.id)
    const found = this.#taskOf(runId)
    return found && drawTasks(found.view, [found.task], this.#screen)[0]
  }

  /** Line of the task that a run is doing; undefined for other runs. */
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
