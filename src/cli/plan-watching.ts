import type { PlanView } from '../domain/plan-views.ts'
import type { Spending } from '../domain/spending.ts'
import type { Door, Told } from '../gateway/api.ts'
import { isGone } from '../gateway/client.ts'
import { localDoor } from '../gateway/local-door.ts'
import type { Here } from './cli.ts'
import { Frame } from './plan-frame.ts'
import { drawPlan, drawTasks, type PlanFacts, planFooter } from './plan-graph.ts'

/** What a watching needs of its surroundings. */
export type Watcher = Pick<Here, 'app' | 'clock' | 'screen'> & {
  signal: AbortSignal
  output: NodeJS.WritableStream
  most: number
}

/** Shows a plan as it is carried out, until it ends or the person has seen enough; answers how it stood then. */
export async function watchPlan(watcher: Watcher, door: Door, id: number): Promise<PlanView> {
  const over = new AbortController()
  const watching = new PlanWatching(watcher, door, id, over)
  return watching.follow(AbortSignal.any([watcher.signal, over.signal]))
}

class PlanWatching {
  readonly #watcher: Watcher
  readonly #id: number
  readonly #over: AbortController
  readonly #show: (view: PlanView, facts: PlanFacts) => void
  readonly #close: () => void
  #door: Door
  #view: PlanView | undefined
  #lookedAt = 0
  #spent: Spending | undefined
  #notice = ''

  constructor(watcher: Watcher, door: Door, id: number, over: AbortController) {
    this.#watcher = watcher
    this.#door = door
    this.#id = id
    this.#over = over
    const { screen, output } = watcher
    const frame = screen.isTerminal ? new Frame(screen, output) : undefined
    const lines = frame ? undefined : new PlanLines(watcher)
    const redraw = () => this.#draw()
    if (frame) output.on('resize', redraw)
    this.#show = (view, facts) => {
      if (!frame) return lines?.tell(view, facts)
      const below = this.#notice === '' ? [] : [this.#notice]
      // The last row is the cursor's.
      const rows = screen.rows - 1 - below.length
      frame.show([...drawPlan(view, { ...screen, rows }, facts), ...below])
    }
    this.#close = () => {
      output.off('resize', redraw)
      frame?.close()
    }
  }

  async follow(signal: AbortSignal): Promise<PlanView> {
    // Before the look at what there is, so that nothing falls between the two.
    let cursor = await this.#door.cursor()
    try {
      await this.#look()
      if (this.#watcher.screen.isTerminal) void this.#tick(signal)
      while (!signal.aborted) {
        try {
          for await (const told of this.#door.stream({ ...(cursor !== null && { after: cursor }), signal })) {
            if (told.kind === 'event') cursor = told.event.cursor
            if (this.#concerns(told)) await this.#look()
          }
        } catch (error) {
          if (!isGone(error)) throw error
          await this.#goOnAlone()
        }
      }
    } finally {
      this.#over.abort()
      this.#close()
    }
    return this.#view as PlanView
  }

  async #goOnAlone(): Promise<void> {
    const { app, screen, output } = this.#watcher
    this.#door = localDoor(await app())
    this.#notice = 'the daemon is gone; nothing is lost, but nobody is at work    heddle up'
    if (!screen.isTerminal) output.write(`${this.#notice}\n`)
    await this.#look()
  }

  #concerns(told: Told): boolean {
    if (told.kind !== 'event') return false
    const { kind, subject } = told.event
    if (kind === 'plan.changed') return subject === `plan:${this.#id}`
    // A task that is new to us may be one of ours, too.
    if (kind === 'task.changed') return true
    return kind.startsWith('run.') && this.#view?.tasks.some(({ runId }) => subject === `run:${runId}`) === true
  }

  async #look(): Promise<void> {
    const view = await this.#door.plan(`plan:${this.#id}`)
    this.#view = view
    this.#lookedAt = this.#watcher.clock.monotonic()
    const runId = view.tasks.findLast((task) => task.runId !== undefined)?.runId ?? view.runId
    // Only a figure at the edge: what cannot be told is left as it was.
    const run = await this.#door.run(runId).catch(() => undefined)
    this.#spent = run?.budget.request ?? this.#spent
    this.#draw()
    if (['completed', 'failed', 'cancelled'].includes(view.status)) this.#over.abort()
  }

  /** Between two looks time goes on for what is under way. */
  #draw(): void {
    if (!this.#view) return
    const since = (this.#watcher.clock.monotonic() - this.#lookedAt) / 1000
    const tasks = this.#view.tasks.map((task) =>
      task.status === 'running' && task.seconds !== undefined ? { ...task, seconds: task.seconds + since } : task,
    )
    const cost = this.#spent === undefined ? {} : { spent: this.#spent }
    this.#show({ ...this.#view, tasks }, { most: this.#watcher.most, ...cost })
  }

  async #tick(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#watcher.clock.sleep(1000, signal)
      if (!signal.aborted) this.#draw()
    }
  }
}

/** For what cannot be drawn again: the whole plan once, then each task that changed, then how it ended. */
class PlanLines {
  readonly #watcher: Watcher
  #before = new Map<number, string>()
  #status: string | undefined

  constructor(watcher: Watcher) {
    this.#watcher = watcher
  }

  tell(view: PlanView, facts: PlanFacts): void {
    const { screen, output } = this.#watcher
    const isFirst = this.#status === undefined
    const states = new Map(view.tasks.map(({ id, status, attempts }) => [id, `${status} ${attempts}`]))
    const changed = view.tasks.filter(({ id }) => states.get(id) !== this.#before.get(id))
    const isEnd = !isFirst && view.status !== this.#status && view.status !== 'running'
    const [title = ''] = drawPlan(view, screen, facts)
    const lines = isFirst
      ? drawPlan(view, { ...screen, rows: Number.POSITIVE_INFINITY }, facts)
      : [...drawTasks(view, changed, screen), ...(isEnd ? [title, planFooter(view, screen, facts)] : [])]
    this.#before = states
    this.#status = view.status
    if (lines.length > 0) output.write(`${lines.join('\n')}\n`)
  }
}
