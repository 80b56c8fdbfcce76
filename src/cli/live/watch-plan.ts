import type { PlanView } from '../../api/views/plan.ts'
import type { Spending } from '../../domain/spending.ts'
import type { Client, StreamItem } from '../../gateway/api.ts'
import { isDaemonGone } from '../../gateway/daemon-request.ts'
import type { CommandContext } from '../command.ts'
import { drawPlan, drawTasks, type PlanFacts, planFooter } from '../pages/plan-graph.ts'
import { Frame } from './plan-frame.ts'

/** Context for watching a plan. */
type WatchContext = Pick<CommandContext, 'app' | 'clock' | 'screen'> & {
  signal: AbortSignal
  output: NodeJS.WritableStream
  maxAgents: number
}

/** Shows a plan while it runs, until it ends or the user leaves; returns its last state. */
export async function watchPlan(context: WatchContext, client: Client, id: number): Promise<PlanView> {
  const over = new AbortController()
  const watcher = new PlanWatcher(context, client, id, over)
  return watcher.follow(AbortSignal.any([context.signal, over.signal]))
}

class PlanWatcher {
  readonly #context: WatchContext
  readonly #id: number
  readonly #over: AbortController
  readonly #show: (view: PlanView, facts: PlanFacts) => void
  readonly #close: () => void
  #client: Client
  #view: PlanView | undefined
  #lookedAt = 0
  #spent: Spending | undefined
  #notice = ''

  constructor(context: WatchContext, client: Client, id: number, over: AbortController) {
    this.#context = context
    this.#client = client
    this.#id = id
    this.#over = over
    const { screen, output } = context
    const frame = screen.isTerminal ? new Frame(screen, output) : undefined
    const lines = frame ? undefined : new PlanLines(context)
    const redraw = () => this.#draw()
    if (frame) output.on('resize', redraw)
    this.#show = (view, facts) => {
      if (!frame) return lines?.tell(view, facts)
      const below = this.#notice === '' ? [] : [this.#notice]
      // The last row is for the cursor.
      const rows = screen.rows - 1 - below.length
      frame.show([...drawPlan(view, { ...screen, rows }, facts), ...below])
    }
    this.#close = () => {
      output.off('resize', redraw)
      frame?.close()
    }
  }

  async follow(signal: AbortSignal): Promise<PlanView> {
    // Read before the current state, so that no event is missed in between.
    let cursor = await this.#client.cursor()
    try {
      await this.#look()
      if (this.#context.screen.isTerminal) void this.#tick(signal)
      while (!signal.aborted) {
        try {
          for await (const item of this.#client.stream({ ...(cursor !== null && { after: cursor }), signal })) {
            if (item.kind === 'event') cursor = item.event.cursor
            if (this.#concerns(item)) await this.#look()
          }
        } catch (error) {
          if (!isDaemonGone(error)) throw error
          await this.#continueAlone()
        }
      }
    } finally {
      this.#over.abort()
      this.#close()
    }
    return this.#view as PlanView
  }

  async #continueAlone(): Promise<void> {
    const { app, screen, output } = this.#context
    this.#client = await app()
    this.#notice = 'lost connection to the daemon; nothing is lost, but nothing is running    heddle up'
    if (!screen.isTerminal) output.write(`${this.#notice}\n`)
    await this.#look()
  }

  #concerns(item: StreamItem): boolean {
    if (item.kind !== 'event') return false
    const { kind, subject } = item.event
    if (kind === 'plan.changed') return subject === `plan:${this.#id}`
    // A new task may belong to this plan.
    if (kind === 'task.changed') return true
    return kind.startsWith('run.') && this.#view?.tasks.some(({ runId }) => subject === `run:${runId}`) === true
  }

  async #look(): Promise<void> {
    const view = await this.#client.plan(`plan:${this.#id}`)
    this.#view = view
    this.#lookedAt = this.#context.clock.monotonic()
    const runId = view.tasks.findLast((task) => task.runId !== undefined)?.runId ?? view.runId
    // Display only: the last known cost is kept if it cannot be read.
    const run = await this.#client.run(runId).catch(() => undefined)
    this.#spent = run?.budget.request ?? this.#spent
    this.#draw()
    if (['completed', 'failed', 'cancelled'].includes(view.status)) this.#over.abort()
  }

  /** Redraws, with the elapsed time of running tasks. */
  #draw(): void {
    if (!this.#view) return
    const since = (this.#context.clock.monotonic() - this.#lookedAt) / 1000
    const tasks = this.#view.tasks.map((task) =>
      task.status === 'running' && task.seconds !== undefined ? { ...task, seconds: task.seconds + since } : task,
    )
    const cost = this.#spent === undefined ? {} : { spent: this.#spent }
    this.#show({ ...this.#view, tasks }, { maxAgents: this.#context.maxAgents, ...cost })
  }

  async #tick(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#context.clock.sleep(1000, signal)
      if (!signal.aborted) this.#draw()
    }
  }
}

/** Output for pipes and files: the whole plan once, then each changed task, then the end. */
class PlanLines {
  readonly #context: WatchContext
  #before = new Map<number, string>()
  #status: string | undefined

  constructor(context: WatchContext) {
    this.#context = context
  }

  tell(view: PlanView, facts: PlanFacts): void {
    const { screen, output } = this.#context
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
